"""EPD test suites with best and bad moves, graded moves or mates, for any UCI engine.

    bm                the best moves; the engine must play one of them
    am                the bad moves; the engine must play none of them
    bm #5, dm 5       a mate in at most 5 moves, which the engine must announce
    c8 with c9 or c7  graded moves (STS): c8 lists points; c9 or c7 lists the moves that earn them, in the same order
    c0 "f5=10, ..."   graded moves with their points in one operand, used if there is no c8

python-chess parses moves and talks to the engine. This module parses the operations, because many suites deviate from
the format, for example by moves in long notation, stray signs or mates as operands of `bm`.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import chess
import chess.engine

from bench.engines import EngineSpec
from bench.pgn import is_pgn
from bench.uci import READY_SECONDS, Engine, EngineFaultError, EnginePool, engine_pool
from engine.errors import CommandError
from engine.files import count_of, quoted, read_bytes, reason, shown

#: The quantifiers are possessive, so that the matching time is linear in the length of a line.
_OPERATION: Final = re.compile(r"\s*+([A-Za-z]\w*+)(?=\s|;|$)((?:\"[^\"]*+\"|[^;\"]++)*+)(?:;|$)")
_GRADE: Final = re.compile(r"(\S+)=(\d+)$")

#: Seconds that an engine may take beyond `movetime`, and seconds that it may take if only nodes or depth are limited.
GRACE_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 600.0


class SuiteError(CommandError, ValueError):
    """Raised if a suite cannot be used; the message names the file."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A position to solve. The best answer earns `most` points.

    `grades` has moves in UCI notation with their points. If it is empty, every move that is not in `bad` earns `most`.
    If `mate` is set, the move does not matter: the engine must announce a mate in at most `mate` moves.
    """

    name: str
    fen: str
    grades: tuple[tuple[str, int], ...] = ()
    bad: tuple[str, ...] = ()
    mate: int | None = None
    most: int = 1

    def points(self, move: chess.Move | None, mate: int | None) -> int:
        """Returns the points for `move` (0 for None). `mate` is the announced number of moves to mate, or None."""
        if move is None:
            return 0
        if self.mate is not None:
            return int(mate is not None and 0 < mate <= self.mate)
        if move.uci() in self.bad:
            return 0
        return dict(self.grades).get(move.uci(), 0) if self.grades else self.most


@dataclass(frozen=True, slots=True)
class Task:
    """A position, and the engine that solves it under the engine's limit. A task can be pickled."""

    engine: EngineSpec
    problem: Problem

    def failed(self, error: str) -> Solution:
        """Returns the solution of an engine that gave no answer because of `error`."""
        return Solution(self.engine.name, self.problem.name, most=self.problem.most, error=error)


@dataclass(frozen=True, slots=True)
class Solution:
    """An engine's answer to a position.

    `seconds_to_solution` and `nodes_to_solution` are the time and the nodes after which the engine's best move always
    earned all points. They are None if the final move does not earn all points. `error` says why there is no `move`.
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
    mate: int | None = None
    error: str = ""

    @property
    def is_solved(self) -> bool:
        """Whether the answer earned all points."""
        return not self.error and self.points == self.most


def load_suite(path: str | Path, problems: list[str]) -> list[Problem]:
    """Reads the positions of an EPD file. Skips invalid lines and reports them in `problems` as `file:line: reason`.

    Raises `SuiteError` if the file cannot be read or has no usable position.
    """
    path = Path(path)
    try:
        data = read_bytes(path, limit=64 << 20)
    except OSError as error:
        raise SuiteError(f"{shown(path)}: {reason(error)}") from None
    if is_pgn(data):
        raise SuiteError(f"{shown(path)}: contains games (PGN), not positions (EPD)")
    found = []
    for number, line in enumerate(data.decode("utf-8-sig", errors="replace").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found.append(parse_problem(line, f"{path.stem}:{number}"))
        except ValueError as error:
            problems.append(f"{shown(path)}:{number}: {shown(str(error))}")
    if not found:
        raise SuiteError(f"{shown(path)}: no usable test positions")
    return found


def parse_problem(line: str, name: str = "") -> Problem:
    """Parses an EPD line. `name` is the problem's name if the line has no id. Raises ValueError for an invalid line."""
    fields = line.split(maxsplit=4)
    if len(fields) < 5:
        raise ValueError("expected a position of four fields and at least one operation")
    try:
        board = chess.Board(" ".join(fields[:4]) + " 0 1")
    except ValueError as error:
        raise ValueError(f"invalid position: {error}") from None
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
        raise ValueError("nothing to solve: expected bm, am, dm or graded moves (c8 or c0)")
    return Problem(name, board.fen(), grades, bad, most=max((points for _, points in grades), default=1))


