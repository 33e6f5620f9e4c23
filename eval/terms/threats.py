"""Terms for threats: attacks on pieces and pawns, now or after a quiet move, and contested squares."""

from __future__ import annotations

import numpy as np

from engine.board.attacks import bishop_attacks, rook_attacks
from engine.board.bits import U0, lsb, popcount, without_lsb
from engine.board.generate import forward, pawn_attacks
from engine.board.position import BISHOP, KING, KNIGHT, OCCUPIED, PAWN, QUEEN, ROOK
from engine.board.tables import KNIGHT_ATTACKS
from engine.compiler.jit import inlined, subkernel
from eval.terms.masks import THIRD_RANK
from eval.terms.weigh import weigh
from eval.weights import (
    HANGING,
    KING_THREAT,
    MINOR_THREAT,
    PAWN_THREAT,
    PUSH_THREAT,
    QUEEN_THREAT,
    RESTRICTED,
    ROOK_THREAT,
)


@inlined
def _by_pawns(position, workspace, color, trace):
    """Returns the packed value of attacks by `color`'s pawns on pieces (not pawns), now or after a safe push."""
    pieces = position.pieces
    enemy = position.colors[color ^ 1]
    attacked = workspace.attacks[color, PAWN] & enemy
    total = weigh(trace, color, PAWN_THREAT, popcount(attacked & (pieces[KNIGHT] | pieces[BISHOP])))
    total += weigh(trace, color, PAWN_THREAT + 1, popcount(attacked & pieces[ROOK]))
    total += weigh(trace, color, PAWN_THREAT + 2, popcount(attacked & pieces[QUEEN]))

    empty = ~pieces[OCCUPIED]
    steps = forward(pieces[PAWN] & position.colors[color], color) & empty
    steps |= forward(steps & THIRD_RANK[color], color) & empty
    guarded = workspace.attacks[color ^ 1, OCCUPIED]
    steps &= ~workspace.attacks[color ^ 1, PAWN] & (workspace.attacks[color, OCCUPIED] | ~guarded)
    victims = enemy & ~pieces[PAWN] & pawn_attacks(steps, color) & ~workspace.attacks[color, PAWN]
    return total + weigh(trace, color, PUSH_THREAT, popcount(victims))


@inlined
def _on_queen(position, workspace, color, trace):
    """Returns the packed value of the safe squares from which a knight, bishop or rook of `color` could attack the
    enemy's queen after one move. It is 0 unless the enemy has exactly one queen.
    """
    pieces = position.pieces
    queens = pieces[QUEEN] & position.colors[color ^ 1]
    if queens == U0 or without_lsb(queens) != U0:
        return np.int64(0)
    square = lsb(queens)
    attacks = workspace.attacks
    safe = workspace.useful[color] & ~(attacks[color ^ 1, OCCUPIED] & ~workspace.twice[color])
    safe &= ~position.colors[color]
    by_knights = KNIGHT_ATTACKS[square] & attacks[color, KNIGHT] & safe
    by_sliders = (bishop_attacks(square, pieces[OCCUPIED]) & attacks[color, BISHOP]) | (
        rook_attacks(square, pieces[OCCUPIED]) & attacks[color, ROOK]
    )
    total = weigh(trace, color, QUEEN_THREAT, popcount(by_knights))
    return total + weigh(trace, color, QUEEN_THREAT + 1, popcount(by_sliders & safe & workspace.twice[color]))


@subkernel
def threats(position, workspace, color, trace):
    """Returns the packed value of `color`'s threats."""
    them = color ^ 1
    pieces = position.pieces
    attacks = workspace.attacks
    enemy = position.colors[them]
    # `strong`: squares that the enemy defends with a pawn, or at least twice while `color` attacks them at most once.
    # A capture there seldom gains anything unless the victim is worth more than the capturer.
    strong = attacks[them, PAWN] | (workspace.twice[them] & ~workspace.twice[color])
    weak = enemy & ~strong & attacks[color, OCCUPIED]
    by_minors = (attacks[color, KNIGHT] | attacks[color, BISHOP]) & enemy & (weak | ~pieces[PAWN])
    by_rooks = attacks[color, ROOK] & (weak | (enemy & pieces[QUEEN]))
    total = _by_pawns(position, workspace, color, trace)
    for piece in range(PAWN, KING):
        total += weigh(trace, color, MINOR_THREAT + piece - PAWN, popcount(by_minors & pieces[piece]))
        total += weigh(trace, color, ROOK_THREAT + piece - PAWN, popcount(by_rooks & pieces[piece]))
    if attacks[color, KING] & weak != U0:
        total += weigh(trace, color, KING_THREAT, 1)
    undefended = ~attacks[them, OCCUPIED] | (~pieces[PAWN] & workspace.twice[color])
    total += weigh(trace, color, HANGING, popcount(weak & undefended))
    contested = attacks[them, OCCUPIED] & ~strong & attacks[color, OCCUPIED]
    total += weigh(trace, color, RESTRICTED, popcount(contested))
    return total + _on_queen(position, workspace, color, trace)
