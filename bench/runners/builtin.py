"""The built-in runner: it needs only python-chess, plays in local processes or on a cluster, and can resume a match.

The PGN file is the only record. Every finished game is on the disk before the next one begins. After any end of the
match, even `kill -9`, `resume` reads the file, drops a half-written last game, and plays the rest. Each game names its
match by the description's fingerprint; a file with anything else in it is left unchanged.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from bench.cluster import ClusterError, map_unordered
from bench.game import GameTask, play_task
from bench.pgn import MATCH_TAG, PgnLog, RawGame, format_game, is_cut_game, read_games, split_games
from bench.results import GameResult, MatchResult
from bench.runners.base import Collector, OnGame, OnProblem, Runner, RunnerError, unfit_engines
from bench.schedule import Plan, round_name
from engine.files import reason, shown


class BuiltinRunner(Runner):
    """Plays with `chess.engine`."""

    name = "builtin"

    def command_line(self, plan: Plan) -> list[str]:
        """A description of what it would play."""
        description = plan.description
        where = description.cluster or f"{description.concurrency} local processes"
        lines = [f"built-in runner: {plan.game_count} games on {where}"]
        for engine in description.engines:
            options = " ".join(f"{name}={value}" for name, value in engine.options)
            lines.append(f"{engine.name}: {' '.join(engine.command)} [{engine.limit}] {options}".rstrip())
        return lines

    def run(self, plan: Plan, on_game: OnGame, on_problem: OnProblem) -> MatchResult:
        """Plays the games that the PGN file does not have yet."""
        began = time.monotonic()
        description = plan.description
        collector = Collector(plan, on_game, on_problem)
        done, log = self._open_log(plan, collector.result.problems)
        for game in done:
            if not collector.add(game):
                return collector.finish(time.monotonic() - began)
        known = {game.game for game in done}
        unfit = unfit_engines(description.engines, description.cluster)
        collector.add_unfit(unfit.values())
        tasks = (
            task
            for task in plan.tasks()
            if task.game not in known and task.white not in unfit and task.black not in unfit
        )
        outcomes = map_unordered(play_task, tasks, description.cluster, workers=description.concurrency)
        try:
            with closing(outcomes):
                for outcome in outcomes:
                    task = outcome.item
                    if outcome.value is None:
                        names = f"{task.white.name} - {task.black.name}"
                        collector.result.problems.append(f"game {task.game + 1} ({names}): {outcome.error}")
                        continue
                    if log is not None:
                        told = log.problem
                        log.append(_pgn(plan, task, outcome.value))
                        if told is None and log.problem is not None:
                            on_problem(log.problem)
                    if not collector.add(outcome.value):
                        break
        except KeyboardInterrupt:
            collector.result.interrupted = True
        except ClusterError as error:
            raise RunnerError(str(error)) from None
        if log is not None and (not log.flush() or log.output.path != Path(str(description.pgn))):
            lost = f" ({len(log.waiting)} games are not in the file)" if log.waiting else ""
            collector.result.problems.append(f"{log.problem}{lost}")
        return collector.finish(time.monotonic() - began)

    def _open_log(self, plan: Plan, problems: list[str]) -> tuple[list[GameResult], PgnLog | None]:
        """The games that were played before, and the file for the next ones; `problems` gets games that do not count.

        Raises `RunnerError` for a file with content from another match or another source.
        """
        description = plan.description
        if description.pgn is None:
            return [], None
        path = Path(description.pgn)
        try:
            log = PgnLog(path)  # before the games are read, to notice later changes to the file
            if not description.resume or not path.exists():
                return [], log
            raws = list(split_games(path))
            log.go_on(_end_of_games(plan, path, raws))
            return _played(plan, path, raws, problems), log
        except OSError as error:
            raise RunnerError(f"{shown(path)}: {reason(error)}") from None


def _pgn(plan: Plan, task: GameTask, game: GameResult) -> str:
    description = plan.description
    controls = (task.white.limit.pgn_tag(), task.black.limit.pgn_tag())
    name = round_name(task.game, task.pair, description.games_per_pair)
    return format_game(game, description.event, controls, description.fingerprint(), name)


def _end_of_games(plan: Plan, path: Path, raws: list[RawGame]) -> int:
    """The offset where the last whole game of this match ends. Raises `RunnerError` if the file has anything else."""
    description = plan.description
    fingerprint = description.fingerprint()
    end = 0
    for number, raw in enumerate(raws, start=1):
        if not raw.is_complete:
            if number < len(raws):
                raise RunnerError(f"{path}:{raw.line}: a broken game in the middle; repair the file or start afresh")
            if not is_cut_game(raw, description.event, [engine.name for engine in description.engines], fingerprint):
                raise RunnerError(f"{path}:{raw.line}: this match did not write what follows; name another file")
        elif raw.tags.get(MATCH_TAG) != fingerprint:
            raise RunnerError(f"{path}:{raw.line}: this game is of another match; name another file or start afresh")
        else:
            end = raw.end
    return end


def _played(plan: Plan, path: Path, raws: list[RawGame], problems: list[str]) -> list[GameResult]:
    """The games in the file by their numbers in the schedule, each once.

    Games that the reader leaves out, or that the schedule does not have, are reported in `problems` and played again.
    """
    missing = {
        (round_name(task.game, task.pair, plan.description.games_per_pair), task.white.name, task.black.name): task
        for task in plan.tasks()
    }
    found: list[GameResult] = []
    faults: list[str] = []
    for game in read_games(path, faults):
        raw = raws[game.game]
        name = raw.tags.get("Round", "?")
        task = missing.pop((name, game.white, game.black), None)
        if task is None:
            game_name = f"game {name[:20]} of {game.white[:40]} and {game.black[:40]}"
            problems.append(
                f"{path}:{raw.line}: {game_name} is not in the schedule, or is there twice; it does not count"
            )
        else:
            found.append(replace(game, game=task.game, pair=task.pair))
    if raws and not raws[-1].is_complete:
        faults.pop()  # a truncated last game is an unfinished one, not a fault
    problems += faults
    return found
