"""The interface of the runners, the check of engines before a match, and the collector of games."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from bench.cluster import map_unordered
from bench.engines import EngineSpec
from bench.game import check_engine
from bench.results import GameResult, MatchResult
from bench.schedule import Plan
from engine.errors import CommandError
from engine.files import Output

#: A function that is called with every finished game, in order of completion. It ends the match by returning False.
OnGame = Callable[[GameResult], bool]
#: A function that is called with a line for each engine that cannot play, and for a PGN file that cannot be written.
OnProblem = Callable[[str], None]


class PlayError(CommandError, RuntimeError):
    """Raised if a match cannot be played; the message is one line."""


class Runner(ABC):
    """The base class of the runners, which play matches."""

    name: str

    @abstractmethod
    def run(self, plan: Plan, collector: Collector, games: Output | None) -> None:
        """Plays `plan` and calls `collector.add` for each game. Ends early if `add` returns False or on Ctrl-C.

        Writes the games to `games`, unless that file has changed since it was checked; None means that nothing keeps
        the games. Raises CommandError if the match cannot be played, and OSError if a file cannot be used.
        """

    @abstractmethod
    def command_line(self, plan: Plan) -> str:
        """Returns one line: the command that `run` would execute, or a description if `run` executes no command."""


def unfit_engines(engines: Sequence[EngineSpec], cluster: str | None) -> dict[EngineSpec, str]:
    """Returns the engines that do not start or that reject an option, each mapped to a line about its problem.

    Starts each engine once, on a machine where it would play. Without this check, every game or position would report
    the same problem. Raises `ClusterError` if the cluster is unusable.
    """
    with closing(map_unordered(check_engine, engines, cluster)) as checks:
        found = {outcome.item: outcome.error or outcome.value for outcome in checks}
    return {engine: problem for engine, problem in found.items() if problem}


class Collector:
    """The collector of the games and problems of a running match. Each problem is a line of text."""

    def __init__(self, plan: Plan, on_game: OnGame, on_problem: OnProblem) -> None:
        self.result = MatchResult(
            tuple(engine.name for engine in plan.description.engines),
            games_planned=plan.game_count,
            problems=list(plan.problems),
            notes=[plan.repeats] if plan.repeats else [],
        )
        self._on_game = on_game
        self.on_problem = on_problem
        self._began = time.monotonic()

    def add_problem(self, problem: str) -> None:
        """Adds a problem and passes it to `on_problem` at once."""
        self.result.problems.append(problem)
        self.on_problem(problem)

    def add(self, game: GameResult) -> bool:
        """Adds a finished game and passes it to `on_game`; returns False if the match must end."""
        result = self.result
        if game.fault is not None:
            result.problems.append(game.fault)
        # The moves are dropped, because the moves of a hundred thousand games would fill the memory.
        result.games.append(replace(game, moves=()))
        result.stopped_early |= not self._on_game(game)
        return not result.stopped_early

    def finish(self) -> MatchResult:
        """Sorts the games in the order of the schedule, sets the duration of the match, and returns the result."""
        self.result.games.sort(key=lambda game: game.game)
        self.result.seconds = time.monotonic() - self._began
        return self.result
