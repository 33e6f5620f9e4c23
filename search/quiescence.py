"""Quiescence: the search beyond the nominal depth that only looks at what could change the material."""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0
from engine.board.exchange import EXCHANGE_VALUES, captured_piece, exchange_at_least
from engine.board.moves import NO_MOVE, is_promotion
from engine.jit import subkernel
from search.correction import corrected
from search.limits import MAX_PLY
from search.node import answers_window, expect, is_draw, must_stop, play, static_evaluation, update_pv
from search.picker import ALL_QUIETS, CHECKS_ONLY, NO_QUIETS, is_noisy, next_move, start, usable_table_move
from search.score import DRAW, INFINITE, LOWER, MATE, MATE_BOUND, NO_SCORE, UPPER
from search.table import (
    QUIESCENCE_DEPTH,
    entry_bound,
    entry_evaluation,
    entry_move,
    entry_score,
    probe,
    store,
)
from search.tracing import (
    ALL_MOVES,
    CHECKMATE,
    CUTOFF,
    DELTA,
    DRAW_BY_RULE,
    EVASION_LIMIT,
    EXCHANGE_QUIESCENCE,
    HORIZON,
    STAND_PAT,
    TABLE,
    ended,
    entered_quiescence,
    evaluated_quiescence,
    skipped,
    skipped_rest,
)
from search.tunables import DELTA_MARGIN, EVASIONS, QUIESCENCE_CHECKS, QUIESCENCE_LOSS, TABLE_CUTS

#: Plies of quiescence that also try quiet checks.
#: worth  {{quiescence-checks}}
CHECK_PLIES = 1


