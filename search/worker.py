"""The state of one search thread: a single record, allocated once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.board.moves import MAX_MOVES
from engine.board.position import POSITION
from engine.jit import allocate
from search.score import MAX_PLY

#: Keys of the game before the root that are kept: more than the fifty-move rule lets a repetition reach back.
GAME_KEYS: Final = 384

#: What a line has at one ply.
FRAME: Final = np.dtype(
    [
        ("position", POSITION),
        # Legal moves of the stage being searched, and what orders them.
        ("moves", np.int32, (MAX_MOVES,)),
        ("order", np.int32, (MAX_MOVES,)),
        # Two quiet moves that refuted siblings of this node.
        ("killers", np.int32, (2,)),
        # The move that led to the next frame; NO_MOVE for a null move.
        ("move", np.int64),
        # Best line from here: pv[:pv_length].
        ("pv_length", np.int64),
        ("pv", np.int32, (MAX_PLY + 1,)),
    ],
    align=True,
)

WORKER: Final = np.dtype(
    [
        # Written by other threads: 1 ends the search at its next node, 0 lets it run.
        ("stop", np.int64),
        # 0 while an iteration runs that must be finished whatever `stop` says, else 1.
        ("stoppable", np.int64),
        # Set by the search when it ended early: its value means nothing then.
        ("aborted", np.int64),
        ("nodes", np.int64),
        ("node_limit", np.int64),
        # Deepest ply reached, quiescence included.
        ("selective_depth", np.int64),
        ("generation", np.int64),
        # Moves to search at the root, best first, and the nodes that each took in this iteration.
        ("root_count", np.int64),
        ("root_moves", np.int64, (MAX_MOVES,)),
        ("root_nodes", np.int64, (MAX_MOVES,)),
        # Zobrist keys of game and line; the root's has index root_index.
        ("root_index", np.int64),
        ("keys", np.uint64, (GAME_KEYS + MAX_PLY + 2,)),
        # [color][origin][target] how well a quiet move has done lately; bounded by HISTORY_LIMIT.
        ("history", np.int32, (2, 64, 64)),
        ("frames", FRAME, (MAX_PLY + 2,)),
    ],
    align=True,
)


def new_worker() -> Any:
    """A worker record, zeroed."""
    return allocate(WORKER, 1)[0]
