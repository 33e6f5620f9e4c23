"""Correction history: the recent error of the static evaluation in similar positions.

If a search shows that the static evaluation of a position is wrong, the error is stored under a few features of the
position: its pawns, each side's pieces, and the last two moves. Later evaluations of positions that share a feature are
corrected by the stored errors. (The idea, for pawn structures, is from the engine Caissa by Michał Witanowski; the
other features come from Stockfish.)

  when     updated at the end of a node of the main search (block 17 of `search.kernels.alphabeta`); read for each
           static evaluation, also in quiescence, but not at MAX_PLY
  formula  correction = the sum of the features' entries, weighted by correction_pawns, correction_pieces and
           correction_moves. After a search, error = its value - the static evaluation, in centipawns. `gravity` adds
           correction_rate / 1000 * depth * error, clamped to +-_MAX_BONUS, to each of the entries, which are in
           sixteenths of a centipawn and within +-CORRECTION_LIMIT
  worth    +26.5 +- 15.8  [ledger: correction-history-tuned]
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import prefetch
from engine.board.position import BLACK, WHITE
from engine.compiler.jit import inlined
from search.kernels.history import earlier_continuation, gravity
from search.kernels.score import MATE_BOUND
from search.kernels.worker import CORRECTION_LIMIT, CORRECTION_SIZE

_MASK = np.uint64(CORRECTION_SIZE - 1)

#: Entries are in sixteenths of a centipawn and weights in hundredths, so the weighted sum / _SCALE is in centipawns.
_SCALE = 16 * 100

#: The largest absolute bonus that one search passes to `gravity`, in sixteenths of a centipawn.
_MAX_BONUS = CORRECTION_LIMIT // 4

#: Each ply without a capture or pawn move takes away 1 / _FIFTY_MOVE_SCALE of the evaluation, because an advantage
#: without progress is worth less. Half of the evaluation is left when the fifty-move rule ends the game.
_FIFTY_MOVE_SCALE = 200


@inlined
def _slot(key):
    """Returns the index into a correction table for a Zobrist key, as uint64."""
    return key & _MASK


@inlined
def prefetch_corrections(worker, ply):
    """Prefetches the entries that `corrected_eval` reads at `ply`."""
    position = worker.stack[ply].position
    us = position.turn
    prefetch(worker.pawn_corrections[us], np.int64(_slot(position.pawn_key)))
    prefetch(worker.non_pawn_corrections[us, BLACK], np.int64(_slot(position.piece_keys[BLACK])))
    prefetch(worker.non_pawn_corrections[us, WHITE], np.int64(_slot(position.piece_keys[WHITE])))
    earlier = worker.continuation_corrections[earlier_continuation(worker, ply, 2)]
    prefetch(earlier, earlier_continuation(worker, ply, 1))


@inlined
def corrected_eval(worker, ply, raw_eval):
    """Returns the evaluation `raw_eval` of the position at `ply` plus the corrections, as int64 centipawns.

    `raw_eval` is first multiplied by 1 - halfmoves / _FIFTY_MOVE_SCALE. The sum is clamped to exclude mate scores.
    """
    position = worker.stack[ply].position
    us = position.turn
    tune = worker.tune
    pawns = np.int64(worker.pawn_corrections[us, _slot(position.pawn_key)])
    black = np.int64(worker.non_pawn_corrections[us, BLACK, _slot(position.piece_keys[BLACK])])
    white = np.int64(worker.non_pawn_corrections[us, WHITE, _slot(position.piece_keys[WHITE])])
    moves = np.int64(
        worker.continuation_corrections[earlier_continuation(worker, ply, 2), earlier_continuation(worker, ply, 1)]
    )
    shift = tune.correction_pawns * pawns + tune.correction_pieces * (black + white) + tune.correction_moves * moves
    value = raw_eval * (_FIFTY_MOVE_SCALE - position.halfmoves) // _FIFTY_MOVE_SCALE + shift // _SCALE
    return min(max(value, 1 - MATE_BOUND), MATE_BOUND - 1)


@inlined
def update_correction_history(worker, ply, depth, error):
    """Records the `error` that a search to `depth` plies found in the static evaluation at `ply`. Mutates `worker`.

    `error` is the value that the search found minus the static evaluation, in centipawns.
    """
    position = worker.stack[ply].position
    us = position.turn
    bonus = min(max(error * depth * worker.tune.correction_rate // 1000, -_MAX_BONUS), _MAX_BONUS)
    slot = _slot(position.pawn_key)
    worker.pawn_corrections[us, slot] = gravity(np.int64(worker.pawn_corrections[us, slot]), bonus, CORRECTION_LIMIT)
    for color in range(2):
        slot = _slot(position.piece_keys[color])
        value = np.int64(worker.non_pawn_corrections[us, color, slot])
        worker.non_pawn_corrections[us, color, slot] = gravity(value, bonus, CORRECTION_LIMIT)
    first, second = earlier_continuation(worker, ply, 2), earlier_continuation(worker, ply, 1)
    worker.continuation_corrections[first, second] = gravity(
        np.int64(worker.continuation_corrections[first, second]), bonus, CORRECTION_LIMIT
    )