@subkernel
def quiescence(worker, table, ply, alpha, beta, checks):
    """Fail-soft value of the position at `ply` when only noisy moves, evasions and (for `checks` plies) checks count.

    The side to move may stand pat on its static evaluation unless it is in check. Same contract as `alpha_beta`, and
    blocks in the same manner. Mutates `worker` and `table`.
    """
    frame = worker.frames[ply]
    position = frame.position
    frame.pv_length = 0
    worker.selective_depth = max(worker.selective_depth, ply)
    entered_quiescence(worker, ply, alpha, beta)
    if must_stop(worker):
        return np.int64(0)

    # 1. The rules of the game, and the end of the frames.
    #      when     repetition, fifty moves, too little material; ply = MAX_PLY
    #      formula  DRAW; static evaluation, or DRAW in check, where there is none
    if is_draw(worker, ply):
        return ended(worker, DRAW_BY_RULE, np.int64(DRAW))
    in_check = position.checkers != U0
    if ply >= MAX_PLY:
        return ended(worker, HORIZON, np.int64(DRAW) if in_check else static_evaluation(worker, ply))

    # 2. Transposition table: any search of this position was at least as deep as this one.
    #      when     no PV node, its bound answers the window
    #      formula  the table's score; its move and evaluation are used in any case
    #    Unlike in `alpha_beta` the score counts however near the fifty-move rule is, and also where the search behind
    #    it tried fewer quiet checks. What that loses is at most the last plies: a draw by the rule beyond the horizon,
    #    which the main search, taking no such score, sees for itself when it is that deep; and a quiet check at it.
    is_pv = beta - alpha > 1
    table_move = np.int64(NO_MOVE)
    raw = np.int64(NO_SCORE)
    data = probe(table, position.key)
    if data != U0:
        score = entry_score(data, ply)
        if not is_pv and answers_window(entry_bound(data), score, alpha, beta) and worker.tune[TABLE_CUTS] != 0:
            return ended(worker, TABLE, score)
        table_move = entry_move(data)
        raw = entry_evaluation(data)
        expect(worker, table, ply, table_move)

    # 3. Stand pat: nobody has to capture, and among the quiet moves there is nearly always one that keeps what the
    #    evaluation sees. So that is a lower bound of the value.
    #      when     not in check, where the next move may be forced
    #      formula  static evaluation, with corrections; cut if >= beta, otherwise alpha is at least this
    best = np.int64(-INFINITE)
    evaluation = np.int64(NO_SCORE)
    quiets = np.int64(ALL_QUIETS)
    if not in_check:
        if raw == NO_SCORE:
            raw = static_evaluation(worker, ply)
        evaluation = corrected(worker, ply, raw)
        best = evaluation
        evaluated_quiescence(worker, evaluation)
        if best >= beta:
            if data == U0:
                store(table, position.key, worker.generation, ply, QUIESCENCE_DEPTH, best, LOWER, raw, NO_MOVE)
            return ended(worker, STAND_PAT, best)
        alpha = max(alpha, best)
        # 4. Quiet checks: a mate or a fork may begin with one, and the answers are few.
        #      when     not in check, in the first CHECK_PLIES plies of quiescence, and QUIESCENCE_CHECKS is not 0
        #      formula  quiet moves that give check are tried behind the noisy ones; worth: see CHECK_PLIES
        has_checks = checks > 0 and worker.tune[QUIESCENCE_CHECKS] != 0
        quiets = np.int64(CHECKS_ONLY) if has_checks else np.int64(NO_QUIETS)

    start(worker, ply, usable_table_move(position, table_move, quiets), quiets)
    best_move = np.int64(NO_MOVE)
    searched = np.int64(0)
    while True:
        move = next_move(worker, table, ply)
        if move == NO_MOVE:
            break
        if not in_check:
            # 5. Delta pruning: not even the victim for free lifts the score to alpha.
            #      when     not in check, a capture, no promotion, alpha is no mate
            #      formula  evaluation + victim + DELTA_MARGIN <= alpha; that sum, which it might have brought, counts
            #      worth    {{delta-pruning}}
            if is_noisy(move) and not is_promotion(move) and abs(alpha) < MATE_BOUND:
                optimistic = evaluation + EXCHANGE_VALUES[captured_piece(position, move)] + worker.tune[DELTA_MARGIN]
                if optimistic <= alpha:
                    best = max(best, optimistic)
                    skipped(worker, ply, move, DELTA)
                    continue
            # 6. Exchange pruning: there is nothing to win where the piece that moves is lost for less.
            #      when     not in check; quiet checks, too
            #      formula  exchange < -QUIESCENCE_LOSS
            #      worth    {{exchange-quiescence}}
            if not exchange_at_least(position, move, -worker.tune[QUIESCENCE_LOSS]):
                skipped(worker, ply, move, EXCHANGE_QUIESCENCE)
                continue
        elif best > -MATE_BOUND and searched >= worker.tune[EVASIONS]:
            # 7. Evasions: EVASIONS moves were tried and one is known not to be mated: the other quiet ones are not
            #    worth their nodes.
            #      when     in check, best value no mate against us
            #      formula  moves searched >= EVASIONS; captures and promotions are still tried
            #      worth    {{evasion-limit}}
            frame.skip_quiets = 1
            if not is_noisy(move):
                skipped(worker, ply, move, EVASION_LIMIT)
                continue
        searched += 1
        play(worker, ply, move)
        score = -quiescence(worker, table, ply + 1, -beta, -alpha, checks - 1)
        if worker.aborted != 0:
            return np.int64(0)
        if score > best:
            best = score
            if score > alpha:
                best_move = move
                if is_pv:
                    update_pv(worker, ply, move)
                if score >= beta:
                    break
                alpha = score

    skipped_rest(worker, ply)
    # 8. Checkmate.
    #      when     in check, and there was no move: none is left out before one was searched
    #      formula  ply - MATE
    if in_check and searched == 0:
        return ended(worker, CHECKMATE, np.int64(ply - MATE))

    # 9. What was found out, for the next time. Moves were left out, so nothing here is exact.
    #      when     every move was looked at or left out, or one caused a cutoff; standing pat leaves an earlier entry
    #      formula  LOWER if best >= beta, otherwise UPPER, with QUIESCENCE_DEPTH
    bound = LOWER if best >= beta else UPPER
    store(table, position.key, worker.generation, ply, QUIESCENCE_DEPTH, best, bound, raw, best_move)
    return ended(worker, CUTOFF if best >= beta else ALL_MOVES, best)
