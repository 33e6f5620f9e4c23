"""The history of quiet moves: one number a move, fed by cutoffs."""

from __future__ import annotations

import numpy as np

from engine.board.moves import move_origin, move_target
from engine.jit import inlined

#: No history value leaves -HISTORY_LIMIT .. HISTORY_LIMIT.
HISTORY_LIMIT = 16_384
MAX_BONUS = 1_600


@inlined
def bonus_for(depth):
    """The reward for a cutoff at `depth` plies, int64: deep ones cost more and tell more."""
    return min(depth * depth * 16, MAX_BONUS)


@inlined
def history_of(worker, color, move):
    """History of a quiet move of `color`, int64."""
    return np.int64(worker.history[color, move_origin(move), move_target(move)])


@inlined
def add_history(worker, color, move, bonus):
    """Moves a history value towards the sign of `bonus`, the less the closer it is to its limit. Mutates `worker`."""
    value = history_of(worker, color, move)
    worker.history[color, move_origin(move), move_target(move)] = value + bonus - value * abs(bonus) // HISTORY_LIMIT
