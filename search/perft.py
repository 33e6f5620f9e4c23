"""Perft over several threads: the tree is cut below the second ply and the pieces are shared out."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import chess

from engine.board.convert import write_board
from engine.board.perft import MAX_PERFT_DEPTH, PERFT_FRAME, perft_kernel
from engine.jit import allocate

#: From this depth on the tree is cut at the second ply: enough pieces to keep threads evenly busy.
SPLIT_DEPTH = 4


@dataclass(frozen=True)
class _Piece:
    """A subtree to count: the root move it belongs to and the position below it."""

    root: int
    board: chess.Board
    depth: int


def _pieces(board: chess.Board, moves: list[chess.Move], depth: int) -> Iterator[_Piece]:
    for index, move in enumerate(moves):
        below = board.copy(stack=False)
        below.push(move)
        if depth < SPLIT_DEPTH:
            yield _Piece(index, below, depth - 1)
            continue
        for reply in below.legal_moves:
            position = below.copy(stack=False)
            position.push(reply)
            yield _Piece(index, position, depth - 2)


def count_by_move(
    board: chess.Board,
    depth: int,
    threads: int = 1,
    on_progress: Callable[[float], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> dict[chess.Move, int] | None:
    """Perft to `depth` plies, split by root move; None when `should_stop` said so in between.

    `on_progress` gets the finished share, 0 to 1. Raises ValueError for a depth below 1 or beyond MAX_PERFT_DEPTH.
    """
    if not 1 <= depth <= MAX_PERFT_DEPTH:
        raise ValueError(f"perft depth is 1 to {MAX_PERFT_DEPTH}, not {depth}")
    moves = list(board.legal_moves)
    counts = [1 if depth == 1 else 0] * len(moves)
    if depth == 1:
        return dict(zip(moves, counts, strict=True))
    pieces = list(_pieces(board, moves, depth))
    ticket = itertools.count()
    lock = threading.Lock()
    finished = 0
    failures: list[BaseException] = []

    def work() -> None:
        nonlocal finished
        stack = allocate(PERFT_FRAME, depth + 1)
        try:
            # next() on a C iterator is atomic under the GIL: each piece goes to one thread.
            while (index := next(ticket)) < len(pieces) and not should_stop():
                piece = pieces[index]
                write_board(piece.board, stack[0]["position"])
                count = int(perft_kernel(stack, piece.depth))
                with lock:
                    counts[piece.root] += count
                    finished += 1
                if on_progress is not None:
                    on_progress(finished / len(pieces))
        except BaseException as error:
            failures.append(error)
            raise

    helpers = [threading.Thread(target=work, name=f"perft {number}") for number in range(1, threads)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if failures:
        raise RuntimeError("a perft thread failed") from failures[0]
    return None if should_stop() else dict(zip(moves, counts, strict=True))
