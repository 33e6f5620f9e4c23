"""The memory of an evaluation: attack maps of the current position, and the pawn table."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.memory import allocate

#: The cached terms of a pawn structure. An entry of zeros is correct for the board without pawns, whose key is 0.
PAWN_ENTRY: Final = np.dtype(
    [
        # Position.pawn_key of the structure.
        ("key", np.uint64),
        # Its packed value, White's less Black's.
        ("score", np.int64),
        # Passed pawns of both colours.
        ("passed", np.uint64),
        # [color] the squares that its pawns attack now or could attack from a square ahead of them.
        ("span", np.uint64, (2,)),
        # Shelter and storm of both kings as a packed pair, White's less Black's, for the kings' squares in `kings`:
        # white square * 64 + black square. 0, an impossible pair of squares, while there is no shelter yet.
        ("kings", np.int64),
        ("shelter", np.int64),
        ("unused", np.int64),
    ],
    align=True,
)

#: A power of two; an entry has 64 bytes, so that the table stays within a core's own cache.
PAWN_ENTRIES: Final = 4096

WORKSPACE: Final = np.dtype(
    [
        # [color][piece type] squares attacked by that type; index 0 holds all of them together.
        ("attacks", np.uint64, (2, 7)),
        # [color] squares attacked at least twice; two pawns count once.
        ("twice", np.uint64, (2,)),
        # [color] squares that count for mobility; see `eval.terms.pieces.useful_squares`.
        ("useful", np.uint64, (2,)),
        # [color] the squares next to its king; the king's square, those, and those one rank ahead of them.
        ("ring", np.uint64, (2,)),
        ("zone", np.uint64, (2,)),
        # [color] number of pieces that attack the enemy king's zone, and their danger so far, a packed pair.
        ("attackers", np.int64, (2,)),
        ("danger", np.int64, (2,)),
        ("pawns", PAWN_ENTRY, (PAWN_ENTRIES,)),
    ],
    align=True,
)


def new_workspace() -> Any:
    """A workspace with an empty pawn table."""
    return allocate(WORKSPACE, 1)[0]
