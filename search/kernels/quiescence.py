"""Quiescence: beyond the nominal depth, the search tries only noisy moves, some quiet checks, and evasions."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.board.bits import U0
from engine.board.exchange import captured_piece, gives_check, see_ge
from engine.board.moves import NO_MOVE, is_noisy, is_promotion, move_target
from engine.compiler.jit import subkernel
from search.kernels import tracing as trace
from search.kernels.correction import corrected_eval
from search.kernels.history import find_threats
from search.kernels.node import evaluate, is_draw, is_tt_cutoff, must_stop, play, prefetch_move, update_pv
from search.kernels.picker import ALL_QUIETS, CHECKS_ONLY, NO_QUIETS, next_move, start, usable_tt_move
from search.kernels.score import DRAW, INFINITE, LOWER, MATE, MATE_BOUND, NO_BOUND, NO_SCORE, UPPER
from search.kernels.transposition import (
    QUIESCENCE_DEPTH,
    entry_bound,
    entry_eval,
    entry_move,
    entry_score,
    entry_was_pv,
    probe,
    store,
)
from search.limits import MAX_PLY

#: The number of plies at the start of quiescence in which quiet checks are tried, too.
#: worth  +9.6 +- 18.0  [ledger: quiescence-checks-timed]
CHECK_PLIES = 1

#: What a victim is worth in centipawns of the evaluation, by piece type. (The proportions are those of Stockfish 15.1.)
VICTIM_WORTH: Final = np.array([0, 108, 442, 474, 715, 1390, 0], np.int64)


@subkernel
def quiescence(worker, tt, ply, alpha, beta, check_plies):
    """Searches noisy moves, evasions and quiet checks from the position at `ply`; returns its fail-soft value, int64.

    Quiet checks are tried in the first `check_plies` plies. The side to move may stand pat on its static evaluation,
    unless it is in check. The contract and the form of the blocks are those of `alpha_beta`. Mutates `worker` and `tt`.
    """
    frame = worker.stack[ply]
    position = frame.position
    frame.pv_length = 0
    worker.selective_depth = max(worker.selective_depth, ply)
    trace.entered_quiescence(worker, ply, alpha, beta)
    if must_stop(worker):
        return np.int64(0)

    # 1. The rules of the game, and the end of the stack.
    #      when     repetition, fifty moves, insufficient material; ply >= MAX_PLY
    #      formula  DRAW; at MAX_PLY the evaluation without corrections, or DRAW in check, where there is no evaluation
    if is_draw(worker, ply):
        return trace.ended(worker, trace.DRAW_BY_RULE, np.int64(DRAW))
    in_check = position.checkers != U0
    if ply >= MAX_PLY:
        return trace.ended(worker, trace.HORIZON, np.int64(DRAW) if in_check else evaluate(worker, ply))

    # 2. Transposition table: a stored search of this position is nominally at least as deep as this one.
    #      when     not a PV node, the score is a lower bound >= beta or an upper bound <= alpha, tt_cutoffs is not 0
    #      formula  the stored score; without a cutoff, tt_move and the stored evaluation are still used
    #    Unlike `alpha_beta`, quiescence takes the score even near the fifty-move rule, and even if the stored search
    #    tried fewer quiet checks. So quiescence may miss a draw by the rule or a quiet check beyond the horizon. The
    #    main search sees both once it is that deep.
    is_pv = beta - alpha > 1
    tt_move = np.int64(NO_MOVE)
    raw_eval = np.int64(NO_SCORE)
    was_pv = np.int64(0)
    tt_score = np.int64(NO_SCORE)
    tt_bound = np.int64(NO_BOUND)
    data = probe(tt, position.key)
    if data != U0 and worker.tune.tt_cutoffs != 0:
        tt_score = entry_score(data, ply, position.halfmoves)
        tt_bound = entry_bound(data)
        if not is_pv and is_tt_cutoff(tt_bound, tt_score, alpha, beta):
            return trace.ended(worker, trace.TT_CUTOFF, tt_score)
    if data != U0:
        was_pv = entry_was_pv(data)
        tt_move = entry_move(data)
        raw_eval = entry_eval(data)
        prefetch_move(worker, tt, ply, tt_move)

    # 3. Stand pat: the side to move need not capture, and some quiet move nearly always keeps the evaluation. So
    #    static_eval is taken as a lower bound of the value.
    #      when     not in check (in check the next move may be forced)
    #      formula  best_score = static_eval, or the TT's score if its bound says that it is the better estimate; a
    #               cutoff if it is >= beta; otherwise alpha = max(alpha, best_score)
    best_score = np.int64(-INFINITE)
    static_eval = np.int64(NO_SCORE)
    futility_base = np.int64(-INFINITE)
    quiets = np.int64(ALL_QUIETS)
    if not in_check:
        if raw_eval == NO_SCORE:
            raw_eval = evaluate(worker, ply)
        static_eval = corrected_eval(worker, ply, raw_eval)
        best_score = static_eval
        if tt_bound & LOWER != 0:
            best_score = max(best_score, tt_score)
        if tt_bound & UPPER != 0:
            best_score = min(best_score, tt_score)
        futility_base = best_score + worker.tune.delta_margin
        trace.evaluated_quiescence(worker, static_eval, best_score)
        if best_score >= beta:
            if data == U0:
                depth = QUIESCENCE_DEPTH
                store(
                    tt, position.key, worker.generation, ply, depth, best_score, LOWER, raw_eval, NO_MOVE, np.int64(0)
                )
            return trace.ended(worker, trace.STAND_PAT, best_score)
        alpha = max(alpha, best_score)
        # 4. Quiet checks: a mate or a fork may begin with a check, and a check leaves few replies.
        #      when     not in check, in the first check_plies plies of quiescence, and quiescence_checks is not 0
        #      formula  quiet checks are tried after the noisy moves
        #      worth    see CHECK_PLIES
        has_checks = check_plies > 0 and worker.tune.quiescence_checks != 0
        quiets = np.int64(CHECKS_ONLY) if has_checks else np.int64(NO_QUIETS)

    if quiets == ALL_QUIETS:
        find_threats(worker, ply)
    start(worker, ply, usable_tt_move(position, tt_move, quiets), quiets)
    best_move = np.int64(NO_MOVE)
    move_count = np.int64(0)
    tried = np.int64(0)
    last_move = worker.stack[ply - 1].move if ply > 0 else np.int64(NO_MOVE)
    last_target = move_target(last_move) if last_move != NO_MOVE else np.int64(-1)
    while True:
        move = next_move(worker, tt, ply)
        if move == NO_MOVE:
            break
        if not in_check:
            # 5. Futility: the node has tried enough moves, or even winning the victim is unlikely to raise the score
            #    above alpha. (The three conditions are Stockfish's.)
            #      when     not in check, not a promotion, not a recapture on the square of the last move, no check,
            #               alpha is not a mate
            #      formula  futility_base = best_score after block 3 + delta_margin. The move is skipped
            #               if quiescence_moves moves have been tried or skipped here,
            #               if futility_base + VICTIM_WORTH of the victim <= alpha, or
            #               if futility_base <= alpha and the move wins no material by SEE.
            #               The upper bound returned is at least the sum or futility_base
            #      worth    of the limit of moves  -4.4 +- 18.0  [ledger: quiescence-moves-timed]
            tried += 1
            if not is_promotion(move) and move_target(move) != last_target and abs(alpha) < MATE_BOUND:
                optimistic = futility_base + VICTIM_WORTH[captured_piece(position, move)]
                reason = np.int64(0)
                if tried > worker.tune.quiescence_moves:
                    reason = np.int64(trace.ENOUGH)
                    optimistic = best_score
                elif optimistic <= alpha:
                    reason = np.int64(trace.DELTA)
                elif futility_base <= alpha and not see_ge(position, move, 1):
                    reason = np.int64(trace.DELTA)
                    optimistic = futility_base
                if reason != 0 and not gives_check(position, move):
                    best_score = max(best_score, optimistic)
                    trace.skipped(worker, ply, move, reason)
                    continue
            # 6. SEE pruning: the move loses too much material.
            #      when     not in check; also for quiet checks
            #      formula  SEE < -quiescence_see_margin
            #      worth    +92.8 +- 16.1  [ledger: exchange-quiescence-tuned]
            if not see_ge(position, move, -worker.tune.quiescence_see_margin):
                trace.skipped(worker, ply, move, trace.EXCHANGE_QUIESCENCE)
                continue
        elif best_score > -MATE_BOUND and move_count >= worker.tune.quiescence_evasions:
            # 7. Evasion limit: after a few moves, one of which avoids mate, further quiet evasions are seldom better.
            #      when     in check, best_score is not a mate against us
            #      formula  move_count >= quiescence_evasions; captures and promotions are still tried
            #      worth    -9.8 +- 17.7  [ledger: evasion-limit-timed]
            frame.skip_quiets = 1
            if not is_noisy(move):
                trace.skipped(worker, ply, move, trace.EVASION_LIMIT)
                continue
        move_count += 1
        play(worker, ply, move)
        score = -quiescence(worker, tt, ply + 1, -beta, -alpha, check_plies - 1)
        if worker.aborted != 0:
            return np.int64(0)
        if score > best_score:
            best_score = score
            if score > alpha:
                best_move = move
                if is_pv:
                    update_pv(worker, ply, move)
                if score >= beta:
                    break
                alpha = score

    trace.skipped_rest(worker, ply)
    # 8. Checkmate.
    #      when     in check and no move was searched, because none is legal: the first evasion is never skipped
    #      formula  ply - MATE
    if in_check and move_count == 0:
        return trace.ended(worker, trace.CHECKMATE, np.int64(ply - MATE))

    # 9. Store the result. Moves may be left out, so a value within the window is stored as UPPER, as in Stockfish.
    #      when     all moves were searched or skipped, or one caused a cutoff; after a stand-pat cutoff (block 3) only
    #               if the TT has no entry for the position
    #      formula  LOWER if best_score >= beta, otherwise UPPER, with QUIESCENCE_DEPTH and the old entry's was_pv
    bound = LOWER if best_score >= beta else UPPER
    store(tt, position.key, worker.generation, ply, QUIESCENCE_DEPTH, best_score, bound, raw_eval, best_move, was_pv)
    return trace.ended(worker, trace.CUTOFF if best_score >= beta else trace.ALL_MOVES, best_score)
