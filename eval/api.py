"""The interface for custom evaluations: decorators, constants, and functions that read positions and bitboards.

A custom evaluation is a function with one argument, the position: a record of type `engine.board.position.POSITION`.

    returns    whole centipawns from the side to move's view: positive if that side stands better
    bounds     values beyond +-30,000 are clamped, so that they stay below mate scores
    must not   change the position, raise an exception, or depend on other data that may change
    indices    must be from 0 to the array's length minus one, because they are not checked

    from secateur.eval.api import material, subkernel

    @subkernel
    def evaluate(position):
        return material(position, position.turn) - material(position, 1 - position.turn)

Numba compiles the function and the functions that it calls; declare your own with `subkernel`. They may use
arithmetic, conditions, loops, tuples, constant NumPy arrays of numbers, and the names in `__all__`. They cannot create
lists or arrays. Colours, pieces and squares have python-chess's numbers: BLACK is 0 and WHITE 1, PAWN is 1 and KING 6,
a1 is 0 and h8 63. A set of squares is a bitboard (uint64); `&`, `|`, `^` and `~` work on bitboards. Most other numbers
are int64. Do not mix them with bitboards in arithmetic, because Numba would turn the result into a float. `popcount`
counts a bitboard's squares, `lsb` returns its lowest square, and `bit` turns a square into a bitboard.

    position.turn             the side to move
    position.pieces[piece]    bitboard of the pieces of one type, of both colours; index 0 has all pieces
    position.colors[color]    bitboard of a colour's pieces
    position.squares[square]  the type of the piece on a square, of either colour; 0 if there is none
    position.checkers         pieces that give check to the side to move
    position.pinned           the side to move's pieces that are pinned to its king
    position.castling         rooks of both colours that may still castle
    position.ep_square        the target square of a possible en passant capture; -1 if there is none
    position.halfmoves        plies since the last capture or pawn move
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.compiler.library import compile_here

# This call must precede the imports below: kernels compiled ahead of time cannot call a custom function.
compile_here()

from engine.board.attacks import attackers_to, attacks_from, is_attacked
from engine.board.bits import bit, lsb, popcount, without_lsb
from engine.board.generate import pawn_attacks
from engine.board.position import (
    BISHOP,
    BLACK,
    EMPTY,
    KING,
    KNIGHT,
    OCCUPIED,
    PAWN,
    QUEEN,
    ROOK,
    WHITE,
    has_non_pawn_material,
    king_square,
    piece_at,
)
from engine.board.tables import KING_ATTACKS, KNIGHT_ATTACKS, PAWN_ATTACKS
from engine.compiler.jit import inlined, subkernel
from eval.terms.masks import CENTER, FILES, RANKS, distance, relative_rank, relative_square

__all__ = [
    "BISHOP",
    "BLACK",
    "CENTER",
    "EMPTY",
    "FILES",
    "KING",
    "KING_ATTACKS",
    "KNIGHT",
    "KNIGHT_ATTACKS",
    "OCCUPIED",
    "PAWN",
    "PAWN_ATTACKS",
    "PIECE_VALUES",
    "QUEEN",
    "RANKS",
    "ROOK",
    "WHITE",
    "attackers_to",
    "attacks_from",
    "bit",
    "count",
    "distance",
    "has_non_pawn_material",
    "inlined",
    "is_attacked",
    "king_square",
    "lsb",
    "material",
    "pawn_attacks",
    "piece_at",
    "pieces",
    "popcount",
    "relative_rank",
    "relative_square",
    "subkernel",
    "without_lsb",
]

#: [piece type]: the values of Tomasz Michniewski's Simplified Evaluation Function in centipawns, but 0 for a king.
PIECE_VALUES: Final = np.array([0, 100, 320, 330, 500, 900, 0], np.int64)


@inlined
def pieces(position: Any, color: Any, piece: Any) -> Any:
    """Returns the bitboard of a colour's pieces of one type, as uint64."""
    return position.pieces[piece] & position.colors[color]


@inlined
def count(position: Any, color: Any, piece: Any) -> Any:
    """Returns the number of a colour's pieces of one type, as int64."""
    return popcount(pieces(position, color, piece))


@inlined
def material(position: Any, color: Any) -> Any:
    """Returns the sum of PIECE_VALUES over a colour's pieces, in int64 centipawns."""
    total = 0
    for piece in range(PAWN, KING):
        total += PIECE_VALUES[piece] * count(position, color, piece)
    return total
