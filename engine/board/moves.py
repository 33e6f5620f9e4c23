"""The move encoding: 16 bits in an int64.

    bits 0-5    origin square
    bits 6-11   destination square; for castling, the square of the rook that castles, as in Chess960
    bits 12-15  kind

Bit 2 of the kind marks captures. Bit 3 marks promotions; bits 0-1 then mean 0 knight, 1 bishop, 2 rook, 3 queen.
`NO_MOVE` is 0 (a1a1), which is never a legal move.
"""

from __future__ import annotations

from engine.compiler.jit import inlined

NO_MOVE = 0

QUIET = 0
DOUBLE_PUSH = 1
CASTLING = 2
CAPTURE = 4
EN_PASSANT = 5
PROMOTION = 8

#: No valid position has more legal moves: the maximum is 218 in games, and about 240 if a side has any sixteen pieces.
MAX_MOVES = 256


@inlined
def encode_move(origin, target, kind):
    """Returns the encoded move, as int64; the squares and the kind are also int64."""
    return origin | (target << 6) | (kind << 12)


@inlined
def move_origin(move):
    """Returns the origin square of a move, as int64."""
    return move & 63


@inlined
def move_target(move):
    """Returns the destination square of a move, as int64; for castling, the square of the rook."""
    return (move >> 6) & 63


@inlined
def move_kind(move):
    """Returns the kind of a move, as int64 from 0 to 15."""
    return (move >> 12) & 15


@inlined
def is_capture(move):
    """Returns whether a move is a capture, including en passant and promotions with capture."""
    return (move & (CAPTURE << 12)) != 0


@inlined
def is_promotion(move):
    """Returns whether a move is a promotion, with or without capture."""
    return (move & (PROMOTION << 12)) != 0


@inlined
def promotion_piece(move):
    """Returns the piece type to which a pawn promotes, as int64 from 2 (knight) to 5 (queen)."""
    return ((move >> 12) & 3) + 2


@inlined
def is_noisy(move):
    """Returns whether a move is a capture or a promotion. Quiescence searches these moves."""
    return is_capture(move) or is_promotion(move)
