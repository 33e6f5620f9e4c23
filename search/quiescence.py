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
from search.tunables import DELTA_MARGIN, EVASIONS, QUIESCENCE_LOSS, TABLE_CUTS

#: Plies of quiescence that also try quiet checks.
#: worth  +5.2 +- 38.5  [ledger: quiescence-checks]
CHECK_PLIES = 1


@subkernel
def quiescence(worker, table, ply, alpha, beta, checks):
    """Fail-soft value of the position at `ply` when only noisy moves, evasions and (for `checks` plies) checks count.

    The side to move may stand pat on its static evaluation unless it is in check. Same contract as `alpha_beta`.
    Mutates `worker` and `table`.
    """
    frame = worker.frames[ply]
    position = frame.position
    frame.pv_length = 0
    worker.selective_depth = max(worker.selective_depth, ply)
    entered_quiescence(worker, ply, alpha, beta)
    if must_stop(worker):
        return np.int64(0)
    if is_draw(worker, ply):
        return ended(worker, DRAW_BY_RULE, np.int64(DRAW))
    in_check = position.checkers != U0
    if ply >= MAX_PLY:
        return ended(worker, HORIZON, np.int64(DRAW) if in_check else static_evaluation(worker, ply))

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
        quiets = np.int64(CHECKS_ONLY) if checks > 0 else np.int64(NO_QUIETS)

    start(worker, ply, usable_table_move(position, table_move, quiets), quiets)
    best_move = np.int64(NO_MOVE)
    searched = np.int64(0)
    while True:
        move = next_move(worker, table, ply)
        if move == NO_MOVE:
            break
        if not in_check:
            # Delta pruning: not even the victim for free lifts the score to alpha.
            #   when     no promotion, alpha is no mate
            #   formula  evaluation + victim + DELTA_MARGIN <= alpha
            if is_noisy(move) and not is_promotion(move) and abs(alpha) < MATE_BOUND:
                optimistic = evaluation + EXCHANGE_VALUES[captured_piece(position, move)] + worker.tune[DELTA_MARGIN]
                if optimistic <= alpha:
                    best = max(best, optimistic)
                    skipped(worker, ply, move, DELTA)
                    continue
            # Exchange pruning: there is nothing to win where the exchange loses more than QUIESCENCE_LOSS.
            if not exchange_at_least(position, move, -worker.tune[QUIESCENCE_LOSS]):
                skipped(worker, ply, move, EXCHANGE_QUIESCENCE)
                continue
        elif best > -MATE_BOUND and searched >= worker.tune[EVASIONS]:
            # One way out of the check is known not to be mated: the other quiet ones are not worth their nodes.
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
    if in_check and searched == 0:
        return ended(worker, CHECKMATE, np.int64(ply - MATE))

    # Moves were left out, so nothing here is exact.
    bound = LOWER if best >= beta else UPPER
    store(table, position.key, worker.generation, ply, QUIESCENCE_DEPTH, best, bound, raw, best_move)
    return ended(worker, CUTOFF if best >= beta else ALL_MOVES, best)