def _operations(text: str) -> Iterator[tuple[str, str]]:
    """Yields the opcode and the operands (one string) of each operation. Raises ValueError if one is invalid."""
    place = 0
    text = text.strip().lstrip(";")
    while place < len(text):
        match = _OPERATION.match(text, place)
        if match is None:
            raise ValueError(f"invalid operation: {quoted(text[place:].strip())}")
        yield match[1], match[2].strip().strip('"')
        place = match.end()


def _words(operands: str) -> list[str]:
    """Returns the words of an operand list, without words that consist only of stray check or annotation signs."""
    return [word for word in operands.replace(",", " ").split() if word.strip("+!?#")]


def _number(word: str) -> int:
    try:
        number = int(word)
    except ValueError:
        number = 0
    if not 0 < abs(number) < 1000:
        raise ValueError(f"the number of moves to mate must be 1 to 999 (got {quoted(word)})")
    return number


def _move(board: chess.Board, word: str) -> str:
    """Converts a move from SAN, long algebraic or UCI notation to UCI. Raises ValueError if the move is illegal."""
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
            raise ValueError(f"c8 has {count_of(len(points), 'grade')} for {count_of(len(words), 'move')} in c9 or c7")
        pairs = list(zip(words, points, strict=True))
    else:
        matches = [_GRADE.match(word) for word in operations.get("c0", "").replace(",", " ").split()]
        pairs = [(match[1], match[2]) for match in matches if match]
        if len(pairs) < len(matches):  # c0 is an ordinary comment
            return ()
    wrong = next((point for _, point in pairs if not point.isdecimal() or len(point) > 9), None)
    if wrong is not None:
        raise ValueError(f"grades must be numbers of at most nine digits (got {quoted(wrong)})")
    return tuple((_move(board, word), int(point)) for word, point in pairs)


def solve(task: Task) -> Solution:
    """Solves a position with an engine that this thread keeps for later tasks. `Solution.error` describes a failure."""
    pool = engine_pool()
    try:
        return pool.run(_solve(task, pool))
    except EngineFaultError as fault:
        return task.failed(str(fault))


async def _solve(task: Task, pool: EnginePool) -> Solution:
    limit = task.engine.limit
    patience = READY_SECONDS + (limit.movetime + GRACE_SECONDS if limit.movetime else SILENCE_SECONDS)
    engine = await pool.acquire(task.engine)
    try:
        async with engine.must_answer(patience):
            solution = await _watch(engine, task.problem)
    except EngineFaultError:
        await engine.end()
        raise
    await pool.release(engine)
    return solution


async def _watch(engine: Engine, problem: Problem) -> Solution:
    board = chess.Board(problem.fen)
    limit = engine.spec.limit
    began = time.monotonic()
    right_since: tuple[float, int] | None = None
    last: dict[str, Any] = {}
    # Each position is a new game, so that the answer does not depend on earlier positions.
    allowed = chess.engine.Limit(time=limit.movetime, nodes=limit.nodes, depth=limit.depth)
    with await engine.analysis(board, allowed, game=object()) as analysis:
        async for info in analysis:
            if info.get("multipv", 1) != 1:
                continue
            last.update(info)
            if not info.get("pv"):
                continue
            if problem.points(info["pv"][0], _mate(last)) < problem.most:
                right_since = None
            elif right_since is None:
                right_since = (time.monotonic() - began, int(last.get("nodes", 0)))
        answer = await analysis.wait()
    seconds, nodes = time.monotonic() - began, int(last.get("nodes", 0))
    mate = _mate(last)
    points = problem.points(answer.move, mate)
    if points < problem.most:
        right_since = None
    elif right_since is None:  # the engine played the move without having shown it in a PV
        right_since = (seconds, nodes)
    return Solution(
        engine=engine.spec.name,
        problem=problem.name,
        move=board.san(answer.move) if answer.move else "",
        points=points,
        most=problem.most,
        seconds_to_solution=right_since[0] if right_since else None,
        nodes_to_solution=right_since[1] if right_since else None,
        seconds=seconds,
        nodes=nodes,
        mate=mate,
        error="" if answer.move else "gave no move",
    )


def _mate(info: dict[str, Any]) -> int | None:
    score: chess.engine.PovScore | None = info.get("score")
    return score.relative.mate() if score is not None else None
