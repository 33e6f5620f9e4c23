"""The search kernel: principal variation alpha-beta over the worker's frames.

Contract of `alpha_beta(worker, table, ply, depth, alpha, beta, cut)`, fail-soft. For a value v it returns, unless
`worker.aborted` is set, and the value t that the same search would find with an open window:

    v <= alpha          t <= v      the node failed low
    alpha < v < beta    t == v      exact
    v >= beta           t >= v      the node failed high

(As far as pruning and reductions, which look at the window too, leave it true.) A node with beta - alpha > 1 is a PV
node; its line is left in `frame.pv[:frame.pv_length]`. PV nodes take no value from the table, so that the line is
whole. `cut` is 1 where a cutoff is expected.

The worth of a technique is that of the whole search against the search without it, at 8000 nodes a move.
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0
from engine.board.exchange import exchange_at_least
from engine.board.generate import generate_all
from engine.board.make import make_null_move
from engine.board.moves import NO_MOVE, is_capture
from engine.board.position import has_pieces
from engine.jit import inlined, kernel, subkernel
from eval.classical import evaluate
from search.history import add_capture_history, add_quiet_history, bonus_for, quiet_history
from search.limits import MAX_PLY
from search.ordering import SKIPPED, is_noisy, pick_move, score_moves
from search.quiescence import (
    CHECK_PLIES,
    answers_window,
    is_draw,
    must_stop,
    play,
    quiescence,
    update_pv,
)
from search.score import DRAW, EXACT, INFINITE, LOWER, MATE, MATE_BOUND, NO_SCORE, UPPER
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
from search.tunables import (
    DOUBLE_MARGIN,
    FUTILITY_BASE,
    FUTILITY_DEPTH,
    FUTILITY_SLOPE,
    HISTORY_DEPTH,
    HISTORY_MARGIN,
    IIR_DEPTH,
    LMP_BASE,
    LMR_CHECK,
    LMR_CUT,
    LMR_HISTORY,
    LMR_KILLER,
    LMR_NOISY,
    LMR_NOT_IMPROVING,
    LMR_PV,
    NULL_BASE,
    NULL_DEPTH,
    NULL_DIVISOR,
    NULL_EVAL_DIVISOR,
    NULL_EVAL_MAX,
    RFP_DEPTH,
    RFP_MARGIN,
    SEE_DEPTH,
    SEE_NOISY,
    SEE_QUIET,
    SINGULAR_DEPTH,
    SINGULAR_MARGIN,
    SINGULAR_SLACK,
)
from search.worker import NO_CONTINUATION

# The two values of `cut`. NumPy scalars, because Numba types a recursive call with a literal argument apart.
CUT, NO_CUT = np.int64(1), np.int64(0)


@inlined
def _play_null_move(worker, table, ply):
    """Passes: the next frame gets the same position with the other side to move. Mutates `worker`."""
    frame = worker.frames[ply]
    child = worker.frames[ply + 1].position
    make_null_move(frame.position, child)
    prefetch(table, child.key)
    frame.move = NO_MOVE
    frame.continuation = NO_CONTINUATION
    worker.keys[worker.root_index + ply + 1] = child.key
    worker.nodes += 1


@inlined
def _learn(worker, ply, depth, best_index):
    """Move `best_index` refuted this node: it gains history, those searched before it lose some. Mutates `worker`."""
    frame = worker.frames[ply]
    position = frame.position
    best = np.int64(frame.moves[best_index])
    bonus = bonus_for(worker, depth)
    if not is_noisy(best):
        if frame.killers[0] != best:
            frame.killers[1] = frame.killers[0]
            frame.killers[0] = best
        add_quiet_history(worker, ply, best, bonus)
    elif is_capture(best):
        add_capture_history(worker, position, best, bonus)
    for index in range(best_index):
        tried = np.int64(frame.moves[index])
        if frame.order[index] == SKIPPED:
            continue
        if is_capture(tried):
            add_capture_history(worker, position, tried, -bonus)
        elif not is_noisy(best) and not is_noisy(tried):
            add_quiet_history(worker, ply, tried, -bonus)


@inlined
def _is_improving(worker, ply):
    """Whether the side to move stands better than at its last turn without a check, int64 0 or 1."""
    evaluation = worker.frames[ply].evaluation
    if evaluation == NO_SCORE:
        return 0
    if ply >= 2 and worker.frames[ply - 2].evaluation != NO_SCORE:
        return 1 if evaluation > worker.frames[ply - 2].evaluation else 0
    if ply >= 4 and worker.frames[ply - 4].evaluation != NO_SCORE:
        return 1 if evaluation > worker.frames[ply - 4].evaluation else 0
    return 1


@inlined
def _root_moves(worker, frame):
    """Copies the root's moves, already in order, into its frame; returns their number. Mutates `frame`."""
    for index in range(worker.root_count):
        frame.moves[index] = worker.root_moves[index]
        frame.order[index] = -index
        worker.root_nodes[index] = 0
    return worker.root_count


