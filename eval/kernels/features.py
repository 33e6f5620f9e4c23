"""The features of the network's input, one set for each side's view of the board.

A feature is a piece, own or the opponent's, on a square. Each side sees the board from its own end (squares are flipped
for Black), and with its king on files a to d (squares are mirrored if the king is on files e to h). So a position and
its left-right mirror image have the same features, and the network has less to learn. A network with king buckets has a
set of rows for each bucket: the value of a piece depends on where the own king stands.
"""

from __future__ import annotations

import numpy as np

from engine.board.position import WHITE, king_square
from engine.compiler.jit import inlined
from eval.network.layout import FEATURES, KING_BUCKET_OF_SQUARE, MOST_PIECES


@inlined
def orientation(position, perspective):
    """Returns the int64 number that, XORed with a square, gives the square as `perspective` (a colour) sees it."""
    flipped = 0 if perspective == WHITE else 56
    return flipped ^ 7 if king_square(position, perspective) & 4 != 0 else flipped


@inlined
def king_bucket(square, buckets):
    """Returns the king bucket of a king's square as its perspective sees it, int64; `buckets` is their number."""
    return np.int64(KING_BUCKET_OF_SQUARE[square]) if buckets > 1 else np.int64(0)


@inlined
def king_view(network, position, perspective):
    """Returns what the rows of all pieces depend on, 64 * king bucket + orientation of `perspective`, as int64."""
    turned = orientation(position, perspective)
    return turned + 64 * king_bucket(king_square(position, perspective) ^ turned, network.king_buckets)


@inlined
def feature_row(perspective, view, color, piece, square):
    """Returns the row (int64) of `color`'s `piece` on `square`; `view` is the `king_view` of `perspective`."""
    side = 0 if color == perspective else FEATURES // 2
    return (view >> 6) * FEATURES + side + (piece - 1) * 64 + (square ^ (view & 63))


@inlined
def output_bucket(pieces, buckets):
    """Returns the index of the output layer for a position with `pieces` pieces (2 to 32), as int64.

    `buckets` (1 or 8) is the number of layers. With 8 layers, layer 0 is for 2 to 5 pieces, layer 1 for 6 to 9, etc.
    """
    return (pieces - 2) * buckets // MOST_PIECES
