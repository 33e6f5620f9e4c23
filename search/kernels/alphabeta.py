"""Principal variation alpha-beta: each technique is a numbered block with its condition, formula and measured worth.

Most worths were measured with the classical evaluation, in 200 games at 8000 nodes a move. The ledger names the commit,
the games and the limit of each.
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0
from engine.board.exchange import see_ge
from engine.board.moves import NO_MOVE, is_noisy
from engine.board.position import has_non_pawn_material
from engine.compiler.jit import kernel, subkernel
from eval.kernels.accumulator import forget_accumulators
from search.kernels import node, picker
from search.kernels import tracing as trace
from search.kernels.correction import corrected_eval, update_correction_history
from search.kernels.history import quiet_history, update_histories
from search.kernels.quiescence import CHECK_PLIES, quiescence
from search.kernels.score import DRAW, EXACT, INFINITE, LOWER, MATE, MATE_BOUND, NO_SCORE, UPPER
from search.kernels.transposition import entry_bound, entry_depth, entry_eval, entry_move, entry_score, probe, store
from search.limits import MAX_PLY

#: Plies without capture or pawn move from which on TT scores are not trusted: the rule ends the game at 100.
NEAR_FIFTY_MOVES = 90

#: Late moves are reduced from this depth on.
LMR_MIN_DEPTH = 2

#: Late moves are reduced more when the next ply has had more fail highs than this. (Stockfish counts cutoffs so.)
MANY_CUTOFFS = 3

# The two values of `cut_node`. NumPy scalars, because Numba compiles a recursive call with a literal argument apart.
CUT, NO_CUT = np.int64(1), np.int64(0)


@subkernel
def alpha_beta(worker, tt, ply, depth, alpha, beta, cut_node):
    """Fail-soft value of the position at `ply` searched to `depth` plies, int64 centipawns for the side to move.

    For the value v it returns, unless `worker.aborted` is set, and the value t that an open window would give:

        v <= alpha          t <= v      the node failed low
        alpha < v < beta    t == v      exact
        v >= beta           t >= v      the node failed high

    (Pruning and reductions look at the window, too, and may break this.) A node with beta - alpha > 1 is a PV node; its
    line is then in `frame.pv[:frame.pv_length]`. PV nodes take no score from the TT, so the line is whole. `cut_node`
    is 1 where a cutoff is expected. In the formulas `eval` is block 6's estimate, for which the TT's score may stand;
    `static_eval` is the corrected evaluation. A singular search (block 13) searches the same position without its TT
    move, which is then `frame.excluded`. Mutates `worker` and `tt`.
    """
    frame = worker.stack[ply]
    position = frame.position
    tune = worker.tune
    in_check = position.checkers != U0
    excluded = frame.excluded
    asked_depth = depth

    # 1. Check extension: a check is no quiet place to stop.
    #      when     in check, not at the root, no singular search of the same position
    #      formula  depth + check_extension
    #      worth    +7.0 +- 36.5  [ledger: check-extension]
    if in_check and ply > 0 and excluded == NO_MOVE:
        depth += tune.check_extension

    # 2. Horizon: quiescence looks only at what could change the material.
    #      when     no depth is left, or ply is MAX_PLY
    #      formula  value of quiescence, its first CHECK_PLIES plies with checks
    if depth <= 0 or ply >= MAX_PLY:
        return quiescence(worker, tt, ply, alpha, beta, CHECK_PLIES)

    frame.pv_length = 0
    is_pv = beta - alpha > 1
    trace.entered(worker, ply, asked_depth, depth, alpha, beta, cut_node)
    if node.must_stop(worker):
        return np.int64(0)

    if ply > 0:
        # 3. The rules of the game: repetition, fifty moves, insufficient material.
        #      when     not at the root, which must have a move
        #      formula  DRAW
        if node.is_draw(worker, ply):
            return trace.ended(worker, trace.DRAW_BY_RULE, np.int64(DRAW))
        # 4. Mate distance: no line from here is better than mate with the next move, or worse than being mated now.
        #      when     not at the root
        #      formula  alpha >= ply - MATE, beta <= MATE - ply - 1
        #      worth    not measured: it changes the cost of the root's value, not the value
        alpha = max(alpha, ply - MATE)
        beta = min(beta, MATE - ply - 1)
        if alpha >= beta:
            return trace.ended(worker, trace.MATE_DISTANCE, alpha)

    # 5. Transposition table: an earlier search of this position may answer for this window already.
    #      when     no PV node, no singular search, at least as deep, its bound fits the window, and fewer than
    #               NEAR_FIFTY_MOVES plies without capture or pawn move, of which entries know nothing
    #      formula  tt_score; tt_move and the evaluation are used in any case
    #      worth    not measured
    tt_move = np.int64(NO_MOVE)  # it may be illegal here; the picker checks
    raw_eval = np.int64(NO_SCORE)
    tt_score = np.int64(NO_SCORE)
    tt_bound = np.int64(0)
    tt_depth = np.int64(-1)
    data = probe(tt, position.key)
    if data != U0:
        tt_score = entry_score(data, ply)
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
            return trace.ended(worker, trace.TT_CUTOFF, tt_score)
        node.prefetch_move(worker, tt, ply, tt_move)

    # 6. Static evaluation, corrected by what searches found, and drawn towards 0 as the fifty-move rule comes near.
    #    The TT's score comes from a search, and is the better estimate where its bound allows it.
    #      when     not in check; the TT's score not in a singular search
    #      formula  static_eval = raw_eval * (200 - halfmoves) / 200 + corrections
    #               eval = tt_score if it is above and no upper bound, or below and no lower bound; else static_eval
    #      worth    of the corrections: see `search.kernels.correction`
    eval = np.int64(NO_SCORE)
    frame.static_eval = eval
    if not in_check:
        if not is_pv and depth >= tune.nmp_depth:
            node.prefetch_null_move(worker, tt, ply)
        if raw_eval == NO_SCORE:
            raw_eval = node.evaluate(worker, ply)
        eval = corrected_eval(worker, ply, raw_eval)
        frame.static_eval = eval
        if data != U0 and excluded == NO_MOVE:
            if tt_score > eval:
                if tt_bound & LOWER != 0:
                    eval = tt_score
            elif tt_bound & UPPER != 0:
                eval = tt_score

    # 7. Improving: the side to move stands better than at its last turn, so a fail high is more likely true (block 9).
    #    Where it does not improve, late moves are worth less (blocks 15 and 16).
    #      when     not in check, and the tunable is not 0; otherwise 0
    #      formula  static_eval > that of two plies ago, or of four if in check then; 1 where there is neither
    #      worth    not measured
    improving = node.is_improving(worker, ply)
    trace.evaluated(worker, ply, eval, improving)
    # Killers are shared by siblings only. The count of cutoffs two plies below starts anew.
    worker.stack[ply + 1].killers[0] = NO_MOVE
    worker.stack[ply + 1].killers[1] = NO_MOVE
    worker.stack[ply + 2].cutoffs = 0

    # Blocks 8 to 11 guess from the evaluation: not at the root, in PV nodes, in check or in a singular search, and only
    # while beta is no mate against us and eval no mate for us.
    may_prune_node = ply > 0 and not is_pv and not in_check and excluded == NO_MOVE
    if may_prune_node and beta > -MATE_BOUND and eval < MATE_BOUND:
        # 8. Razoring: this far below alpha, only captures can help.
        #      when     depth <= razor_depth, alpha is no mate
        #      formula  eval + razor_base + razor_slope * depth * depth <= alpha, and quiescence fails low
        #      worth    -5.6 +- 25.0  [ledger: razoring]
        if (
            depth <= tune.razor_depth
            and alpha < MATE_BOUND
            and eval + tune.razor_base + tune.razor_slope * depth * depth <= alpha
        ):
            trace.searching(worker, trace.RAZOR, 0, 0)
            score = quiescence(worker, tt, ply, alpha, beta, CHECK_PLIES)
            if worker.aborted != 0:
                return np.int64(0)
            if score <= alpha:
                return trace.ended(worker, trace.RAZORING, score)

        # 9. Reverse futility: this far above beta, the opponent's next plies will not bring it back.
        #      when     depth <= rfp_depth
        #      formula  eval - rfp_margin * (depth - improving) >= beta; returns their mean
        #      worth    +43.7 +- 35.5  [ledger: reverse-futility]
        if depth <= tune.rfp_depth and eval - tune.rfp_margin * (depth - improving) >= beta:
            return trace.ended(worker, trace.REVERSE_FUTILITY, (eval + beta) // 2)

        # 10. Null move: if passing fails high, a real move surely will.
        #      when     depth >= nmp_depth, eval >= beta, the last move was no null move, ply >= nmp_min_ply, and
        #               material beside pawns: in pawn endings zugzwang is common
        #      formula  R = nmp_base + depth / nmp_depth_divisor + min((eval - beta) / nmp_eval_divisor, nmp_eval_max)
        #      verify   from nmp_verify_depth on, a search to depth - R without null moves in the first
        #               nmp_verify_share % of its plies must fail high, too (Stockfish's form)
        #      worth    +5.2 +- 40.0  [ledger: null-move]
        if (
            depth >= tune.nmp_depth
            and eval >= beta
            and ply >= worker.nmp_min_ply
            and worker.stack[ply - 1].move != NO_MOVE
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

        # 11. ProbCut: a capture that comes out far above beta in a shallower search most likely does so in the full
        #     one. (Buro, "ProbCut: an effective selective extension of the alpha-beta algorithm", ICCA Journal 18,
        #     1995.)
        #      when     depth >= probcut_depth, beta is no mate, no deeper TT score below probcut_beta; noisy moves
        #               whose exchange wins what static_eval lacks to probcut_beta
        #      formula  probcut_beta = beta + probcut_margin; quiescence and then a search to depth - probcut_reduction
        #               fail high; returns the score less probcut_margin, a mate as it is
        #      worth    +13.9 +- 38.3  [ledger: probcut]
        probcut_beta = beta + tune.probcut_margin
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
                score = -quiescence(worker, tt, ply + 1, -probcut_beta, 1 - probcut_beta, 0)
                if worker.aborted == 0 and score >= probcut_beta:
                    trace.searching(worker, trace.PROBCUT_SEARCH, depth - 1 - probe_depth, 0)
                    score = -alpha_beta(worker, tt, ply + 1, probe_depth, -probcut_beta, 1 - probcut_beta, 1 - cut_node)
                if worker.aborted != 0:
                    return np.int64(0)
                if score >= probcut_beta:
                    store(tt, position.key, worker.generation, ply, probe_depth + 1, score, LOWER, raw_eval, move)
                    return trace.ended(
                        worker, trace.PROBCUT, score if score >= MATE_BOUND else score - tune.probcut_margin
                    )

    # 12. Internal iterative reduction: without a TT move the ordering is poor; the next iteration has one.
    #      when     depth >= iir_depth, no TT move, PV or cut node, not at the root, no singular search
    #      formula  depth - 1
    #      worth    in all nodes, not only PV and cut nodes  -20.9 +- 38.9  [ledger: internal-reduction]
    if ply > 0 and depth >= tune.iir_depth and tt_move == NO_MOVE and excluded == NO_MOVE and (is_pv or cut_node != 0):
        depth -= 1
    trace.shortened(worker, depth)

    # 13. Singular extension: if all other moves fail low against the TT's score less a margin, the TT move is the only
    #     good one, and is searched deeper. If they fail high even against beta, there is more than one refutation.
    #      when     depth >= singular_depth, a TT move with a lower bound or exact score, no mate, from a search at
    #               most singular_tt_slack plies shallower; not at the root, no singular search; ply < MAX_PLY / 2 and
    #               less than twice the iteration's depth
    #      formula  singular_beta = tt_score - singular_margin / 100 * depth, searched to (depth - 1) / 2
    #               below: one ply more, two when below by double_extension_margin outside PV nodes
    #               otherwise singular_beta >= beta: cut (multi-cut); otherwise tt_score >= beta: one ply less
    #      worth    +31.4 +- 40.0  [ledger: singular-extension]
    extension = np.int64(0)
    if (
        ply > 0
        and depth >= tune.singular_depth
        and tt_move != NO_MOVE
        and excluded == NO_MOVE
        and tt_bound & LOWER != 0
        and tt_depth >= depth - tune.singular_tt_slack
        and abs(tt_score) < MATE_BOUND
        and ply < min(2 * worker.root_depth, MAX_PLY // 2)
    ):
        singular_beta = tt_score - tune.singular_margin * depth // 100
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
            if not is_pv and score < singular_beta - tune.double_extension_margin:
                extension = np.int64(2)
        elif singular_beta >= beta:
            return trace.ended(worker, trace.MULTI_CUT, singular_beta)
        elif tt_score >= beta:
            extension = np.int64(-1)

    # 14. The moves, best first (see `search.kernels.picker`).
    if ply == 0:
        picker.start_root(worker)
    else:
        picker.start(
            worker,
            ply,
            picker.usable_tt_move(position, tt_move, np.int64(picker.ALL_QUIETS)),
            np.int64(picker.ALL_QUIETS),
        )
    original_alpha = alpha
    best_score = np.int64(-INFINITE)
    best_move = np.int64(NO_MOVE)
    move_count = np.int64(0)
    quiet_count = np.int64(0)
    frame.tried_count = 0
    lmp_limit = (tune.lmp_base + depth * depth) // (2 - improving)
    noisy_tt_move = tt_move != NO_MOVE and is_noisy(tt_move)
    while True:
        move = picker.next_move(worker, tt, ply)
        if move == NO_MOVE:
            break
        if move == excluded:
            trace.skipped(worker, ply, move, trace.EXCLUDED)
            continue
        is_quiet = not is_noisy(move)
        history = quiet_history(worker, ply, move) if is_quiet else np.int64(0)
        reduction = worker.reductions[min(depth, 63), min(move_count + 1, 63)]

        # 15. Pruning of late moves: what the ordering puts far behind is hardly worth a look.
        #      when     not at the root, one move is known not to be mated, and material beside pawns: quiet moves win
        #               pawn endings
        if ply > 0 and best_score > -MATE_BOUND and has_non_pawn_material(position, position.turn):
            # The depth less the reduction of the table alone, before the terms of block 16.
            lmr_depth = max(depth - reduction // 100, 0)
            if not is_quiet:
                # SEE pruning of noisy moves: it loses more material than the depth can win back.
                #   when     depth <= see_depth
                #   formula  exchange < -see_noisy_margin * depth
                #   worth    of noisy and quiet moves together  +85.0 +- 46.7  [ledger: exchange-pruning]
                if depth <= tune.see_depth and not see_ge(position, move, -tune.see_noisy_margin * depth):
                    trace.skipped(worker, ply, move, trace.EXCHANGE_NOISY)
                    continue
            else:
                # Late move pruning: after this many quiet moves the ordering has had its chance.
                #   formula  quiet moves searched >= lmp_base + depth * depth, half as many when not improving
                #   worth    +99.9 +- 40.1  [ledger: late-move-pruning]
                if quiet_count >= lmp_limit:
                    frame.skip_quiets = 1
                    trace.skipped(worker, ply, move, trace.LATE_MOVE)
                    continue
                # Futility: a quiet move does not lift an evaluation this far below alpha in the plies that remain.
                #   when     not in check, lmr_depth <= futility_depth, alpha is no mate
                #   formula  static_eval + futility_base + futility_slope * lmr_depth <= alpha
                #   worth    +22.6 +- 44.5  [ledger: futility]
                if not in_check and lmr_depth <= tune.futility_depth and alpha < MATE_BOUND:
                    futility_value = frame.static_eval + tune.futility_base + tune.futility_slope * lmr_depth
                    if futility_value <= alpha:
                        # A skipped move might score this much, so the upper bound returned must not be below it.
                        best_score = max(best_score, futility_value)
                        frame.skip_quiets = 1
                        trace.skipped(worker, ply, move, trace.FUTILITY)
                        continue
                # History pruning: the move failed here time and again.
                #   when     lmr_depth <= history_pruning_depth
                #   formula  history < -history_pruning_margin * depth
                #   worth    +13.9 +- 31.6  [ledger: history-pruning]
                if lmr_depth <= tune.history_pruning_depth and history < -tune.history_pruning_margin * depth:
                    trace.skipped(worker, ply, move, trace.BAD_HISTORY)
                    continue
                # SEE pruning of quiet moves: the piece is lost on its new square.
                #   when     lmr_depth <= see_depth
                #   formula  exchange < -see_quiet_margin * lmr_depth * lmr_depth
                if lmr_depth <= tune.see_depth and not see_ge(
                    position, move, -tune.see_quiet_margin * lmr_depth * lmr_depth
                ):
                    trace.skipped(worker, ply, move, trace.EXCHANGE_QUIET)
                    continue

        # 16. Late move reduction, in hundredths of a ply: moves far down the list are most likely no good.
        #      when     depth >= LMR_MIN_DEPTH, from the second move on (third in PV nodes), never below one ply
        #      formula  lmr_base + lmr_factor * ln(depth) * ln(number of the move, of those searched), and one line per
        #               term below (lmr_check once the move is made)
        #      worth    of lmr_tt_noisy  +10.1 +- 9.9  [ledger: idea-table-noisy]
        #               of lmr_cutoffs  +28.5 +- 9.9  [ledger: idea-cutoffs]
        #               of the whole  +188.5 +- 47.6  [ledger: late-move-reduction]
        is_killer = move == frame.killers[0] or move == frame.killers[1]
        if is_quiet:
            reduction -= 100 * history // tune.lmr_history_divisor
        else:
            reduction -= tune.lmr_noisy
        reduction += tune.lmr_not_improving * (1 - improving)
        reduction += tune.lmr_cut_node * cut_node
        reduction += tune.lmr_tt_noisy * noisy_tt_move
        reduction += tune.lmr_cutoffs * (worker.stack[ply + 1].cutoffs > MANY_CUTOFFS)
        reduction -= tune.lmr_pv * is_pv
        reduction -= tune.lmr_killer * is_killer

        frame.tried[frame.tried_count] = move
        frame.tried_count += 1
        move_count += 1
        quiet_count += is_quiet
        nodes_before = worker.nodes
        node.play(worker, ply, move)
        reduction -= tune.lmr_check * (worker.stack[ply + 1].position.checkers != U0)

        # 17. Principal variation search: the first move gets the whole window. The others must only be shown not to
        #     beat it, first to a reduced depth; those that do beat it are searched again.
        #      when     every move; the whole window again only in PV nodes
        #      formula  first move: (alpha, beta); others: (alpha, alpha + 1), reduced; above alpha and reduced: the
        #               same to the full depth, a ply deeper when above best_score by more than deeper_margin, a ply
        #               shallower when by less than shallower_margin; still above alpha: (alpha, beta)
        #      worth    of the ply deeper or shallower  -11.1 +- 24.9  [ledger: deeper-shallower]
        new_depth = depth - 1
        if move == tt_move:
            new_depth += extension
        score = alpha + 1  # for the compiler: every path below sets it
        if move_count > 1:
            reduced_depth = new_depth
            if depth >= LMR_MIN_DEPTH and move_count > 1 + (1 if is_pv else 0):
                reduced_depth = min(max(new_depth - reduction // 100, 1), new_depth)
            trace.searching(worker, trace.MOVE, new_depth - reduced_depth, new_depth - depth + 1)
            score = -alpha_beta(worker, tt, ply + 1, reduced_depth, -alpha - 1, -alpha, CUT)
            if worker.aborted == 0 and score > alpha and reduced_depth < new_depth:
                if score > best_score + tune.deeper_margin:
                    new_depth += 1
                elif score < best_score + tune.shallower_margin:
                    new_depth -= 1
                if reduced_depth < new_depth:
                    trace.searching(worker, trace.FULL_DEPTH, 0, new_depth - depth + 1)
                    score = -alpha_beta(worker, tt, ply + 1, new_depth, -alpha - 1, -alpha, 1 - cut_node)
        elif not is_pv:
            trace.searching(worker, trace.MOVE, 0, new_depth - depth + 1)
            score = -alpha_beta(worker, tt, ply + 1, new_depth, -alpha - 1, -alpha, 1 - cut_node)
        if is_pv and worker.aborted == 0 and (move_count == 1 or score > alpha):
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
                    update_histories(worker, ply, depth, move)
                    break
                alpha = score

    trace.skipped_rest(worker, ply)
    if move_count == 0:
        if excluded != NO_MOVE:
            # Only the excluded move is legal: nothing else comes near it.
            return trace.ended(worker, trace.ONLY_MOVE, original_alpha)
        reason = trace.CHECKMATE if in_check else trace.STALEMATE
        return trace.ended(worker, reason, np.int64(ply - MATE) if in_check else np.int64(DRAW))

    # 18. Store the result, and learn how far off the evaluation was.
    #      when     no singular search, and no root of which some moves were left out: those say nothing of the
    #               position; the correction not in check, and only where best_move is not noisy (a fail low has none),
    #               best_score is no mate and says more than the evaluation did
    #      formula  bound by the window; error = best_score - static_eval
    if excluded == NO_MOVE and (ply > 0 or worker.root_is_partial == 0):
        if best_score >= beta:
            bound = LOWER
        elif best_score > original_alpha:
            bound = EXACT
        else:
            bound = UPPER
        store(tt, position.key, worker.generation, ply, min(depth, MAX_PLY), best_score, bound, raw_eval, best_move)
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
def search_window(worker, tt, depth, alpha, beta):
    """Searches the root position to `depth` plies with a window; returns its value, int64. Mutates `worker` and `tt`.

    `worker` is a WORKER record whose root fields are set, `tt` ENTRY[n]. Afterwards `stack[0].pv` holds the best line,
    also when the search was aborted after a move had raised alpha; `stack[0].tried[:tried_count]` the moves searched,
    and `root_nodes` what each of them cost.
    """
    worker.nmp_min_ply = 0
    worker.root_depth = depth
    worker.stack[1].cutoffs = 0
    forget_accumulators(worker.accumulators, 0)
    trace.searching(worker, trace.WINDOW, 0, 0)
    return alpha_beta(worker, tt, 0, depth, alpha, beta, NO_CUT)


@kernel
def search_root(worker, tt, depth, alpha, beta):
    """`search_window` for Python: the tests check the contract by it. Play goes through `search.kernels.aspiration`."""
    return search_window(worker, tt, depth, alpha, beta)