@inlined
def _may_prune(worker, ply, move, depth, reduced, quiet_limit, history, alpha):
    """Whether a late move is not worth searching, bool.

    `reduced` is the depth it would be searched to, `quiet_limit` how many more quiet moves may be tried, `history` its
    own when it is quiet.
    """
    frame = worker.frames[ply]
    position = frame.position
    tune = worker.tune
    if is_noisy(move):
        # Exchange pruning of captures that lose more than the depth can win back.
        #   worth, of quiet moves too  +85.0 +- 46.7  [ledger: exchange-pruning]
        return depth <= tune[SEE_DEPTH] and not exchange_at_least(position, move, -tune[SEE_NOISY] * depth)
    # Late move pruning. After so many quiet moves the ordering has had its chance.
    #   worth  +100.0 +- 40.1  [ledger: late-move-pruning]
    if quiet_limit <= 0:
        return True
    # Futility. A quiet move will not lift an evaluation this far below alpha in the plies that remain.
    #   worth  +22.6 +- 44.5  [ledger: futility]
    if (
        frame.evaluation != NO_SCORE
        and reduced <= tune[FUTILITY_DEPTH]
        and frame.evaluation + tune[FUTILITY_BASE] + tune[FUTILITY_SLOPE] * reduced <= alpha
    ):
        return True
    # History pruning. It has failed here time and again.
    #   worth  +13.9 +- 31.6  [ledger: history-pruning]
    if reduced <= tune[HISTORY_DEPTH] and history < -tune[HISTORY_MARGIN] * depth:
        return True
    # Exchange pruning of quiet moves onto attacked squares.
    return reduced <= tune[SEE_DEPTH] and not exchange_at_least(position, move, -tune[SEE_QUIET] * reduced * reduced)


