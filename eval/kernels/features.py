"""The features of the network's input, one set for each side's view of the board.

A feature is a piece, own or the opponent's, on a square. Each side sees the board from its own end (squares are flipped
for Black), and with its king on files a to d (squares are mirrored if the king is on files e to h). So a position and
its left-right mirror image have the same features, and the network has less to learn.

A network may also have rows for threats: for hanging pieces and for safe checks, which no sum over pieces contains.
"""

from __future__ import annotations

import numpy as np

from engine.board.attacks import bishop_attacks, rook_attacks
from engine.board.bits import U0, bit, lsb, without_lsb
from engine.board.generate import attacked_by_lesser, attacks_by_type
from engine.board.position import BLACK, KING, OCCUPIED, WHITE, king_square, piece_at
from engine.board.tables import KNIGHT_ATTACKS
from engine.compiler.jit import inlined, subkernel
from eval.network.layout import FEATURES, MOST_PIECES


@inlined
def orientation(position, perspective):
    """Returns the int64 number that, XORed with a square, gives the square as `perspective` (a colour) sees it."""
    flipped = 0 if perspective == WHITE else 56
    return flipped ^ 7 if king_square(position, perspective) & 4 != 0 else flipped


@inlined
def feature_row(perspective, turned, color, piece, square):
    """Returns the row (int64) of `color`'s `piece` on `square`; `turned` is the `orientation` of `perspective`."""
    side = 0 if color == perspective else FEATURES // 2
    return side + (piece - 1) * 64 + (square ^ turned)


@inlined
def _hanging(position, color, attacks, every_attack, every_defence):
    """Returns the hanging pieces of `color`, as uint64; `attacks` are the enemy's `attacks_by_type`."""
    minors = attacks[0] | attacks[1] | attacks[2]
    lesser = attacked_by_lesser(position, color, attacks[0], minors, minors | attacks[3])
    return lesser | (position.colors[color] & every_attack & ~every_defence & ~position.pieces[KING])


@inlined
def _safe_checks(position, color, attacks, every_defence):
    """Returns a bit for each piece type with which `color` can check safely, int64: bit 0 for knights, 3 for queens.

    `attacks` are the `attacks_by_type` of `color`.
    """
    king = king_square(position, color ^ 1)
    occupied = position.pieces[OCCUPIED]
    free = ~(position.colors[color] | every_defence)
    diagonal = bishop_attacks(king, occupied) & free
    straight = rook_attacks(king, occupied) & free
    knight = np.int64(1 if attacks[1] & KNIGHT_ATTACKS[king] & free != U0 else 0)
    bishop = np.int64(2 if attacks[2] & diagonal != U0 else 0)
    rook = np.int64(4 if attacks[3] & straight != U0 else 0)
    queen = np.int64(8 if attacks[4] & (diagonal | straight) != U0 else 0)
    return knight | bishop | rook | queen


@subkernel
def position_threats(position):
    """Returns the threats in a position: the hanging pieces (uint64), and the safe checks (int64).

    A piece hangs if an enemy piece of less value attacks it, or if any enemy piece attacks it and no own piece defends
    it; a king never hangs. A color can check safely with a piece type if such a piece can reach, in one move, a square
    that no enemy piece attacks and from which it checks. Pins do not count, nor does what the move uncovers. Bit
    4 * color + type - KNIGHT is set if it can. Reads only `position.pieces` and `position.colors`.
    """
    white, black = attacks_by_type(position, WHITE), attacks_by_type(position, BLACK)
    by_white = white[0] | white[1] | white[2] | white[3] | white[4] | white[5]
    by_black = black[0] | black[1] | black[2] | black[3] | black[4] | black[5]
    hanging = _hanging(position, WHITE, black, by_black, by_white) | _hanging(
        position, BLACK, white, by_white, by_black
    )
    white_checks = _safe_checks(position, WHITE, white, by_black)
    black_checks = _safe_checks(position, BLACK, black, by_white)
    return hanging, white_checks << (4 * WHITE) | black_checks << (4 * BLACK)


@inlined
def threat_rows(position, hanging, checks, white_rows, black_rows):
    """Writes the rows of threats (0 to THREATS - 1) that White and Black see into two arrays (mutated).

    The arrays are int64[MOST_THREATS] or longer. `hanging` and `checks` are what `position_threats` returns. Returns
    the number of rows, the same for both, int64.
    """
    white, black = orientation(position, WHITE), orientation(position, BLACK)
    count = np.int64(0)
    while hanging != U0:
        square = lsb(hanging)
        piece = piece_at(position, square)
        color = np.int64(BLACK if position.colors[BLACK] & bit(square) != U0 else WHITE)
        white_rows[count] = feature_row(WHITE, white, color, piece, square)
        black_rows[count] = feature_row(BLACK, black, color, piece, square)
        count += 1
        hanging = without_lsb(hanging)
    remaining = np.uint64(checks)
    while remaining != U0:
        number = lsb(remaining)
        color = number >> 2
        king = king_square(position, color ^ 1)
        # Checks to the own king come first. White's checks are to Black's king.
        row = FEATURES + (number & 3) * 64
        white_rows[count] = row + (256 if color == WHITE else 0) + (king ^ white)
        black_rows[count] = row + (256 if color == BLACK else 0) + (king ^ black)
        count += 1
        remaining = without_lsb(remaining)
    return count


@inlined
def output_bucket(pieces, buckets):
    """Returns the index of the output layer for a position with `pieces` pieces (2 to 32), as int64.

    `buckets` (1 or 8) is the number of layers. With 8 layers, layer 0 is for 2 to 5 pieces, layer 1 for 6 to 9, etc.
    """
    return (pieces - 2) * buckets // MOST_PIECES
