"""The draw rules that a search applies inside its tree."""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, popcount
from engine.board.generate import count_legal
from engine.board.position import BISHOP, KNIGHT, OCCUPIED, PAWN, QUEEN, ROOK
from engine.compiler.jit import inlined, subkernel

DARK_SQUARES = np.uint64(0xAA55_AA55_AA55_AA55)

#: The number of plies without a capture or pawn move after which the game is drawn.
FIFTY_MOVES = 100


@inlined
def is_repetition(keys, index, halfmoves, ply):
    """Returns whether the position with key `keys[index]` counts as drawn by repetition.

    `keys` is uint64[n]: the keys of the game and of the search line, in order. A repetition can be at most `halfmoves`
    plies back; `ply` is the distance from the root. One earlier occurrence after the root is enough, because a side
    that can force one repetition can force another. Otherwise two earlier occurrences are needed, as in the rules.
    """
    earlier = 0
    for back in range(4, min(halfmoves, index) + 1, 2):
        if keys[index - back] == keys[index]:
            if back < ply:
                return True
            earlier += 1
            if earlier == 2:
                return True
    return False


@inlined
def has_insufficient_material(position):
    """Returns whether the pieces rule out mate: at most one minor piece, or only bishops on squares of one colour."""
    pieces = position.pieces
    if pieces[PAWN] | pieces[ROOK] | pieces[QUEEN] != U0:
        return False
    if popcount(pieces[OCCUPIED]) <= 3:
        return True
    bishops = pieces[BISHOP]
    return pieces[KNIGHT] == U0 and (bishops & DARK_SQUARES == U0 or bishops & ~DARK_SQUARES == U0)


@subkernel
def is_fifty_move_draw(position):
    """Returns whether the fifty-move rule ends the game in this position. Checkmate takes precedence."""
    return position.halfmoves >= FIFTY_MOVES and (position.checkers == U0 or count_legal(position) > 0)