@subkernel
def alpha_beta(worker, table, ply, depth, alpha, beta, cut):
    """Value of the position at `ply` searched to `depth` plies, int64; see the module's contract.

    Mutates `worker` and `table`.
    """
    # 1. Horizon.
    frame = worker.frames[ply]
    position = frame.position
    tune = worker.tune
    in_check = position.checkers != U0
    if in_check and ply > 0:
        # Check extension: being in check is no quiet place to stop.
        #   worth  +7.0 +- 36.5  [ledger: check-extension]
        depth += 1
    if depth <= 0 or ply >= MAX_PLY:
        return quiescence(worker, table, ply, alpha, beta, CHECK_PLIES)

    frame.pv_length = 0
    is_pv = beta - alpha > 1
    excluded = frame.excluded
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
    table_score = np.int64(NO_SCORE)
    table_bound = np.int64(0)
    table_depth = np.int64(-1)
    data = probe(table, position.key)
    if data != U0:
        table_score = entry_score(data, ply)
        table_bound = entry_bound(data)
        table_depth = entry_depth(data)
        table_move = entry_move(data)
        evaluation = entry_evaluation(data)
        if (
            not is_pv
            and excluded == NO_MOVE
            and table_depth >= depth
            and answers_window(table_bound, table_score, alpha, beta)
        ):
            return table_score
    raw_evaluation = evaluation
    if in_check:
        evaluation = np.int64(NO_SCORE)
    else:
        if evaluation == NO_SCORE:
            evaluation = evaluate(position)
        raw_evaluation = evaluation
        # The table's score is the better estimate where its bound allows it.
        if data != U0 and excluded == NO_MOVE:
            if table_score > evaluation:
                if table_bound & LOWER != 0:
                    evaluation = table_score
            elif table_bound & UPPER != 0:
                evaluation = table_score
    frame.evaluation = np.int64(NO_SCORE) if in_check else raw_evaluation
    improving = _is_improving(worker, ply)
    # Killers are for siblings: those that other children left are forgotten.
    worker.frames[ply + 1].killers[0] = NO_MOVE
    worker.frames[ply + 1].killers[1] = NO_MOVE

    if not is_pv and not in_check and excluded == NO_MOVE and beta > -MATE_BOUND and evaluation < MATE_BOUND:
        # 5. Reverse futility. So far above beta, the opponent's next plies will not bring it back.
        #    worth  +43.7 +- 35.5  [ledger: reverse-futility]
        if depth <= tune[RFP_DEPTH] and evaluation - tune[RFP_MARGIN] * (depth - improving) >= beta:
            return (evaluation + beta) // 2

        # 6. Null move. If even passing fails high, a real move surely will; pawn endings are left out, because there
        #    having to move can be what loses (zugzwang).
        #    worth  +5.2 +- 40.0  [ledger: null-move]
        if (
            depth >= tune[NULL_DEPTH]
            and evaluation >= beta
            and worker.frames[ply - 1].move != NO_MOVE
            and has_pieces(position, position.turn)
        ):
            saved = (
                tune[NULL_BASE]
                + depth // tune[NULL_DIVISOR]
                + min((evaluation - beta) // tune[NULL_EVAL_DIVISOR], tune[NULL_EVAL_MAX])
            )
            _play_null_move(worker, table, ply)
            score = -alpha_beta(worker, table, ply + 1, depth - saved, -beta, 1 - beta, 1 - cut)
            if worker.aborted != 0:
                return np.int64(0)
            if score >= beta:
                # A mate found after passing is not proven.
                return score if score < MATE_BOUND else beta

    # 7. Internal iterative reduction. Without a table move the ordering is poor: come back when there is one.
    #    worth  -20.9 +- 38.9  [ledger: internal-reduction]  (kept for longer searches, to be tested there)
    if depth >= tune[IIR_DEPTH] and table_move == NO_MOVE and excluded == NO_MOVE and (is_pv or cut != 0):
        depth -= 1

    # 8. Singular extension. If all other moves fail low against the table's score less a margin, its move is the only
    #    one, and worth a closer look; if they fail high even against beta, there is more than one refutation.
    #    worth  +31.4 +- 40.0  [ledger: singular-extension]
    extension = np.int64(0)
    if (
        ply > 0
        and depth >= tune[SINGULAR_DEPTH]
        and table_move != NO_MOVE
        and excluded == NO_MOVE
        and table_bound & LOWER != 0
        and table_depth >= depth - tune[SINGULAR_SLACK]
        and abs(table_score) < MATE_BOUND
        and ply < MAX_PLY // 2
    ):
        target = table_score - tune[SINGULAR_MARGIN] * depth // 100
        frame.excluded = table_move
        score = alpha_beta(worker, table, ply, (depth - 1) // 2, target - 1, target, cut)
        frame.excluded = NO_MOVE
        frame.pv_length = 0
        if worker.aborted != 0:
            return np.int64(0)
        if score < target:
            extension = np.int64(1)
            if not is_pv and score < target - tune[DOUBLE_MARGIN]:
                extension = np.int64(2)
        elif target >= beta:
            return target
        elif table_score >= beta:
            extension = np.int64(-1)

    # 9. The moves, best first.
    if ply == 0:
        count = _root_moves(worker, frame)
    else:
        count = generate_all(position, frame.moves, 0)
        if count == 0:
            return np.int64(ply - MATE) if in_check else np.int64(DRAW)
        score_moves(worker, ply, 0, count, table_move)

    original_alpha = alpha
    best = np.int64(-INFINITE)
    best_move = np.int64(NO_MOVE)
    searched = np.int64(0)
    quiets = np.int64(0)
    quiet_limit = (tune[LMP_BASE] + depth * depth) // (2 - improving)
    for index in range(count):
        move = pick_move(frame, index, count)
        if move == excluded:
            frame.order[index] = SKIPPED
            continue
        quiet = not is_noisy(move)
        history = quiet_history(worker, ply, move) if quiet else np.int64(0)
        reduction = worker.reductions[min(depth, 63), min(searched + 1, 63)]

        # 10. Pruning of late moves, once one move is known not to be mated.
        late = ply > 0 and best > -MATE_BOUND and has_pieces(position, position.turn)
        reduced = max(depth - reduction // 100, 0)
        if late and _may_prune(worker, ply, move, depth, reduced, quiet_limit - quiets, history, alpha):
            frame.order[index] = SKIPPED
            continue

        # 11. Late move reduction, in hundredths of a ply: less where the move has done well, gives check or this is a
        #     PV node; more where a cutoff is expected anyway or the position gets worse.
        #     worth  +188.5 +- 47.6  [ledger: late-move-reduction]
        if quiet:
            reduction -= 100 * history // tune[LMR_HISTORY]
            quiets += 1
        else:
            reduction -= tune[LMR_NOISY]
        reduction += tune[LMR_NOT_IMPROVING] * (1 - improving) + tune[LMR_CUT] * cut
        if is_pv:
            reduction -= tune[LMR_PV]
        if move == frame.killers[0] or move == frame.killers[1]:
            reduction -= tune[LMR_KILLER]
        searched += 1
        nodes_before = worker.nodes
        play(worker, table, ply, move)
        if worker.frames[ply + 1].position.checkers != U0:
            reduction -= tune[LMR_CHECK]
        new_depth = depth - 1
        if move == table_move:
            new_depth += extension

        # 12. Principal variation search. The first move gets the whole window; the others only have to be shown not
        #     to beat it, first to a reduced depth, and are searched again when they do.
        score = alpha + 1
        if searched > 1:
            reduced = new_depth
            if depth >= 2 and searched > 1 + (1 if is_pv else 0):
                reduced = min(max(new_depth - reduction // 100, 1), new_depth)
            score = -alpha_beta(worker, table, ply + 1, reduced, -alpha - 1, -alpha, CUT)
            if worker.aborted == 0 and score > alpha and reduced < new_depth:
                score = -alpha_beta(worker, table, ply + 1, new_depth, -alpha - 1, -alpha, 1 - cut)
        elif not is_pv:
            score = -alpha_beta(worker, table, ply + 1, new_depth, -alpha - 1, -alpha, 1 - cut)
        if is_pv and worker.aborted == 0 and (searched == 1 or score > alpha):
            score = -alpha_beta(worker, table, ply + 1, new_depth, -beta, -alpha, NO_CUT)
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
                    _learn(worker, ply, depth, index)
                    break
                alpha = score

    if searched == 0:
        # Only the excluded move was there: nothing else comes near it.
        return original_alpha

    # 13. What was found out, for the next time.
    if excluded == NO_MOVE:
        if best >= beta:
            bound = LOWER
        elif best > original_alpha:
            bound = EXACT
        else:
            bound = UPPER
        store(table, position.key, worker.generation, ply, min(depth, MAX_PLY), best, bound, raw_evaluation, best_move)
    return best


@kernel
def search_root(worker, table, depth, alpha, beta):
    """Searches the root position to `depth` plies with a window; returns its value, int64.

    `worker` is a WORKER record whose root fields are set, `table` ENTRY[n]. Afterwards `frames[0].pv` holds the best
    line, also when the search was aborted after a move had raised alpha; `root_nodes` what each root move cost.
    """
    return alpha_beta(worker, table, 0, depth, alpha, beta, NO_CUT)
