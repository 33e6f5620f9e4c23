"""Zobrist keys from python-chess's Polyglot random numbers, so that one key serves both the book and the TT.

For standard chess a position's key equals `chess.polyglot.zobrist_hash`. Polyglot has castling keys only for rooks on
the four corners, and would give two different Chess960 rights the same key. Rooks on other squares therefore get keys
from a random generator with a fixed seed.
"""

from __future__ import annotations

from typing import Final

import chess
import chess.polyglot
import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]

_RANDOM: Final = chess.polyglot.POLYGLOT_RANDOM_ARRAY


def _piece_keys() -> Keys:
    """Returns the keys by [color][piece type][square]. Polyglot's order is black pawn, white pawn, black knight, ..."""
    keys = np.zeros((2, 7, 64), np.uint64)
    for color in (chess.BLACK, chess.WHITE):
        for piece_type in chess.PIECE_TYPES:
            kind = 2 * (piece_type - 1) + color
            keys[int(color), piece_type] = _RANDOM[64 * kind : 64 * (kind + 1)]
    return keys


def _castling_keys() -> Keys:
    """Returns the keys by the square of a rook that may castle, as uint64[64]."""
    keys = np.random.Generator(np.random.PCG64(960)).integers(0, 1 << 64, 64, np.uint64)
    for place, square in enumerate((chess.H1, chess.A1, chess.H8, chess.A8)):
        keys[square] = _RANDOM[768 + place]
    return keys


PIECE_KEYS: Final[Keys] = _piece_keys()
CASTLING_KEYS: Final[Keys] = _castling_keys()
#: [file of the en passant square]; part of the key only if a pawn attacks that square, whether or not it may capture.
EN_PASSANT_KEYS: Final[Keys] = np.array(_RANDOM[772:780], np.uint64)
#: Part of the key if White is to move.
TURN_KEY: Final[np.uint64] = np.uint64(_RANDOM[780])
