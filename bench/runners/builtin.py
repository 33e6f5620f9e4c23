"""The built-in runner. It needs only python-chess, plays in local processes or on a cluster, and can resume a match.

It writes every game to the PGN file as soon as the game is finished. To resume a match, it reads the file, drops a
truncated last game, and plays the missing games. A tag of each game contains the fingerprint of the match's
description. If the file has games of another match, the runner raises `PlayError` and does not change the file.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from bench.cluster import map_unordered
from bench.game import play_task
from bench.pgn import MATCH_TAG, PgnLog, RawGame, format_game, is_cut_game, read_games, split_games
from bench.results import GameResult, MatchResult
from bench.runners.base import Collector, PlayError, Runner, unfit_engines
from bench.schedule import Plan
from engine.files import Output, count_of, shown


class BuiltinRunner(Runner):
    """A runner that plays the games itself, through `chess.engine`."""

    name = "builtin"

    def command_line(self, plan: Plan) -> str:
        """Returns a line that says how many games `run` would play, and where; `run` executes no command."""
        description = plan.description
        where = description.cluster or f"{count_of(description.concurrency, 'local worker')}"
        return f"built-in runner: {plan.game_count} games on {where}"

    def run(self, plan: Plan, collector: Collector, games: Output | None) -> None:
        """Passes the earlier games of a resumed match to `collector`, then plays the missing games of `plan`."""
        description, problems = plan.description, collector.result.problems
        done, log = _open_log(plan, games, collector.result)
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
                        controls = (str(task.white.limit), str(task.black.limit))
                        text = (game, description.event, controls, description.fingerprint(), task.round_name)
                        had_problem = log.problem is not None
                        log.append(format_game(*text))
                        if log.problem is not None and not had_problem:
                            collector.on_problem(log.problem)
                    if not collector.add(game):
                        break
        except KeyboardInterrupt:
            collector.result.interrupted = True
        if log is not None and (not log.flush() or log.output.path != Path(str(description.pgn))):
            problems.append("; ".join([str(log.problem), *([log.save_elsewhere()] if log.waiting else [])]))
        elif collector.result.interrupted:
            can_resume = log is not None and (description.resume or collector.result.games)
            advice = f"; --resume continues {shown(str(description.pgn))}" if can_resume else ""
            collector.result.notes.append(f"interrupted{advice}")


def _open_log(plan: Plan, games: Output | None, result: MatchResult) -> tuple[list[GameResult], PgnLog | None]:
    """Returns the games in `games` if the match is resumed, and the log for further games (None without a PGN file).

    Adds a line to the problems or notes of `result` for each game in the file that is not counted. Raises `PlayError`
    if a game in the file was not written by this match, and OSError.
    """
    if games is None:
        return [], None
    path, log = games.path, PgnLog(games)
    if not plan.description.resume or not path.exists():
        return [], log
    raws = list(split_games(path))
    log.go_on(_end_of_games(plan, path, raws))
    return _played(plan, path, raws, result), log


def _end_of_games(plan: Plan, path: Path, raws: list[RawGame]) -> int:
    """Returns the byte offset of the end of the last complete game. Raises `PlayError` for a game of another match."""
    description = plan.description
    fingerprint, end = description.fingerprint(), 0
    for raw in raws:
        if raw.is_complete and raw.tags.get(MATCH_TAG) == fingerprint:
            end = raw.end
        elif raw is not raws[-1] or not is_cut_game(raw, description.event, fingerprint):
            raise PlayError(f"{shown(path)}:{raw.line}: this game was not written by this match; name another file")
    return end


def _played(plan: Plan, path: Path, raws: list[RawGame], result: MatchResult) -> list[GameResult]:
    """Returns the scheduled games in the file, each once, with their numbers in the schedule.

    Adds a problem for each game that is invalid, not in the schedule, or a duplicate, and a note for a truncated game.
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
        result.problems.append(
            f"{shown(path)}:{raw.line}: {title} is not in the schedule or appears twice; it is not counted"
        )
    if raws and not raws[-1].is_complete:
        faults.pop()  # a truncated last game is unfinished, not faulty
        result.notes.append(f"{shown(path)}:{raws[-1].line}: the unfinished last game is dropped")
    result.problems += faults
    return found
