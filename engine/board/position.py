"""The position record holds what `chess.Board` holds of a position, laid out for kernels.

Colours, piece types and squares are numbered as in python-chess: black 0 and white 1; pawn 1 to king 6; a1 = 0.
One record is 216 bytes. A search copies it to the next ply and changes the copy (copy-make).
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, lsb
from engine.compiler.jit import inlined

BLACK, WHITE = 0, 1
EMPTY, PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(7)

#: Index into `pieces` of the union of all of them.
OCCUPIED = 0

#: Value of `ep_square` when no en passant capture is possible.
NO_SQUARE = -1

POSITION = np.dtype(
    [
        # [piece type] bitboards of both colours together; index OCCUPIED (0) holds all pieces.
        ("pieces", np.uint64, (7,)),
        # [color] bitboards.
        ("colors", np.uint64, (2,)),
        # Rooks that may still castle, both colours.
        ("castling", np.uint64),
        # Zobrist key, equal to Polyglot's in standard chess.
        ("key", np.uint64),
        # Partial keys: pawns of both colours, and for each [color] its other pieces with the king. Correction tables
        # look up a pawn structure or a set of pieces by these.
        ("pawn_key", np.uint64),
        ("piece_keys", np.uint64, (2,)),
        # Enemy pieces that give check to the side to move, and its own pieces that are pinned to its king.
        ("checkers", np.uint64),
        ("pinned", np.uint64),
        # Side to move; square behind a pawn that just moved two squares and that an enemy pawn stands beside, or
        # NO_SQUARE; plies since the last capture or pawn move.
        ("turn", np.int64),
        ("ep_square", np.int64),
        ("halfmoves", np.int64),
        # [square] piece type of either colour, EMPTY (0) when none.
        ("squares", np.uint8, (64,)),
    ],
    align=True,
)


@inlined
def piece_at(position, square):
    """Piece type on `square`, int64, EMPTY when none."""
    return np.int64(position.squares[square])


@inlined
def king_square(position, color):
    """Square of `color`'s king, int64."""
    return lsb(position.pieces[KING] & position.colors[color])


@inlined
def has_non_pawn_material(position, color):
    """Whether `color` has more than king and pawns."""
    return position.colors[color] & ~(position.pieces[PAWN] | position.pieces[KING]) != U0
