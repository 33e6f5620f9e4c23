"""Plays many pairs of games between two versions of one engine, for `spsa` and `ablation`. An item is a numbered pair.

`play_pairs` plays items in local processes or on a cluster. `StateFile` saves the results as JSON lines, from which a
run can resume. The first line contains the settings. Each other line contains the points or the faults of one item.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bench.adjudication import Adjudication
from bench.cluster import map_unordered
from bench.engines import EngineSpec
from bench.game import GameTask, play_task
from bench.inside import is_inside, play_inside
from bench.openings import Opening
from bench.results import GameResult
from engine.errors import CommandError
from engine.files import Output, count_of, parse_json, read_bytes, reason, shown
from engine.progress import Display, duration, say

#: A run stops after this many failed items in a row, because the engine or the machine must be faulty.
PATIENCE: Final = 20

#: The version of the state file format.
FORMAT: Final = 2

PLUS, MINUS = "plus", "minus"


class PairsError(CommandError, ValueError):
    """Raised if games cannot be played, a state file is unusable or results are too few; the message is one line."""


@dataclass(frozen=True, slots=True)
class PairsTask:
    """The two games of an item, which are played one after the other."""

    number: int
    games: tuple[GameTask, ...]


def make_task(
    number: int, plus: EngineSpec, minus: EngineSpec, openings: Sequence[Opening], rules: Adjudication
) -> PairsTask:
    """Returns item `number`: two games with swapped colours. The names of the engines must be PLUS and MINUS."""
    opening = openings[number % len(openings)]
    first = GameTask(2 * number, number, plus, minus, opening, rules)
    return PairsTask(number, (first, replace(first, game=2 * number + 1, white=minus, black=plus)))


@dataclass(frozen=True, slots=True)
class PlayedPair:
    """The games of an item, without their moves, and the seconds that PLUS and MINUS searched in both games."""

    games: tuple[GameResult, ...]
    seconds: tuple[float, float]

    @property
    def points(self) -> int:
        """The number of games that PLUS won minus the number that it lost."""
        return round(sum(2 * game.points(PLUS) - 1 for game in self.games))


def play_games(task: PairsTask) -> PlayedPair:
    """Plays an item. The engines keep running for later items."""
    play = play_inside if all(map(is_inside, task.games)) else play_task
    games = [play(game) for game in task.games]
    plus, minus = (sum(game.seconds[engine] for game in games) for engine in (PLUS, MINUS))
    return PlayedPair(tuple(replace(game, moves=()) for game in games), (plus, minus))


def play_pairs(
    tasks: Iterable[PairsTask],
    state: StateFile,
    on_problem: Callable[[int, str], None],
    concurrency: int = 1,
    cluster: str | None = None,
) -> Iterator[int]:
    """Plays items, `concurrency` at a time. Adds each item's points and times to `state`, then yields its number.

    If an engine or a worker fails, the item gets no points, and `on_problem(number, fault)` is called for each fault.
    Raises `PairsError` after PATIENCE failed items in a row or if the state cannot be written, and `ClusterError` if
    the cluster cannot be used.
    """
    failed_in_a_row = 0
    with closing(map_unordered(play_games, tasks, cluster, workers=concurrency)) as outcomes:
        for outcome in outcomes:
            number, played = outcome.item.number, outcome.value
            games = () if played is None else played.games
            faults = [outcome.error] if outcome.error is not None else [game.fault for game in games if game.fault]
            if played is not None and not faults:
                failed_in_a_row = 0
                state.add(number, played.points, seconds=played.seconds)
                yield number
                continue
            for fault in faults:
                on_problem(number, fault)
            failed_in_a_row += 1
            state.add(number, faults=len(faults))
            if failed_in_a_row >= PATIENCE:
                raise PairsError(f"gave up after engines failed in {failed_in_a_row} pairs of games in a row")


class StateFile:
    """The results of a run, in memory and, if there is a path, in a file.

    `settings` (the first line) describes the run; it is None for an empty state. `results` maps item numbers to points,
    in order of completion. `seconds` maps them to the seconds that PLUS and MINUS searched; items of older versions
    lack them. `faults` counts all faults. Only the holder of the file's lock (`engine.files.locked`) may write the
    file. Raises `PairsError` if the file is damaged, is of another kind, or cannot be read or written.
    """

    def __init__(self, path: Path | None, command: str, *, read: bool = True, write: bool = True) -> None:
        """Opens the state of `secateur COMMAND`. `read` and `write` say whether the file may be read and written."""
        self.path = path
        self.settings: dict[str, Any] | None = None
        self.results: dict[int, int] = {}
        self.seconds: dict[int, tuple[float, float]] = {}
        self.faults = 0
        self._key = f"secateur-{command}"
        self._output: Output | None = None
        self._text = bytearray()
        self._unwritten = b""
        if path is None:
            return
        try:
            if write:
                self._output = Output(path, self._is_own, f"state of `secateur {command}`")
            if read and (self._output is None or self._output.size):
                self._read(path, read_bytes(path, limit=1 << 30))
        except OSError as error:
            raise PairsError(f"{shown(path)}: {reason(error)}") from None

    @property
    def is_there(self) -> bool:
        """Whether the file was opened for writing and is not empty."""
        return self._output is not None and self._output.size > 0

    def _is_own(self, head: bytes) -> bool:
        return head.startswith(b'{"%s": ' % self._key.encode())

    def _read(self, path: Path, text: bytes) -> None:
        """Parses the contents; ignores an incomplete last line, with a note. Raises `PairsError` for a bad line."""
        whole = text[: text.rfind(b"\n") + 1]
        lines = whole.splitlines()
        try:
            first = parse_json(lines[0], with_paths=True)
            self.settings = dict(first["settings"])
            if first[self._key] != FORMAT:
                raise ValueError
        except (IndexError, ValueError, KeyError, TypeError):
            command = self._key.removeprefix("secateur-")
            problem = f"1: not a state file of this version of `secateur {command}`" if text else " is empty"
            raise PairsError(f"{shown(path)}:{problem}") from None
        for number, line in enumerate(lines[1:], start=2):
            try:
                self._take(parse_json(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise PairsError(f"{shown(path)}:{number}: not a result of this run") from None
        last = text[len(whole) :].rstrip(b"\0")
        try:
            self._take(parse_json(last))
            whole, self._unwritten = whole + last, b"\n"  # only the end of the line is missing
        except (ValueError, KeyError, TypeError, AttributeError):
            if last:
                say(f"{self._key.replace('-', ' ')}: note: {shown(path)}:{len(lines) + 1}: ignored a partial result")
        self._text += whole
        if self._output is not None:
            self._output.keep = len(whole)

    def _take(self, line: dict[str, Any]) -> None:
        """Adds the result in a parsed line. Raises KeyError, TypeError, AttributeError or ValueError for a bad line."""
        number, points = line["number"], line.get("points")
        count = line["faults"] if points is None else points
        if type(number) is not int or number < 0 or type(count) is not int or (points is not None and abs(points) > 2):
            raise ValueError
        if points is None:
            self.faults += count
            return
        if "seconds" in line:
            plus, minus = map(float, line["seconds"])
            if not (0 <= plus < math.inf and 0 <= minus < math.inf):
                raise ValueError
            self.seconds[number] = plus, minus
        self.results[number] = points

    def begin(self, settings: dict[str, Any]) -> None:
        """Stores the settings and writes them as the only line of the file. An earlier run stays beside it."""
        self.settings = settings
        if self._output is not None:
            self._output.keep = 0
        self._write({self._key: FORMAT, "settings": settings})

    def add(self, number: int, points: int = 0, faults: int = 0, seconds: tuple[float, float] | None = None) -> None:
        """Adds an item's points or, if it failed, its number of faults. On return, the result is on the disk."""
        line: dict[str, Any] = {"number": number, **({"faults": faults} if faults else {"points": points})}
        if seconds is not None:
            line["seconds"] = [round(side, 6) for side in seconds]
        self._take(line)
        self._write(line)

    def missing(self, numbers: range) -> Iterator[int]:
        """Returns an iterator over the `numbers` of items without points, in order."""
        return (number for number in numbers if number not in self.results)

    def log_time(self, number: int) -> float:
        """Returns the logarithm of PLUS's time over MINUS's in an item's games, or 0 if one of them is unknown."""
        plus, minus = self.seconds.get(number, (0.0, 0.0))
        return math.log(plus / minus) if plus and minus else 0.0

    def _write(self, line: dict[str, Any]) -> None:
        data, self._unwritten = self._unwritten + json.dumps(line).encode() + b"\n", b""
        self._text += data
        if self._output is None:
            return
        try:
            self._output.append(data)
        except OSError as error:
            error = self._output.saved_beside(bytes(self._text), error)
            raise PairsError(f"{shown(self._output.path)}: {reason(error)}") from None


class Progress(Display):
    """A display of the number of items played, the failed games and the time left; `details` returns text to append."""

    def __init__(
        self, state: StateFile, planned: int, what: str, quiet: bool, details: Callable[[], str] = lambda: ""
    ) -> None:
        super().__init__(quiet)
        self._state, self._planned, self._what, self._details = state, planned, what, details
        self._before = len(state.results)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.print_line()

    def line(self) -> str:
        """Returns the progress of the run in one line."""
        elapsed, done = time.monotonic() - self.began, len(self._state.results)
        text = f"{done} of {self._planned} {self._what}"
        if self._state.faults:
            text += f", {count_of(self._state.faults, 'failed game')}"
        text += f" in {duration(elapsed)}"
        if done > self._before:
            text += f", {duration(elapsed * (self._planned - done) / (done - self._before))} left"
        return text + self._details()
