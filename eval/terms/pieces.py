"""Terms for pieces: material (also that of pawns), squares, mobility, and terms of single piece types.

These kernels also build the attack maps and count the attackers of each king's zone, for use in other terms.
"""

from __future__ import annotations

import numpy as np

from engine.board.attacks import bishop_attacks, rook_attacks
from engine.board.bits import U0, bit, lsb, popcount, without_lsb
from engine.board.generate import forward, pawn_attacks
from engine.board.position import BISHOP, KING, KNIGHT, OCCUPIED, PAWN, QUEEN, ROOK, king_square
from engine.board.tables import KING_ATTACKS, KNIGHT_ATTACKS
from engine.compiler.jit import inlined, subkernel
from eval.terms.masks import (
    CENTER,
    CENTER_FILES,
    FILES,
    LAST_RANK,
    LIGHT_SQUARES,
    OUTPOST_RANKS,
    SEVENTH_RANK,
    THIRD_RANK,
    distance,
    relative_square,
)
from eval.terms.weigh import weigh
from eval.weights import (
    ATTACKER,
    BEHIND_PAWN,
    BISHOP_CENTER,
    BISHOP_MOBILITY,
    BISHOP_PAIR,
    BISHOP_PAWNS,
    BISHOP_SQUARES,
    CASTLING_RIGHTS,
    KING_DISTANCE,
    KING_SQUARES,
    KNIGHT_MOBILITY,
    KNIGHT_SQUARES,
    MATERIAL,
    OUTPOST,
    OUTPOST_REACHABLE,
    PER_PAWN,
    QUEEN_MOBILITY,
    QUEEN_SQUARES,
    RING_ATTACK,
    ROOK_FILE,
    ROOK_MOBILITY,
    ROOK_SEVENTH,
    ROOK_SQUARES,
)


@inlined
def prepare(position, workspace, color):
    """Sets `color`'s ring and zone, and enters its pawns' and king's attacks in the maps. Mutates `workspace`."""
    pieces = position.pieces
    own = position.colors[color]
    king = king_square(position, color)
    ring = KING_ATTACKS[king]
    by_pawns = pawn_attacks(pieces[PAWN] & own, color)
    workspace.attacks[color, PAWN] = by_pawns
    workspace.attacks[color, KING] = ring
    workspace.attacks[color, OCCUPIED] = by_pawns | ring
    workspace.twice[color] = by_pawns & ring
    workspace.ring[color] = ring
    workspace.zone[color] = ring | forward(ring, color) | bit(king)


@inlined
def useful_squares(position, workspace, color):
    """Returns the bitboard of the squares that count for `color`'s mobility: all squares that no enemy pawn attacks,
    except the squares of `color`'s king and of its pawns that are blocked or on rank 2 or 3.
    """
    own = position.colors[color]
    stuck = forward(position.pieces[OCCUPIED], color ^ 1) | THIRD_RANK[color] | forward(THIRD_RANK[color], color ^ 1)
    return ~((own & position.pieces[KING]) | (own & position.pieces[PAWN] & stuck) | workspace.attacks[color ^ 1, PAWN])


@inlined
def _enters_zone(workspace, color, piece, attacks, trace):
    """If a piece's `attacks` reach the enemy king's zone, counts the piece and adds its danger. Mutates `workspace`."""
    if attacks & workspace.zone[color ^ 1] != U0:
        workspace.attackers[color] += 1
        workspace.danger[color] += weigh(trace, color, ATTACKER + piece - KNIGHT, 1) + weigh(
            trace, color, RING_ATTACK, popcount(attacks & workspace.ring[color ^ 1])
        )


@inlined
def _add_attacks(workspace, color, piece, attacks):
    """Adds one piece's attacks to the maps. Mutates `workspace`."""
    workspace.twice[color] |= workspace.attacks[color, OCCUPIED] & attacks
    workspace.attacks[color, OCCUPIED] |= attacks
    workspace.attacks[color, piece] |= attacks


@inlined
def _outposts(position, workspace, entry, color):
    """Returns the bitboard of squares on ranks 4 to 6 that `color`'s pawns defend, outside the enemy pawns' span."""
    return OUTPOST_RANKS[color] & workspace.attacks[color, PAWN] & ~entry.span[color ^ 1]


@subkernel
def knights(position, workspace, entry, color, trace):
    """Returns the packed value of `color`'s knights, material included. Mutates `workspace`."""
    own = position.colors[color]
    remaining = position.pieces[KNIGHT] & own
    useful = workspace.useful[color]
    king = king_square(position, color)
    outposts = _outposts(position, workspace, entry, color)
    count = popcount(remaining)
    total = weigh(trace, color, MATERIAL + 1, count)
    total += weigh(trace, color, PER_PAWN, count * (popcount(position.pieces[PAWN] & own) - 5))
    while remaining != U0:
        square = lsb(remaining)
        attacks = KNIGHT_ATTACKS[square]
        _add_attacks(workspace, color, KNIGHT, attacks)
        _enters_zone(workspace, color, KNIGHT, attacks, trace)
        total += weigh(trace, color, KNIGHT_SQUARES + relative_square(square, color), 1)
        total += weigh(trace, color, KNIGHT_MOBILITY + popcount(attacks & useful), 1)
        total += weigh(trace, color, KING_DISTANCE, distance(square, king))
        if outposts & bit(square) != U0:
            total += weigh(trace, color, OUTPOST, 1)
        elif outposts & attacks & ~own != U0:
            total += weigh(trace, color, OUTPOST_REACHABLE, 1)
        remaining = without_lsb(remaining)
    return total


