"""Perft counts the legal move sequences of a given length, to test the move generator."""

from __future__ import annotations

import numpy as np

from engine.board.generate import count_legal, generate_all
from engine.board.make import apply_move
from engine.board.moves import MAX_MOVES
from engine.board.position import POSITION
from engine.compiler.jit import kernel, subkernel

#: The position and the moves of one ply in perft.
PERFT_FRAME = np.dtype([("position", POSITION), ("moves", np.int32, (MAX_MOVES,))], align=True)

#: The largest depth. From most positions, a perft this deep would take longer than a lifetime.
MAX_PERFT_DEPTH = 32


#: A node checks the stop flag if at least this many plies remain. Even with 218 moves in each position, only about
#: 30 ms pass between two checks.
STOP_DEPTH = 3


@subkernel
def count_replies(frame, child):
    """Returns the number of sequences of two legal moves from `frame`, as int64. Mutates `frame.moves` and `child`."""
    total = np.int64(0)
    count = generate_all(frame.position, frame.moves, 0)
    for index in range(count):
        # Counting needs no keys.
        apply_move(frame.position, child, np.int64(frame.moves[index]))
        total += count_legal(child)
    return total


@subkernel
def count_sequences(stack, ply, depth, stop):
    """Returns the number of sequences of `depth` >= 1 legal moves from `stack[ply]`, as int64. Mutates `stack`.

    `stop` is int64[1]; if it is nonzero, the count ends early and is invalid.
    """
    frame = stack[ply]
    child = stack[ply + 1].position
    if depth == 1:
        return count_legal(frame.position)
    if depth == 2:
        return count_replies(frame, child)
    if depth >= STOP_DEPTH and stop[0] != 0:
        return np.int64(0)
    total = np.int64(0)
    count = generate_all(frame.position, frame.moves, 0)
    for index in range(count):
        apply_move(frame.position, child, np.int64(frame.moves[index]))
        total += count_sequences(stack, ply + 1, depth - 1, stop)
    return total


@kernel
def perft_kernel(stack, depth, move, first, last, stop):
    """Returns the number of sequences of `depth` >= 1 legal moves from `stack[0]` that begin with `move`, as int64.

    If `depth` >= 2, it counts only sequences whose second move has an index from `first` to `last - 1` in the order of
    the generator; 0 and MAX_MOVES include all sequences. `stack` is PERFT_FRAME[depth + 1]; frames after the first
    may be mutated. `stop` is int64[1]; if it becomes nonzero, the count ends early and is invalid.
    """
    reply = stack[1]
    apply_move(stack[0].position, reply.position, move)
    if depth == 1:
        return np.int64(1)
    last = min(last, generate_all(reply.position, reply.moves, 0))
    if depth == 2:
        return np.int64(max(last - first, 0))
    total = np.int64(0)
    for index in range(first, last):
        apply_move(reply.position, stack[2].position, np.int64(reply.moves[index]))
        total += count_sequences(stack, 2, depth - 2, stop)
    return total
