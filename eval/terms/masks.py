"""Tables of squares and of distances for the terms. Kernels contain the tables as constants.

Bitboards are uint64 in python-chess's square order. Tables by colour have index 0 for Black and 1 for White.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from engine.compiler.jit import inlined

Bitboards = npt.NDArray[np.uint64]

_SQUARES: Final = np.arange(64)
_FILE: Final = _SQUARES & 7
_RANK: Final = _SQUARES >> 3


def _bitboards(is_member: npt.NDArray[np.bool_]) -> Bitboards:
    """Returns the bitboard of each row of `is_member`, bool[...][64], as uint64[...]."""
    sets: Bitboards = (is_member.astype(np.uint64) << _SQUARES.astype(np.uint64)).sum(axis=-1, dtype=np.uint64)
    return sets


_FILES = np.arange(8)[:, None]
#: [file]: FILES contains the squares of the file, NEIGHBOUR_FILES those of the files beside it.
FILES: Final = _bitboards(_FILE == _FILES)
NEIGHBOUR_FILES: Final = _bitboards(np.abs(_FILE - _FILES) == 1)
#: [file of a king]: four files near it: a to d if the king is on a, b or c; c to f for d and e; e to h for f, g and h.
FLANKS: Final = _bitboards(np.abs(2 * _FILE - np.array([3, 3, 3, 7, 7, 11, 11, 11])[:, None]) <= 3)
#: [rank]: the squares of the rank.
RANKS: Final = _bitboards(_RANK == _FILES)

# [color][square][other square]: True if the other square is on a rank ahead of the square.
_RANK_STEPS = _RANK - _RANK[:, None]
_AHEAD = np.stack([_RANK_STEPS < 0, _RANK_STEPS > 0])
_FILE_STEPS = np.abs(_FILE - _FILE[:, None])
#: [color][square]: FRONT contains the squares ahead on the same file, FRONT_SIDES those on the neighbour files.
FRONT: Final = _bitboards(_AHEAD & (_FILE_STEPS == 0))
FRONT_SIDES: Final = _bitboards(_AHEAD & (_FILE_STEPS == 1))
FRONT_SPAN: Final = FRONT | FRONT_SIDES
#: [color][square]: the squares of the neighbour files on the same rank and on the ranks behind it.
BESIDE_AND_BEHIND: Final = _bitboards(~_AHEAD & (_FILE_STEPS == 1))

#: int8[square][square]: the number of king's moves between two squares.
DISTANCE: Final[npt.NDArray[np.int8]] = np.maximum(_FILE_STEPS, np.abs(_RANK_STEPS)).astype(np.int8)

#: [color]: in this order, the squares of ranks 4 to 6, ranks 1 to 5, rank 3, rank 7, and rank 8 from the colour's side.
OUTPOST_RANKS: Final = np.array([0x0000_00FF_FFFF_0000, 0x0000_FFFF_FF00_0000], np.uint64)
CAMP: Final = np.array([0xFFFF_FFFF_FF00_0000, 0x0000_00FF_FFFF_FFFF], np.uint64)
THIRD_RANK: Final = np.array([0x0000_FF00_0000_0000, 0x0000_0000_00FF_0000], np.uint64)
SEVENTH_RANK: Final = np.array([0x0000_0000_0000_FF00, 0x00FF_0000_0000_0000], np.uint64)
LAST_RANK: Final = np.array([0x0000_0000_0000_00FF, 0xFF00_0000_0000_0000], np.uint64)

CENTER = np.uint64(0x0000_0018_1800_0000)
CENTER_FILES = np.uint64(0x3C3C_3C3C_3C3C_3C3C)
LIGHT_SQUARES = np.uint64(0x55AA_55AA_55AA_55AA)
LEFT_WING = np.uint64(0x0F0F_0F0F_0F0F_0F0F)
ROOK_FILES = np.uint64(0x8181_8181_8181_8181)


@inlined
def relative_square(square, color):
    """Returns a square as seen from `color`'s side, as int64: ranks are flipped for Black."""
    return square ^ (56 * (color ^ 1))


@inlined
def relative_rank(square, color):
    """Returns the rank of a square, counted from `color`'s side, as int64 from 0 to 7."""
    return (square >> 3) ^ (7 * (color ^ 1))


@inlined
def distance(one, other):
    """Returns the number of king's moves between two squares on an empty board, as int64."""
    return np.int64(DISTANCE[one, other])
