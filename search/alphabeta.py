"""The search kernel: principal variation alpha-beta over the worker's frames.

Contract of `alpha_beta(worker, table, ply, depth, alpha, beta)`, fail-soft. For a value v it returns, unless
`worker.aborted` is set, and the true value t that the same search would find with an open window:

    v <= alpha          t <= v      the node failed low
    alpha < v < beta    t == v      exact
    v >= beta           t >= v      the node failed high

A node with beta - alpha > 1 is a PV node; its line is left in `frame.pv[:frame.pv_length]`. PV nodes take no value
from the table, so that the line is whole.
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0
from engine.board.generate import ALL_MOVES, generate
from engine.board.make import make_null_move
from engine.board.moves import NO_MOVE
from engine.board.position import has_pieces
from engine.jit import inlined, kernel, subkernel
from eval.classical import evaluate
from search.history import add_history, bonus_for
from search.ordering import is_noisy, pick_move, score_moves
from search.quiescence import (
    CHECK_PLIES,
    answers_window,
    is_draw,
    must_stop,
    play,
    quiescence,
    update_pv,
)
from search.score import DRAW, EXACT, INFINITE, LOWER, MATE, MATE_BOUND, MAX_PLY, NO_SCORE, UPPER
from search.table import (
    entry_bound,
    entry_depth,
    entry_evaluation,
    entry_move,
    entry_score,
    prefetch,
    probe,
    store,
)

#: Null move: least depth, and plies the verifying search is shallower by: NULL_BASE + depth // NULL_DIVISOR.
NULL_DEPTH = 3
NULL_BASE = 3
NULL_DIVISOR = 4


@inlined
def _play_null_move(worker, table, ply):
    """Passes: the next frame gets the same position with the other side to move. Mutates `worker`."""
    frame = worker.frames[ply]
    child = worker.frames[ply + 1].position
    make_null_move(frame.position, child)
    prefetch(table, child.key)
    frame.move = NO_MOVE
    worker.keys[worker.root_index + ply + 1] = child.key
    worker.nodes += 1


@inlined
def _reward_quiet(worker, ply, depth, best_index):
    """A quiet move refuted this node: it becomes a killer and gains history, quiets tried before it lose some."""
    frame = worker.frames[ply]
    color = frame.position.turn
    move = np.int64(frame.moves[best_index])
    if frame.killers[0] != move:
        frame.killers[1] = frame.killers[0]
        frame.killers[0] = move
    bonus = bonus_for(depth)
    add_history(worker, color, move, bonus)
    for index in range(best_index):
        tried = np.int64(frame.moves[index])
        if not is_noisy(tried):
            add_history(worker, color, tried, -bonus)


@inlined
def _root_moves(worker, frame):
    """Copies the root's moves, already in order, into its frame; returns their number. Mutates `frame`."""
    for index in range(worker.root_count):
        frame.moves[index] = worker.root_moves[index]
        frame.order[index] = -index
        worker.root_nodes[index] = 0
    return worker.root_count


@subkernel
def alpha_beta(worker, table, ply, depth, alpha, beta):
    """Value of the position at `ply` searched to `depth` plies, int64; see the module's contract.

    Mutates `worker` and `table`.
    """
    # 1. Horizon. Being in check is no quiet place to stop, so checks are searched a ply deeper.
    position = worker.frames[ply].position
    in_check = position.checkers != U0
    if in_check and ply > 0:
        depth += 1
    if depth <= 0 or ply >= MAX_PLY:
        return quiescence(worker, table, ply, alpha, beta, CHECK_PLIES)

    frame = worker.frames[ply]
    frame.pv_length = 0
    is_pv = beta - alpha > 1
    if must_stop(worker):
        return np.int64(0)

    if ply > 0:
        # 2. The rules of the game.
        if is_draw(worker, ply):
            return np.int64(DRAW)
        # 3. Mate distance. No line from here is better than mating now or worse than being mated now.
        alpha = max(alpha, ply - MATE)
        beta = min(beta, MATE - ply - 1)
        if alpha >= beta:
            return alpha

    # 4. Transposition table.
    table_move = np.int64(NO_MOVE)
    evaluation = np.int64(NO_SCORE)
    data = probe(table, position.key)
    if data != U0:
        score = entry_score(data, ply)
        if not is_pv and entry_depth(data) >= depth and answers_window(entry_bound(data), score, alpha, beta):
            return score
        table_move = entry_move(data)
        evaluation = entry_evaluation(data)
    if not in_check and evaluation == NO_SCORE:
        evaluation = evaluate(position)

    # 5. Null move. If even passing fails high, a real move surely will; pawn endings are left out, because there
    #    having to move can be what loses (zugzwang).
    if (
        not is_pv
        and not in_check
        and depth >= NULL_DEPTH
        and evaluation >= beta
        and beta > -MATE_BOUND
        and worker.frames[ply - 1].move != NO_MOVE
        and has_pieces(position, position.turn)
    ):
        _play_null_move(worker, table, ply)
        score = -alpha_beta(worker, table, ply + 1, depth - 1 - NULL_BASE - depth // NULL_DIVISOR, -beta, 1 - beta)
        if worker.aborted != 0:
            return np.int64(0)
        if score >= beta:
            # A mate found after passing is not proven.
            return score if score < MATE_BOUND else beta

    # 6. The moves, best first.
    if ply == 0:
        count = _root_moves(worker, frame)
    else:
        count = generate(position, frame.moves, 0, ALL_MOVES)
        if count == 0:
            return np.int64(ply - MATE) if in_check else np.int64(DRAW)
        score_moves(worker, frame, 0, count, table_move)
    worker.frames[ply + 1].killers[0] = NO_MOVE
    worker.frames[ply + 1].killers[1] = NO_MOVE

    original_alpha = alpha
    best = np.int64(-INFINITE)
    best_move = np.int64(NO_MOVE)
    for index in range(count):
        move = pick_move(frame, index, count)
        nodes_before = worker.nodes
        play(worker, table, ply, move)
        # 7. Principal variation search. The first move gets the whole window; the others only have to be shown
        #    not to beat it, and are searched again when they do.
        if index == 0:
            score = -alpha_beta(worker, table, ply + 1, depth - 1, -beta, -alpha)
        else:
            score = -alpha_beta(worker, table, ply + 1, depth - 1, -alpha - 1, -alpha)
            if worker.aborted == 0 and alpha < score < beta:
                score = -alpha_beta(worker, table, ply + 1, depth - 1, -beta, -alpha)
        if worker.aborted != 0:
            return np.int64(0)
        if ply == 0:
            worker.root_nodes[index] = worker.nodes - nodes_before
        if score > best:
            best = score
            if score > alpha:
                best_move = move
                if is_pv:
                    update_pv(worker, ply, move)
                if score >= beta:
                    if not is_noisy(move):
                        _reward_quiet(worker, ply, depth, index)
                    break
                alpha = score

    # 8. What was found out, for the next time.
    if best >= beta:
        bound = LOWER
    elif best > original_alpha:
        bound = EXACT
    else:
        bound = UPPER
    store(table, position.key, worker.generation, ply, min(depth, MAX_PLY), best, bound, evaluation, best_move)
    return best


@kernel
def search_root(worker, table, depth, alpha, beta):
    """Searches the root position to `depth` plies with a window; returns its value, int64.

    `worker` is a WORKER record whose root fields are set, `table` ENTRY[n]. Afterwards `frames[0].pv` holds the best
    line, also when the search was aborted after a move had raised alpha; `root_nodes` what each root move cost.
    """
    return alpha_beta(worker, table, 0, depth, alpha, beta)
