"""Accumulators: the sums of the network's first layer for each ply of a line, updated only when needed.

Most moves change two to four features. So a ply's accumulator is usually that of the ply before, plus a few rows of
weights and minus a few others. No update has to be undone, because every ply has its own accumulators, one for each
perspective. `computed` says which of them match the position. Code that writes a position must clear the ply's bits.

`stack` is an array of records with at least two fields: `position`, a POSITION, and `move`, the move that led to the
next frame (NO_MOVE for a null move). `accumulators` is an `accumulator_stack` record for as many plies.
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, bit, lsb, without_lsb
from engine.board.generate import castling_targets
from engine.board.moves import CAPTURE, CASTLING, EN_PASSANT, NO_MOVE, move_kind, move_origin, move_target
from engine.board.position import KING, OCCUPIED, ROOK, WHITE, piece_at
from engine.compiler.jit import inlined, subkernel
from eval.kernels.features import feature, orientation
from eval.kernels.vectors import add_add_sub_sub, add_block, add_sub, add_sub_sub, copy_block
from eval.network.layout import BLOCK


@inlined
def accumulator_start(network, ply, perspective):
    """Returns the index in `accumulators.values` where `perspective`'s accumulator at `ply` begins, as int64."""
    return (2 * ply + perspective) * network.hidden


@inlined
def forget_accumulators(accumulators, ply):
    """Marks both accumulators of a ply as not computed, because its position has changed. Mutates `accumulators`."""
    accumulators.computed[ply] = 0


@inlined
def _is_computed(accumulators, ply, perspective):
    return (accumulators.computed[ply] >> perspective) & 1 != 0


@subkernel
def refresh(network, accumulators, stack, ply, perspective):
    """Computes the accumulator of `perspective` at `ply` from the position alone. Mutates `accumulators`."""
    position = stack[ply].position
    turned = orientation(position, perspective)
    hidden = network.hidden
    start = accumulator_start(network, ply, perspective)
    for index in range(0, hidden, BLOCK):
        copy_block(accumulators.values, start + index, network.bias, index)
    remaining = position.pieces[OCCUPIED]
    while remaining != U0:
        square = lsb(remaining)
        color = np.int64(1 if position.colors[WHITE] & bit(square) != U0 else 0)
        row = hidden * feature(perspective, turned, color, piece_at(position, square), square)
        for index in range(0, hidden, BLOCK):
            add_block(
                accumulators.values, start + index, accumulators.values, start + index, network.features, row + index
            )
        remaining = without_lsb(remaining)
    accumulators.computed[ply] |= 1 << perspective


@inlined
def _advance_castling(network, accumulators, source, target, perspective, turned, us, king, rook):
    """Computes the accumulator at index `target` from that at `source` for a castling move. Mutates `accumulators`."""
    hidden = network.hidden
    king_to, rook_to = castling_targets(king, rook)
    plus = hidden * feature(perspective, turned, us, KING, king_to)
    plus_too = hidden * feature(perspective, turned, us, ROOK, rook_to)
    minus = hidden * feature(perspective, turned, us, KING, king)
    minus_too = hidden * feature(perspective, turned, us, ROOK, rook)
    for index in range(0, hidden, BLOCK):
        add_add_sub_sub(
            accumulators.values,
            target + index,
            accumulators.values,
            source + index,
            network.features,
            plus + index,
            plus_too + index,
            minus + index,
            minus_too + index,
        )


@subkernel
def advance(network, accumulators, stack, ply, perspective):
    """Computes the accumulator at `ply` + 1 from that of `ply`, in the same orientation. Mutates `accumulators`."""
    position = stack[ply].position
    child = stack[ply + 1].position
    move = stack[ply].move
    hidden = network.hidden
    source = accumulator_start(network, ply, perspective)
    target = accumulator_start(network, ply + 1, perspective)
    accumulators.computed[ply + 1] |= 1 << perspective
    if move == NO_MOVE:
        for index in range(0, hidden, BLOCK):
            copy_block(accumulators.values, target + index, accumulators.values, source + index)
        return
    turned = orientation(position, perspective)
    us = position.turn
    origin, destination, kind = move_origin(move), move_target(move), move_kind(move)
    if kind == CASTLING:
        _advance_castling(network, accumulators, source, target, perspective, turned, us, origin, destination)
        return
    minus = hidden * feature(perspective, turned, us, piece_at(position, origin), origin)
    # After a promotion, the piece on the target square differs from the pawn that moved.
    plus = hidden * feature(perspective, turned, us, piece_at(child, destination), destination)
    if kind & CAPTURE == 0:
        for index in range(0, hidden, BLOCK):
            add_sub(
                accumulators.values,
                target + index,
                accumulators.values,
                source + index,
                network.features,
                plus + index,
                minus + index,
            )
        return
    square = destination ^ 8 if kind == EN_PASSANT else destination
    taken = hidden * feature(perspective, turned, us ^ 1, piece_at(position, square), square)
    for index in range(0, hidden, BLOCK):
        add_sub_sub(
            accumulators.values,
            target + index,
            accumulators.values,
            source + index,
            network.features,
            plus + index,
            minus + index,
            taken + index,
        )


@subkernel
def update(network, accumulators, stack, ply, perspective):
    """Computes `perspective`'s accumulator at `ply`, and at earlier plies if necessary. Mutates `accumulators`.

    Goes back to the last computed accumulator of `perspective`, but not past a change of orientation, which changes
    every feature. If it finds none, it refreshes the earliest ply reached: other lines can reuse that accumulator.
    """
    turned = orientation(stack[ply].position, perspective)
    base = ply
    while (
        not _is_computed(accumulators, base, perspective)
        and base > 0
        and orientation(stack[base - 1].position, perspective) == turned
    ):
        base -= 1
    if not _is_computed(accumulators, base, perspective):
        refresh(network, accumulators, stack, base, perspective)
    while base < ply:
        advance(network, accumulators, stack, base, perspective)
        base += 1
