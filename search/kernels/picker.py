"""The move picker: it returns a node's moves one at a time, best first, in stages.

Many nodes end after a move or two, so each stage begins only when the previous one is empty. The TT move is tried
before any move is generated. Good captures and promotions are tried before quiet moves are generated and scored.

    stage       moves
    ROOT        the root's moves in the order of the last iteration; the root has only this stage
    TT_MOVE     the move of the transposition table
    NOISY       captures and promotions by MVV-LVA and capture history; if all quiet moves are wanted, those that lose
                material by SEE (those with a good value may lose a little), and underpromotions, are deferred
    QUIETS      quiet moves by butterfly and continuation history, plus bonuses for safe checks and for pieces that
                escape from a lesser piece, plus the policy's rating if wanted; in quiescence (unless in check) only
                quiet checks or none; in ProbCut none
    BAD_NOISY   the moves that NOISY deferred

`start` or `start_root` sets the first stage; `next_move` returns a move and advances. The state is in the frame (see
`search.kernels.worker`), so the search can change it: setting `frame.skip_quiets` between moves ends the quiet stage.

The picker also prefetches the TT bucket of its next move, if possible before the search of the previous move. The
search itself prefetches the bucket of the TT move.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.board.bits import U0, bit
from engine.board.exchange import captured_piece, find_check_squares, gives_check, see_ge
from engine.board.generate import generate_checks, generate_noisy, generate_quiets
from engine.board.legality import is_legal
from engine.board.moves import (
    MAX_MOVES,
    NO_MOVE,
    is_capture,
    is_noisy,
    is_promotion,
    move_origin,
    move_target,
    promotion_piece,
)
from engine.board.position import QUEEN, ROOK, piece_at
from engine.compiler.jit import inlined, subkernel
from eval.kernels.policy import write_logits
from eval.network.layout import LOGIT
from search.kernels.highest import LANES, LOWEST, highest
from search.kernels.history import capture_history, find_threats, history_rows, is_unopposed, quiet_history
from search.kernels.node import prefetch_move

ROOT, TT_MOVE, NOISY_START, NOISY, QUIET_START, QUIETS, BAD_NOISY, DONE = range(8)

#: Which quiet moves a node tries: none, only checks (not in check), all.
NO_QUIETS, CHECKS_ONLY, ALL_QUIETS = 0, 1, 2

#: The value of a victim (or of a promotion's gain) by piece type, in the units of the capture history. Only a queen's
#: exceeds CAPTURE_LIMIT, so the history can reorder all other victims. (The numbers are Stockfish 15.1's.)
VICTIMS: Final = np.array([0, 756, 4_686, 4_950, 7_656, 15_228, 0], np.int64)

#: Per unit of a noisy move's value, the centipawns / 1024 that it may lose without being deferred.
SLACK: Final = 31

#: The ordering bonus, times escape_share %, of a threatened piece that moves to where no lesser piece attacks it, by
#: piece type. (The numbers are Stockfish 15.1's.)
ESCAPES: Final = np.array([0, 0, 15_000, 15_000, 25_000, 50_000, 0], np.int64)

#: A check counts as safe if it loses at most this much by SEE, in centipawns.
CHECK_LOSS: Final = 75

#: An entry of `frame.order` packs what picking the best move needs: value << 24 | move << 8 | index in `order`.
VALUE_SHIFT: Final = 24
MOVE_SHIFT: Final = 8
MOVE_MASK: Final = 0xFFFF
PLACE_MASK: Final = 0xFF
assert MAX_MOVES <= PLACE_MASK + 1


@inlined
def mvv_lva(position, move):
    """Returns the MVV-LVA value of a noisy move, VICTIMS of the victim less the attacker's type, as int64.

    Promotions add VICTIMS of the new piece.
    """
    value = VICTIMS[captured_piece(position, move)] - piece_at(position, move_origin(move))
    return value + VICTIMS[promotion_piece(move)] if is_promotion(move) else value


@inlined
def start(worker, ply, tt_move, quiets):
    """Prepares the picker of the frame at `ply`. Mutates `worker`.

    `tt_move`, which must be legal or NO_MOVE, comes first. `quiets` is NO_QUIETS, CHECKS_ONLY or ALL_QUIETS. For the
    policy to rate the quiet moves, the caller then sets `frame.rated` to 1.
    """
    frame = worker.stack[ply]
    frame.tt_move = tt_move
    frame.quiets = quiets
    frame.rated = 0
    frame.skip_quiets = 0
    frame.overlooked = 0
    frame.stage = TT_MOVE


@inlined
def start_root(worker):
    """Prepares the picker for `root_moves`, in that order, and sets their node counts to 0. Mutates `worker`."""
    frame = worker.stack[0]
    for index in range(worker.root_count):
        frame.order[index] = worker.root_moves[index]
        worker.root_nodes[index] = 0
    frame.cursor = 0
    frame.end = worker.root_count
    frame.skip_quiets = 0
    frame.stage = ROOT


@inlined
def usable_tt_move(position, move, quiets):
    """Returns `move` from the TT if it is legal here and `quiets` allows it, else NO_MOVE, as int64."""
    if move == NO_MOVE or not is_legal(position, move):
        return np.int64(NO_MOVE)
    if quiets == ALL_QUIETS or is_noisy(move) or (quiets == CHECKS_ONLY and gives_check(position, move)):
        return move
    return np.int64(NO_MOVE)


@inlined
def _end_order(frame):
    """Sets the LANES entries after the last move to LOWEST, because `highest` may read them. Mutates `frame`."""
    for index in range(frame.end, frame.end + LANES):
        frame.order[index] = LOWEST


@inlined
def _put_first(worker, tt, ply, best):
    """Swaps the entry `best` with that at the cursor, and prefetches the TT bucket of its move. Mutates `worker`."""
    frame = worker.stack[ply]
    place = best & PLACE_MASK
    frame.order[place] = (frame.order[frame.cursor] & ~PLACE_MASK) | place
    frame.order[frame.cursor] = best
    prefetch_move(worker, tt, ply, (best >> MOVE_SHIFT) & MOVE_MASK)


@subkernel
def _add_noisy(worker, tt, ply):
    """Generates captures and promotions, stores them with values in `order` and finds the best. Mutates `worker`."""
    frame = worker.stack[ply]
    position = frame.position
    end = generate_noisy(position, frame.moves, 0)
    best = np.int64(LOWEST)
    for index in range(end):
        move = np.int64(frame.moves[index])
        value = mvv_lva(position, move)
        if is_capture(move):
            value += capture_history(worker, position, move)
        entry = (value << VALUE_SHIFT) | (move << MOVE_SHIFT) | index
        frame.order[index] = entry
        best = max(best, entry)
    frame.cursor = 0
    frame.end = end
    frame.bad_noisy = 0
    if end > 0:
        _put_first(worker, tt, ply, best)
    _end_order(frame)


@subkernel
def _add_quiets(worker, tt, ply):
    """Generates and scores the wanted quiet moves, and stores them after the bad noisy moves. Mutates `worker`.

    Safe checks by the moving piece itself get `check_bonus`, because they leave few replies, and their histories come
    mostly from positions where the move gave no check. Pieces that escape from the attack of a lesser piece get ESCAPES
    times escape_share %. (Stockfish does both.) If `frame.rated` is 1, the policy's rating, times `policy_weight`, is
    added to the histories. `find_threats` must have been called for the position, except for CHECKS_ONLY.

    worth  of check_bonus  +11.5 +- 18.0  [ledger: check-bonus-timed]
           of escape_share  -8.7 +- 18.5  [ledger: escape-bonus-timed]
    """
    frame = worker.stack[ply]
    position = frame.position
    bonus = worker.tune.check_bonus
    checks = frame.checks
    find_check_squares(position, checks)
    if frame.quiets == CHECKS_ONLY:
        find_threats(worker, ply)
        generated = generate_checks(position, frame.moves, 0, checks)
    else:
        generated = generate_quiets(position, frame.moves, 0)
    if frame.rated != 0:
        network, inputs, logits = worker.network, worker.policy_inputs, worker.logits
        write_logits(network, worker.accumulators, worker.stack, ply, inputs, frame.moves, generated, logits)
    rows = history_rows(worker, ply)
    end = frame.bad_noisy
    best = np.int64(LOWEST)
    for index in range(generated):
        move = np.int64(frame.moves[index])
        if frame.quiets == CHECKS_ONLY and not gives_check(position, move):
            continue
        value, _ = quiet_history(worker, ply, rows, move)
        piece = piece_at(position, move_origin(move))
        if frame.threatened & bit(move_origin(move)) != U0:
            attacked = frame.by_rooks
            if piece == ROOK:
                attacked = frame.by_minors
            elif piece != QUEEN:
                attacked = frame.by_pawns
            if attacked & bit(move_target(move)) == U0:
                value += ESCAPES[piece] * worker.tune.escape_share // 100
        if checks[piece] & bit(move_target(move)) != U0:
            value += bonus if is_unopposed(worker, ply, move) or see_ge(position, move, -CHECK_LOSS) else 0
        if frame.rated != 0:
            value += worker.logits[index] * worker.tune.policy_weight // LOGIT
        entry = (value << VALUE_SHIFT) | (move << MOVE_SHIFT) | end
        frame.order[end] = entry
        best = max(best, entry)
        end += 1
    frame.cursor = frame.bad_noisy
    frame.end = end
    if frame.cursor < end:
        _put_first(worker, tt, ply, best)
    _end_order(frame)


@inlined
def _take_best(worker, tt, ply):
    """Returns the best remaining move, as int64, and advances the cursor; a move must remain. Mutates `worker`.

    Also finds the next best move: one step of a selection sort, so a cutoff saves sorting the rest. So the TT bucket of
    that move loads while this one is searched.
    """
    frame = worker.stack[ply]
    best = frame.order[frame.cursor]
    frame.cursor += 1
    if frame.cursor < frame.end:
        _put_first(worker, tt, ply, highest(frame.order, frame.cursor, frame.end))
    return (best >> MOVE_SHIFT) & MOVE_MASK


@inlined
def _is_bad_noisy(position, move, value):
    """Returns whether a noisy move is deferred: it loses more than `value` * SLACK / 1024 or promotes to no queen."""
    if is_promotion(move) and promotion_piece(move) != QUEEN:
        return True
    return not see_ge(position, move, -value * SLACK // 1024)


@inlined
def _is_overlooked(worker, ply, move):
    """Returns whether a player of limited strength does not see `move` at `ply` (see `search.oversight`).

    The player sees all replies to a check, and every capture on the square to which the opponent has just moved.
    `root_moves` contains only moves that are seen.
    """
    position = worker.stack[ply].position
    if ply == 0 or position.checkers != U0:
        return False
    last = worker.stack[ply - 1].move
    if is_capture(move) and last != NO_MOVE and move_target(move) == move_target(last):
        return False
    return worker.blind[position.turn, move_origin(move), move_target(move)] > (1 if is_noisy(move) else 0)


@subkernel
def _next_of_all(worker, tt, ply):
    """Returns the next move of the stages at `ply`, as int64, or NO_MOVE if none is left. Mutates `worker`."""
    frame = worker.stack[ply]
    position = frame.position
    if frame.stage == ROOT:
        if frame.cursor == frame.end:
            return np.int64(NO_MOVE)
        frame.cursor += 1
        return frame.order[frame.cursor - 1]
    if frame.stage == TT_MOVE:
        frame.stage = NOISY_START
        if frame.tt_move != NO_MOVE:
            return frame.tt_move
    if frame.stage == NOISY_START:
        _add_noisy(worker, tt, ply)
        frame.stage = NOISY
    if frame.stage == NOISY:
        while frame.cursor < frame.end:
            value = frame.order[frame.cursor] >> VALUE_SHIFT
            move = _take_best(worker, tt, ply)
            if move == frame.tt_move:
                continue
            # Quiescence and ProbCut call `see_ge` themselves, with their own thresholds.
            if frame.quiets != ALL_QUIETS or not _is_bad_noisy(position, move, value):
                return move
            # The slots before the cursor are free, so they store the bad noisy moves, best first.
            frame.order[frame.bad_noisy] = move
            frame.bad_noisy += 1
        frame.stage = DONE if frame.quiets == NO_QUIETS else QUIET_START
    if frame.stage == QUIET_START:
        frame.stage = QUIETS
        frame.cursor = frame.end
        if frame.skip_quiets == 0:
            _add_quiets(worker, tt, ply)
    if frame.stage == QUIETS:
        while frame.skip_quiets == 0 and frame.cursor < frame.end:
            move = _take_best(worker, tt, ply)
            if move != frame.tt_move:
                return move
        frame.stage = BAD_NOISY if frame.quiets == ALL_QUIETS else DONE
        frame.cursor = 0
    if frame.stage == BAD_NOISY:
        if frame.cursor < frame.bad_noisy:
            prefetch_move(worker, tt, ply, frame.order[frame.cursor])
            frame.cursor += 1
            return frame.order[frame.cursor - 1]
        frame.stage = DONE
    return np.int64(NO_MOVE)


@inlined
def next_move(worker, tt, ply):
    """Returns the next move to try at `ply`, as int64, or NO_MOVE if none is left. Mutates `worker`."""
    while True:
        move = _next_of_all(worker, tt, ply)
        if worker.overlooks == 0 or move == NO_MOVE or not _is_overlooked(worker, ply, move):
            return move
        worker.stack[ply].overlooked += 1
