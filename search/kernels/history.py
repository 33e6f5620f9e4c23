"""Histories: how well moves have done. Cutoffs and fail lows update them; ordering, pruning and reductions read them.

    table                  index                                     worth
    butterfly_history      [color][is the origin attacked]
                           [is the target attacked][origin][target]  +91.8 +- 16.5  [ledger: butterfly-history-tuned]
    continuation_history   [earlier move][move], 1, 2 and 4 back     +40.0 +- 15.6  [ledger: continuation-history-tuned]
    capture_history        [color][piece][target][captured piece]    +7.3 +- 17.6  [ledger: capture-history-timed]

`gravity` is their update formula. It keeps every entry within the bound of its table.
The first two are added up for quiet moves, with the weights butterfly_weight, answer_weight, follow_up_weight and
far_weight (1, 2 and 4 plies back).
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, bit
from engine.board.exchange import captured_piece
from engine.board.generate import attacked_by_lesser, attacked_squares
from engine.board.moves import NO_MOVE, is_capture, is_noisy, move_origin, move_target
from engine.board.position import piece_at
from engine.compiler.jit import inlined, subkernel
from search.kernels.score import NO_SCORE
from search.kernels.worker import NO_CONTINUATION

#: The bounds of the entries of each table. (They and the bonuses follow Stockfish 15.1.)
BUTTERFLY_LIMIT = 7_183
CONTINUATION_LIMIT = 29_952
CAPTURE_LIMIT = 10_692

#: The weights of the histories of a quiet move are in units of 1 / (1 << WEIGHT_SHIFT).
WEIGHT_SHIFT = 7

#: What is taken from the bonus at every depth, so that the bonus of depth 1 is 0.
BONUS_LESS = 349

#: The largest absolute change of a butterfly history after a move that changed the evaluation.
EVAL_CHANGE_MAX = 1_914


@inlined
def history_bonus(worker, depth):
    """Returns the full bonus of a search to `depth` plies, as int64.

    It is (history_bonus_square * depth + history_bonus_slope) * depth - BONUS_LESS, from 0 to history_bonus_max.
    """
    tune = worker.tune
    bonus = (tune.history_bonus_square * depth + tune.history_bonus_slope) * depth - BONUS_LESS
    return min(max(bonus, 0), tune.history_bonus_max)


@inlined
def gravity(value, bonus, limit):
    """Returns value + bonus - value * |bonus| / limit, as int64, within +-`limit` if `value` is.

    A `bonus` beyond +-`limit` counts as that.
    """
    bonus = min(max(bonus, -limit), limit)
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
    square. (The idea is from the engine Ethereal by Andrew Grant.) Also sets the frame's `threatened`, `by_pawns`,
    `by_minors` and `by_rooks` (see `search.kernels.worker`).
    """
    frame = worker.stack[ply]
    position = frame.position
    us = position.turn
    frame.by_pawns, frame.by_minors, frame.by_rooks, frame.threats = attacked_squares(position, us ^ 1)
    frame.threatened = attacked_by_lesser(position, us, frame.by_pawns, frame.by_minors, frame.by_rooks)


@inlined
def is_unopposed(worker, ply, move):
    """Returns whether the opponent cannot recapture after the quiet `move` at `ply` (see `find_threats`).

    Then SEE is 0. A slider that reaches the target only through the origin attacks the origin before the move.
    """
    return worker.stack[ply].threats & (bit(move_origin(move)) | bit(move_target(move))) == U0


@inlined
def _is_threatened(worker, ply, square):
    """Returns 1 if the opponent attacks `square` at `ply`, else 0, as int64."""
    return np.int64((worker.stack[ply].threats >> np.uint64(square)) & np.uint64(1))


@inlined
def history_rows(worker, ply):
    """Returns the rows of the continuation history for the moves 1, 2 and 4 plies back, three int64."""
    return (
        earlier_continuation(worker, ply, 1),
        earlier_continuation(worker, ply, 2),
        earlier_continuation(worker, ply, 4),
    )


