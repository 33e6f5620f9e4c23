"""Perft: the number of move sequences of a given length, which proves a move generator."""

from __future__ import annotations

import numpy as np

from engine.board.generate import ALL_MOVES, count_legal, generate
from engine.board.make import make_move
from engine.board.moves import MAX_MOVES
from engine.board.position import POSITION
from engine.jit import kernel, subkernel

#: One ply of a perft walk.
PERFT_FRAME = np.dtype([("position", POSITION), ("moves", np.int32, (MAX_MOVES,))], align=True)

#: Deeper than any perft that ends within a lifetime.
MAX_PERFT_DEPTH = 32


@subkernel
def count_sequences(stack, ply, depth):
    """Sequences of `depth` (at least 1) legal moves from `stack[ply].position`, int64. Mutates deeper frames."""
    frame = stack[ply]
    if depth == 1:
        return count_legal(frame.position)
    total = 0
    count = generate(frame.position, frame.moves, 0, ALL_MOVES)
    for index in range(count):
        make_move(frame.position, stack[ply + 1].position, np.int64(frame.moves[index]))
        if depth == 2:
            total += count_legal(stack[ply + 1].position)
        else:
            total += count_sequences(stack, ply + 1, depth - 1)
    return total


@kernel
def perft_kernel(stack, depth):
    """Perft of `stack[0].position` to `depth` plies (at least 1), int64.

    `stack` is PERFT_FRAME[depth or more]; all but the first position is mutated.
    """
    return count_sequences(stack, 0, depth)
