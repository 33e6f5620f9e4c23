"""The built-in runner: it needs only python-chess, plays in local processes or on a cluster, and can resume a match.

Every finished game is in the PGN file before the next one begins. After any end of the match, `resume` reads the file,
drops a half-written last game, and plays the rest. Each game names its match by the description's fingerprint; a file
with anything else in it is left unchanged.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from bench.cluster import map_unordered
from bench.game import GameTask, play_task
from bench.pgn import MATCH_TAG, PgnLog, RawGame, format_game, is_cut_game, read_games, split_games
from bench.results import GameResult
from bench.runners.base import Collector, PlayError, Runner, unfit_engines
from bench.schedule import Plan


class BuiltinRunner(Runner):
    """Plays with `chess.engine`."""

    name = "builtin"

    def command_line(self, plan: Plan) -> str:
        """Says how many games it would play, and where: it runs no other program."""
        description = plan.description
        where = description.cluster or f"{description.concurrency} local processes"
        return f"built-in runner: {plan.game_count} games on {where}"

    def run(self, plan: Plan, collector: Collector) -> None:
        """Plays the games that the PGN file does not have yet."""
        description, problems = plan.description, collector.result.problems
        done, log = _open_log(plan, problems)
        if not all(collector.add(game) for game in done):
            return
        known = {game.game for game in done}
        unfit = unfit_engines(description.engines, description.cluster)
        for problem in unfit.values():
            collector.add_problem(problem)
        tasks = (
            task
            for task in plan.tasks()
            if task.game not in known and task.white not in unfit and task.black not in unfit
        )
        outcomes = map_unordered(play_task, tasks, description.cluster, workers=description.concurrency)
        try:
            with closing(outcomes):
                for task, game, error in outcomes:
                    if game is None:
                        problems.append(f"game {task.game + 1} ({task.white.name} - {task.black.name}): {error}")
                        continue
                    if log is not None:
                        _save(log, plan, task, game, collector)
                    if not collector.add(game):
                        break
        except KeyboardInterrupt:
            collector.result.interrupted = True
        if log is not None and (not log.flush() or log.output.path != Path(str(description.pgn))):
            lost = f" ({len(log.waiting)} games are not in the file)" if log.waiting else ""
            problems.append(f"{log.problem}{lost}")


def _save(log: PgnLog, plan: Plan, task: GameTask, game: GameResult, collector: Collector) -> None:
    """Writes a game into the file; reports the first problem with the file at once."""
    description = plan.description
    controls = (str(task.white.limit), str(task.black.limit))
    had_problem = log.problem is not None
    log.append(format_game(game, description.event, controls, description.fingerprint(), task.round_name))
    if log.problem is not None and not had_problem:
        collector.on_problem(log.problem)


def _open_log(plan: Plan, problems: list[str]) -> tuple[list[GameResult], PgnLog | None]:
    """The games that were played before, and the file for the next ones; `problems` gets games that do not count.

    Raises `PlayError` for a file with content from another match or another source, and OSError.
    """
    description = plan.description
    if description.pgn is None:
        return [], None
    path = Path(description.pgn)
    log = PgnLog(path)  # before the games are read, to notice later changes to the file
    if not description.resume or not path.exists():
        return [], log
    raws = list(split_games(path))
    log.go_on(_end_of_games(plan, path, raws))
    return _played(plan, path, raws, problems), log


def _end_of_games(plan: Plan, path: Path, raws: list[RawGame]) -> int:
    """The offset where the last whole game of this match ends. Raises `PlayError` if the file has anything else."""
    description = plan.description
    fingerprint, players = description.fingerprint(), [engine.name for engine in description.engines]
    end = 0
    for raw in raws:
        if raw.is_complete and raw.tags.get(MATCH_TAG) == fingerprint:
            end = raw.end
        elif raw is not raws[-1] or not is_cut_game(raw, description.event, players):
            raise PlayError(f"{path}:{raw.line}: this match did not write this game; name another file or start afresh")
    return end


def _played(plan: Plan, path: Path, raws: list[RawGame], problems: list[str]) -> list[GameResult]:
    """The games in the file by their numbers in the schedule, each once.

    Games that the reader leaves out, or that the schedule does not have, are reported in `problems` and played again.
    """
    missing = {(task.round_name, task.white.name, task.black.name): task for task in plan.tasks()}
    found: list[GameResult] = []
    faults: list[str] = []
    for game in read_games(path, faults):
        raw = raws[game.game]
        name = raw.tags.get("Round", "?")
        task = missing.pop((name, game.white, game.black), None)
        if task is not None:
            found.append(replace(game, game=task.game, pair=task.pair))
            continue
        title = f"game {name[:20]} of {game.white[:40]} and {game.black[:40]}"
        problems.append(f"{path}:{raw.line}: {title} is not in the schedule, or is there twice; it does not count")
    if raws and not raws[-1].is_complete:
        faults.pop()  # a truncated last game is an unfinished one, not a fault
    problems += faults
    return found