@inlined
def quiet_history(worker, ply, rows, move):
    """Returns the history of a quiet move and, for pruning, the plain sum of its continuation histories, two int64.

    The history is the sum of its butterfly and continuation histories, each times its weight / 128. `rows` are the
    position's `history_rows`, which callers look up once for each node.
    """
    tune = worker.tune
    position = worker.stack[ply].position
    number = continuation_of(position, move)
    origin, target = move_origin(move), move_target(move)
    away, into = _is_threatened(worker, ply, origin), _is_threatened(worker, ply, target)
    butterfly = np.int64(worker.butterfly_history[position.turn, away, into, origin, target])
    answer = np.int64(worker.continuation_history[rows[0], number])
    follow_up = np.int64(worker.continuation_history[rows[1], number])
    far = np.int64(worker.continuation_history[rows[2], number])
    weighted = tune.butterfly_weight * butterfly + tune.answer_weight * answer
    weighted += tune.follow_up_weight * follow_up + tune.far_weight * far
    return weighted >> WEIGHT_SHIFT, answer + follow_up + far


@inlined
def _update_continuation(worker, ply, back, number, bonus):
    """Updates the history of move `number` after the move `back` plies ago, if any, by `bonus`. Mutates `worker`."""
    earlier = earlier_continuation(worker, ply, back)
    if earlier != NO_CONTINUATION:
        value = np.int64(worker.continuation_history[earlier, number])
        worker.continuation_history[earlier, number] = gravity(value, bonus, CONTINUATION_LIMIT)


@subkernel
def update_continuations(worker, ply, move, bonus):
    """Updates a quiet move's continuation histories by continuation_share % of `bonus`. Mutates `worker`.

    A reply to a check is forced, so it teaches nothing about the move four plies back.
    """
    number = continuation_of(worker.stack[ply].position, move)
    share = worker.tune.continuation_share * bonus // 100
    _update_continuation(worker, ply, 1, number, share)
    _update_continuation(worker, ply, 2, number, share)
    if worker.stack[ply].position.checkers == U0:
        _update_continuation(worker, ply, 4, number, share)


@inlined
def update_butterfly_history(worker, ply, move, bonus):
    """Updates a quiet move's butterfly history by butterfly_share % of `bonus`. Mutates `worker`.

    `find_threats` must have set the threats at `ply`.
    """
    color, origin, target = worker.stack[ply].position.turn, move_origin(move), move_target(move)
    away, into = _is_threatened(worker, ply, origin), _is_threatened(worker, ply, target)
    value = np.int64(worker.butterfly_history[color, away, into, origin, target])
    worker.butterfly_history[color, away, into, origin, target] = gravity(
        value, worker.tune.butterfly_share * bonus // 100, BUTTERFLY_LIMIT
    )


@inlined
def _update_quiet_history(worker, ply, move, bonus):
    """Updates a quiet move's histories, each by its tunable share of `bonus`. Mutates `worker`."""
    update_butterfly_history(worker, ply, move, bonus)
    update_continuations(worker, ply, move, bonus)


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
    worker.capture_history[position.turn, piece, move_target(move), captured] = gravity(value, share, CAPTURE_LIMIT)


@inlined
def learn_from_tt_cutoff(worker, ply, depth, tt_move, fails_high):
    """Updates the histories after a TT cutoff at `ply`: those of a quiet TT move, and of the move that it refutes.

    The TT move gets tt_move_share % of a bonus, or of a malus unless `fails_high`; one without an own piece to move,
    after a collision of Zobrist keys, is left out. After a fail high by a TT move, a quiet move that was the first or
    second of its node gets a malus. Mutates `worker`.
    """
    position = worker.stack[ply].position
    own = position.colors[position.turn]
    if tt_move != NO_MOVE and not is_noisy(tt_move) and own & bit(move_origin(tt_move)) != U0:
        find_threats(worker, ply)
        bonus = worker.tune.tt_move_share * history_bonus(worker, depth) // 100
        _update_quiet_history(worker, ply, tt_move, bonus if fails_high else -bonus)
    if fails_high and tt_move != NO_MOVE and worker.stack[max(ply - 1, 0)].move_count <= 2:
        punish_refuted_move(worker, ply, depth + 1)


