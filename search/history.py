"""Histories: how well moves have done, fed by cutoffs and read by ordering, pruning and reductions.

Worth, by the test described in `search.alphabeta`:

    butterfly history                               {{butterfly-history}}
    continuation history                            {{continuation-history}}
    capture history                                 {{capture-history}}
    killers, which come before the quiet moves      {{killers}}
    counter moves, which come behind the killers    {{counter-moves}}

Tried and not kept: the continuation of four plies back with half its weight, which in another test brought
+3.5 +- 29.0  [ledger: continuation-four].

Every entry of a history is moved by one formula, `gravity`, which keeps it within -HISTORY_LIMIT .. HISTORY_LIMIT.
"""

from __future__ import annotations

import numpy as np

from engine.board.exchange import captured_piece
from engine.board.moves import NO_MOVE, move_origin, move_target
from engine.board.position import piece_at
from engine.jit import inlined
from search.tunables import BONUS_MAX, BONUS_SLOPE, BUTTERFLY_SHARE, CAPTURE_SHARE, CONTINUATION_SHARE, COUNTER_MOVES
from search.worker import NO_CONTINUATION

HISTORY_LIMIT = 16_384


@inlined
def bonus_for(worker, depth):
    """The reward for a cutoff at `depth` plies, int64: deep ones cost more and tell more."""
    return min(depth * worker.tune[BONUS_SLOPE], worker.tune[BONUS_MAX])


@inlined
def _share(worker, share, bonus):
    """What a history learns of `bonus`, int64; `share` is the index of a percentage."""
    return worker.tune[share] * bonus // 100


@inlined
def gravity(value, bonus, limit):
    """A history value moved towards the sign of `bonus`, the less the closer it is to `limit`, int64."""
    return value + bonus - value * abs(bonus) // limit


@inlined
def continuation_of(position, move):
    """Colour, piece and target of a move as one number, int64 0 to 767."""
    piece = piece_at(position, move_origin(move))
    return position.turn * 384 + (piece - 1) * 64 + move_target(move)


@inlined
def earlier_continuation(worker, ply, back):
    """The number of the move made `back` plies before the one to choose at `ply`, NO_CONTINUATION when none."""
    if ply < back:
        return np.int64(NO_CONTINUATION)
    return worker.frames[ply - back].continuation


@inlined
def quiet_history(worker, ply, move):
    """Sum of butterfly and continuation histories of a quiet move at `ply`, int64, within three limits."""
    position = worker.frames[ply].position
    number = continuation_of(position, move)
    butterfly = np.int64(worker.history[position.turn, move_origin(move), move_target(move)])
    answer = np.int64(worker.continuations[earlier_continuation(worker, ply, 1), number])
    follow_up = np.int64(worker.continuations[earlier_continuation(worker, ply, 2), number])
    return butterfly + answer + follow_up


@inlined
def _add_continuation(worker, ply, back, number, bonus):
    """Feeds the history of move `number` as a continuation of the move `back` plies before. Mutates `worker`."""
    earlier = earlier_continuation(worker, ply, back)
    if earlier != NO_CONTINUATION:
        value = np.int64(worker.continuations[earlier, number])
        worker.continuations[earlier, number] = gravity(value, bonus, HISTORY_LIMIT)


@inlined
def add_quiet_history(worker, ply, move, bonus):
    """Feeds the histories of a quiet move at `ply`: to each its share of `bonus`. Mutates `worker`."""
    position = worker.frames[ply].position
    color, origin, target = position.turn, move_origin(move), move_target(move)
    value = np.int64(worker.history[color, origin, target])
    worker.history[color, origin, target] = gravity(value, _share(worker, BUTTERFLY_SHARE, bonus), HISTORY_LIMIT)
    number = continuation_of(position, move)
    share = _share(worker, CONTINUATION_SHARE, bonus)
    _add_continuation(worker, ply, 1, number, share)
    _add_continuation(worker, ply, 2, number, share)


@inlined
def counter_move(worker, ply):
    """The quiet move that last refuted the one that led to `ply`, int64; NO_MOVE at the root or when there is none."""
    if ply == 0 or worker.tune[COUNTER_MOVES] == 0:
        return np.int64(NO_MOVE)
    return np.int64(worker.counter_moves[earlier_continuation(worker, ply, 1)])


@inlined
def learn_counter_move(worker, ply, move):
    """Remembers a quiet move as the refutation of the one that led to `ply`, if any did. Mutates `worker`."""
    if ply > 0:
        worker.counter_moves[earlier_continuation(worker, ply, 1)] = move


@inlined
def capture_history(worker, position, move):
    """History of a capture, int64."""
    piece = piece_at(position, move_origin(move))
    return np.int64(worker.capture_history[position.turn, piece, move_target(move), captured_piece(position, move)])


@inlined
def add_capture_history(worker, position, move, bonus):
    """Feeds the history of a capture with its share of `bonus`. Mutates `worker`."""
    piece, captured = piece_at(position, move_origin(move)), captured_piece(position, move)
    value = np.int64(worker.capture_history[position.turn, piece, move_target(move), captured])
    share = _share(worker, CAPTURE_SHARE, bonus)
    worker.capture_history[position.turn, piece, move_target(move), captured] = gravity(value, share, HISTORY_LIMIT)
