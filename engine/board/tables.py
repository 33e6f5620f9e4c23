"""Attack tables, built from those of python-chess. They are NumPy constants, which Numba freezes into the kernels.

All bitboards are uint64 in python-chess's square order. Slider tables contain an attack set for each arrangement of
relevant blockers. (The last square of a line is not relevant: a blocker there changes nothing.) The indices
come from PEXT or from the multipliers in `magics`; the sizes and offsets of the tables are the same for both. With
PEXT, attack sets are packed into 16 bits, and PDEP unpacks them: tables of a quarter of the size leave more of the
processor's cache to the rest of the search.
"""

from __future__ import annotations

from typing import Any, Final

import chess
import numpy as np
import numpy.typing as npt

from engine.board.magics import BISHOP_MAGICS, ROOK_MAGICS
from engine.compiler.jit import USE_PEXT

Bitboards = npt.NDArray[np.uint64]

KNIGHT_ATTACKS: Final[Bitboards] = np.array(chess.BB_KNIGHT_ATTACKS, np.uint64)
KING_ATTACKS: Final[Bitboards] = np.array(chess.BB_KING_ATTACKS, np.uint64)
#: [color][square]; colours are indexed as in python-chess: black 0, white 1.
PAWN_ATTACKS: Final[Bitboards] = np.array(chess.BB_PAWN_ATTACKS, np.uint64)

#: Attacks of sliders on an empty board, indexed by square.
BISHOP_RAYS: Final[Bitboards] = np.array([table[0] for table in chess.BB_DIAG_ATTACKS], np.uint64)
ROOK_RAYS: Final[Bitboards] = np.array(
    [chess.BB_RANK_ATTACKS[square][0] | chess.BB_FILE_ATTACKS[square][0] for square in chess.SQUARES], np.uint64
)

#: [a][b]: the squares strictly between squares a and b if they share a line, else none.
BETWEEN: Final[Bitboards] = np.array([[chess.between(a, b) for b in chess.SQUARES] for a in chess.SQUARES], np.uint64)
#: [a][b]: the whole line through squares a and b, edge to edge, if they share one, else none.
LINE: Final[Bitboards] = np.array([[chess.ray(a, b) for b in chess.SQUARES] for a in chess.SQUARES], np.uint64)


def packed_bits(sets: Bitboards, mask: int) -> npt.NDArray[np.int64]:
    """Packs the bits that `mask` selects from each set (uint64[n]) into the lowest bits, as int64[n]: PEXT."""
    packed = np.zeros(len(sets), np.int64)
    for place, square in enumerate(chess.scan_forward(mask)):
        packed |= ((sets >> np.uint64(square)) & np.uint64(1)).astype(np.int64) << place
    return packed


def magic_indices(blockers: Bitboards, magic: int, bits: int) -> npt.NDArray[np.int64]:
    """Multiplies each blocker set (uint64[n]) by `magic`; returns the upper `bits` bits as table indices, int64[n]."""
    return ((blockers * np.uint64(magic)) >> np.uint64(64 - bits)).astype(np.int64)


def _line_attacks(square: int, tables: list[list[dict[int, int]]]) -> tuple[Bitboards, Bitboards]:
    """Returns all relevant blocker sets of a slider on `square`, and the attacks for each, from `tables` of lines."""
    blockers, attacks = np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    for table in tables:
        line = np.fromiter(table[square].keys(), np.uint64)
        reached = np.fromiter(table[square].values(), np.uint64)
        blockers = (blockers[:, None] | line).ravel()
        attacks = (attacks[:, None] | reached).ravel()
    return blockers, attacks


def slider_table(
    masks: list[int], lines: list[list[dict[int, int]]], magics: tuple[int, ...], use_pext: bool
) -> tuple[npt.NDArray[Any], Bitboards]:
    """Returns the attack sets of one kind of slider for all squares in one array, and each square's offset into it.

    `masks` are the relevant blocker squares of each square. `lines` are python-chess's tables of line attacks. The
    sets are uint64 bitboards and the indices come from `magics`. With `use_pext`, sets are uint16: the bits that are
    set on an empty board, packed. Offsets are unsigned, so that the kernels need not test for negative indices.
    """
    sizes = [1 << mask.bit_count() for mask in masks]
    offsets = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.uint64)
    attacks = np.zeros(sum(sizes), np.uint16 if use_pext else np.uint64)
    for square, mask in enumerate(masks):
        blockers, reached = _line_attacks(square, lines)
        if use_pext:
            index = packed_bits(blockers, mask)
            attacks[int(offsets[square]) + index] = packed_bits(reached, int(np.bitwise_or.reduce(reached)))
        else:
            index = magic_indices(blockers, magics[square], mask.bit_count())
            attacks[int(offsets[square]) + index] = reached
    return attacks, offsets


_BISHOP_LINES: Any = [chess.BB_DIAG_ATTACKS]
_ROOK_LINES: Any = [chess.BB_RANK_ATTACKS, chess.BB_FILE_ATTACKS]
_ROOK_MASK_INTS = [rank | file for rank, file in zip(chess.BB_RANK_MASKS, chess.BB_FILE_MASKS, strict=True)]

BISHOP_MASKS: Final[Bitboards] = np.array(chess.BB_DIAG_MASKS, np.uint64)
ROOK_MASKS: Final[Bitboards] = np.array(_ROOK_MASK_INTS, np.uint64)
BISHOP_MULTIPLIERS: Final[Bitboards] = np.array(BISHOP_MAGICS, np.uint64)
ROOK_MULTIPLIERS: Final[Bitboards] = np.array(ROOK_MAGICS, np.uint64)
BISHOP_SHIFTS: Final[Bitboards] = np.array([64 - mask.bit_count() for mask in chess.BB_DIAG_MASKS], np.uint64)
ROOK_SHIFTS: Final[Bitboards] = np.array([64 - mask.bit_count() for mask in _ROOK_MASK_INTS], np.uint64)

#: The tables have 5248 and 102,400 sets. Numba can freeze tables of at most 1,000,000 bytes.
BISHOP_TABLE, BISHOP_OFFSETS = slider_table(chess.BB_DIAG_MASKS, _BISHOP_LINES, BISHOP_MAGICS, USE_PEXT)
ROOK_TABLE, ROOK_OFFSETS = slider_table(_ROOK_MASK_INTS, _ROOK_LINES, ROOK_MAGICS, USE_PEXT)
