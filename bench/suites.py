"""Test suites: EPD lines with best and bad moves, graded moves or mates, put to any UCI engine.

    bm, am            moves one of which has to be played, or none of which may be
    bm #5, dm 5       a mate that has to be seen, in at most so many moves
    c8 with c9 or c7  graded moves: points, and the moves that earn them, in the same order (STS)
    c0 "f5=10, ..."   the same in one operand, where there is no c8

Python-chess judges moves and speaks to the engine; the operations are taken apart here, because suites in circulation
bend the format (moves in long notation, lone signs, mates as operands of `bm`) and one bent line must not end the rest.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import chess
import chess.engine

from bench.engines import EngineSpec, EngineSpecError
from bench.pgn import is_pgn
from bench.results import Termination
from bench.timecontrol import TimeControl
from bench.uci import QUIT_SECONDS, READY_SECONDS, EngineFaultError, WatchedProtocol
from engine.errors import CommandError
from engine.files import quoted, read_bytes, reason, shown

#: The quantifiers are possessive: the time grows linearly with the length of a line.
_OPERATION: Final = re.compile(r"\s*+([A-Za-z]\w*+)(?=\s|;|$)((?:\"[^\"]*+\"|[^;\"]++)*+)(?:;|$)")
_GRADE: Final = re.compile(r"(\S+)=(\d+)$")

#: A suite is at most this large, in bytes.
_MOST_BYTES: Final = 64 << 20

#: Seconds that an engine may overstep its time, or be silent where it has no time limit.
GRACE_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 600.0


class SuiteError(CommandError, ValueError):
    """A suite that cannot be used at all; the message names the file."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One position. `grades` has the points of each move in UCI notation; `mate` the moves to mate, instead.

    A position with `bad` moves alone is solved by every other move. Every move that solves earns `most` points.
    """

    name: str
    fen: str
    grades: tuple[tuple[str, int], ...] = ()
    bad: tuple[str, ...] = ()
    mate: int | None = None
    most: int = 1

    def points(self, move: chess.Move | None, mate: int | None) -> int:
        """What the engine earns by `move`, when it announces a `mate` in so many moves."""
        if move is None:
            return 0
        if self.mate is not None:
            return int(mate is not None and 0 < mate <= self.mate)
        if move.uci() in self.bad:
            return 0
        return dict(self.grades).get(move.uci(), 0) if self.grades else self.most


@dataclass(frozen=True, slots=True)
class Task:
    """One position for one engine, under the engine's limit. Can be pickled to another machine."""

    engine: EngineSpec
    problem: Problem


@dataclass(frozen=True, slots=True)
class Solution:
    """What an engine made of a position.

    `seconds_to_solution` and `nodes_to_solution` tell from when on it wanted the right move (all points) and never
    changed its mind; None where it ended on another move. `error` says why there is no `move`.
    """

    engine: str
    problem: str
    move: str = ""
    points: int = 0
    most: int = 1
    seconds_to_solution: float | None = None
    nodes_to_solution: int | None = None
    seconds: float = 0.0
    nodes: int = 0
    depth: int = 0
    centipawns: int | None = None
    mate: int | None = None
    error: str = ""

    @property
    def is_solved(self) -> bool:
        """Whether all points were earned."""
        return not self.error and self.points == self.most

    @property
    def score(self) -> str:
        """The engine's last score for a person, from the view of the side to move."""
        if self.mate is not None:
            return f"#{self.mate}"
        return "" if self.centipawns is None else f"{self.centipawns / 100:+.2f}"


# --------------------------------------------------------------------------------------------------------------
# Reading
# --------------------------------------------------------------------------------------------------------------


