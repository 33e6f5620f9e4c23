"""Which features of a position are active: what each side sees of the board.

Each side looks from its own end of the board (squares are flipped for Black), and as if its king stood on files a to d
(squares are mirrored when it stands on e to h): a position and its mirror image, which are worth the same, are then the
same to the network, which needs half as much to learn. A feature is a piece on a square, own or the opponent's.
"""

from __future__ import annotations

from engine.board.bits import popcount
from engine.board.position import OCCUPIED, WHITE, king_square
from engine.jit import inlined


@inlined
def orientation(position, perspective):
    """What a square is XORed with to become one that `perspective` (a colour) sees, int64."""
    flipped = 0 if perspective == WHITE else 56
    return flipped ^ 7 if king_square(position, perspective) & 4 != 0 else flipped


@inlined
def feature(perspective, turned, color, piece, square):
    """Index of a `color`'s piece on `square` as `perspective`, with orientation `turned`, sees it, int64 0 to 767."""
    side = 0 if color == perspective else 384
    return side + (piece - 1) * 64 + (square ^ turned)


@inlined
def output_bucket(position, buckets):
    """Which of `buckets` (1 or 8) output layers is the position's, int64: one for every four pieces."""
    return (popcount(position.pieces[OCCUPIED]) - 2) // 4 if buckets > 1 else 0
