"""Kernels that examine a move without making it: what it captures, and whether it wins material or gives check."""

from __future__ import annotations

import numpy as np

from engine.board.attacks import attackers_to, attacks_from, bishop_attacks, rook_attacks, snipers
from engine.board.bits import U0, bit, lsb, without_lsb
from engine.board.generate import castling_targets
from engine.board.moves import (
    CASTLING,
    EN_PASSANT,
    is_promotion,
    move_kind,
    move_origin,
    move_target,
    promotion_piece,
)
from engine.board.position import (
    BISHOP,
    KING,
    OCCUPIED,
    PAWN,
    QUEEN,
    ROOK,
    king_square,
    piece_at,
)
from engine.board.tables import BETWEEN, KNIGHT_ATTACKS, PAWN_ATTACKS
from engine.compiler.jit import inlined, subkernel

#: Exchange values in centipawns, indexed by piece type. A king's value exceeds that of a side's other pieces together.
EXCHANGE_VALUES = np.array([0, 100, 320, 330, 500, 950, 20_000], np.int64)


@inlined
def captured_piece(position, move):
    """Returns the piece type that a move captures, as int64; EMPTY (0) if it captures nothing."""
    kind = move_kind(move)
    if kind == EN_PASSANT:
        return PAWN
    if kind == CASTLING:
        return 0
    return piece_at(position, move_target(move))


@subkernel
def see_ge(position, move, threshold):
    """Returns whether the exchange that `move` starts on its target square gains the mover at least `threshold`.

    Both sides capture with their least valuable piece first, and may stop if a capture would lose material. Pins and
    checks are ignored. `threshold` is in the centipawns of EXCHANGE_VALUES. (This static exchange evaluation is the
    swap algorithm of the Chess Programming Wiki, in the form that stops as soon as the answer is known.)
    """
    kind = move_kind(move)
    if kind == CASTLING:
        return threshold <= 0
    origin = move_origin(move)
    target = move_target(move)
    standing = piece_at(position, origin)
    gain = EXCHANGE_VALUES[captured_piece(position, move)]
    if is_promotion(move):
        standing = promotion_piece(move)
        gain += EXCHANGE_VALUES[standing] - EXCHANGE_VALUES[PAWN]
    # `balance` is the gain of the side that just moved, minus the threshold, if the opponent does not capture.
    balance = gain - threshold
    if balance < 0:
        return False
    balance -= EXCHANGE_VALUES[standing]
    if balance >= 0:
        return True

    pieces = position.pieces
    occupied = (pieces[OCCUPIED] & ~bit(origin)) | bit(target)
    if kind == EN_PASSANT:
        occupied &= ~bit(target ^ 8)
    diagonal = pieces[BISHOP] | pieces[QUEEN]
    straight = pieces[ROOK] | pieces[QUEEN]
    attackers = attackers_to(position, target, occupied) & occupied
    side = position.turn
    while True:
        side ^= 1
        own = attackers & position.colors[side]
        if own == U0:
            break
        piece = PAWN
        while own & pieces[piece] == U0:
            piece += 1
        if piece == KING and attackers & position.colors[side ^ 1] != U0:
            break  # the king may not capture onto an attacked square
        # Negamax with a null window around zero: the sign flips, and the 1 turns "at least 0" into "more than 0".
        balance = -balance - 1 - EXCHANGE_VALUES[piece]
        occupied &= ~bit(lsb(own & pieces[piece]))
        if balance >= 0:
            side ^= 1
            break
        # A piece that leaves the line may uncover a slider behind it.
        if piece == PAWN or piece == BISHOP or piece == QUEEN:
            attackers |= bishop_attacks(target, occupied) & diagonal
        if piece == ROOK or piece == QUEEN:
            attackers |= rook_attacks(target, occupied) & straight
        attackers &= occupied
    return side != position.turn


@inlined
def check_squares(position):
    """Returns seven bitboards by piece type: the squares from which such a piece would attack the enemy king."""
    king = king_square(position, position.turn ^ 1)
    diagonal = bishop_attacks(king, position.pieces[OCCUPIED])
    straight = rook_attacks(king, position.pieces[OCCUPIED])
    return U0, PAWN_ATTACKS[position.turn ^ 1, king], KNIGHT_ATTACKS[king], diagonal, straight, diagonal | straight, U0


@inlined
def find_check_squares(position, checks):
    """Writes `check_squares` into `checks`, uint64[7]. An array is faster to index by piece type than a tuple."""
    checks[0], checks[1], checks[2], checks[3], checks[4], checks[5], checks[6] = check_squares(position)


@inlined
def _unveils_check(position, king, occupied, movers):
    """Returns whether a slider of the side to move, not in `movers`, attacks `king` if `occupied` blocks sliders."""
    attackers = snipers(position, king, position.turn) & ~movers
    while attackers != U0:
        if BETWEEN[king, lsb(attackers)] & occupied == U0:
            return True
        attackers = without_lsb(attackers)
    return False


@subkernel
def gives_check(position, move):
    """Returns whether a legal move gives check, directly or by discovery."""
    us = position.turn
    king = king_square(position, us ^ 1)
    origin = move_origin(move)
    target = move_target(move)
    kind = move_kind(move)
    occupied = position.pieces[OCCUPIED]
    if kind == CASTLING:
        king_to, rook_to = castling_targets(origin, target)
        occupied = (occupied & ~(bit(origin) | bit(target))) | bit(king_to) | bit(rook_to)
        if rook_attacks(rook_to, occupied) & bit(king) != U0:
            return True
        return _unveils_check(position, king, occupied, bit(target))
    occupied = (occupied & ~bit(origin)) | bit(target)
    if kind == EN_PASSANT:
        occupied &= ~bit(target ^ 8)
    piece = promotion_piece(move) if is_promotion(move) else piece_at(position, origin)
    if piece == PAWN:
        reached = PAWN_ATTACKS[us, target]
    else:
        reached = attacks_from(piece, target, occupied)
    if reached & bit(king) != U0:
        return True
    return _unveils_check(position, king, occupied, bit(origin))


@inlined
def is_check(position, move, squares, discoverers):
    """Returns `gives_check(position, move)`, mostly without a call.

    `squares` are those of `find_check_squares`, and `discoverers` its `discovered_check_pieces`.
    """
    origin = move_origin(move)
    if squares[piece_at(position, origin)] & bit(move_target(move)) != U0:
        return not is_promotion(move) or gives_check(position, move)
    kind = move_kind(move)
    if discoverers & bit(origin) == U0 and kind != CASTLING and kind != EN_PASSANT and not is_promotion(move):
        return False
    return gives_check(position, move)
