"""The attack on a king.

The terms of an attack add up in units of danger, separately for middlegame and endgame. The danger then costs the
attacked side, in centipawns,

    middlegame   danger^2 / DANGER_DIVISOR    attacks grow faster than their parts
    endgame      danger / ENDGAME_DIVISOR

and nothing when the sum is not above zero. (It is old practice that danger counts more than linearly; see "King
Safety" on the Chess Programming Wiki.)
"""

from __future__ import annotations

import numpy as np

from engine.board.attacks import bishop_attacks, rook_attacks
from engine.board.bits import U0, popcount
from engine.board.position import BISHOP, KING, KNIGHT, OCCUPIED, PAWN, QUEEN, ROOK, king_square
from engine.board.tables import KNIGHT_ATTACKS
from engine.compiler.jit import inlined, subkernel
from eval.terms.masks import CAMP, FILES, FLANKS
from eval.terms.weigh import pack, unpack_endgame, unpack_middlegame, weigh
from eval.weights import (
    ATTACK_BASE,
    FLANK_ATTACK,
    FLANK_DEFENCE,
    KNIGHT_DEFENDER,
    NO_QUEEN,
    OPEN_FILE,
    RING_WEAK,
    SAFE_CHECK,
    UNSAFE_CHECK,
)

DANGER_DIVISOR = 512
ENDGAME_DIVISOR = 8
#: Danger beyond this is as good as mate and costs no more.
MOST_DANGER = 1000


@inlined
def _checks(squares, safe, color, piece, trace):
    """Packed danger of the `squares` (uint64) from which `color`'s `piece` can check; `safe` squares are unguarded."""
    count = popcount(squares & safe)
    danger = np.int64(0)
    if count != 0:
        danger += weigh(trace, color, SAFE_CHECK + 2 * (piece - KNIGHT) + (1 if count > 1 else 0), 1)
    return danger + weigh(trace, color, UNSAFE_CHECK, popcount(squares & ~safe))


@inlined
def _all_checks(position, workspace, color, weak, trace):
    """Packed danger of all checks that `color` can give with its next move, except by pawns.

    `weak` (uint64) is the set of squares that only the king or a queen defends.
    """
    them = color ^ 1
    pieces = position.pieces
    king = king_square(position, them)
    # Lines of check pass through the defender's queen: it does not count as a shield.
    occupied = pieces[OCCUPIED] ^ (pieces[QUEEN] & position.colors[them])
    free = ~position.colors[color]
    safe = ~workspace.attacks[them, OCCUPIED] | (weak & workspace.twice[color])
    straight = rook_attacks(king, occupied) & free
    diagonal = bishop_attacks(king, occupied) & free
    return (
        _checks(KNIGHT_ATTACKS[king] & free & workspace.attacks[color, KNIGHT], safe, color, KNIGHT, trace)
        + _checks(diagonal & workspace.attacks[color, BISHOP], safe, color, BISHOP, trace)
        + _checks(straight & workspace.attacks[color, ROOK], safe, color, ROOK, trace)
        + _checks((straight | diagonal) & workspace.attacks[color, QUEEN], safe, color, QUEEN, trace)
    )


@inlined
def _open_files(position, color, king, trace):
    """Packed danger to the enemy king of `color` on square `king` from the files around it without pawns."""
    pawns = position.pieces[PAWN]
    theirs = pawns & position.colors[color ^ 1]
    center = min(max(king & 7, 1), 6)
    danger = np.int64(0)
    for file in range(center - 1, center + 2):
        if theirs & FILES[file] == U0:
            danger += weigh(trace, color, OPEN_FILE + (1 if pawns & FILES[file] == U0 else 0), 1)
    return danger


@subkernel
def danger_of(position, workspace, color, trace):
    """Danger of `color`'s attack to the enemy king, a packed pair in units of danger."""
    them = color ^ 1
    attacks = workspace.attacks
    queens = position.pieces[QUEEN] & position.colors[color]
    # Fewer than two attackers cannot work together, so no time is spent on them.
    if workspace.attackers[color] + (1 if queens != U0 else 0) < 2:
        return np.int64(0)
    king = king_square(position, them)
    heavy_defence = attacks[them, KING] | attacks[them, QUEEN]
    weak = attacks[color, OCCUPIED] & ~workspace.twice[them] & (~attacks[them, OCCUPIED] | heavy_defence)
    flank = FLANKS[king & 7] & CAMP[them]
    danger = workspace.danger[color] + weigh(trace, color, ATTACK_BASE, 1)
    danger += weigh(trace, color, RING_WEAK, popcount(workspace.ring[them] & weak))
    danger += weigh(trace, color, FLANK_ATTACK, popcount(attacks[color, OCCUPIED] & flank))
    danger += weigh(trace, color, FLANK_ATTACK + 1, popcount(workspace.twice[color] & flank))
    danger += weigh(trace, color, FLANK_DEFENCE, popcount(attacks[them, OCCUPIED] & flank))
    if queens == U0:
        danger += weigh(trace, color, NO_QUEEN, 1)
    if attacks[them, KNIGHT] & workspace.ring[them] != U0:
        danger += weigh(trace, color, KNIGHT_DEFENDER, 1)
    danger += _all_checks(position, workspace, color, weak, trace)
    return danger + _open_files(position, color, king, trace)


@inlined
def price_of(danger):
    """The cost of a packed danger for the attacked side, a packed pair in centipawns."""
    middlegame = min(max(unpack_middlegame(danger), 0), MOST_DANGER)
    endgame = min(max(unpack_endgame(danger), 0), MOST_DANGER)
    return pack(middlegame * middlegame // DANGER_DIVISOR, endgame // ENDGAME_DIVISOR)
