"""Zobrist keys, from the random numbers of the Polyglot book format, which python-chess contains.

In standard chess, a position's key equals that of `chess.polyglot.zobrist_hash`. Polyglot has castling keys only for
rooks in the four corners, and could give different castling rights in Chess960 the same key. Rooks on other squares
therefore get keys from a random generator with a fixed seed.
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
    """Returns the keys by colour, piece type and square. Polyglot begins with black pawn, white pawn, black knight."""
    keys = np.zeros((2, 7, 64), np.uint64)
    for color in (chess.BLACK, chess.WHITE):
        for piece_type in chess.PIECE_TYPES:
            kind = 2 * (piece_type - 1) + color
            keys[int(color), piece_type] = _RANDOM[64 * kind : 64 * (kind + 1)]
    return keys


def _castling_keys() -> Keys:
    """Returns the keys of castling rights, indexed by the rook's square, as uint64[64]."""
    keys = np.random.Generator(np.random.PCG64(960)).integers(0, 1 << 64, 64, np.uint64)
    for place, square in enumerate((chess.H1, chess.A1, chess.H8, chess.A8)):
        keys[square] = _RANDOM[768 + place]
    return keys


PIECE_KEYS: Final[Keys] = _piece_keys()
CASTLING_KEYS: Final[Keys] = _castling_keys()
#: Indexed by the file of the en passant square; used if a pawn attacks that square, even if the capture is illegal.
EN_PASSANT_KEYS: Final[Keys] = np.array(_RANDOM[772:780], np.uint64)
#: Part of the key if White is to move.
TURN_KEY: Final[np.uint64] = np.uint64(_RANDOM[780])
