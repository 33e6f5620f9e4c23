"""Kernels and helpers through which the tests of this room look at the board kernels.

Wrappers are subkernels: callable from Python like any other, but without a file in the user's kernel cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import chess
import numpy as np

from engine.board.bits import U0
from engine.board.convert import encode, from_board
from engine.board.draws import has_insufficient_material, is_fifty_move_draw
from engine.board.exchange import EXCHANGE_VALUES, check_squares, gives_check, see_ge
from engine.board.generate import count_legal, generate_all, generate_checks, generate_noisy, generate_quiets
from engine.board.make import compute_keys, make_move, make_null_move
from engine.board.moves import MAX_MOVES
from engine.board.perft import PERFT_FRAME, perft_kernel
from engine.board.position import POSITION
from engine.compiler.jit import subkernel
from engine.memory import allocate, readable


@subkernel
def _survey(position: Any, moves: Any, counts: Any, children: Any, checks: Any) -> Any:
    counts[0] = generate_all(position, moves[0], 0)
    counts[1] = generate_noisy(position, moves[1], 0)
    counts[2] = generate_quiets(position, moves[2], 0)
    counts[3] = count_legal(position)
    counts[4] = generate_checks(position, moves[3], 0, check_squares(position)) if position.checkers == U0 else 0
    for index in range(counts[0]):
        move = np.int64(moves[0, index])
        make_move(position, children[index], move)
        checks[index] = gives_check(position, move)


@subkernel
def exchange_value(position: Any, move: Any) -> Any:
    """The largest threshold that `see_ge` confirms, by bisection."""
    low, high = np.int64(-50_000), np.int64(50_000)
    while low < high:
        middle = (low + high + 1) >> 1
        if see_ge(position, move, middle):
            low = middle
        else:
            high = middle - 1
    return low


@subkernel
def insufficient_material(position: Any) -> Any:
    return has_insufficient_material(position)


@dataclass
class Survey:
    """What the kernels say of one position. `children` is overwritten by the next survey."""

    moves: list[int]
    noisy: list[int]
    quiet: list[int]
    quiet_checks: list[int]
    count: int
    children: Any
    checks: list[bool]


class Surveyor:
    """Calls `_survey` with arrays of its own."""

    def __init__(self) -> None:
        self.moves = np.zeros((4, MAX_MOVES), np.int32)
        self.counts = np.zeros(5, np.int64)
        self.children = allocate(POSITION, MAX_MOVES)
        self.checks = np.zeros(MAX_MOVES, np.bool_)

    def __call__(self, position: Any) -> Survey:
        _survey(position, self.moves, self.counts, self.children, self.checks)
        total, noisy, quiet, count, quiet_checks = self.counts.tolist()
        return Survey(
            self.moves[0, :total].tolist(),
            self.moves[1, :noisy].tolist(),
            self.moves[2, :quiet].tolist(),
            self.moves[3, :quiet_checks].tolist(),
            count,
            self.children,
            self.checks[:total].tolist(),
        )


def perft(board: chess.Board, depth: int) -> int:
    """Perft by the kernel itself, without the threads of `search.perft`."""
    stack = allocate(PERFT_FRAME, depth + 1)
    stack[0]["position"] = from_board(board)
    stop = np.zeros(1, np.int64)
    return sum(int(perft_kernel(stack, depth, encode(board, move), 0, MAX_MOVES, stop)) for move in board.legal_moves)


def fields(position: Any) -> dict[str, Any]:
    """A position record as plain Python, for comparisons whose failure can be read."""
    return {name: np.asarray(position[name]).tolist() for name in POSITION.names or ()}


def fields_with_keys(position: Any) -> dict[str, Any]:
    """The fields of a position whose keys are computed anew."""
    copy = readable(np.array([position]))[0]
    compute_keys(copy)
    return fields(copy)


def portrait(fen: str, chess960: bool, depth: int = 2) -> dict[str, Any]:
    """All that the kernels say of a position, as plain Python: for comparing ways to run them."""
    board = chess.Board(fen, chess960=chess960)
    position = from_board(board)
    survey = Surveyor()(position)
    null = allocate(POSITION, 1)[0]
    if not board.is_check():
        make_null_move(position, null)
    return {
        "position": fields(position),
        "moves": survey.moves,
        "noisy": survey.noisy,
        "quiet": survey.quiet,
        "quiet checks": survey.quiet_checks,
        "count": survey.count,
        "checks": survey.checks,
        "children": [fields(child) for child in survey.children[: survey.count]],
        "null": fields(null),
        "keys": [fields_with_keys(child) for child in survey.children[: survey.count]],
        "exchanges": [int(exchange_value(position, np.int64(move))) for move in survey.moves],
        "values": EXCHANGE_VALUES.tolist(),
        "fifty": bool(is_fifty_move_draw(position)),
        "insufficient": bool(insufficient_material(position)),
        "perft": [perft(board, ply) for ply in range(1, depth + 1)],
    }
