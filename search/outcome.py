"""The chances of a win, a draw and a loss at a given score, fitted to our own games.

    win(score)  = 1 / (1 + exp((a - score) / b))          loss(score) = win(-score)          draw: the rest

Above score `a`, a win is more likely than not; the larger `b`, the slower the chance grows around `a`. `a` and `b`
are in centipawns and are polynomials of the material. A small score wins more games with much material than with
little; with a large score it is the other way round. (The form is that of Stockfish's WDL model.) `secateur wdl` fits
the polynomials; docs/training.md says how well they fit.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import chess

from search.kernels.score import mate_distance

#: The value of each piece type in pawns; kings and empty squares count 0. Both sides together start with 78.
PIECE_MATERIAL: Final = (0, 1, 3, 3, 5, 9, 0)
#: Material is clamped to these bounds: there were too few games with less or more.
LEAST_MATERIAL, FULL_MATERIAL = 6, 78

#: The digest of the network whose games the model was fitted to.
NETWORK: Final = "dc2121f4d1f22f7b6aae947df6ef4bf45195193f19d58be0c3771f96e6909d10"

#: The coefficients of 1, m and m^2 in `a` and `b`, with m = material / FULL_MATERIAL. They were fitted to 0.7 million
#: positions with scores up to 400, from 8192 self-play games of that network at 1000 nodes a move.
WIN_SCORE: Final = (250.2, -356.4, 171.0)
SPREAD: Final = (38.8, 154.6, -84.0)


class Outcome(NamedTuple):
    """Chances in permille, from the view of the side whose score is given; they add up to 1000."""

    win: int
    draw: int
    loss: int


CERTAIN_WIN: Final = Outcome(1000, 0, 0)
CERTAIN_DRAW: Final = Outcome(0, 1000, 0)
CERTAIN_LOSS: Final = Outcome(0, 0, 1000)


def material(board: chess.Board) -> int:
    """Returns the material of both sides in pawns, clamped to LEAST_MATERIAL .. FULL_MATERIAL."""
    total = sum(PIECE_MATERIAL[piece] * board.pieces_mask(piece, color).bit_count() for piece, color in _PIECES)
    return min(max(total, LEAST_MATERIAL), FULL_MATERIAL)


_PIECES: Final = tuple((piece, color) for piece in range(chess.PAWN, chess.KING) for color in chess.COLORS)


def polynomial(coefficients: tuple[float, ...], pawns: int) -> float:
    """Returns, in centipawns, the value of the polynomial with these coefficients at `pawns` / FULL_MATERIAL."""
    share = pawns / FULL_MATERIAL
    return sum(coefficient * share**power for power, coefficient in enumerate(coefficients))


def win_chance(score: float, pawns: int) -> float:
    """Returns the chance, 0 to 1, of winning with a `score` in centipawns; `pawns` is the material of both sides."""
    exponent = (polynomial(WIN_SCORE, pawns) - score) / polynomial(SPREAD, pawns)
    return 1 / (1 + math.exp(min(exponent, 500.0)))


def outcome(score: int, pawns: int) -> Outcome:
    """Returns the chances of the side with this `score` (see `search.kernels.score`). `win_chance` explains `pawns`."""
    mate = mate_distance(score)
    if mate is not None:
        return CERTAIN_WIN if mate > 0 else CERTAIN_LOSS
    win, loss = (round(1000 * win_chance(signed, pawns)) for signed in (score, -score))
    return Outcome(win, 1000 - win - loss, loss)
