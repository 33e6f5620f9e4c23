"""Principal variation search: numbered blocks give each technique's condition, formula and, if measured, worth.

Most techniques have the form of Stockfish 15.1's. Their parameters began as its parameters, centipawns divided by 1.93;
then we tuned them by games (see `docs/strength.md`).

Worths whose ledger ids end in -timed come from one run of 3,170 games at 20 ms a move, in which each side lacked each
technique at random. Those that end in -tuned or -deep, and idea-bonus-depth, measure an earlier search with other
parameters. The ledger gives the commit, the number of games and the search limit of each.
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, bit
from engine.board.exchange import find_check_squares, gives_check, is_check, see_ge
from engine.board.generate import discovered_check_pieces
from engine.board.moves import NO_MOVE, is_noisy, move_origin
from engine.board.position import has_non_pawn_material
from engine.compiler.jit import kernel, subkernel
from eval.kernels.accumulator import forget_accumulators
from search.kernels import node, picker
from search.kernels import tracing as trace
from search.kernels.correction import corrected_eval, update_correction_history
from search.kernels.history import (
    find_threats,
    history_bonus,
    history_rows,
    is_unopposed,
    learn_from_eval_change,
    learn_from_tt_cutoff,
    quiet_history,
    reward_prior_move,
    update_continuations,
    update_histories,
)
from search.kernels.quiescence import CHECK_PLIES, quiescence
from search.kernels.score import DRAW, EXACT, INFINITE, LOWER, MATE, MATE_BOUND, NO_BOUND, NO_SCORE, UPPER
from search.kernels.transposition import (
    QUIESCENCE_DEPTH,
    entry_bound,
    entry_depth,
    entry_eval,
    entry_move,
    entry_score,
    entry_was_pv,
    probe,
    store,
)
from search.kernels.worker import GAME_KEYS
from search.limits import MAX_PLY

#: From this many plies without a capture or pawn move on (100 are a draw), block 5 allows no TT cutoff and block 10 no
#: cut in check.
NEAR_FIFTY_MOVES = 90

#: The least depth at which late moves are reduced.
LMR_MIN_DEPTH = 2

#: Late moves are reduced more if more fail highs than this were counted at the next ply. (The idea is Stockfish's.)
MANY_CUTOFFS = 3

#: The parent tried this many moves before: it expects no good move any more, and late moves are reduced less.
LATE_PARENT = 7

#: From this depth on, late moves of a piece that a lesser piece attacks are reduced less.
THREATENED_DEPTH = 10

#: Checks are extended only if the static evaluation is further from 0 than this, in centipawns.
CLEAR_EVAL = 42

#: At most this many moves of a line are extended by two plies or more.
MOST_DOUBLES = 10

#: The mean history of a late move; `stat_score` is the difference from it.
STAT_MEAN = 5_000

#: If not improving, a move is reduced more if its entry in `worker.reductions` is at least this much above lmr_base, in
#: hundredths of a ply.
LEAST_NOT_IMPROVING = 90

#: From this depth on, and in PV nodes at every depth, a node that fails low gives a bonus to the move that led to it.
#: The bonus is doubled if its score is further below alpha than this many centipawns for each ply of depth.
UNANSWERED_DEPTH = 5
UNANSWERED_MARGIN = 32

#: The least depth of the cut in check (block 10), and how many plies shallower the TT's search may be.
CHECK_CUT_DEPTH = 2
CHECK_CUT_SLACK = 3

#: A node that fails low passes for a PV node if its parent does and its depth is greater than this.
TT_PV_DEPTH = 3

# The values of `cut_node`: NumPy scalars, because Numba would compile another version for literal arguments.
CUT, NO_CUT = np.int64(1), np.int64(0)


@subkernel
def alpha_beta(worker, tt, ply, depth, alpha, beta, cut_node):
    """Searches the position at `ply` to `depth` plies; returns its value, int64 centipawns for the side to move.

    Unless `worker.aborted` is set, the value v is a fail-soft bound of t, the value of a search with an open window:

        v <= alpha          t <= v      the node failed low
        alpha < v < beta    t == v      exact
        v >= beta           t >= v      the node failed high

    (Pruning and reductions depend on the window, too, so they may break these relations.) A node with beta - alpha > 1
    is a PV node. If a move raises alpha, the node stores its PV in `frame.pv[:frame.pv_length]`. It allows no TT
    cutoff, because that would cut the line short. `cut_node` is 1 if a cutoff is expected, else 0. In the formulas,
    `static_eval` is the corrected evaluation, and `eval` the estimate of block 6. A singular search (block 12) searches
    the same position without its TT move, which is then `frame.excluded`. `worker` is a WORKER record and `tt`
    ENTRY[n], both mutated; the other arguments are int64, `alpha` and `beta` in centipawns.
    """
    frame = worker.stack[ply]
    position = frame.position
    tune = worker.tune
    in_check = position.checkers != U0
    excluded = frame.excluded

    # 1. Horizon: quiescence continues with noisy moves, checks and evasions only.
    #      when     depth <= 0 or ply >= MAX_PLY
    #      formula  the value of quiescence, which tries quiet checks in its first CHECK_PLIES plies
    if depth <= 0 or ply >= MAX_PLY:
        return quiescence(worker, tt, ply, alpha, beta, CHECK_PLIES)

    frame.pv_length = 0
    frame.move_count = 0
    doubles = worker.stack[ply - 1].double_extensions if ply > 0 else np.int64(0)
    frame.double_extensions = doubles
    is_pv = beta - alpha > 1
    if ply == 0:
        worker.root_window = beta - alpha
    trace.entered(worker, ply, depth, alpha, beta, cut_node)
    # 2. Stop: time is up, the GUI asks for it, the search has visited all the nodes that it may, or another thread has
    #    completed an iteration of this depth or a greater one.
    #      formula  0, and worker.aborted is set, so that no node above uses the value
    if node.must_stop(worker):
        return np.int64(0)

    if ply > 0:
        # 3. The rules of the game: repetition, fifty moves, insufficient material.
        #      when     not at the root, which must return a move
        #      formula  DRAW
        if node.is_draw(worker, ply):
            return trace.ended(worker, trace.DRAW_BY_RULE, np.int64(DRAW))
        # 4. Mate distance pruning: no line from here is better than mating next move, or worse than being mated now.
        #      when     not at the root
        #      formula  alpha = max(alpha, ply - MATE), beta = min(beta, MATE - ply - 1); a cutoff if alpha >= beta
        #      worth    not measured: it saves nodes and should not change the value of the root
        alpha = max(alpha, ply - MATE)
        beta = min(beta, MATE - ply - 1)
        if alpha >= beta:
            return trace.ended(worker, trace.MATE_DISTANCE, alpha)

    # 5. Transposition table: an earlier search of this position may already prove that this node fails high or low.
    #      when     not a PV node, not a singular search, tt_depth >= depth, tt_score is a lower bound >= beta or an
    #               upper bound <= alpha, tt_cutoffs is not 0, and there have been fewer than NEAR_FIFTY_MOVES plies
    #               without a capture or pawn move, because TT entries do not contain the number of these plies
    #      formula  tt_score; without a cutoff, tt_move and the stored evaluation are still used. A quiet tt_move
    #               gets tt_move_share % of a bonus or malus, and a move that it refutes a malus (both as in
    #               Stockfish). frame.tt_pv is 1 in a PV node or if the entry says that the position was in one:
    #               blocks 8 and 15 then prune and reduce less
    #      worth    +95.7 +- 15.3  [ledger: tt-cutoffs-tuned]
    #               of the bonus  -10.5 +- 18.3  [ledger: tt-move-bonus-timed]
    tt_move = np.int64(NO_MOVE)  # may be illegal after a key collision: only `usable_tt_move` makes it playable
    raw_eval = np.int64(NO_SCORE)
    tt_score = np.int64(NO_SCORE)
    tt_bound = np.int64(0)
    tt_depth = np.int64(-1)
    was_pv = np.int64(0)
    data = probe(tt, position.key)
    frame.tt_hit = np.int64(data != U0)
    if data != U0:
        was_pv = entry_was_pv(data)
    if excluded == NO_MOVE:
        frame.tt_pv = np.int64(is_pv) | was_pv
    if data != U0:
        tt_score = entry_score(data, ply, position.halfmoves)
        tt_bound = entry_bound(data)
        tt_depth = entry_depth(data)
        tt_move = entry_move(data)
        raw_eval = entry_eval(data)
        if (
            not is_pv
            and excluded == NO_MOVE
            and tt_depth >= depth
            and position.halfmoves < NEAR_FIFTY_MOVES
            and node.is_tt_cutoff(tt_bound, tt_score, alpha, beta)
            and tune.tt_cutoffs != 0
        ):
            learn_from_tt_cutoff(worker, ply, depth, tt_move, tt_score >= beta)
            return trace.ended(worker, trace.TT_CUTOFF, tt_score)
        node.prefetch_move(worker, tt, ply, tt_move)

    # 6. Static evaluation: corrected by earlier errors, and scaled towards 0 as a draw by the fifty-move rule nears.
    #    The TT's score comes from a search, so it is the better estimate if its bound allows it.
    #      when     not in check; the TT's score is not used in a singular search
    #      formula  static_eval = raw_eval * (200 - halfmoves) / 200 + corrections
    #               eval = tt_score if that is greater than static_eval and a lower bound or exact, or less than
    #               static_eval and an upper bound or exact; otherwise eval = static_eval
    #               If the TT has no entry, raw_eval is stored at once with NO_BOUND, except in a singular search: after
    #               a node that ends early, the next visit need not evaluate again
    #      worth    of the corrections: see `search.kernels.correction`
    #               of storing at once  +12.4 +- 12.8  [ledger: idea-early-eval-deep]
    eval = np.int64(NO_SCORE)
    frame.static_eval = eval
    if not in_check:
        if not is_pv and depth >= tune.nmp_depth:
            node.prefetch_null_move(worker, tt, ply)
        if raw_eval == NO_SCORE:
            raw_eval = node.evaluate(worker, ply)
            if data == U0 and excluded == NO_MOVE:
                depth_0, tt_pv = QUIESCENCE_DEPTH, frame.tt_pv
                store(tt, position.key, worker.generation, ply, depth_0, NO_SCORE, NO_BOUND, raw_eval, NO_MOVE, tt_pv)
        eval = corrected_eval(worker, ply, raw_eval)
        frame.static_eval = eval
        if data != U0 and excluded == NO_MOVE:
            if tt_score > eval:
                if tt_bound & LOWER != 0:
                    eval = tt_score
            elif tt_bound & UPPER != 0:
                eval = tt_score

    # 7. Improving. If the side to move stands better than at its last turn, it is improving: a fail high is more likely
    #    (block 8). Otherwise late moves are less likely to help (blocks 14 and 15). The histories learn from the change
    #    of the evaluation by the last move, too (see `learn_from_eval_change`).
    #      when     not in check, and the tunable `improving` is not 0; otherwise improving = 0
    #      formula  improving = 1 if static_eval exceeds that of two plies ago (if the side to move was in check then,
    #               that of four plies ago) or if neither of these exists; otherwise improving = 0
    #      worth    +91.1 +- 15.3  [ledger: improving-tuned]
    improving = node.is_improving(worker, ply)
    if ply > 0 and not in_check:
        learn_from_eval_change(worker, ply)
    trace.evaluated(worker, ply, eval, improving)
    # The grandchildren's count of cutoffs and stat_score begin with 0.
    worker.stack[ply + 2].cutoffs = 0
    worker.stack[ply + 2].stat_score = 0
    parent = worker.stack[max(ply - 1, 0)]
    noisy_tt_move = tt_move != NO_MOVE and is_noisy(tt_move)

    # Blocks 8 to 10 predict the value from the evaluation or a cheaper search. They do not apply at the root, in PV
    # nodes, in check, in a singular search, if beta is a mate against us, or if eval is a mate for us.
    may_prune_node = ply > 0 and not is_pv and not in_check and excluded == NO_MOVE
    if may_prune_node and beta > -MATE_BOUND and eval < MATE_BOUND:
        # 8. Reverse futility: if eval is this far above beta, the opponent is unlikely to catch up in time.
        #      when     depth <= rfp_depth, the position was not in a PV node
        #      formula  eval - rfp_margin * (depth - improving) - the parent's stat_score (block 15)
        #               / rfp_history_divisor >= beta, and eval >= beta; returns eval
        #      worth    +127.3 +- 16.1  [ledger: reverse-futility-tuned]
        if depth <= tune.rfp_depth and frame.tt_pv == 0 and eval >= beta:
            # The formula without its division, which is slow.
            margin = eval - beta - tune.rfp_margin * (depth - improving)
            if parent.stat_score < (margin + 1) * tune.rfp_history_divisor:
                return trace.ended(worker, trace.REVERSE_FUTILITY, eval)

        # 9. Null move pruning: if even passing fails high in a search to depth - R, a real move almost surely would.
        #      when     depth >= nmp_depth, eval >= beta, eval >= static_eval, static_eval >= beta + nmp_static_base -
        #               nmp_static_slope * depth, the last move was not a null move and its stat_score (block 15) is
        #               less than nmp_history_max, ply >= nmp_min_ply, and the side to move has a piece other than
        #               pawns: zugzwang is common in pawn endings
        #      formula  R = nmp_base + depth / nmp_depth_divisor + min((eval - beta) / nmp_eval_divisor, nmp_eval_max)
        #      verify   from nmp_verify_depth on, a search of this position to depth - R must also fail high. It has no
        #               null moves in its first nmp_verify_share % of plies, and verifies no later one (as in Stockfish)
        #      worth    +26.6 +- 16.1  [ledger: null-move-tuned]
        #               of the verification  +0.4 +- 15.7  [ledger: null-move-verification-tuned]
        if (
            depth >= tune.nmp_depth
            and eval >= beta
            and eval >= frame.static_eval
            and frame.static_eval >= beta + tune.nmp_static_base - tune.nmp_static_slope * depth
            and parent.stat_score < tune.nmp_history_max
            and ply >= worker.nmp_min_ply
            and parent.move != NO_MOVE
            and has_non_pawn_material(position, position.turn)
        ):
            nmp_reduction = (
                tune.nmp_base
                + depth // tune.nmp_depth_divisor
                + min((eval - beta) // tune.nmp_eval_divisor, tune.nmp_eval_max)
            )
            node.play_null_move(worker, ply)
            trace.searching(worker, trace.NULL, nmp_reduction - 1, 0)
            score = -alpha_beta(worker, tt, ply + 1, depth - nmp_reduction, -beta, 1 - beta, 1 - cut_node)
            if worker.aborted != 0:
                return np.int64(0)
            if score >= beta:
                # A mate found after a null move is not proven.
                score = min(score, max(beta, np.int64(MATE_BOUND - 1)))
                if depth < tune.nmp_verify_depth or worker.nmp_min_ply > 0:
                    return trace.ended(worker, trace.NULL_MOVE, score)
                worker.nmp_min_ply = ply + tune.nmp_verify_share * (depth - nmp_reduction) // 100
                trace.searching(worker, trace.VERIFY, nmp_reduction, 0)
                verified = alpha_beta(worker, tt, ply, depth - nmp_reduction, beta - 1, beta, NO_CUT)
                worker.nmp_min_ply = 0
                if worker.aborted != 0:
                    return np.int64(0)
                if verified >= beta:
                    return trace.ended(worker, trace.NULL_MOVE, score)

        # 10. ProbCut: a noisy move that fails high far above beta in a shallower search most likely fails high in the
        #     full search. (Buro, "ProbCut: an effective selective extension of the alpha-beta algorithm", ICCA
        #     Journal 18, 1995.)
        #      when     depth >= probcut_depth, beta is not a mate, and no TT score from a search deeper than depth -
        #               probcut_reduction is below probcut_beta; only noisy moves with SEE >= probcut_beta - static_eval
        #      formula  probcut_beta = beta + probcut_margin - probcut_improving * improving; quiescence and then a
        #               search to depth - probcut_reduction must score at least probcut_beta; returns that score
        #      worth    -6.5 +- 17.5  [ledger: probcut-timed]
        probcut_beta = beta + tune.probcut_margin - tune.probcut_improving * improving
        probe_depth = max(depth - tune.probcut_reduction, 0)
        if (
            depth >= tune.probcut_depth
            and beta < MATE_BOUND
            and not (tt_depth > probe_depth and tt_score < probcut_beta)
        ):
            picker.start(
                worker,
                ply,
                picker.usable_tt_move(position, tt_move, np.int64(picker.NO_QUIETS)),
                np.int64(picker.NO_QUIETS),
            )
            while True:
                move = picker.next_move(worker, tt, ply)
                if move == NO_MOVE:
                    break
                if not see_ge(position, move, probcut_beta - frame.static_eval):
                    continue
                node.play(worker, ply, move)
                trace.searching(worker, trace.PROBE, 0, 0)
                score = -quiescence(worker, tt, ply + 1, -probcut_beta, 1 - probcut_beta, CHECK_PLIES)
                if worker.aborted == 0 and score >= probcut_beta:
                    trace.searching(worker, trace.PROBCUT_SEARCH, depth - 1 - probe_depth, 0)
                    score = -alpha_beta(worker, tt, ply + 1, probe_depth, -probcut_beta, 1 - probcut_beta, 1 - cut_node)
                if worker.aborted != 0:
                    return np.int64(0)
                if score >= probcut_beta:
                    proved, tt_pv = probe_depth + 1, frame.tt_pv
                    store(tt, position.key, worker.generation, ply, proved, score, LOWER, raw_eval, move, tt_pv)
                    return trace.ended(worker, trace.PROBCUT, score)

    #     ProbCut in check: there is no evaluation, but the TT's bound may suffice.
    #      when     in check, not at the root, not a PV node, not a singular search, depth >= CHECK_CUT_DEPTH, a noisy
    #               TT move, tt_depth >= depth - CHECK_CUT_SLACK, neither beta nor tt_score is a mate, tt_cutoffs is not
    #               0, fewer than NEAR_FIFTY_MOVES plies without a capture or pawn move
    #      formula  tt_score, a lower bound, >= beta + check_probcut_margin; returns that sum
    #      worth    -4.8 +- 18.0  [ledger: check-probcut-timed]
    if (
        in_check
        and not is_pv
        and ply > 0
        and excluded == NO_MOVE
        and depth >= CHECK_CUT_DEPTH
        and noisy_tt_move
        and tt_bound & LOWER != 0
        and tt_depth >= depth - CHECK_CUT_SLACK
        and position.halfmoves < NEAR_FIFTY_MOVES
        and tt_score >= beta + tune.check_probcut_margin
        and abs(tt_score) < MATE_BOUND
        and abs(beta) < MATE_BOUND
        and tune.tt_cutoffs != 0
    ):
        return trace.ended(worker, trace.PROBCUT, beta + tune.check_probcut_margin)

    # 11. Internal iterative reduction: without a TT move the ordering is poor. The next iteration may have one.
    #      when     no TT move, not in check, not at the root; in PV nodes, and from iir_depth on in cut nodes
    #      formula  depth - iir_pv in PV nodes, depth - iir_cut in cut nodes, but at least 1
    #      worth    -4.7 +- 17.8  [ledger: internal-iterative-reduction-timed]
    if ply > 0 and tt_move == NO_MOVE and not in_check:
        if is_pv:
            depth = max(depth - tune.iir_pv, 1)
        elif cut_node != 0 and depth >= tune.iir_depth:
            depth = max(depth - tune.iir_cut, 1)
    trace.shortened(worker, depth)

    # 12. Singular extension: if all other moves fail low against the TT's score minus a margin, the TT move is probably
    #     the only good one and is searched deeper. If another scores beta or more, there are probably two refutations.
    #      when     depth >= singular_depth, or singular_depth + singular_pv_extra in a PV node whose TT entry says so;
    #               a TT move; tt_score is a lower bound or exact and not a mate; tt_depth >= depth - singular_tt_slack;
    #               not at the root, not in a singular search; ply < MAX_PLY / 2 and ply < 2 * root_depth
    #      formula  singular_beta = tt_score - singular_margin / 100 * depth; singular_pv_margin is added to the margin
    #               if the position was in a PV node, but this is none
    #               score = the value of a search of the other moves to depth (depth - 1) / 2
    #               if score < singular_beta: +1 ply; +2 if by more than double_extension_margin, except in PV nodes and
    #               if the line already has MOST_DOUBLES such moves; then +3 if the move is quiet and the score is lower
    #               by triple_extension_margin more (the idea is Stockfish's)
    #               else if singular_beta >= beta: returns singular_beta (multi-cut)
    #               else if tt_score >= beta: negative_extension plies less
    #               else if tt_score <= alpha and tt_score <= score: 1 ply less
    #      worth    +32.8 +- 15.0  [ledger: singular-extension-tuned]
    #               of the third ply  +8.5 +- 7.2  [ledger: triple-extension-nodes]
    extension = np.int64(0)
    if (
        ply > 0
        and depth >= tune.singular_depth + tune.singular_pv_extra * (is_pv and was_pv != 0)
        and tt_move != NO_MOVE
        and excluded == NO_MOVE
        and tt_bound & LOWER != 0
        and tt_depth >= depth - tune.singular_tt_slack
        and abs(tt_score) < MATE_BOUND
        and ply < min(2 * worker.root_depth, MAX_PLY // 2)
    ):
        margin = tune.singular_margin + tune.singular_pv_margin * (frame.tt_pv != 0 and not is_pv)
        singular_beta = tt_score - margin * depth // 100
        half_depth = (depth - 1) // 2
        frame.excluded = tt_move
        trace.searching(worker, trace.SINGULAR, depth - half_depth, 0)
        score = alpha_beta(worker, tt, ply, half_depth, singular_beta - 1, singular_beta, cut_node)
        frame.excluded = NO_MOVE
        frame.pv_length = 0
        if worker.aborted != 0:
            return np.int64(0)
        if score < singular_beta:
            extension = np.int64(1)
            double_beta = singular_beta - tune.double_extension_margin
            if not is_pv and score < double_beta and doubles < MOST_DOUBLES:
                extension = np.int64(2)
                if not noisy_tt_move and score < double_beta - tune.triple_extension_margin:
                    extension = np.int64(3)
        elif singular_beta >= beta:
            return trace.ended(worker, trace.MULTI_CUT, singular_beta)
        elif tt_score >= beta:
            extension = -tune.negative_extension
        elif tt_score <= alpha and tt_score <= score:
            extension = np.int64(-1)

    # 13. The moves, best first (see `search.kernels.picker`).
    find_threats(worker, ply)
    if ply == 0:
        picker.start_root(worker)
    else:
        picker.start(
            worker,
            ply,
            picker.usable_tt_move(position, tt_move, np.int64(picker.ALL_QUIETS)),
            np.int64(picker.ALL_QUIETS),
        )
        # Policy: the network rates the quiet moves. At smaller depths that would take too much of the search's time.
        #   when     UsePolicy, and the network has a policy; not at the root, not in check, depth >= policy_depth
        #   formula  the value of a quiet move += policy_weight * logit
        #   worth    +9.3 +- 18.2  [ledger: policy-threats]
        if worker.network.has_policy != 0 and not in_check and depth >= tune.policy_depth:
            frame.rated = np.int64(1)
    original_alpha = alpha
    best_score = np.int64(-INFINITE)
    best_move = np.int64(NO_MOVE)
    move_count = np.int64(0)
    frame.tried_count = 0
    lmp_limit = (tune.lmp_base + depth * depth) >> (1 - improving)
    rows = history_rows(worker, ply)
    discoverers = U0  # set, like frame.checks, at the second move; `is_check` needs both
    likely_fails_low = is_pv and tt_move != NO_MOVE and tt_depth >= depth and tt_bound & UPPER != 0
    while True:
        move = picker.next_move(worker, tt, ply)
        if move == NO_MOVE:
            break
        if move == excluded:
            trace.skipped(worker, ply, move, trace.EXCLUDED)
            continue
        is_quiet = not is_noisy(move)
        history, continuations = np.int64(0), np.int64(0)
        if is_quiet and move_count > 0:
            history, continuations = quiet_history(worker, ply, rows, move)
        move_count += 1
        frame.move_count = move_count
        if move_count == 2:
            find_check_squares(position, frame.checks)
            discoverers = discovered_check_pieces(position)
        reduction = worker.reductions[min(depth, 63), min(move_count, 63)]
        if improving == 0 and reduction >= tune.lmr_base + LEAST_NOT_IMPROVING:
            reduction += tune.lmr_not_improving
        if is_pv:
            reduction -= tune.lmr_window * (beta - alpha) // max(worker.root_window, 1)

        # 14. Pruning of late moves: moves that the ordering puts last are seldom best.
        #      when     not at the root, a searched move avoids mate, and the side to move has a piece other than pawns,
        #               because quiet moves often win pawn endings
        if ply > 0 and best_score > -MATE_BOUND and has_non_pawn_material(position, position.turn):
            # Late move pruning: if this many moves have failed, later quiet ones most likely fail, too.
            #   when     quiet moves after this one; from iteration lmp_root_depth on, because small searches would skip
            #            too many good moves (at limited strength always: the levels were measured with it)
            #   formula  move_count >= lmp_limit = lmp_base + depth * depth, half of that if not improving, with the
            #            depth before any move has raised alpha; moves that are skipped below count, too
            #   worth    +62.1 +- 15.7  [ledger: late-move-pruning-tuned]
            #            of its later start, at 1000 nodes a move  +143.8 +- 26.9  [ledger: late-pruning-1000]
            if move_count >= lmp_limit and (worker.root_depth >= tune.lmp_root_depth or worker.overlooks != 0):
                frame.skip_quiets = 1
            # The depth minus the reduction of block 15 without its other terms.
            lmr_depth = max(depth - 1 - reduction // 100, 0)
            if not is_quiet or (tune.exempt_checks != 0 and is_check(position, move, frame.checks, discoverers)):
                # SEE pruning of noisy moves: the remaining depth is unlikely to win back the lost material. It is the
                # only pruning of early quiet checks, because the evaluation says little about them. (Once late move
                # pruning skips the quiet moves, the picker returns no quiet check, either.)
                #   when     depth <= see_depth
                #   formula  SEE < -see_noisy_margin * depth
                #   worth    of noisy and quiet moves together  +63.9 +- 15.9  [ledger: exchange-pruning-tuned]
                #            of quiet checks here, not below  +31.7 +- 18.2  [ledger: check-exemption-timed]
                if depth <= tune.see_depth and not see_ge(position, move, -tune.see_noisy_margin * depth):
                    trace.skipped(worker, ply, move, trace.EXCHANGE_QUIET if is_quiet else trace.EXCHANGE_NOISY)
                    continue
            else:
                # History pruning: the move has often failed as an answer.
                #   when     lmr_depth <= history_pruning_depth
                #   formula  the sum of its continuation histories < -history_pruning_margin * (depth - 1)
                #   worth    -9.4 +- 18.0  [ledger: history-pruning-timed]
                least = -tune.history_pruning_margin * (depth - 1)
                if lmr_depth <= tune.history_pruning_depth and continuations < least:
                    trace.skipped(worker, ply, move, trace.BAD_HISTORY)
                    continue
                # Futility: if the evaluation is this far below alpha, a quiet move is unlikely to raise it enough.
                #   when     not in check, lmr_depth <= futility_depth, alpha is not a mate for us
                #   formula  static_eval + futility_base + futility_slope * lmr_depth + history /
                #            futility_history_divisor <= alpha
                #   worth    +45.5 +- 16.4  [ledger: futility-tuned]
                if not in_check and lmr_depth <= tune.futility_depth and alpha < MATE_BOUND:
                    value = frame.static_eval + tune.futility_base + tune.futility_slope * lmr_depth
                    # The formula without its division, as in block 8.
                    if history < (alpha - value + 1) * tune.futility_history_divisor:
                        trace.skipped(worker, ply, move, trace.FUTILITY)
                        continue
                # SEE pruning of quiet moves: the opponent can win the piece on its new square.
                #   when     lmr_depth <= see_depth
                #   formula  SEE < -see_quiet_margin * lmr_depth * lmr_depth
                if (
                    lmr_depth <= tune.see_depth
                    and not is_unopposed(worker, ply, move)
                    and not see_ge(position, move, -tune.see_quiet_margin * lmr_depth * lmr_depth)
                ):
                    trace.skipped(worker, ply, move, trace.EXCHANGE_QUIET)
                    continue

        frame.tried[frame.tried_count] = move
        frame.tried_count += 1
        nodes_before = worker.nodes
        new_depth = depth - 1
        # Extensions: that of block 12, or else that of checks, because they force the reply.
        #   when     depth >= check_extension_depth, not in check, |static_eval| > CLEAR_EVAL, ply < 2 * root_depth
        #   formula  +1 ply
        #   worth    +4.3 +- 17.0  [ledger: check-extension-timed]
        if move == tt_move and extension != 0:
            new_depth += extension
        elif (
            depth >= tune.check_extension_depth
            and not in_check
            and abs(frame.static_eval) > CLEAR_EVAL
            and ply < 2 * worker.root_depth
            and gives_check(position, move)
        ):
            new_depth += 1
        frame.double_extensions = doubles + (new_depth > depth)
        node.play(worker, ply, move)

        # 15. Late move reduction, in hundredths of a ply: moves far down the list are seldom best.
        #      when     depth >= LMR_MIN_DEPTH, from the second move on (third at the first two plies of the PV); not
        #               noisy moves of positions that were in a PV node, except in cut nodes after a later move of the
        #               parent than its first
        #      formula  lmr_base + lmr_factor * ln(depth) * ln(move_count); lmr_not_improving if that is at least
        #               lmr_base + LEAST_NOT_IMPROVING; in PV nodes minus lmr_window * the window over that of the root;
        #               the terms below, one per line (no lmr_tt_pv in a PV node whose TT move has an upper or exact
        #               bound of at least its depth: it is likely to fail low). At least one ply is left. A negative
        #               reduction makes the search a ply deeper
        #               stat_score = the move's history (0 if noisy) - STAT_MEAN, one ply for each lmr_history_divisor;
        #               other moves leave the frame's stat_score as it is
        #      worth    of lmr_tt_pv  +3.1 +- 17.9  [ledger: lmr-tt-pv-timed]
        #               of lmr_tt_noisy  -9.6 +- 17.6  [ledger: lmr-tt-noisy-timed]
        #               of lmr_late_parent  -2.6 +- 17.4  [ledger: lmr-late-parent-timed]
        #               of lmr_singular  +3.7 +- 17.7  [ledger: lmr-singular-timed]
        #               of lmr_threatened  -2.7 +- 17.5  [ledger: lmr-threatened-timed]
        #               of lmr_cutoffs  -0.8 +- 17.7  [ledger: lmr-cutoffs-timed]
        #               of the whole  +134.4 +- 17.0  [ledger: late-move-reduction-tuned]
        reduced_depth = new_depth
        child_cut = 1 - cut_node
        if (
            depth >= LMR_MIN_DEPTH
            and move_count > 1 + (1 if is_pv and ply <= 1 else 0)
            and (is_quiet or frame.tt_pv == 0 or (cut_node != 0 and parent.move_count > 1))
        ):
            child_cut = CUT
            frame.stat_score = history - STAT_MEAN
            reduction -= 100 * frame.stat_score // tune.lmr_history_divisor
            reduction += tune.lmr_cut_node * cut_node
            reduction += tune.lmr_tt_noisy * noisy_tt_move
            reduction += tune.lmr_cutoffs * (worker.stack[ply + 1].cutoffs > MANY_CUTOFFS)
            reduction -= tune.lmr_tt_pv * (frame.tt_pv != 0 and not likely_fails_low)
            reduction -= tune.lmr_late_parent * (ply > 0 and parent.move_count > LATE_PARENT)
            reduction -= tune.lmr_singular * (extension > 0 and not noisy_tt_move)
            reduction -= tune.lmr_threatened * (
                depth >= THREATENED_DEPTH and frame.threatened & bit(move_origin(move)) != U0
            )
            if is_pv:
                reduction -= tune.lmr_pv
            reduced_depth = min(max(new_depth - reduction // 100, 1), new_depth + 1)

        # 16. Principal variation search: the first move gets the full window. The others get a null window, often at
        #     a reduced depth, to prove that they are not better. Some are searched again after a fail high.
        #      when     every move; a re-search with the full window only in PV nodes
        #      formula  first move: (alpha, beta); others: (alpha, alpha + 1), reduced. If reduced and score > alpha:
        #               the same window to the full depth, a ply deeper if score > alpha + deeper_margin, a ply
        #               shallower if score < best_score + shallower_margin. Then, if alpha < score < beta (at the root:
        #               alpha < score): (alpha, beta), at the root at most to depth
        #      worth    of the ply deeper or shallower  -1.6 +- 17.9  [ledger: deeper-shallower-timed]
        score = alpha + 1  # for the compiler: every path below sets it
        if move_count > 1:
            trace.searching(worker, trace.MOVE, new_depth - reduced_depth, new_depth - depth + 1)
            score = -alpha_beta(worker, tt, ply + 1, reduced_depth, -alpha - 1, -alpha, child_cut)
            if worker.aborted == 0 and score > alpha and reduced_depth < new_depth:
                if score > alpha + tune.deeper_margin:
                    new_depth += 1
                if score < best_score + tune.shallower_margin:
                    new_depth -= 1
                if reduced_depth < new_depth:
                    trace.searching(worker, trace.FULL_DEPTH, 0, new_depth - depth + 1)
                    score = -alpha_beta(worker, tt, ply + 1, new_depth, -alpha - 1, -alpha, 1 - cut_node)
                # The move did better than expected, or it only seemed so: research_share % of a bonus or malus for its
                # continuation histories (the idea is Stockfish's).
                #   worth    -2.8 +- 18.1  [ledger: research-bonus-timed]
                if is_quiet and worker.aborted == 0:
                    learnt = tune.research_share * history_bonus(worker, new_depth) // 100
                    update_continuations(worker, ply, move, learnt if score > alpha else -learnt)
        elif not is_pv:
            trace.searching(worker, trace.MOVE, 0, new_depth - depth + 1)
            score = -alpha_beta(worker, tt, ply + 1, new_depth, -alpha - 1, -alpha, 1 - cut_node)
        if is_pv and worker.aborted == 0 and (move_count == 1 or (score > alpha and (ply == 0 or score < beta))):
            new_depth = min(new_depth, depth + (ply > 0))
            trace.searching(worker, trace.MOVE if move_count == 1 else trace.OPEN_WINDOW, 0, new_depth - depth + 1)
            score = -alpha_beta(worker, tt, ply + 1, new_depth, -beta, -alpha, NO_CUT)
        if worker.aborted != 0:
            return np.int64(0)
        if ply == 0:
            worker.root_nodes[move_count - 1] = worker.nodes - nodes_before
        if score > best_score:
            best_score = score
            if score > alpha:
                best_move = move
                if is_pv:
                    node.update_pv(worker, ply, move)
                if score >= beta:
                    frame.cutoffs += 1
                    break
                alpha = score
                # The other moves are less likely to be better still. (The idea is Stockfish's.)
                #   when     1 < depth <= raised_depth, neither bound is a mate
                #   formula  depth - 1 for the other moves
                #   worth    +21.2 +- 18.2  [ledger: alpha-raised-timed]
                if 1 < depth <= tune.raised_depth and beta < MATE_BOUND and alpha > -MATE_BOUND:
                    depth -= 1

    trace.skipped_rest(worker, ply)
    if move_count == 0:
        if excluded != NO_MOVE:
            # Only the excluded move is legal, so it is singular.
            return trace.ended(worker, trace.ONLY_MOVE, original_alpha)
        if frame.overlooked != 0:
            # A player of limited strength who sees no move assumes that there is one that keeps the evaluation.
            return frame.static_eval
        reason = trace.CHECKMATE if in_check else trace.STALEMATE
        return trace.ended(worker, reason, np.int64(ply - MATE) if in_check else np.int64(DRAW))
    # After a fail high, the score of one move is uncertain, the more so at a small depth. So the value is a mean of
    # that score and of beta (the idea is Stockfish's).
    #   when     neither is a mate
    #   formula  (best_score * depth + beta * fail_high_weight) / (depth + fail_high_weight)
    #   worth    +12.6 +- 7.2  [ledger: fail-high-mean-nodes]
    if best_score >= beta and abs(best_score) < MATE_BOUND and abs(beta) < MATE_BOUND:
        best_score = beta + (best_score - beta) * depth // (depth + tune.fail_high_weight)
    # The histories learn from a move that raised alpha. The clearer a cutoff, the more they learn (as in Stockfish): as
    # from a search a ply deeper if best_score > beta + clear_cutoff_margin.
    #   worth    of the ply more  +5.8 +- 8.2  [ledger: idea-bonus-depth]
    # If none raised it, the move that led here has no answer and gets prior_move_share % of a bonus, twice in PV and
    # cut nodes or if best_score < alpha - UNANSWERED_MARGIN * depth (as in Stockfish).
    #   when     not at the root, best_score is not a mate against us; depth >= UNANSWERED_DEPTH or a PV node; also in
    #            singular searches
    #   worth    +13.1 +- 17.4  [ledger: prior-move-bonus-timed]
    if best_move != NO_MOVE:
        update_histories(worker, ply, depth, best_move, best_score > beta + tune.clear_cutoff_margin)
    elif ply > 0 and best_score > -MATE_BOUND and (depth >= UNANSWERED_DEPTH or is_pv):
        twice = is_pv or cut_node != 0 or best_score < original_alpha - UNANSWERED_MARGIN * depth
        reward_prior_move(worker, ply, depth, twice)

    # 17. Store the result, and its difference from static_eval in the correction history.
    #      when     not in a singular search, and not at the root if root moves are left out; the difference only if
    #               not in check, best_move is quiet or missing (after a fail low), and best_score is neither a mate
    #               nor a bound that static_eval satisfies
    #      formula  LOWER if best_score >= beta, UPPER if alpha never rose, else EXACT; error = best_score - static_eval
    #               A node that fails low also takes tt_pv from its parent if depth > TT_PV_DEPTH (as in Stockfish)
    if excluded == NO_MOVE and (ply > 0 or worker.root_is_partial == 0):
        if best_score >= beta:
            bound = LOWER
        elif best_score > original_alpha:
            bound = EXACT
        else:
            bound = UPPER
            if ply > 0 and depth > TT_PV_DEPTH:
                frame.tt_pv |= worker.stack[ply - 1].tt_pv
        storable = min(depth, MAX_PLY)
        store(tt, position.key, worker.generation, ply, storable, best_score, bound, raw_eval, best_move, frame.tt_pv)
        if (
            not in_check
            and not is_noisy(best_move)
            and abs(best_score) < MATE_BOUND
            and not (bound == LOWER and best_score <= frame.static_eval)
            and not (bound == UPPER and best_score >= frame.static_eval)
        ):
            update_correction_history(worker, ply, depth, best_score - frame.static_eval)
    return trace.ended(worker, trace.CUTOFF if best_score >= beta else trace.ALL_MOVES, best_score)


@subkernel
def search_window(worker, tt, root_depth, depth, alpha, beta):
    """Searches the root to `depth` plies between `alpha` and `beta`; returns its value, int64 (see `alpha_beta`).

    `root_depth`, the depth of the iteration, may be greater: it limits extensions. Mutates `worker`, a WORKER record
    whose root fields are set, and `tt`, ENTRY[n]. Afterwards `stack[0].pv` contains the PV if a move raised alpha,
    even if the search was then aborted. `stack[0].tried[:tried_count]` contains the searched moves, and `root_nodes`
    the nodes of each one that was completed.
    """
    worker.nmp_min_ply = 0
    worker.root_depth = root_depth
    worker.stack[0].since_null = np.int64(GAME_KEYS)
    worker.stack[1].cutoffs = 0
    worker.stack[0].stat_score = 0
    worker.stack[1].stat_score = 0
    forget_accumulators(worker.accumulators, 0)
    trace.searching(worker, trace.WINDOW, 0, 0)
    return alpha_beta(worker, tt, 0, depth, alpha, beta, NO_CUT)


@kernel
def search_root(worker, tt, depth, alpha, beta):
    """Calls `search_window` with `depth` as both depths and returns its value.

    Tests use this entry point; play uses `search_iteration`.
    """
    return search_window(worker, tt, depth, depth, alpha, beta)
