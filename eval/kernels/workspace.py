"""The memory of the classical evaluation: attack maps and other data of the current position, and the pawn table."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.memory import allocate

#: The cached terms of a pawn structure. An entry of zeros is correct for a board without pawns, whose key is 0.
PAWN_ENTRY: Final = np.dtype(
    [
        # The position's `pawn_key`.
        ("key", np.uint64),
        # The packed value of the structure, White's minus Black's.
        ("score", np.int64),
        # Passed pawns of both colours.
        ("passed", np.uint64),
        # [color] squares that the colour's pawns attack now or could attack after advancing.
        ("span", np.uint64, (2,)),
        # `kings`: the white king's square * 64 + the black king's, or 0 (an impossible pair) until `shelter` is
        # computed. `shelter`: the packed value of shelter and storm for these kings, White's minus Black's.
        ("kings", np.int64),
        ("shelter", np.int64),
        ("unused", np.int64),
    ],
    align=True,
)

#: The length of the pawn table, a power of two. An entry has 64 bytes, so the table fits into a typical L2 cache.
PAWN_ENTRIES: Final = 4096

WORKSPACE: Final = np.dtype(
    [
        # [color][piece type] squares attacked by pieces of that type; index 0 is the union of all types.
        ("attacks", np.uint64, (2, 7)),
        # [color] squares attacked at least twice; attacks by two pawns count as one.
        ("twice", np.uint64, (2,)),
        # [color] squares that count for mobility; see `eval.terms.pieces.useful_squares`.
        ("useful", np.uint64, (2,)),
        # [color] `ring`: squares next to the king; `zone`: the king's square, the ring, and the ring moved up a rank.
        ("ring", np.uint64, (2,)),
        ("zone", np.uint64, (2,)),
        # [color] `attackers`: pieces that attack the enemy king's zone; `danger`: packed danger to that king.
        ("attackers", np.int64, (2,)),
        ("danger", np.int64, (2,)),
        ("pawns", PAWN_ENTRY, (PAWN_ENTRIES,)),
    ],
    align=True,
)


def new_workspace() -> Any:
    """Returns a WORKSPACE record with an empty pawn table."""
    return allocate(WORKSPACE, 1)[0]
