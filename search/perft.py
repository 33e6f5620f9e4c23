"""Perft on several threads: the tree is split by first or second moves, and a free thread takes the next part."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import chess
import numpy as np

from engine.board.convert import encode, write_board
from engine.board.moves import MAX_MOVES
from engine.board.perft import MAX_PERFT_DEPTH, PERFT_FRAME, perft_kernel
from engine.memory import allocate

#: With several threads, trees of at least this depth are split by second moves, so that the parts differ less in size.
SPLIT_DEPTH: Final = 4
#: The most second moves in a part. A larger number balances the threads less well; a smaller one costs Python time.
PIECE_SIZE: Final = 8


class Counter:
    """The perft of one position. Call `run` only once; any thread may call `stop`."""

    def __init__(self, board: chess.Board, depth: int, threads: int = 1) -> None:
        """Prepares a count on `threads` threads. Raises ValueError if `depth` is not 1 to MAX_PERFT_DEPTH."""
        if not 1 <= depth <= MAX_PERFT_DEPTH:
            raise ValueError(f"perft depth must be 1 to {MAX_PERFT_DEPTH} (got {depth})")
        self._board = board.copy(stack=False)
        self._depth = depth
        self._threads = threads
        self._moves = list(board.legal_moves)
        self._counts = [0] * len(self._moves)
        self._done = 0
        self._stop = np.zeros(1, np.int64)
        self._lock = threading.Lock()
        self._failure: Exception | None = None
        self._codes = [encode(self._board, move) for move in self._moves]
        # The parts: (index of the root move, index of its first reply, index after its last reply).
        self._pieces = [(root, 0, MAX_MOVES) for root in range(len(self._moves))]
        if threads > 1 and depth >= SPLIT_DEPTH:
            stack = self._new_stack()
            self._pieces = [
                (root, first, first + PIECE_SIZE)
                for root, code in enumerate(self._codes)
                for first in range(0, int(perft_kernel(stack, 2, code, 0, MAX_MOVES, self._stop)), PIECE_SIZE)
            ]
        # next() on a C iterator is atomic under the GIL, so each part goes to one thread.
        self._ticket = itertools.count()

    def _new_stack(self) -> Any:
        """Returns new frames for one thread, one for each ply; the first contains the root position."""
        stack = allocate(PERFT_FRAME, self._depth + 1)
        write_board(self._board, stack[0]["position"])
        return stack

    def stop(self) -> None:
        """Makes the count end within milliseconds; `run` then returns None."""
        self._stop[0] = 1

    def run(self, on_progress: Callable[[float], None] | None = None) -> dict[chess.Move, int] | None:
        """Returns the perft of each root move, or None if `stop` was called. Raises RuntimeError if a thread fails.

        A thread that has counted a part calls `on_progress` with the share of all parts that are now counted, 0 to 1.
        Calls do not overlap, and the share grows with each call.
        """
        workers = [
            threading.Thread(target=self._work, args=(on_progress,), name=f"perft {number}")
            for number in range(self._threads)
        ]
        started = []
        for worker in workers:
            with suppress(RuntimeError):  # no more threads can start: the others count everything
                worker.start()
                started.append(worker)
        if not started:
            self._work(on_progress)
        try:
            for worker in started:
                # A join without a time limit would delay Ctrl-C until the kernels end.
                while worker.is_alive():
                    worker.join(0.05)
        except BaseException:
            self.stop()
            raise
        if self._failure is not None:
            raise RuntimeError("a perft thread failed") from self._failure
        return None if self._stop[0] else dict(zip(self._moves, self._counts, strict=True))

    def _work(self, on_progress: Callable[[float], None] | None) -> None:
        """Counts parts until none is left or `stop` is called. An exception stops all threads and is stored."""
        try:
            stack = self._new_stack()
            while (ticket := next(self._ticket)) < len(self._pieces) and not self._stop[0]:
                root, first, last = self._pieces[ticket]
                count = int(perft_kernel(stack, self._depth, self._codes[root], first, last, self._stop))
                with self._lock:
                    self._counts[root] += count
                    self._done += 1
                    if on_progress is not None:
                        on_progress(self._done / len(self._pieces))
        except Exception as error:
            self._failure = error
            self.stop()


def count_by_move(
    board: chess.Board, depth: int, threads: int = 1, on_progress: Callable[[float], None] | None = None
) -> dict[chess.Move, int]:
    """Returns the perft of `depth` plies, split by root move; `Counter.run` describes `on_progress`.

    Raises ValueError if `depth` is not 1 to MAX_PERFT_DEPTH, and RuntimeError if a thread fails.
    """
    counts = Counter(board, depth, threads).run(on_progress)
    assert counts is not None, "the count was stopped"
    return counts