@subkernel
def bishops(position, workspace, entry, color, trace):
    """Returns the packed value of `color`'s bishops, material included. Mutates `workspace`."""
    own = position.colors[color]
    remaining = position.pieces[BISHOP] & own
    useful = workspace.useful[color]
    king = king_square(position, color)
    pawns = position.pieces[PAWN] & own
    blocked = pawns & forward(position.pieces[OCCUPIED], color ^ 1) & CENTER_FILES
    outposts = _outposts(position, workspace, entry, color)
    # A bishop attacks through its side's queens, so that batteries count.
    occupied = position.pieces[OCCUPIED] ^ (position.pieces[QUEEN] & own)
    count = popcount(remaining)
    total = weigh(trace, color, MATERIAL + 2, count)
    total += weigh(trace, color, PER_PAWN + 1, count * (popcount(pawns) - 5))
    if count >= 2:
        total += weigh(trace, color, BISHOP_PAIR, 1)
    while remaining != U0:
        square = lsb(remaining)
        attacks = bishop_attacks(square, occupied)
        same_color = LIGHT_SQUARES if LIGHT_SQUARES & bit(square) != U0 else ~LIGHT_SQUARES
        _add_attacks(workspace, color, BISHOP, attacks)
        _enters_zone(workspace, color, BISHOP, attacks, trace)
        total += weigh(trace, color, BISHOP_SQUARES + relative_square(square, color), 1)
        total += weigh(trace, color, BISHOP_MOBILITY + popcount(attacks & useful), 1)
        total += weigh(trace, color, KING_DISTANCE + 1, distance(square, king))
        total += weigh(trace, color, BISHOP_PAWNS, popcount(pawns & same_color))
        total += weigh(trace, color, BISHOP_PAWNS + 1, popcount(blocked & same_color))
        if outposts & bit(square) != U0:
            total += weigh(trace, color, OUTPOST + 1, 1)
        if popcount(attacks & CENTER) >= 2:
            total += weigh(trace, color, BISHOP_CENTER, 1)
        remaining = without_lsb(remaining)
    return total


@subkernel
def rooks(position, workspace, color, trace):
    """Returns the packed value of `color`'s rooks, material included. Mutates `workspace`."""
    pieces = position.pieces
    own = position.colors[color]
    enemy = position.colors[color ^ 1]
    remaining = pieces[ROOK] & own
    useful = workspace.useful[color]
    occupied = pieces[OCCUPIED] ^ ((pieces[QUEEN] | pieces[ROOK]) & own)
    targets = (pieces[PAWN] & enemy & SEVENTH_RANK[color]) | (pieces[KING] & enemy & LAST_RANK[color])
    count = popcount(remaining)
    total = weigh(trace, color, MATERIAL + 3, count)
    total += weigh(trace, color, PER_PAWN + 2, count * (popcount(pieces[PAWN] & own) - 5))
    while remaining != U0:
        square = lsb(remaining)
        attacks = rook_attacks(square, occupied)
        pawns_on_file = pieces[PAWN] & FILES[square & 7]
        _add_attacks(workspace, color, ROOK, attacks)
        _enters_zone(workspace, color, ROOK, attacks, trace)
        total += weigh(trace, color, ROOK_SQUARES + relative_square(square, color), 1)
        total += weigh(trace, color, ROOK_MOBILITY + popcount(attacks & useful), 1)
        if pawns_on_file & own == U0:
            total += weigh(trace, color, ROOK_FILE + (1 if pawns_on_file == U0 else 0), 1)
        if SEVENTH_RANK[color] & bit(square) != U0 and targets != U0:
            total += weigh(trace, color, ROOK_SEVENTH, 1)
        remaining = without_lsb(remaining)
    return total


@subkernel
def queens(position, workspace, color, trace):
    """Returns the packed value of `color`'s queens, material included. Mutates `workspace`."""
    remaining = position.pieces[QUEEN] & position.colors[color]
    useful = workspace.useful[color]
    occupied = position.pieces[OCCUPIED]
    total = weigh(trace, color, MATERIAL + 4, popcount(remaining))
    while remaining != U0:
        square = lsb(remaining)
        attacks = bishop_attacks(square, occupied) | rook_attacks(square, occupied)
        _add_attacks(workspace, color, QUEEN, attacks)
        _enters_zone(workspace, color, QUEEN, attacks, trace)
        total += weigh(trace, color, QUEEN_SQUARES + relative_square(square, color), 1)
        total += weigh(trace, color, QUEEN_MOBILITY + popcount(attacks & useful), 1)
        remaining = without_lsb(remaining)
    return total


@subkernel
def others(position, color, trace):
    """Returns the packed value of `color`'s pawn material, king square, castling rights and minors behind a pawn."""
    pieces = position.pieces
    own = position.colors[color]
    pawns = pieces[PAWN]
    total = weigh(trace, color, MATERIAL, popcount(pawns & own))
    total += weigh(trace, color, KING_SQUARES + relative_square(king_square(position, color), color), 1)
    total += weigh(trace, color, CASTLING_RIGHTS, popcount(position.castling & own))
    behind = (pieces[KNIGHT] | pieces[BISHOP]) & own & forward(pawns, color ^ 1)
    return total + weigh(trace, color, BEHIND_PAWN, popcount(behind))


@inlined
def clear_counts(workspace, color):
    """Clears `color`'s piece attacks, attacker count and danger from the last position. Mutates `workspace`."""
    workspace.attackers[color] = 0
    workspace.danger[color] = np.int64(0)
    for piece in range(KNIGHT, KING):
        workspace.attacks[color, piece] = U0
