"""Histories: how well moves have done. Cutoffs and fail lows update them; ordering, pruning and reductions read them.

    table                  index                                     worth
    butterfly_history      [color][is the origin attacked]
                           [is the target attacked][origin][target]  +91.8 +- 16.5  [ledger: butterfly-history-tuned]
    continuation_history   [earlier move][move], 1 and 2 plies back  +40.0 +- 15.6  [ledger: continuation-history-tuned]
    capture_history        [color][piece][target][captured piece]    +0.5 +- 15.7  [ledger: capture-history-tuned]

`gravity` is their update formula. It keeps every entry within -HISTORY_LIMIT .. HISTORY_LIMIT.
The first two are added up for quiet moves, with the weights butterfly_weight, answer_weight and follow_up_weight.
"""

from __future__ import annotations

import numpy as np

from engine.board.exchange import captured_piece
from engine.board.generate import attacked_squares
from engine.board.legality import is_legal
from engine.board.moves import NO_MOVE, is_capture, is_noisy, move_origin, move_target
from engine.board.position import piece_at
from engine.compiler.jit import inlined
from search.kernels.worker import NO_CONTINUATION

HISTORY_LIMIT = 16_384

#: The weights of the histories of a quiet move are in units of 1 / (1 << WEIGHT_SHIFT).
WEIGHT_SHIFT = 7


@inlined
def history_bonus(worker, depth):
    """Returns the full bonus of a search to `depth` plies, as int64, at most history_bonus_max."""
    return min(depth * worker.tune.history_bonus_slope, worker.tune.history_bonus_max)


@inlined
def history_malus(worker, depth):
    """Returns the malus of a move tried before a cutoff at `depth` plies, as int64, at most history_malus_max."""
    return min(depth * worker.tune.history_malus_slope, worker.tune.history_malus_max)


@inlined
def gravity(value, bonus, limit):
    """Returns value + bonus - value * |bonus| / limit, as int64, within +-`limit` if `value` and `bonus` are."""
    return value + bonus - value * abs(bonus) // limit


@inlined
def continuation_of(position, move):
    """Returns the colour, piece type and target square of a move as one number, int64 0 to 767."""
    piece = piece_at(position, move_origin(move))
    return position.turn * 384 + (piece - 1) * 64 + move_target(move)


@inlined
def earlier_continuation(worker, ply, back):
    """Returns `continuation_of` the move made `back` plies before `ply` (1: the opponent's last move), as int64.

    Returns NO_CONTINUATION for a null move, and for moves before the root.
    """
    if ply < back:
        return np.int64(NO_CONTINUATION)
    return worker.stack[ply - back].continuation


@inlined
def find_threats(worker, ply):
    """Sets `frame.threats` at `ply`. The butterfly histories of the position can then be used. Mutates `worker`.

    A move that leaves an attacked square differs from the same move without need, and so does one to an attacked
    square. (The idea is from the engine Ethereal by Andrew Grant.)
    """
    frame = worker.stack[ply]
    frame.threats = attacked_squares(frame.position, frame.position.turn ^ 1)


@inlined
def _is_threatened(worker, ply, square):
    """Returns 1 if the opponent attacks `square` at `ply`, else 0, as int64."""
    return np.int64((worker.stack[ply].threats >> np.uint64(square)) & np.uint64(1))


@inlined
def quiet_history(worker, ply, move):
    """Returns the weighted sum of a quiet move's butterfly and continuation histories, as int64.

    It is within +-HISTORY_LIMIT times the sum of the weights / 128.
    """
    tune = worker.tune
    position = worker.stack[ply].position
    number = continuation_of(position, move)
    origin, target = move_origin(move), move_target(move)
    away, into = _is_threatened(worker, ply, origin), _is_threatened(worker, ply, target)
    butterfly = np.int64(worker.butterfly_history[position.turn, away, into, origin, target])
    answer = np.int64(worker.continuation_history[earlier_continuation(worker, ply, 1), number])
    follow_up = np.int64(worker.continuation_history[earlier_continuation(worker, ply, 2), number])
    weighted = tune.butterfly_weight * butterfly + tune.answer_weight * answer + tune.follow_up_weight * follow_up
    return weighted >> WEIGHT_SHIFT


