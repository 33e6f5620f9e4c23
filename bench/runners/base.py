"""The interface of every runner: it plays a plan, passes on each finished game, and reports problems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace

from bench.cluster import ClusterError, map_unordered
from bench.engines import EngineSpec
from bench.game import check_engine
from bench.results import GameResult, MatchResult
from bench.schedule import Plan
from engine.errors import CommandError

#: Called with every finished game in order of completion; False ends the match.
OnGame = Callable[[GameResult], bool]
#: Called with one line for each engine that cannot play, before the first game.
OnProblem = Callable[[str], None]


class RunnerError(CommandError, RuntimeError):
    """The runner cannot play this match at all; the message is one line."""


class Runner(ABC):
    """Plays plans."""

    name: str

    @abstractmethod
    def run(self, plan: Plan, on_game: OnGame, on_problem: OnProblem) -> MatchResult:
        """Plays the plan to its end, to `on_game`'s False or to Ctrl-C. Raises `RunnerError` when it cannot start.

        The problems of `on_problem` are in the result, too.
        """

    @abstractmethod
    def command_line(self, plan: Plan) -> list[str]:
        """The command that the runner would run; for the built-in runner, a description of what it would play."""


def unfit_engines(engines: Sequence[EngineSpec], cluster: str | None) -> dict[EngineSpec, str]:
    """The engines that do not start or refuse their options, with the reason. Starts each once, where it would play.

    This check comes first because otherwise every game or position would report the same problem. Raises `RunnerError`
    when the cluster is unusable.
    """
    try:
        with closing(map_unordered(check_engine, engines, cluster)) as checks:
            found = {outcome.item: outcome.error or outcome.value for outcome in checks}
    except ClusterError as error:
        raise RunnerError(str(error)) from None
    return {engine: problem for engine, problem in found.items() if problem}


class Collector:
    """Collects the games of one match in the right order, and their faults as lines of text."""

    def __init__(self, plan: Plan, on_game: OnGame, on_problem: OnProblem) -> None:
        self.result = MatchResult(
            tuple(engine.name for engine in plan.description.engines),
            games_planned=plan.game_count,
            problems=list(plan.problems),
            notes=[plan.repeats] if plan.repeats else [],
        )
        self._on_game = on_game
        self._on_problem = on_problem

    def add_unfit(self, problems: Iterable[str]) -> None:
        """Reports the engines that cannot play, with the reasons."""
        for problem in problems:
            self.result.problems.append(problem)
            self._on_problem(problem)

    def add(self, game: GameResult) -> bool:
        """Adds a finished game; returns False when the match must end."""
        result = self.result
        if game.fault is not None:
            result.problems.append(game.fault)
        # The moves are in the PGN; those of a hundred thousand games would fill the memory.
        result.games.append(replace(game, moves=()))
        if not self._on_game(game):
            result.stopped_early = True
        return not result.stopped_early

    def finish(self, seconds: float) -> MatchResult:
        """The result, with the games in the order of the schedule."""
        self.result.games.sort(key=lambda game: game.game)
        self.result.seconds = seconds
        return self.result