def load_suite(path: str | Path, problems: list[str]) -> list[Problem]:
    """The positions of an EPD file; bad lines are appended to `problems` as `file:line: why` and left out.

    Raises `SuiteError` when nothing can be read.
    """
    path = Path(path)
    try:
        data = read_bytes(path, _MOST_BYTES)
    except OSError as error:
        raise SuiteError(f"{shown(path)}: {reason(error)}") from None
    if is_pgn(data):
        raise SuiteError(f"{shown(path)}: holds games (PGN), not positions (EPD)")
    found = []
    for number, line in enumerate(data.decode("utf-8-sig", errors="replace").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(parse_problem(line, f"{path.stem}:{number}"))
        except ValueError as error:
            problems.append(f"{shown(path)}:{number}: {shown(str(error))}")
    if not found:
        raise SuiteError(f"{shown(path)}: holds no position that asks for anything")
    return found


def parse_problem(line: str, name: str = "") -> Problem:
    """One line; `name` is used where it has no id. Raises ValueError saying what is wrong."""
    fields = line.split(maxsplit=4)
    if len(fields) < 5:
        raise ValueError("a position with four fields and at least one operation is needed")
    try:
        board = chess.Board(" ".join(fields[:4]) + " 0 1")
    except ValueError as error:
        raise ValueError(f"no position: {error}") from None
    if not board.is_valid():
        raise ValueError(f"not a legal position: {' '.join(fields[:4])}")
    operations = dict(_operations(fields[4]))
    name = shown(operations.get("id", name))
    best, mate = [], None
    for word in _words(operations.get("bm", "")):
        if word.startswith("#"):
            mate = _number(word[1:])
        else:
            best.append(_move(board, word))
    if "dm" in operations and not best:
        mate = _number(operations["dm"])
    bad = tuple(_move(board, word) for word in _words(operations.get("am", "")))
    grades = _grades(board, operations) or tuple((move, 1) for move in best)
    if mate is not None:
        return Problem(name, board.fen(), mate=abs(mate))
    if not grades and not bad:
        raise ValueError("nothing is asked: neither bm, am, dm nor graded moves")
    return Problem(name, board.fen(), grades, bad, most=max((points for _, points in grades), default=1))


def _operations(text: str) -> Iterator[tuple[str, str]]:
    """Name and operands of each operation. A lone semicolon before the first is forgiven."""
    place = 0
    text = text.strip().lstrip(";")
    while place < len(text):
        match = _OPERATION.match(text, place)
        if match is None:
            raise ValueError(f"no operation: {quoted(text[place:].strip())}")
        yield match[1], match[2].strip().strip('"')
        place = match.end()


def _words(operands: str) -> list[str]:
    """Moves of an operand list, without the lone check and praise signs that some suites put between them."""
    return [word for word in operands.replace(",", " ").split() if word.strip("+!?#")]


def _number(word: str) -> int:
    try:
        number = int(word)
    except ValueError:
        number = 0
    if not 0 < abs(number) < 1000:
        raise ValueError(f"no number of moves to mate: {quoted(word)}")
    return number


def _move(board: chess.Board, word: str) -> str:
    """A move in short or long algebraic or UCI notation as UCI."""
    word = word.rstrip("!?")
    try:
        return board.parse_san(word).uci()
    except ValueError as error:
        with contextlib.suppress(ValueError):
            return board.parse_uci(word.replace("-", "").lower()).uci()
        raise ValueError(f"{error}".replace("san: ", "move: ")) from None


def _grades(board: chess.Board, operations: dict[str, str]) -> tuple[tuple[str, int], ...]:
    if "c8" in operations:
        points = operations["c8"].split()
        words = (operations.get("c9") or operations.get("c7", "")).split()
        if len(points) != len(words):
            raise ValueError(f"{len(words)} graded moves with {len(points)} grades")
        pairs = list(zip(words, points, strict=True))
    else:
        matches = [_GRADE.match(word) for word in operations.get("c0", "").replace(",", " ").split()]
        pairs = [(match[1], match[2]) for match in matches if match]
        if len(pairs) < len(matches):  # c0 is only a comment, after all
            return ()
    wrong = next((point for _, point in pairs if not point.isdecimal() or len(point) > 9), None)
    if wrong is not None:
        raise ValueError(f"grades are numbers of at most nine digits, not {quoted(wrong)}")
    return tuple((_move(board, word), int(point)) for word, point in pairs)


# --------------------------------------------------------------------------------------------------------------
# Solving
# --------------------------------------------------------------------------------------------------------------


def solve(task: Task) -> Solution:
    """Puts one position to the engine, which this process keeps for the next one. Failures end up in `error`."""
    analyst = _analysts.get(task.engine)
    if analyst is None:
        analyst = _analysts[task.engine] = _Analyst(task.engine)
    return analyst.solve(task.problem)


class _Analyst:
    """A running engine on an event loop of its own; started anew after a failure."""

    def __init__(self, spec: EngineSpec) -> None:
        self._spec = spec
        self._loop = asyncio.new_event_loop()
        # What an engine's death leaves in python-chess's other futures is told once already, by the one awaited.
        self._loop.set_exception_handler(lambda loop, context: None)
        self._protocol: chess.engine.UciProtocol | None = None
        self._transport: asyncio.SubprocessTransport | None = None

    def solve(self, problem: Problem) -> Solution:
        try:
            return self._loop.run_until_complete(self._solve(problem))
        except EngineFaultError as error:
            self._loop.run_until_complete(self._end())
            return Solution(self._spec.name, problem.name, most=problem.most, error=str(error))

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.run_until_complete(self._end())
            self._loop.close()

    async def _start(self) -> chess.engine.UciProtocol:
        spec = self._spec
        # An engine may tell what it is doing before it is ready; python-chess would log each line as a surprise.
        chess.engine.LOGGER.setLevel(logging.CRITICAL)
        try:
            command = [spec.resolved_program(), *spec.command[1:]]
            # Not popen_uci: it initialises out of our reach, and would leave a silent engine running.
            transport, protocol = await WatchedProtocol.popen(command, cwd=spec.directory)
        except (OSError, EngineSpecError) as error:
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise EngineFaultError(Termination.NOT_STARTED, f"cannot be started: {why}") from None
        self._transport, self._protocol = transport, protocol
        await protocol.start(dict(spec.options))
        return protocol

    async def _end(self) -> None:
        protocol, transport = self._protocol, self._transport
        self._protocol = self._transport = None
        if protocol is None or transport is None:
            return
        with contextlib.suppress(TimeoutError, chess.engine.EngineError):
            async with asyncio.timeout(QUIT_SECONDS):
                await protocol.quit()
        with contextlib.suppress(ProcessLookupError):
            transport.kill()
        transport.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(QUIT_SECONDS):
                await asyncio.shield(protocol.returncode)

    async def _solve(self, problem: Problem) -> Solution:
        protocol = self._protocol or await self._start()
        limit = self._spec.limit
        patience = READY_SECONDS + (limit.movetime + GRACE_SECONDS if limit.movetime else SILENCE_SECONDS)
        try:
            async with asyncio.timeout(patience):
                return await self._watch(protocol, problem, limit)
        except TimeoutError:
            raise EngineFaultError(Termination.HANG, f"gave no move for {patience:g} s") from None
        except chess.engine.EngineError as error:
            raise EngineFaultError(Termination.CRASH, str(error)) from None

    async def _watch(self, protocol: chess.engine.UciProtocol, problem: Problem, limit: TimeControl) -> Solution:
        board = chess.Board(problem.fen)
        began = self._loop.time()
        right_since: tuple[float, int] | None = None
        last: dict[str, Any] = {}
        # A new game for each position: the answer must not depend on what was asked before.
        allowed = chess.engine.Limit(time=limit.movetime, nodes=limit.nodes, depth=limit.depth)
        with await protocol.analysis(board, allowed, game=object()) as analysis:
            async for info in analysis:
                if info.get("multipv", 1) != 1:
                    continue
                last.update(info)
                if not info.get("pv"):
                    continue
                if problem.points(info["pv"][0], _mate(last)) < problem.most:
                    right_since = None
                elif right_since is None:
                    right_since = (self._loop.time() - began, int(last.get("nodes", 0)))
            answer = await analysis.wait()
        seconds = self._loop.time() - began
        points = problem.points(answer.move, _mate(last))
        nodes = int(last.get("nodes", 0))
        if points < problem.most:
            right_since = None
        elif right_since is None:  # it never showed the move before it played it
            right_since = (seconds, nodes)
        return Solution(
            engine=self._spec.name,
            problem=problem.name,
            move=board.san(answer.move) if answer.move else "",
            points=points,
            most=problem.most,
            seconds_to_solution=right_since[0] if right_since else None,
            nodes_to_solution=right_since[1] if right_since else None,
            seconds=seconds,
            nodes=nodes,
            depth=int(last.get("depth", 0)),
            centipawns=last["score"].relative.score() if "score" in last else None,
            mate=_mate(last),
            error="" if answer.move else "gave no move",
        )


def _mate(info: dict[str, Any]) -> int | None:
    score: chess.engine.PovScore | None = info.get("score")
    return score.relative.mate() if score is not None else None


_analysts: dict[EngineSpec, _Analyst] = {}


@atexit.register
def close_engines() -> None:
    """Ends the engines that `solve` keeps."""
    while _analysts:
        _analysts.popitem()[1].close()
