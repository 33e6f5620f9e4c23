"""Accumulators: the first layer's sums for each ply of a line, brought up to date only where they are needed.

A move changes two to four features, so a ply's accumulator is its parent's and a few rows more or less. Nothing is
undone: every ply has its own, and `computed` says whether it is of the position that stands there now. Whoever writes a
new position into a frame clears that ply's bits.

`frames` are records with at least `position` (a POSITION) and `move`, the move that led to the next frame (NO_MOVE for
a null move); `stack` is an `accumulator_stack` with as many plies.
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, bit, lsb, without_lsb
from engine.board.generate import castling_targets
from engine.board.moves import CAPTURE, CASTLING, EN_PASSANT, NO_MOVE, move_kind, move_origin, move_target
from engine.board.position import KING, OCCUPIED, ROOK, WHITE, piece_at
from engine.jit import inlined, subkernel
from eval.network.features import feature, orientation
from eval.network.layout import BLOCK
from eval.network.vectors import add_block, capture_block, castle_block, copy_block, move_block


@inlined
def accumulator_start(network, ply, perspective):
    """Where an accumulator begins in `stack.values`, int64."""
    return (2 * ply + perspective) * network.hidden


@inlined
def forget_accumulators(stack, ply):
    """The position of a ply has changed. Mutates `stack`."""
    stack.computed[ply] = 0


@inlined
def _is_computed(stack, ply, perspective):
    return (stack.computed[ply] >> perspective) & 1 != 0


@subkernel
def refresh(network, stack, frames, ply, perspective):
    """Computes an accumulator from nothing but the position. Mutates `stack`."""
    position = frames[ply].position
    turned = orientation(position, perspective)
    hidden = network.hidden
    start = accumulator_start(network, ply, perspective)
    for index in range(0, hidden, BLOCK):
        copy_block(stack.values, start + index, network.bias, index)
    remaining = position.pieces[OCCUPIED]
    while remaining != U0:
        square = lsb(remaining)
        color = np.int64(1 if position.colors[WHITE] & bit(square) != U0 else 0)
        row = hidden * feature(perspective, turned, color, piece_at(position, square), square)
        for index in range(0, hidden, BLOCK):
            add_block(stack.values, start + index, stack.values, start + index, network.features, row + index)
        remaining = without_lsb(remaining)
    stack.computed[ply] |= 1 << perspective


@inlined
def _advance_castling(network, stack, source, target, perspective, turned, us, king, rook):
    """Writes the accumulator after castling. Mutates `stack`."""
    hidden = network.hidden
    king_to, rook_to = castling_targets(king, rook)
    plus = hidden * feature(perspective, turned, us, KING, king_to)
    plus_too = hidden * feature(perspective, turned, us, ROOK, rook_to)
    minus = hidden * feature(perspective, turned, us, KING, king)
    minus_too = hidden * feature(perspective, turned, us, ROOK, rook)
    for index in range(0, hidden, BLOCK):
        castle_block(
            stack.values,
            target + index,
            stack.values,
            source + index,
            network.features,
            plus + index,
            plus_too + index,
            minus + index,
            minus_too + index,
        )


@subkernel
def advance(network, stack, frames, ply, perspective):
    """Computes the accumulator of `ply` + 1 from that of `ply` and the move; both have one orientation.

    Mutates `stack`.
    """
    position = frames[ply].position
    child = frames[ply + 1].position
    move = frames[ply].move
    hidden = network.hidden
    source = accumulator_start(network, ply, perspective)
    target = accumulator_start(network, ply + 1, perspective)
    stack.computed[ply + 1] |= 1 << perspective
    if move == NO_MOVE:
        for index in range(0, hidden, BLOCK):
            copy_block(stack.values, target + index, stack.values, source + index)
        return
    turned = orientation(position, perspective)
    us = position.turn
    origin, destination, kind = move_origin(move), move_target(move), move_kind(move)
    if kind == CASTLING:
        _advance_castling(network, stack, source, target, perspective, turned, us, origin, destination)
        return
    minus = hidden * feature(perspective, turned, us, piece_at(position, origin), origin)
    # The piece that has arrived is another one after a promotion.
    plus = hidden * feature(perspective, turned, us, piece_at(child, destination), destination)
    if kind & CAPTURE == 0:
        for index in range(0, hidden, BLOCK):
            move_block(
                stack.values,
                target + index,
                stack.values,
                source + index,
                network.features,
                plus + index,
                minus + index,
            )
        return
    square = destination ^ 8 if kind == EN_PASSANT else destination
    taken = hidden * feature(perspective, turned, us ^ 1, piece_at(position, square), square)
    for index in range(0, hidden, BLOCK):
        capture_block(
            stack.values,
            target + index,
            stack.values,
            source + index,
            network.features,
            plus + index,
            minus + index,
            taken + index,
        )


@subkernel
def update(network, stack, frames, ply, perspective):
    """Computes the accumulator of `ply`, and those of the plies before it that it follows from. Mutates `stack`.

    Goes back to the last ply that has one, or to the first after the king changed wings, where every feature has
    changed: there it begins anew, for the siblings of this line that will need it, too.
    """
    turned = orientation(frames[ply].position, perspective)
    base = ply
    while (
        not _is_computed(stack, base, perspective)
        and base > 0
        and orientation(frames[base - 1].position, perspective) == turned
    ):
        base -= 1
    if not _is_computed(stack, base, perspective):
        refresh(network, stack, frames, base, perspective)
    while base < ply:
        advance(network, stack, frames, base, perspective)
        base += 1
