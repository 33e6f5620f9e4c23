"""Quiescence: the search beyond the nominal depth that only looks at what could change the material."""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0
from engine.board.draws import has_insufficient_material, is_fifty_move_draw, is_repetition
from engine.board.exchange import EXCHANGE_VALUES, captured_piece, exchange_at_least, gives_check
from engine.board.generate import generate_all, generate_noisy, generate_quiets
from engine.board.make import make_move
from engine.board.moves import NO_MOVE, is_promotion
from engine.jit import inlined, subkernel
from eval.classical import evaluate
from search.history import continuation_of
from search.limits import MAX_PLY
from search.ordering import is_noisy, pick_move, score_moves
from search.score import DRAW, INFINITE, LOWER, MATE, MATE_BOUND, NO_SCORE, UPPER
from search.table import (
    QUIESCENCE_DEPTH,
    entry_bound,
    entry_evaluation,
    entry_move,
    entry_score,
    prefetch,
    probe,
    store,
)
from search.tunables import DELTA_MARGIN, EVASIONS

#: Plies of quiescence that also try quiet checks.
#: worth  +5.2 +- 38.5  [ledger: quiescence-checks]
CHECK_PLIES = 1


@inlined
def must_stop(worker):
    """Whether the search has to end at this node; marks it as aborted then. Mutates `worker`."""
    if worker.stop > worker.patience or worker.nodes >= worker.node_limit:
        worker.aborted = 1
        return True
    return False


@inlined
def is_draw(worker, ply):
    """Whether the rules end the game at the position of `ply` (not the root)."""
    position = worker.frames[ply].position
    return (
        is_repetition(worker.keys, worker.root_index + ply, position.halfmoves, ply)
        or is_fifty_move_draw(position)
        or has_insufficient_material(position)
    )


@inlined
def play(worker, table, ply, move):
    """Makes a move from the frame at `ply` into the next one and counts the node. Mutates `worker`."""
    frame = worker.frames[ply]
    child = worker.frames[ply + 1].position
    make_move(frame.position, child, move)
    prefetch(table, child.key)
    frame.move = move
    frame.continuation = continuation_of(frame.position, move)
    worker.keys[worker.root_index + ply + 1] = child.key
    worker.nodes += 1


@inlined
def answers_window(bound, score, alpha, beta):
    """Whether a stored score with its bound settles a search with this window."""
    if score >= beta:
        return bound & LOWER != 0
    return score <= alpha and bound & UPPER != 0


@inlined
def update_pv(worker, ply, move):
    """The best line at `ply` becomes `move` and the next frame's line. Mutates `worker`."""
    frame = worker.frames[ply]
    child = worker.frames[ply + 1]
    frame.pv[0] = move
    length = child.pv_length
    for index in range(length):
        frame.pv[index + 1] = child.pv[index]
    frame.pv_length = length + 1


@inlined
def _quiet_checks(frame, count):
    """Appends the quiet moves that give check; returns the new count. Mutates `frame`."""
    position = frame.position
    end = generate_quiets(position, frame.moves, count)
    for index in range(count, end):
        move = np.int64(frame.moves[index])
        if gives_check(position, move):
            frame.moves[count] = move
            count += 1
    return count


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
    if must_stop(worker):
        return np.int64(0)
    if is_draw(worker, ply):
        return np.int64(DRAW)
    in_check = position.checkers != U0
    if ply >= MAX_PLY:
        return np.int64(DRAW) if in_check else evaluate(position)

    is_pv = beta - alpha > 1
    table_move = np.int64(NO_MOVE)
    evaluation = np.int64(NO_SCORE)
    data = probe(table, position.key)
    if data != U0:
        score = entry_score(data, ply)
        if not is_pv and answers_window(entry_bound(data), score, alpha, beta):
            return score
        table_move = entry_move(data)
        evaluation = entry_evaluation(data)

    best = np.int64(-INFINITE)
    if in_check:
        count = generate_all(position, frame.moves, 0)
        if count == 0:
            return np.int64(ply - MATE)
    else:
        if evaluation == NO_SCORE:
            evaluation = evaluate(position)
        best = evaluation
        if best >= beta:
            if data == U0:
                store(table, position.key, worker.generation, ply, QUIESCENCE_DEPTH, best, LOWER, evaluation, NO_MOVE)
            return best
        alpha = max(alpha, best)
        count = generate_noisy(position, frame.moves, 0)
        if checks > 0:
            count = _quiet_checks(frame, count)
    score_moves(worker, ply, 0, count, table_move)

    best_move = np.int64(NO_MOVE)
    for index in range(count):
        move = pick_move(frame, index, count)
        if not in_check:
            # Nothing to win: the exchange loses material.
            if not exchange_at_least(position, move, 0):
                continue
            # Delta pruning: not even the victim for free lifts the score to alpha.
            if is_noisy(move) and not is_promotion(move):
                optimistic = evaluation + EXCHANGE_VALUES[captured_piece(position, move)] + worker.tune[DELTA_MARGIN]
                if optimistic <= alpha and alpha > -MATE_BOUND:
                    best = max(best, optimistic)
                    continue
        elif best > -MATE_BOUND and not is_noisy(move) and index >= worker.tune[EVASIONS]:
            # One way out of the check is known not to be mated: the other quiet ones are not worth their nodes.
            continue
        play(worker, table, ply, move)
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

    # Moves were left out, so nothing here is exact.
    bound = LOWER if best >= beta else UPPER
    store(table, position.key, worker.generation, ply, QUIESCENCE_DEPTH, best, bound, evaluation, best_move)
    return best
