"""The policy: it rates quiet moves from the accumulators that the evaluation already has.

The rating of a move, its logit, is the sum of two dot products and a bias (see `eval.network.layout`). The softmax of
the logits of all legal quiet moves estimates how likely each is the best of them. One row of weights belongs to the
moving piece and its origin, the other to the piece, its target and the danger there; the side to move sees its own
squares, as in `eval.kernels.features`.

    danger  0  no enemy piece attacks the square
            1  enemy pieces attack it, but not as in 2
            2  on the origin: an enemy piece of less value attacks it; never for a pawn or a king
               on the target: the move loses material by SEE

A bias belongs to the dangers on origin and target, to the piece, and to whether it checks from the target.
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, bit
from engine.board.exchange import check_squares, see_ge
from engine.board.generate import attacked_squares
from engine.board.moves import move_origin, move_target
from engine.board.position import piece_at
from engine.compiler.jit import inlined, subkernel
from eval.kernels.accumulator import accumulator_start, update
from eval.kernels.features import orientation
from eval.kernels.vectors import activate_bytes, byte_dot
from eval.network.layout import ORIGIN_ROWS


@inlined
def move_view(position):
    """Returns what `move_rows` needs to know of a position, as uint64 bitboards: `lesser`, `everything`, `checks`.

    `lesser` has, by piece type, the squares that enemy pieces of less value attack; `everything` is all squares that
    the enemy attacks; `checks` has, by piece type, the squares from which such a piece would check.
    """
    pawns, minors, rooks, everything = attacked_squares(position, position.turn ^ 1)
    lesser = (U0, U0, pawns, pawns, minors, rooks, U0)
    return lesser, everything, check_squares(position)


@inlined
def move_rows(position, turned, lesser, everything, checks, move):
    """Returns a quiet move's rows of its origin and target, and its class, three int64. `turned` is the orientation."""
    origin, target = move_origin(move), move_target(move)
    piece = piece_at(position, origin)
    plane = (piece - 1) * 64
    before, after = np.int64(0), np.int64(0)
    if everything & bit(origin) != U0:
        before = np.int64(2 if lesser[piece] & bit(origin) != U0 else 1)
    if everything & bit(target) != U0:
        after = np.int64(1 if see_ge(position, move, 0) else 2)
    check = 1 if checks[piece] & bit(target) != U0 else 0
    row = ORIGIN_ROWS * (1 + after) + plane + (target ^ turned)
    return plane + (origin ^ turned), row, ((before * 3 + after) * 2 + check) * 6 + piece - 1


@inlined
def write_inputs(network, accumulators, stack, ply, inputs):
    """Computes the accumulators at `ply` and writes the policy's inputs, 0 to 127, into `inputs`, int8[hidden].

    The side to move's half comes first. Mutates `inputs` and `accumulators`.
    """
    update(network, accumulators, stack, ply, 0)
    update(network, accumulators, stack, ply, 1)
    us, half = stack[ply].position.turn, network.hidden // 2
    activate_bytes(inputs, 0, accumulators.values, accumulator_start(network, ply, us), half)
    activate_bytes(inputs, half, accumulators.values, accumulator_start(network, ply, us ^ 1), half)


@subkernel
def write_logits(network, accumulators, stack, ply, inputs, moves, count, logits):
    """Writes the logits of `count` quiet legal moves at `ply`, in units of 1 / LOGIT, into `logits`.

    `network` must have a policy. `moves` is int32[n] and `logits` int64[n], with n >= count; `inputs`, int8[hidden], is
    scratch. Mutates `logits`, `inputs` and `accumulators`.
    """
    write_inputs(network, accumulators, stack, ply, inputs)
    position = stack[ply].position
    hidden = network.hidden
    turned = orientation(position, position.turn)
    lesser, everything, checks = move_view(position)
    last, of_origin = -1, 0
    for index in range(count):
        origin, target, move_class = move_rows(position, turned, lesser, everything, checks, np.int64(moves[index]))
        # Most moves of a piece follow each other.
        if origin != last:
            last, of_origin = origin, byte_dot(inputs, network.policy_rows, origin * hidden, hidden)
        of_target = byte_dot(inputs, network.policy_rows, target * hidden, hidden)
        logits[index] = of_origin + of_target + network.policy_bias[move_class]
