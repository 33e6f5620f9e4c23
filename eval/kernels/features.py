"""The features of the network's input, one set for each side's view of the board.

A feature is a piece, own or the opponent's, on a square. Each side sees the board from its own end (squares are flipped
for Black), and with its king on files a to d (squares are mirrored if the king is on files e to h). So a position and
its left-right mirror image have the same features, and the network has less to learn.
"""

from __future__ import annotations

from engine.board.position import WHITE, king_square
from engine.compiler.jit import inlined
from eval.network.layout import MOST_PIECES


@inlined
def orientation(position, perspective):
    """Returns the int64 number that, XORed with a square, gives the square as `perspective` (a colour) sees it."""
    flipped = 0 if perspective == WHITE else 56
    return flipped ^ 7 if king_square(position, perspective) & 4 != 0 else flipped


@inlined
def feature(perspective, turned, color, piece, square):
    """Returns the index (0 to 767, int64) of `color`'s `piece` on `square`; `turned` is `perspective`'s orientation."""
    side = 0 if color == perspective else 384
    return side + (piece - 1) * 64 + (square ^ turned)


@inlined
def output_bucket(pieces, buckets):
    """Returns the index of the output layer for a position with `pieces` pieces (2 to 32), as int64.

    `buckets` (1 or 8) is the number of layers. With 8 layers, layer 0 is for 2 to 5 pieces, layer 1 for 6 to 9, etc.
    """
    return (pieces - 2) * buckets // MOST_PIECES
