"""Correction history: the recent error of the static evaluation in similar positions.

If a search tells more about a position than its evaluation, the difference is stored under a few features of the
position: its pawns, each side's pieces, and the last two moves. Later evaluations of positions that share a feature are
corrected by it. (The idea, for pawn structures, is from the engine Caissa by Michał Witanowski; the other keys come
from Stockfish.)

  when     updated at the end of a node of the main search (block 18 of `search.kernels.alphabeta`); read whenever a
           position is evaluated, also in quiescence
  formula  sum of correction_pawns, correction_pieces and correction_moves times their entries. An entry, in
           sixteenths of a centipawn, changes by correction_rate / 1000 * depth * error in centipawns, by at most
           _MAX_BONUS, and by less the closer it is to CORRECTION_LIMIT
  worth    +45.4 +- 36.0  [ledger: correction-history]
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

#: The most by which one search changes an entry.
_MAX_BONUS = CORRECTION_LIMIT // 4

#: Each ply without a capture or pawn move takes 1 / _FIFTY_MOVE_SCALE of the evaluation, because an advantage without
#: progress is worth less. Half of it is left when the fifty-move rule ends the game.
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
    """Returns the raw evaluation at `ply` plus its corrections, as int64 centipawns, never a mate score.

    As the fifty-move rule nears, the raw evaluation shrinks: it loses halfmoves / _FIFTY_MOVE_SCALE of its value.
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
    """Records that the search to `depth` plies found a value `error` centipawns above `static_eval` at `ply`.

    Mutates `worker`.
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
