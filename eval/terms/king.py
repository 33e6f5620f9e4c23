"""The terms of an attack on a king.

The terms add up to a danger, separately for middlegame and endgame. A positive danger costs the attacked side this many
centipawns:

    middlegame   danger^2 / DANGER_DIVISOR    the cost grows faster than the danger
    endgame      danger / ENDGAME_DIVISOR

A danger of zero or less costs nothing, and one above MOST_DANGER costs the same as MOST_DANGER. The quadratic cost is
an established technique: see "King Safety" on the Chess Programming Wiki.
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
#: The danger at which an attack counts as good as mate; more danger does not increase the cost.
MOST_DANGER = 1000


@inlined
def _checks(squares, safe, color, piece, trace):
    """Returns the packed danger of checks from `squares` by pieces of one type; checks from `safe` are safe."""
    count = popcount(squares & safe)
    danger = np.int64(0)
    if count != 0:
        danger += weigh(trace, color, SAFE_CHECK + 2 * (piece - KNIGHT) + (1 if count > 1 else 0), 1)
    return danger + weigh(trace, color, UNSAFE_CHECK, popcount(squares & ~safe))


@inlined
def _all_checks(position, workspace, color, weak, trace):
    """Returns the packed danger of the checks that `color`'s knights, bishops, rooks and queens can give.

    `weak` (uint64): `color` attacks these squares. The enemy defends them once, by king or queen, or not at all.
    """
    them = color ^ 1
    pieces = position.pieces
    king = king_square(position, them)
    # Lines of check may pass through the defender's queens, which do not count as shields.
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
    """Returns the packed danger to the enemy king, on square `king`, from nearby files without its side's pawns."""
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
    """Returns the danger of `color`'s attack on the enemy king, as a packed pair in units of danger."""
    them = color ^ 1
    attacks = workspace.attacks
    queens = position.pieces[QUEEN] & position.colors[color]
    # At least two attackers are needed; having a queen counts as one more. Skipping other positions saves time.
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
    """Returns the cost of a packed danger for the attacked side, as a packed pair in centipawns."""
    middlegame = min(max(unpack_middlegame(danger), 0), MOST_DANGER)
    endgame = min(max(unpack_endgame(danger), 0), MOST_DANGER)
    return pack(middlegame * middlegame // DANGER_DIVISOR, endgame // ENDGAME_DIVISOR)
