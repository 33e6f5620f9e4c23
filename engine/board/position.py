"""The position record of the kernels: a position as in a `chess.Board`, with keys, checkers and pinned pieces.

Colours, piece types and squares are numbered as in python-chess: black 0 and white 1; pawn 1 to king 6; a1 = 0.
One record is 216 bytes. A search copies it to the next ply and changes the copy (copy-make).
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, lsb
from engine.compiler.jit import inlined

BLACK, WHITE = 0, 1
EMPTY, PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(7)

#: Index into `pieces` of the bitboard of all pieces.
OCCUPIED = 0

#: Value of `ep_square` if no pawn of the side to move attacks an en passant square.
NO_SQUARE = -1

POSITION = np.dtype(
    [
        # Bitboards of both colours together, indexed by piece type; index OCCUPIED (0) contains all pieces.
        ("pieces", np.uint64, (7,)),
        # Bitboards of all pieces of a colour, indexed by colour.
        ("colors", np.uint64, (2,)),
        # Rooks of both colours that have the right to castle.
        ("castling", np.uint64),
        # Zobrist key, equal to Polyglot's in standard chess.
        ("key", np.uint64),
        # Partial keys: `pawn_key` of all pawns, `piece_keys` of each colour's other pieces, including the king.
        # They index the correction tables.
        ("pawn_key", np.uint64),
        ("piece_keys", np.uint64, (2,)),
        # Enemy pieces that give check, and pieces of the side to move that are pinned to their king.
        ("checkers", np.uint64),
        ("pinned", np.uint64),
        # Side to move; en passant square if a pawn of that side attacks it, else NO_SQUARE; plies since the last
        # capture or pawn move.
        ("turn", np.int64),
        ("ep_square", np.int64),
        ("halfmoves", np.int64),
        # Type of the piece, of either colour, on each square; EMPTY (0) if there is none.
        ("squares", np.uint8, (64,)),
    ],
    align=True,
)


@inlined
def piece_at(position, square):
    """Returns the type of the piece on `square`, as int64; EMPTY if there is none."""
    return np.int64(position.squares[square])


@inlined
def king_square(position, color):
    """Returns the square of `color`'s king, as int64."""
    return lsb(position.pieces[KING] & position.colors[color])


@inlined
def has_non_pawn_material(position, color):
    """Returns whether `color` has a piece other than king and pawns."""
    return position.colors[color] & ~(position.pieces[PAWN] | position.pieces[KING]) != U0
