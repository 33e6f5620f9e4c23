"""Kernels that look up the attacks of pieces."""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, multiply_low, pdep, pext
from engine.board.position import BISHOP, KING, KNIGHT, PAWN, QUEEN, ROOK
from engine.board.tables import (
    BISHOP_MASKS,
    BISHOP_MULTIPLIERS,
    BISHOP_OFFSETS,
    BISHOP_RAYS,
    BISHOP_SHIFTS,
    BISHOP_TABLE,
    KING_ATTACKS,
    KNIGHT_ATTACKS,
    PAWN_ATTACKS,
    ROOK_MASKS,
    ROOK_MULTIPLIERS,
    ROOK_OFFSETS,
    ROOK_RAYS,
    ROOK_SHIFTS,
    ROOK_TABLE,
)
from engine.compiler.jit import USE_PEXT, inlined, subkernel


def _bishop_attacks_pext(square, occupied):
    packed = BISHOP_TABLE[BISHOP_OFFSETS[square] + pext(occupied, BISHOP_MASKS[square])]
    return pdep(np.uint64(packed), BISHOP_RAYS[square])


def _rook_attacks_pext(square, occupied):
    packed = ROOK_TABLE[ROOK_OFFSETS[square] + pext(occupied, ROOK_MASKS[square])]
    return pdep(np.uint64(packed), ROOK_RAYS[square])


def _bishop_attacks_magic(square, occupied):
    product = multiply_low(occupied & BISHOP_MASKS[square], BISHOP_MULTIPLIERS[square])
    return BISHOP_TABLE[BISHOP_OFFSETS[square] + (product >> BISHOP_SHIFTS[square])]


def _rook_attacks_magic(square, occupied):
    product = multiply_low(occupied & ROOK_MASKS[square], ROOK_MULTIPLIERS[square])
    return ROOK_TABLE[ROOK_OFFSETS[square] + (product >> ROOK_SHIFTS[square])]


#: `bishop_attacks(square, occupied)` and `rook_attacks(square, occupied)` return the squares that such a piece on
#: `square` (int64) attacks, as uint64. Attacks along a line end with the first square that is in `occupied` (uint64).
bishop_attacks = inlined(_bishop_attacks_pext if USE_PEXT else _bishop_attacks_magic)
rook_attacks = inlined(_rook_attacks_pext if USE_PEXT else _rook_attacks_magic)


@inlined
def attacks_from(piece, square, occupied):
    """Returns the squares that a `piece` (not PAWN) on `square` attacks if `occupied` blocks sliders, as uint64."""
    if piece == KNIGHT:
        return KNIGHT_ATTACKS[square]
    if piece == KING:
        return KING_ATTACKS[square]
    reached = U0
    if piece == BISHOP or piece == QUEEN:
        reached |= bishop_attacks(square, occupied)
    if piece == ROOK or piece == QUEEN:
        reached |= rook_attacks(square, occupied)
    return reached


@inlined
def snipers(position, king, color):
    """Returns `color`'s sliders that would attack the square `king` if no piece stood between, as uint64."""
    pieces = position.pieces
    diagonal, straight = pieces[BISHOP] | pieces[QUEEN], pieces[ROOK] | pieces[QUEEN]
    return ((BISHOP_RAYS[king] & diagonal) | (ROOK_RAYS[king] & straight)) & position.colors[color]


@subkernel
def attackers_to(position, square, occupied):
    """Returns both sides' attackers of `square`, as uint64. `occupied` blocks sliders; attackers may be outside it."""
    pieces = position.pieces
    queens = pieces[QUEEN]
    return (
        (PAWN_ATTACKS[0, square] & pieces[PAWN] & position.colors[1])
        | (PAWN_ATTACKS[1, square] & pieces[PAWN] & position.colors[0])
        | (KNIGHT_ATTACKS[square] & pieces[KNIGHT])
        | (KING_ATTACKS[square] & pieces[KING])
        | (bishop_attacks(square, occupied) & (pieces[BISHOP] | queens))
        | (rook_attacks(square, occupied) & (pieces[ROOK] | queens))
    )


@subkernel
def is_attacked(position, square, by, occupied):
    """Returns whether a piece of colour `by` attacks `square` if `occupied` blocks sliders."""
    return attackers_to(position, square, occupied) & position.colors[by] != U0