@inlined
def punish_refuted_move(worker, ply, depth):
    """Gives the quiet move that led to `ply`, if any, refuted_move_share % of a malus. Mutates `worker`.

    Only continuation histories learn from it: the move is bad as an answer here. (The idea is Stockfish's.)

      worth    +3.3 +- 18.4  [ledger: refuted-move-malus-timed]
    """
    if ply > 0:
        prior = worker.stack[ply - 1].move
        if prior != NO_MOVE and not is_noisy(prior):
            malus = worker.tune.refuted_move_share * history_bonus(worker, depth) // 100
            update_continuations(worker, ply - 1, prior, -malus)


@inlined
def reward_prior_move(worker, ply, depth, twice):
    """Gives the quiet move that led to `ply`, where the search failed low, prior_move_share % of a bonus.

    The opponent found no answer. With `twice` the bonus is twice as large. Only continuation histories learn from it.
    Mutates `worker`.
    """
    prior = worker.stack[ply - 1].move
    if prior != NO_MOVE and not is_noisy(prior):
        bonus = worker.tune.prior_move_share * history_bonus(worker, depth) // 100
        update_continuations(worker, ply - 1, prior, 2 * bonus if twice else bonus)


@inlined
def learn_from_eval_change(worker, ply):
    """Updates the butterfly history of the quiet move that led to `ply` by the change of the static evaluation.

    The sum of both evaluations, each for its own side to move, is what the move lost. (The idea is Stockfish's.)

      when     not in check here or one ply ago; the last move was quiet and not a null move
      formula  -eval_change_weight * sum, clamped to +-EVAL_CHANGE_MAX
      worth    +3.8 +- 17.4  [ledger: eval-change-timed]
    """
    parent = worker.stack[ply - 1]
    if parent.move != NO_MOVE and not is_noisy(parent.move) and parent.static_eval != NO_SCORE:
        change = -worker.tune.eval_change_weight * (parent.static_eval + worker.stack[ply].static_eval)
        bonus = min(max(change, -EVAL_CHANGE_MAX), EVAL_CHANGE_MAX)
        update_butterfly_history(worker, ply - 1, parent.move, bonus)


@inlined
def update_histories(worker, ply, depth, best, is_clear):
    """Updates the histories after `best` raised alpha at `ply`, perhaps to a cutoff. Mutates `worker`.

    A quiet `best` gets the bonus of `depth`, or with `is_clear` that of a ply more, and the other quiet moves tried get
    the same as a malus. Captures get the bonus, and other captures tried the malus, of a ply more. A promotion without
    capture has no history. If the move that led here was the first of its node, or the second if the TT had an entry
    there, it gets a malus, too.
    """
    frame = worker.stack[ply]
    position = frame.position
    more = history_bonus(worker, depth + 1)
    bonus = more if is_clear else history_bonus(worker, depth)
    is_quiet = not is_noisy(best)
    if is_quiet:
        _update_quiet_history(worker, ply, best, bonus)
    elif is_capture(best):
        update_capture_history(worker, position, best, more)
    parent = worker.stack[max(ply - 1, 0)]
    if parent.move_count == 1 + parent.tt_hit:
        punish_refuted_move(worker, ply, depth + 1)
    for index in range(frame.tried_count):
        tried = np.int64(frame.tried[index])
        if tried == best:
            continue
        if is_capture(tried):
            update_capture_history(worker, position, tried, -more)
        elif is_quiet and not is_noisy(tried):
            _update_quiet_history(worker, ply, tried, -bonus)
