"""Correction history: how far the static evaluation has been off lately in positions like this one.

After each search whose result tells more than the evaluation did, the difference is remembered under a few features
of the position: its pawns, each side's pieces, and the last two moves. The evaluation of the next position that shares
a feature is shifted by what was learnt. (The idea, for pawn structures, is from the engine Caissa by Michał Witanowski;
the other keys came into use in Stockfish.)

  when     learnt where a node of the main search ends (block 18 of `search.kernels.alphabeta`), and read wherever a
           position is evaluated, in quiescence, too
  formula  sum of correction_pawns, correction_pieces and correction_moves times their entries; the entries, in
           sixteenths of a centipawn, are moved by correction_rate / 1000 * depth * error in centipawns, _MOST_LEARNT at
           most, the less the closer they are to CORRECTION_LIMIT
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

#: Entries are in sixteenths of a centipawn and weighted in hundredths: their sum is divided by this into centipawns.
_SCALE = 16 * 100

#: What one search may move an entry by.
_MOST_LEARNT = CORRECTION_LIMIT // 4

#: Each ply without capture or pawn move takes one part in so many of the evaluation. Half of it is left when the
#: fifty-move rule ends the game: an advantage that has led to nothing until then is hardly one.
_FADING = 200


@inlined
def _slot(key):
    """Index into a correction table for a Zobrist key, uint64."""
    return key & _MASK


@inlined
def prefetch_corrections(worker, ply):
    """Starts loading what `corrected_eval` looks up at `ply` into the CPU's cache."""
    position = worker.stack[ply].position
    us = position.turn
    prefetch(worker.pawn_corrections[us], np.int64(_slot(position.pawn_key)))
    prefetch(worker.piece_corrections[us, BLACK], np.int64(_slot(position.piece_keys[BLACK])))
    prefetch(worker.piece_corrections[us, WHITE], np.int64(_slot(position.piece_keys[WHITE])))
    earlier = worker.move_corrections[earlier_continuation(worker, ply, 2)]
    prefetch(earlier, earlier_continuation(worker, ply, 1))


@inlined
def corrected_eval(worker, ply, raw_eval):
    """The raw evaluation of the position at `ply` plus its corrections, int64 centipawns, never a mate score.

    It is also drawn towards 0 as the fifty-move rule comes near: it loses halfmoves / _FADING of its value.
    """
    position = worker.stack[ply].position
    us = position.turn
    tune = worker.tune
    pawns = np.int64(worker.pawn_corrections[us, _slot(position.pawn_key)])
    black = np.int64(worker.piece_corrections[us, BLACK, _slot(position.piece_keys[BLACK])])
    white = np.int64(worker.piece_corrections[us, WHITE, _slot(position.piece_keys[WHITE])])
    moves = np.int64(
        worker.move_corrections[earlier_continuation(worker, ply, 2), earlier_continuation(worker, ply, 1)]
    )
    shift = tune.correction_pawns * pawns + tune.correction_pieces * (black + white) + tune.correction_moves * moves
    value = raw_eval * (_FADING - position.halfmoves) // _FADING + shift // _SCALE
    return min(max(value, 1 - MATE_BOUND), MATE_BOUND - 1)


@inlined
def update_correction_history(worker, ply, depth, error):
    """The search to `depth` found a value `error` centipawns above the evaluation at `ply`. Mutates `worker`."""
    position = worker.stack[ply].position
    us = position.turn
    bonus = min(max(error * depth * worker.tune.correction_rate // 1000, -_MOST_LEARNT), _MOST_LEARNT)
    slot = _slot(position.pawn_key)
    worker.pawn_corrections[us, slot] = gravity(np.int64(worker.pawn_corrections[us, slot]), bonus, CORRECTION_LIMIT)
    for color in range(2):
        slot = _slot(position.piece_keys[color])
        value = np.int64(worker.piece_corrections[us, color, slot])
        worker.piece_corrections[us, color, slot] = gravity(value, bonus, CORRECTION_LIMIT)
    first, second = earlier_continuation(worker, ply, 2), earlier_continuation(worker, ply, 1)
    worker.move_corrections[first, second] = gravity(
        np.int64(worker.move_corrections[first, second]), bonus, CORRECTION_LIMIT
    )
