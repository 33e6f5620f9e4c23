"""Which features of a position are active: what each side sees of the board.

Each side sees the board from its own end (squares are flipped for Black), and as if its king stood on files a to d
(squares are mirrored when it stands on e to h). A position and its mirror image are worth the same, and so they look
the same to the network, which has half as much to learn. A feature is a piece, own or the opponent's, on a square.
"""

from __future__ import annotations

from engine.board.position import WHITE, king_square
from engine.compiler.jit import inlined
from eval.network.layout import MOST_PIECES


@inlined
def orientation(position, perspective):
    """The number to XOR a square with to get the square as `perspective` (a colour) sees it, int64."""
    flipped = 0 if perspective == WHITE else 56
    return flipped ^ 7 if king_square(position, perspective) & 4 != 0 else flipped


@inlined
def feature(perspective, turned, color, piece, square):
    """Index of `color`'s `piece` on `square` as seen by `perspective` with orientation `turned`, int64 0 to 767."""
    side = 0 if color == perspective else 384
    return side + (piece - 1) * 64 + (square ^ turned)


@inlined
def output_bucket(pieces, buckets):
    """Index of the output layer, of `buckets` (1 or 8), for a position with `pieces` pieces (2 to 32), int64.

    With 8 layers, four piece counts share one.
    """
    return (pieces - 2) * buckets // MOST_PIECES
