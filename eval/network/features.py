"""Which features of a position are active: what each side sees of the board.

Each side looks from its own end of the board (squares are flipped for Black), and as if its king stood on files a to d
(squares are mirrored when it stands on e to h): a position and its mirror image, which are worth the same, are then the
same to the network, which needs half as much to learn. A feature is a piece on a square, own or the opponent's.
"""

from __future__ import annotations

from engine.board.position import WHITE, king_square
from engine.compiler.jit import inlined
from eval.network.layout import MOST_PIECES


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
def output_bucket(pieces, buckets):
    """Which of `buckets` (1 or 8) output layers a position with so many pieces (2 to 32) has, int64.

    With 8 layers, four numbers of pieces share one.
    """
    return (pieces - 2) * buckets // MOST_PIECES
