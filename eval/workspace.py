"""What an evaluation writes on: attack maps of the position at hand, and the pawn table."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.memory import allocate

#: What is known of a pawn structure. The zero entry, whose key is that of a board without pawns, is true of it.
PAWN_ENTRY: Final = np.dtype(
    [
        # Position.pawn_key of the structure.
        ("key", np.uint64),
        # Its packed value, White's less Black's.
        ("score", np.int64),
        # Passed pawns of both colours.
        ("passed", np.uint64),
        # [color] the squares that its pawns attack now or from any square ahead of them.
        ("span", np.uint64, (2,)),
        # Shelter and storm of both kings as a packed pair, White's less Black's, for the kings on `kings`:
        # white square * 64 + black square. 0, which no two kings have, when there is none yet.
        ("kings", np.int64),
        ("shelter", np.int64),
        ("unused", np.int64),
    ],
    align=True,
)

#: A power of two; 64 bytes an entry, so that the table stays within a core's own cache.
PAWN_ENTRIES: Final = 4096

WORKSPACE: Final = np.dtype(
    [
        # [color][piece type] squares attacked by that type; index 0 holds all of them together.
        ("attacks", np.uint64, (2, 7)),
        # [color] squares attacked at least twice; two pawns count once.
        ("twice", np.uint64, (2,)),
        # [color] where mobility counts: not own king or blocked pawns, not what enemy pawns attack.
        ("useful", np.uint64, (2,)),
        # [color] around its king: the squares that it can reach, and those with the next rank's.
        ("ring", np.uint64, (2,)),
        ("zone", np.uint64, (2,)),
        # [color] pieces that attack the enemy king's zone, and their danger so far, a packed pair.
        ("attackers", np.int64, (2,)),
        ("danger", np.int64, (2,)),
        ("pawns", PAWN_ENTRY, (PAWN_ENTRIES,)),
    ],
    align=True,
)


def new_workspace() -> Any:
    """A workspace with an empty pawn table."""
    return allocate(WORKSPACE, 1)[0]
