"""Loads kernels before they are needed, from the cache or by compiling them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import chess
import numpy as np

from engine.board.convert import encode, from_board
from engine.board.make import complete_position
from engine.board.moves import MAX_MOVES
from engine.board.perft import PERFT_FRAME, perft_kernel
from engine.compiler import compiling
from engine.memory import allocate
from eval.kernels.classical import SUMMARY, evaluation_terms
from eval.kernels.endings import chosen_evaluation
from eval.kernels.inference import LINE_FRAME, evaluate_line, rate_line
from eval.kernels.workspace import new_workspace
from eval.network.layout import MAX_HIDDEN, accumulator_stack, new_network
from eval.weights import COUNT
from search.kernels.aspiration import search_iteration
from search.kernels.retrograde import ENDING, solve_entries
from search.kernels.score import NO_SCORE
from search.kernels.transposition import allocate_table, hashfull
from search.kernels.worker import STOP, new_worker


def _load_board() -> None:
    complete_position(from_board(chess.Board()))


def _load_search() -> None:
    worker = new_worker()
    worker["stack"][0]["position"] = from_board(chess.Board())
    worker["stop"] = STOP
    search_iteration(worker, allocate_table(1), 1, NO_SCORE)


def _load_hashfull() -> None:
    hashfull(allocate_table(1), 0)


def _load_evaluation() -> None:
    trace, summary = np.zeros((2, COUNT), np.int32), np.zeros(SUMMARY, np.int64)
    evaluation_terms(from_board(chess.Board()), new_workspace(), trace, summary)


def _load_network() -> None:
    evaluate_line(*_line())


def _line() -> tuple[Any, ...]:
    frames = allocate(LINE_FRAME, 1)
    frames[0]["position"] = from_board(chess.Board())
    return new_network(), allocate(accumulator_stack(1), 1)[0], frames, 0


def _load_policy() -> None:
    inputs, moves = allocate(np.dtype(np.int8), MAX_HIDDEN), allocate(np.dtype(np.int32), MAX_MOVES)
    rate_line(*_line(), inputs, moves, allocate(np.dtype(np.int64), MAX_MOVES))


def _load_retrograde() -> None:
    tables = [allocate(np.dtype(np.uint8), 1) for _ in range(4)]
    solve_entries(allocate(ENDING, 1)[0], 0, 0, 0, *tables)


def _load_endings() -> None:
    chosen_evaluation(from_board(chess.Board()), 0)


def _load_perft() -> None:
    stack = allocate(PERFT_FRAME, 2)
    board = chess.Board()
    stack[0]["position"] = from_board(board)
    perft_kernel(stack, 1, encode(board, chess.Move.from_uci("e2e4")), 0, MAX_MOVES, np.zeros(1, np.int64))


#: The kernels that a game needs, in the order of their use: (name, kernel, function that loads the kernel).
PLAYING: Final[tuple[tuple[str, Any, Callable[[], None]], ...]] = (
    ("board", complete_position, _load_board),
    ("search", search_iteration, _load_search),
    ("table", hashfull, _load_hashfull),
    ("retrograde", solve_entries, _load_retrograde),
)
#: The kernels that `secateur perft` needs.
PERFT: Final = (PLAYING[0], ("perft", perft_kernel, _load_perft))
#: All kernels that a library contains, including those that only tools need.
EVERYTHING: Final = (
    *PLAYING,
    ("evaluation", evaluation_terms, _load_evaluation),
    ("network", evaluate_line, _load_network),
    ("policy", rate_line, _load_policy),
    ("endings", chosen_evaluation, _load_endings),
    PERFT[1],
)


def load_kernels(
    kernels: tuple[tuple[str, Any, Callable[[], None]], ...] = PLAYING,
    on_step: Callable[[int, int, str], None] | None = None,
) -> int:
    """Loads `kernels`; returns how many were compiled because the cache did not contain them.

    `on_step(index, count, name)` is called before each kernel is loaded; `index` counts from 0.
    """
    compiled = 0
    for index, (name, dispatcher, load) in enumerate(kernels):
        if on_step is not None:
            on_step(index, len(kernels), name)
        compiling.set_place(index + 1, len(kernels))
        load()
        statistics = getattr(dispatcher, "stats", None)
        if statistics is not None and not statistics.cache_hits:
            compiled += 1
    compiling.set_place(0, 0)
    return compiled
