"""Accumulators: the sums of the network's first layer for each ply of a line, updated only when needed.

An accumulator contains no rows of threats: a move can change threats anywhere on the board, so the evaluation adds
their rows itself (see `eval.kernels.inference`).

Most moves change two to four features. So a ply's accumulator is usually that of the ply before, plus a few rows of
weights and minus a few others. No update has to be undone, because every ply has its own accumulators, one for each
perspective. `computed` says which of them match the position. Code that writes a position must clear the ply's bits,
and code that changes the network must set `cached` to 0.

`stack` is an array of records with at least two fields: `position`, a POSITION, and `move`, the move that led to the
next frame (NO_MOVE for a null move). `accumulators` is an `accumulator_stack` record for as many plies.
"""

from __future__ import annotations

from engine.board.bits import U0, bit, lsb, without_lsb
from engine.board.generate import castling_targets
from engine.board.moves import CAPTURE, CASTLING, EN_PASSANT, NO_MOVE, move_kind, move_origin, move_target
from engine.board.position import KING, PAWN, ROOK, piece_at
from engine.compiler.jit import inlined, subkernel
from eval.kernels.features import feature_row, orientation
from eval.kernels.vectors import add_add_sub_sub, add_block, add_sub, add_sub_sub, copy_block, sub_block
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
    """Computes the accumulator of `perspective` at `ply` without that of the ply before. Mutates `accumulators`.

    A cache keeps the last sums for each orientation of a perspective. Only the pieces that have changed since then are
    added and subtracted: usually few, because a search returns to similar positions. (The idea is Koivisto's.) In
    between, a sum may exceed int16 and wrap around; the final sums are exact.
    """
    position = stack[ply].position
    turned = orientation(position, perspective)
    hidden = network.hidden
    # Bit 0 of the orientation says whether the board is mirrored.
    entry = 2 * perspective + (turned & 1)
    values, sums = accumulators.cached_values, entry * hidden
    if (accumulators.cached >> entry) & 1 == 0:
        accumulators.cached |= 1 << entry
        accumulators.cached_pieces[entry] = U0
        for index in range(0, hidden, BLOCK):
            copy_block(values, sums + index, network.bias, index)
    for color in range(2):
        for piece in range(PAWN, KING + 1):
            before = accumulators.cached_pieces[entry, color, piece - 1]
            now = position.pieces[piece] & position.colors[color]
            accumulators.cached_pieces[entry, color, piece - 1] = now
            changed = before ^ now
            while changed != U0:
                square = lsb(changed)
                row = hidden * feature_row(perspective, turned, color, piece, square)
                is_new = now & bit(square) != U0
                for index in range(0, hidden, BLOCK):
                    if is_new:
                        add_block(values, sums + index, values, sums + index, network.features, row + index)
                    else:
                        sub_block(values, sums + index, values, sums + index, network.features, row + index)
                changed = without_lsb(changed)
    start = accumulator_start(network, ply, perspective)
    for index in range(0, hidden, BLOCK):
        copy_block(accumulators.values, start + index, values, sums + index)
    accumulators.computed[ply] |= 1 << perspective


@inlined
def _advance_castling(network, accumulators, source, target, perspective, turned, us, king, rook):
    """Computes the accumulator at index `target` from that at `source` for a castling move. Mutates `accumulators`."""
    hidden = network.hidden
    king_to, rook_to = castling_targets(king, rook)
    plus = hidden * feature_row(perspective, turned, us, KING, king_to)
    plus_too = hidden * feature_row(perspective, turned, us, ROOK, rook_to)
    minus = hidden * feature_row(perspective, turned, us, KING, king)
    minus_too = hidden * feature_row(perspective, turned, us, ROOK, rook)
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


@inlined
def _advance(network, accumulators, stack, ply, perspective, turned):
    """Computes the accumulator at `ply` + 1 from that of `ply`. Mutates `accumulators`.

    `perspective` has the same orientation, `turned`, at both plies.
    """
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
    us = position.turn
    origin, destination, kind = move_origin(move), move_target(move), move_kind(move)
    if kind == CASTLING:
        _advance_castling(network, accumulators, source, target, perspective, turned, us, origin, destination)
        return
    minus = hidden * feature_row(perspective, turned, us, piece_at(position, origin), origin)
    # After a promotion, the piece on the target square differs from the pawn that moved.
    plus = hidden * feature_row(perspective, turned, us, piece_at(child, destination), destination)
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
    taken = hidden * feature_row(perspective, turned, us ^ 1, piece_at(position, square), square)
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

    Goes back to the last computed accumulator of `perspective`, but not past a change of the orientation, which
    changes every row. If it finds none, it refreshes the earliest ply reached: other lines can reuse that accumulator.
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
        _advance(network, accumulators, stack, base, perspective, turned)
        base += 1