@inlined
def _update_continuation(worker, ply, back, number, bonus):
    """Updates the history of move `number` after the move `back` plies ago, if any, by `bonus`. Mutates `worker`."""
    earlier = earlier_continuation(worker, ply, back)
    if earlier != NO_CONTINUATION:
        value = np.int64(worker.continuation_history[earlier, number])
        worker.continuation_history[earlier, number] = gravity(value, bonus, HISTORY_LIMIT)


@inlined
def update_quiet_history(worker, ply, move, bonus):
    """Updates a quiet move's histories, each by its tunable share of `bonus` (see `gravity`). Mutates `worker`."""
    position = worker.stack[ply].position
    color, origin, target = position.turn, move_origin(move), move_target(move)
    away, into = _is_threatened(worker, ply, origin), _is_threatened(worker, ply, target)
    value = np.int64(worker.butterfly_history[color, away, into, origin, target])
    worker.butterfly_history[color, away, into, origin, target] = gravity(
        value, worker.tune.butterfly_share * bonus // 100, HISTORY_LIMIT
    )
    number = continuation_of(position, move)
    share = worker.tune.continuation_share * bonus // 100
    _update_continuation(worker, ply, 1, number, share)
    _update_continuation(worker, ply, 2, number, share)


@inlined
def capture_history(worker, position, move):
    """Returns the history of a capture, as int64."""
    piece = piece_at(position, move_origin(move))
    return np.int64(worker.capture_history[position.turn, piece, move_target(move), captured_piece(position, move)])


@inlined
def update_capture_history(worker, position, move, bonus):
    """Updates the history of a capture by `capture_share` percent of `bonus` (see `gravity`). Mutates `worker`."""
    piece, captured = piece_at(position, move_origin(move)), captured_piece(position, move)
    value = np.int64(worker.capture_history[position.turn, piece, move_target(move), captured])
    share = worker.tune.capture_share * bonus // 100
    worker.capture_history[position.turn, piece, move_target(move), captured] = gravity(value, share, HISTORY_LIMIT)


@inlined
def reward_tt_move(worker, ply, depth, tt_move):
    """Updates the histories of a quiet TT move at `ply` whose TT entry causes a cutoff. Mutates `worker`.

    A TT move that is illegal here, after a collision of Zobrist keys, is left out.
    """
    if tt_move != NO_MOVE and not is_noisy(tt_move) and is_legal(worker.stack[ply].position, tt_move):
        find_threats(worker, ply)
        update_quiet_history(worker, ply, tt_move, worker.tune.tt_move_share * history_bonus(worker, depth) // 100)


@inlined
def reward_prior_move(worker, ply, depth):
    """Updates the histories of the quiet move that led to `ply`, where the search failed low. Mutates `worker`.

    The opponent found no answer, so the move gets `prior_move_share` percent of a bonus. `find_threats` must have set
    the threats at `ply - 1`; the main search does that before it plays a quiet move.
    """
    prior = worker.stack[ply - 1].move
    if prior != NO_MOVE and not is_noisy(prior):
        bonus = worker.tune.prior_move_share * history_bonus(worker, depth) // 100
        update_quiet_history(worker, ply - 1, prior, bonus)


@inlined
def update_histories(worker, ply, depth, best):
    """Updates the histories after a cutoff at `ply` by `best`, the last move tried. Mutates `worker`.

    `best` gets a bonus unless it is a promotion without capture. Earlier captures get a malus; so do earlier quiets if
    `best` is quiet.
    """
    frame = worker.stack[ply]
    position = frame.position
    bonus, malus = history_bonus(worker, depth), history_malus(worker, depth)
    if not is_noisy(best):
        update_quiet_history(worker, ply, best, bonus)
    elif is_capture(best):
        update_capture_history(worker, position, best, bonus)
    for index in range(frame.tried_count - 1):
        tried = np.int64(frame.tried[index])
        if is_capture(tried):
            update_capture_history(worker, position, tried, -malus)
        elif not is_noisy(best) and not is_noisy(tried):
            update_quiet_history(worker, ply, tried, -malus)
