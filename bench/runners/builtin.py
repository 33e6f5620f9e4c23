"""The built-in runner: needs nothing but python-chess, plays on local processes or a cluster, and can be resumed.

The PGN file is the only record. Every finished game is on the disk before the next is begun, so whatever ends the
match, even `kill -9`, `resume` reads the file back, drops a last game that was only half written, and plays the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from bench.cluster import ClusterError, map_unordered
from bench.game import GameTask, play_task
from bench.pgn import MATCH_TAG, PgnLog, format_game, read_games, split_games
from bench.results import GameResult, MatchResult
from bench.runners.base import Collector, OnGame, OnProblem, Runner, RunnerError, unfit_engines
from bench.schedule import Plan, round_name


class BuiltinRunner(Runner):
    """Plays with `chess.engine`."""

    name = "builtin"

    def command_line(self, plan: Plan) -> list[str]:
        """What it would play, in words."""
        description = plan.description
        where = description.cluster or f"{description.concurrency} local processes"
        lines = [f"built-in runner: {plan.game_count} games on {where}"]
        for engine in description.engines:
            options = " ".join(f"{name}={value}" for name, value in engine.options)
            lines.append(f"{engine.name}: {' '.join(engine.command)} [{engine.limit}] {options}".rstrip())
        return lines

    def run(self, plan: Plan, on_game: OnGame, on_problem: OnProblem) -> MatchResult:
        """Plays what the PGN file does not have yet."""
        began = time.monotonic()
        description = plan.description
        collector = Collector(plan, on_game, on_problem)
        done, log = self._open_log(plan)
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
                        log.append(_pgn(plan, task, outcome.value))
                    if not collector.add(outcome.value):
                        break
        except KeyboardInterrupt:
            collector.result.interrupted = True
        except ClusterError as error:
            raise RunnerError(str(error)) from None
        if log is not None and not log.flush() and log.problem:
            collector.result.problems.append(f"{log.problem} ({len(log.waiting)} games are not in the file)")
        return collector.finish(time.monotonic() - began)

    def _open_log(self, plan: Plan) -> tuple[list[GameResult], PgnLog | None]:
        """The games that were played before, and the file for the next ones."""
        description = plan.description
        if description.pgn is None:
            return [], None
        path = Path(description.pgn)
        try:
            if description.resume and path.exists():
                return _resume(plan, path), PgnLog(path)
            if path.exists() and path.is_file():
                path.write_bytes(b"")
            return [], PgnLog(path)
        except OSError as error:
            raise RunnerError(f"{path}: {error.strerror}") from None


def _pgn(plan: Plan, task: GameTask, game: GameResult) -> str:
    description = plan.description
    controls = (task.white.limit.pgn_tag(), task.black.limit.pgn_tag())
    name = round_name(task.game, task.pair, description.games_per_pair)
    return format_game(game, description.event, controls, description.fingerprint(), name)


def _resume(plan: Plan, path: Path) -> list[GameResult]:
    """The games of this match in the file, which is cut after the last complete one. Raises `RunnerError`."""
    fingerprint = plan.description.fingerprint()
    end = 0
    raws = list(split_games(path))
    for number, raw in enumerate(raws, start=1):
        if not raw.is_complete:
            if number < len(raws):
                raise RunnerError(f"{path}:{raw.line}: a broken game in the middle; repair the file or start afresh")
            break
        if raw.tags.get(MATCH_TAG) != fingerprint:
            raise RunnerError(f"{path}:{raw.line}: this game is of another match; name another file or start afresh")
        end = raw.end
    with path.open("r+b") as file:
        file.truncate(end)
        # The last byte of a complete game may be all that is missing.
        file.seek(0, 2)
        if end and not path.read_bytes().endswith(b"\n\n"):
            file.write(b"\n\n")
    return list(_renumbered(read_games(path), [raw.tags.get("Round", "") for raw in raws], plan))


def _renumbered(games: Iterable[GameResult], rounds: Sequence[str], plan: Plan) -> Iterator[GameResult]:
    """The games with the numbers that the schedule gave them; `rounds` are the tags of all games in the file.

    Games that the reader leaves out are missing here, and are played again.
    """
    from dataclasses import replace

    for game in games:
        pair, _, number = rounds[game.game].partition(".")
        index = (int(pair) - 1) * plan.description.games_per_pair + int(number) - 1
        yield replace(game, game=index, pair=int(pair) - 1)
