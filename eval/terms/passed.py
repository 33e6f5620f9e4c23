"""Terms for passed pawns and the pieces around them; `eval.terms.pawns` has the value of passed pawns by rank."""

from __future__ import annotations

import numpy as np

from engine.board.attacks import rook_attacks
from engine.board.bits import U0, bit, lsb, without_lsb
from engine.board.generate import forward
from engine.board.position import OCCUPIED, PAWN, QUEEN, ROOK, has_non_pawn_material, king_square
from engine.compiler.jit import inlined, subkernel
from eval.terms.masks import FRONT, distance, relative_rank
from eval.terms.weigh import weigh
from eval.weights import (
    PASSED_BLOCKED,
    PASSED_ENEMY_KING,
    PASSED_FREE_PATH,
    PASSED_FREE_STEP,
    PASSED_HELPED,
    PASSED_OWN_KING,
    PASSED_ROOK,
    UNSTOPPABLE,
)

#: These terms, except UNSTOPPABLE, apply only to passed pawns on this relative rank (0 to 7) or beyond.
FIRST_RANK = 3


@inlined
def _way_ahead(position, workspace, square, color, rank, trace):
    """Returns the packed value of the path of the passed pawn on `square`, and of a rook or queen behind the pawn."""
    them = color ^ 1
    pieces = position.pieces
    occupied = pieces[OCCUPIED]
    next_square = forward(bit(square), color)
    path = FRONT[color, square]
    behind = rook_attacks(square, occupied) & FRONT[them, square] & (pieces[ROOK] | pieces[QUEEN])
    attacked = workspace.attacks[them, OCCUPIED]
    total = np.int64(0)
    if behind & position.colors[color] != U0:
        total += weigh(trace, color, PASSED_ROOK, 1)
    elif behind != U0:
        total += weigh(trace, color, PASSED_ROOK + 1, 1)
        attacked |= path
    if occupied & next_square != U0:
        total += weigh(trace, color, PASSED_BLOCKED + rank, 1)
    elif path & (occupied | attacked) == U0:
        total += weigh(trace, color, PASSED_FREE_PATH + rank, 1)
    elif next_square & attacked == U0:
        total += weigh(trace, color, PASSED_FREE_STEP + rank, 1)
    if next_square & workspace.attacks[color, OCCUPIED] != U0:
        total += weigh(trace, color, PASSED_HELPED + rank, 1)
    return total


@inlined
def _outruns_king(position, square, color, rank):
    """Returns whether the pawn's path is empty and the enemy has only pawns and a king that cannot catch the pawn."""
    them = color ^ 1
    if has_non_pawn_material(position, them) or FRONT[color, square] & position.pieces[OCCUPIED] != U0:
        return False
    goal = (square & 7) + 56 * color
    steps = min(7 - rank, 5)
    head_start = 1 if position.turn == them else 0
    return distance(king_square(position, them), goal) - head_start > steps


@subkernel
def passed_pawns(position, workspace, entry, color, trace):
    """Returns the packed value of `color`'s passed pawns, except their value by rank, which the pawn table contains."""
    remaining = entry.passed & position.colors[color] & position.pieces[PAWN]
    own_king = king_square(position, color)
    enemy_king = king_square(position, color ^ 1)
    total = np.int64(0)
    unstoppable = False
    while remaining != U0:
        square = lsb(remaining)
        remaining = without_lsb(remaining)
        rank = relative_rank(square, color)
        unstoppable = unstoppable or _outruns_king(position, square, color, rank)
        if rank >= FIRST_RANK:
            next_square = square + 16 * color - 8
            total += weigh(trace, color, PASSED_OWN_KING + rank, distance(own_king, next_square))
            total += weigh(trace, color, PASSED_ENEMY_KING + rank, distance(enemy_king, next_square))
            total += _way_ahead(position, workspace, square, color, rank, trace)
    if unstoppable:
        total += weigh(trace, color, UNSTOPPABLE, 1)
    return total
