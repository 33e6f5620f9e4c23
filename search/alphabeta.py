"""The search kernel: principal variation alpha-beta over the worker's frames.

Contract of `alpha_beta(worker, table, ply, depth, alpha, beta, cut)`, fail-soft. For a value v it returns, unless
`worker.aborted` is set, and the value t that the same search would find with an open window:

    v <= alpha          t <= v      the node failed low
    alpha < v < beta    t == v      exact
    v >= beta           t >= v      the node failed high

(As far as pruning and reductions, which look at the window too, leave it true.) A node with beta - alpha > 1 is a PV
node; its line is left in `frame.pv[:frame.pv_length]`. PV nodes take no value from the table, so that the line is
whole. `cut` is 1 where a cutoff is expected.

Each technique is a block: when it applies, its formula, and, where it was measured, its worth: what the search gains by
it in Elo, with the network, at 8000 nodes a move. Games in which each side lacked a random few of them told all worths
at once (`secateur worth --together`); each is that beside most of the others. What was measured of some before, with
the classical evaluation, stands in the ledger, too. A difference within its error is no proof either way; such a
technique is kept where longer searches are known to profit from it elsewhere. Records whose ids begin with `idea-` are
of what was tried in one such set of games; not all of it was kept.

In the formulas `evaluation` is block 6's estimate, for which the table's score may stand; `static evaluation` is what
was evaluated and corrected.
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0
from engine.board.exchange import exchange_at_least
from engine.board.moves import NO_MOVE, is_capture
from engine.board.position import has_pieces
from engine.jit import inlined, kernel, subkernel
from eval.network.accumulator import forget_accumulators
from search.correction import corrected, learn_correction
from search.history import add_capture_history, add_quiet_history, bonus_for, learn_counter_move, quiet_history
from search.limits import MAX_PLY
from search.node import (
    answers_window,
    expect,
    expect_null_move,
    is_draw,
    must_stop,
    play,
    play_null_move,
    static_evaluation,
    update_pv,
)
from search.picker import ALL_QUIETS, NO_QUIETS, is_noisy, next_move, start, start_root, usable_table_move
from search.quiescence import CHECK_PLIES, quiescence
from search.score import DRAW, EXACT, INFINITE, LOWER, MATE, MATE_BOUND, NO_SCORE, UPPER
from search.table import (
    entry_bound,
    entry_depth,
    entry_evaluation,
    entry_move,
    entry_score,
    probe,
    store,
)
from search.tracing import (
    ALL_MOVES,
    BAD_HISTORY,
    CHECKMATE,
    CUTOFF,
    DRAW_BY_RULE,
    EXCHANGE_NOISY,
    EXCHANGE_QUIET,
    EXCLUDED,
    FULL_DEPTH,
    FUTILITY,
    LATE_MOVE,
    MATE_DISTANCE,
    MOVE,
    MULTI_CUT,
    NULL,
    NULL_MOVE,
    ONLY_MOVE,
    OPEN_WINDOW,
    PROBCUT,
    PROBCUT_SEARCH,
    PROBE,
    RAZOR,
    RAZORING,
    REVERSE_FUTILITY,
    SINGULAR,
    STALEMATE,
    TABLE,
    VERIFY,
    WINDOW,
    ended,
    entered,
    evaluated,
    searching,
    shortened,
    skipped,
    skipped_rest,
)
from search.tunables import (
    CHECK_EXTENSION,
    DEEPER_MARGIN,
    DOUBLE_MARGIN,
    FUTILITY_BASE,
    FUTILITY_DEPTH,
    FUTILITY_SLOPE,
    HISTORY_DEPTH,
    HISTORY_MARGIN,
    IIR_DEPTH,
    IMPROVING,
    KILLERS,
    LMP_BASE,
    LMR_CHECK,
    LMR_CUT,
    LMR_CUTOFFS,
    LMR_HISTORY,
    LMR_KILLER,
    LMR_NOISY,
    LMR_NOT_IMPROVING,
    LMR_PV,
    LMR_TABLE_NOISY,
    NULL_BASE,
    NULL_DEPTH,
    NULL_DIVISOR,
    NULL_EVAL_DIVISOR,
    NULL_EVAL_MAX,
    NULL_VERIFY_DEPTH,
    NULL_VERIFY_SHARE,
    PROBCUT_DEPTH,
    PROBCUT_MARGIN,
    PROBCUT_SAVED,
    RAZOR_BASE,
    RAZOR_DEPTH,
    RAZOR_SLOPE,
    RFP_DEPTH,
    RFP_MARGIN,
    SEE_DEPTH,
    SEE_NOISY,
    SEE_QUIET,
    SHALLOWER_MARGIN,
    SINGULAR_DEPTH,
    SINGULAR_MARGIN,
    SINGULAR_SLACK,
    TABLE_CUTS,
)

#: Plies without capture or pawn move from which on table scores are not trusted: the rule ends the game at 100.
NEAR_FIFTY_MOVES = 90

#: Late moves are reduced from this depth on: at less there is no ply to save.
LMR_DEPTH = 2

#: Late moves are reduced more once more than this failed high a ply further: where so much was refuted, the next move
#: will be, too. (Stockfish counts cutoffs so.)
CUTOFFS_MANY = 3

# The two values of `cut`. NumPy scalars, because Numba types a recursive call with a literal argument apart.
CUT, NO_CUT = np.int64(1), np.int64(0)


@inlined
def _learn(worker, ply, depth, best):
    """Learns from a cutoff: move `best`, the last that was tried, refuted this node. Mutates `worker`.

    `best` gains, and becomes the first killer and the counter move if it is quiet; a promotion that captures nothing
    has no history. Of the moves tried before it the captures lose as much in any case, the quiet ones only when `best`
    is quiet.
    """
    frame = worker.frames[ply]
    position = frame.position
    bonus = bonus_for(worker, depth)
    if not is_noisy(best):
        if frame.killers[0] != best and worker.tune[KILLERS] != 0:
            frame.killers[1] = frame.killers[0]
            frame.killers[0] = best
        learn_counter_move(worker, ply, best)
        add_quiet_history(worker, ply, best, bonus)
    elif is_capture(best):
        add_capture_history(worker, position, best, bonus)
    for index in range(frame.tried_count - 1):
        tried = np.int64(frame.tried[index])
        if is_capture(tried):
            add_capture_history(worker, position, tried, -bonus)
        elif not is_noisy(best) and not is_noisy(tried):
            add_quiet_history(worker, ply, tried, -bonus)


@inlined
def _is_improving(worker, ply):
    """Whether the side to move stands better than at its last turn without a check, int64 0 or 1; see block 7."""
    evaluation = worker.frames[ply].evaluation
    if evaluation == NO_SCORE or worker.tune[IMPROVING] == 0:
        return 0
    if ply >= 2 and worker.frames[ply - 2].evaluation != NO_SCORE:
        return 1 if evaluation > worker.frames[ply - 2].evaluation else 0
    if ply >= 4 and worker.frames[ply - 4].evaluation != NO_SCORE:
        return 1 if evaluation > worker.frames[ply - 4].evaluation else 0
    return 1


@inlined
def _may_prune_noisy(worker, ply, move, depth):
    """Whether a late capture or promotion is not worth searching, bool.

    Exchange pruning: it loses more material than the depth can win back.
      when     depth <= SEE_DEPTH
      formula  exchange < -SEE_NOISY * depth
      worth    of noisy and quiet moves together  {{exchange-pruning}}
    """
    tune = worker.tune
    position = worker.frames[ply].position
    return depth <= tune[SEE_DEPTH] and not exchange_at_least(position, move, -tune[SEE_NOISY] * depth)


@inlined
def _has_bad_history(worker, depth, reduced, history):
    """Whether a late quiet move is not worth searching, bool. `reduced` is the depth it would be searched to.

    History pruning: it has failed here time and again.
      when     reduced <= HISTORY_DEPTH
      formula  history < -HISTORY_MARGIN * depth
      worth    {{history-pruning}}
    """
    tune = worker.tune
    return reduced <= tune[HISTORY_DEPTH] and history < -tune[HISTORY_MARGIN] * depth


@inlined
def _loses_piece(worker, ply, move, reduced):
    """Whether a late quiet move is not worth searching, bool. `reduced` is the depth it would be searched to.

    Exchange pruning: the piece is lost on its new square.
      when     reduced <= SEE_DEPTH
      formula  exchange < -SEE_QUIET * reduced * reduced
      worth    see `_may_prune_noisy`
    """
    tune = worker.tune
    position = worker.frames[ply].position
    return reduced <= tune[SEE_DEPTH] and not exchange_at_least(position, move, -tune[SEE_QUIET] * reduced * reduced)


@subkernel
def alpha_beta(worker, table, ply, depth, alpha, beta, cut):
    """Value of the position at `ply` searched to `depth` plies, int64; see the module's contract.

    Mutates `worker` and `table`.
    """
    frame = worker.frames[ply]
    position = frame.position
    tune = worker.tune
    in_check = position.checkers != U0
    excluded = frame.excluded
    asked = depth

    # 1. Check extension: being in check is no quiet place to stop.
    #      when     in check, not at the root, not again for a singular search of the same position
    #      formula  depth + CHECK_EXTENSION
    #      worth    {{check-extension}}
    #               In another test the search without it was worth +3.5 +- 28.0  [ledger: no-check-extension]
    #               It is kept because mates are found sooner with it.
    if in_check and ply > 0 and excluded == NO_MOVE:
        depth += tune[CHECK_EXTENSION]

    # 2. Horizon: what is left is for quiescence, which looks only at what could change the material.
    #      when     no depth is left, or no frame
    #      formula  value of quiescence, its first CHECK_PLIES plies with checks
    if depth <= 0 or ply >= MAX_PLY:
        return quiescence(worker, table, ply, alpha, beta, CHECK_PLIES)

    frame.pv_length = 0
    is_pv = beta - alpha > 1
    entered(worker, ply, asked, depth, alpha, beta, cut)
    if must_stop(worker):
        return np.int64(0)

    if ply > 0:
        # 3. The rules of the game: repetition, fifty moves, too little material.
        #      when     not at the root, which has to be played from whatever the rules say
        #      formula  DRAW
        if is_draw(worker, ply):
            return ended(worker, DRAW_BY_RULE, np.int64(DRAW))
        # 4. Mate distance: no line from here is better than mating with the next move or worse than being mated now.
        #    Once a mate is known, longer ones need not be looked for.
        #      when     not at the root
        #      formula  alpha >= ply - MATE, beta <= MATE - ply - 1
        #      worth    not measured: it changes no value at the root, only its cost
        alpha = max(alpha, ply - MATE)
        beta = min(beta, MATE - ply - 1)
        if alpha >= beta:
            return ended(worker, MATE_DISTANCE, alpha)

    # 5. Transposition table: an earlier search of this position may have settled the window already.
    #      when     no PV node, no singular search, searched as deep, its bound answers the window, and the fifty-move
    #               rule, which entries know nothing of, is not near: fewer than NEAR_FIFTY_MOVES plies
    #      formula  the table's score; its move and evaluation are used in any case
    #      worth    with those of quiescence  {{table-cuts}}
    table_move = np.int64(NO_MOVE)
    raw = np.int64(NO_SCORE)
    table_score = np.int64(NO_SCORE)
    table_bound = np.int64(0)
    table_depth = np.int64(-1)
    data = probe(table, position.key)
    if data != U0:
        table_score = entry_score(data, ply)
        table_bound = entry_bound(data)
        table_depth = entry_depth(data)
        table_move = entry_move(data)
        raw = entry_evaluation(data)
        if (
            not is_pv
            and excluded == NO_MOVE
            and table_depth >= depth
            and position.halfmoves < NEAR_FIFTY_MOVES
            and answers_window(table_bound, table_score, alpha, beta)
            and tune[TABLE_CUTS] != 0
        ):
            return ended(worker, TABLE, table_score)
        expect(worker, table, ply, table_move)

    # 6. Static evaluation, with what has been learnt about its errors, and drawn towards 0 as the fifty-move rule
    #    comes near (both in `corrected`); the table's score comes from a search, and is the better estimate where its
    #    bound allows it.
    #      when     not in check, where an evaluation means nothing; the table's score not within a singular search
    #      formula  evaluation * (200 - plies without capture or pawn move) / 200 + corrections; instead of that the
    #               table's score if it is more and no upper bound, or not more and no lower bound
    #      worth    of the corrections: see `search.correction`
    evaluation = np.int64(NO_SCORE)
    frame.evaluation = evaluation
    if not in_check:
        if not is_pv and depth >= tune[NULL_DEPTH]:
            expect_null_move(worker, table, ply)
        if raw == NO_SCORE:
            raw = static_evaluation(worker, ply)
        evaluation = corrected(worker, ply, raw)
        frame.evaluation = evaluation
        if data != U0 and excluded == NO_MOVE:
            if table_score > evaluation:
                if table_bound & LOWER != 0:
                    evaluation = table_score
            elif table_bound & UPPER != 0:
                evaluation = table_score

    # 7. Improving: who stands better than at the last turn is about to get on. A fail high is more likely true then,
    #    so that block 9 asks for less; where nothing improves, late moves are worth less (blocks 15 and 16).
    #      when     not in check, and IMPROVING is not 0: otherwise 0
    #      formula  static evaluation > that of two plies ago, or of four if in check then; 1 where there is neither
    #      worth    {{improving}}
    improving = _is_improving(worker, ply)
    evaluated(worker, ply, evaluation, improving)
    # Killers are for siblings: those that other children left are forgotten.
    worker.frames[ply + 1].killers[0] = NO_MOVE
    worker.frames[ply + 1].killers[1] = NO_MOVE
    # Cutoffs are counted over the children of siblings together: those below another node are forgotten.
    worker.frames[ply + 2].cutoffs = 0

    # What follows guesses from the static evaluation: not at the root, no PV node, not in check, no singular search, no
    # score of a mate in sight.
    may_guess = ply > 0 and not is_pv and not in_check and excluded == NO_MOVE
    if may_guess and beta > -MATE_BOUND and evaluation < MATE_BOUND:
        # 8. Razoring: so far below alpha, only captures can help; see whether they do.
        #      when     depth <= RAZOR_DEPTH, alpha is no mate
        #      formula  evaluation + RAZOR_BASE + RAZOR_SLOPE * depth * depth <= alpha
        #      worth    {{razoring}}
        if (
            depth <= tune[RAZOR_DEPTH]
            and alpha < MATE_BOUND
            and evaluation + tune[RAZOR_BASE] + tune[RAZOR_SLOPE] * depth * depth <= alpha
        ):
            searching(worker, RAZOR, 0, 0)
            score = quiescence(worker, table, ply, alpha, beta, CHECK_PLIES)
            if worker.aborted != 0:
                return np.int64(0)
            if score <= alpha:
                return ended(worker, RAZORING, score)

        # 9. Reverse futility: so far above beta, the opponent's next plies will not bring it back.
        #      when     depth <= RFP_DEPTH
        #      formula  evaluation - RFP_MARGIN * (depth - improving) >= beta; the value lies between the two
        #      worth    {{reverse-futility}}
        if depth <= tune[RFP_DEPTH] and evaluation - tune[RFP_MARGIN] * (depth - improving) >= beta:
            return ended(worker, REVERSE_FUTILITY, (evaluation + beta) // 2)

        # 10. Null move: if even passing fails high, a real move surely will.
        #      when     depth >= NULL_DEPTH, evaluation >= beta, the last move was no pass, not within a verification's
        #               first plies, and a piece beside pawns: in pawn endings having to move can be what loses
        #               (zugzwang)
        #      formula  saved = NULL_BASE + depth / NULL_DIVISOR
        #                       + min((evaluation - beta) / NULL_EVAL_DIVISOR, NULL_EVAL_MAX)
        #      verify   from NULL_VERIFY_DEPTH on the cutoff has to be confirmed by a search to depth - saved in which
        #               nobody passes for the first NULL_VERIFY_SHARE % of its plies, unless one is under way already
        #               (verification search; its form is Stockfish's)
        #      worth    {{null-move}}
        #               of its verification  {{null-move-verification}}
        if (
            depth >= tune[NULL_DEPTH]
            and evaluation >= beta
            and ply >= worker.null_from
            and worker.frames[ply - 1].move != NO_MOVE
            and has_pieces(position, position.turn)
        ):
            saved = (
                tune[NULL_BASE]
                + depth // tune[NULL_DIVISOR]
                + min((evaluation - beta) // tune[NULL_EVAL_DIVISOR], tune[NULL_EVAL_MAX])
            )
            play_null_move(worker, ply)
            searching(worker, NULL, saved - 1, 0)
            score = -alpha_beta(worker, table, ply + 1, depth - saved, -beta, 1 - beta, 1 - cut)
            if worker.aborted != 0:
                return np.int64(0)
            if score >= beta:
                # A mate found after passing is not proven.
                score = min(score, max(beta, np.int64(MATE_BOUND - 1)))
                if depth < tune[NULL_VERIFY_DEPTH] or worker.null_from > 0:
                    return ended(worker, NULL_MOVE, score)
                worker.null_from = ply + tune[NULL_VERIFY_SHARE] * (depth - saved) // 100
                searching(worker, VERIFY, saved, 0)
                verified = alpha_beta(worker, table, ply, depth - saved, beta - 1, beta, NO_CUT)
                worker.null_from = 0
                if worker.aborted != 0:
                    return np.int64(0)
                if verified >= beta:
                    return ended(worker, NULL_MOVE, score)

        # 11. ProbCut: a capture that comes out far above beta in a shallower search will most likely do so in the full
        #     one. (Buro, "ProbCut: an effective selective extension of the alpha-beta algorithm", ICCA Journal 18,
        #     1995.)
        #      when     depth >= PROBCUT_DEPTH, beta is no mate, no deeper search left a score below target in the
        #               table; captures and promotions whose exchange wins what the static evaluation lacks to target
        #      formula  value to depth - PROBCUT_SAVED >= target = beta + PROBCUT_MARGIN, after quiescence said so; the
        #               node's value is that less PROBCUT_MARGIN, a mate's as it is
        #      worth    {{probcut}}
        target = beta + tune[PROBCUT_MARGIN]
        probed = max(depth - tune[PROBCUT_SAVED], 0)
        if depth >= tune[PROBCUT_DEPTH] and beta < MATE_BOUND and not (table_depth > probed and table_score < target):
            start(worker, ply, usable_table_move(position, table_move, np.int64(NO_QUIETS)), np.int64(NO_QUIETS))
            while True:
                move = next_move(worker, table, ply)
                if move == NO_MOVE:
                    break
                if not exchange_at_least(position, move, target - frame.evaluation):
                    continue
                play(worker, ply, move)
                searching(worker, PROBE, 0, 0)
                score = -quiescence(worker, table, ply + 1, -target, 1 - target, 0)
                if worker.aborted == 0 and score >= target:
                    searching(worker, PROBCUT_SEARCH, depth - 1 - probed, 0)
                    score = -alpha_beta(worker, table, ply + 1, probed, -target, 1 - target, 1 - cut)
                if worker.aborted != 0:
                    return np.int64(0)
                if score >= target:
                    store(table, position.key, worker.generation, ply, probed + 1, score, LOWER, raw, move)
                    return ended(worker, PROBCUT, score if score >= MATE_BOUND else score - tune[PROBCUT_MARGIN])

    # 12. Internal iterative reduction: without a table move the ordering is poor; come back when there is one.
    #      when     depth >= IIR_DEPTH, no table move, PV node or cutoff expected, not at the root, no singular search
    #      formula  depth - 1
    #      worth    {{internal-iterative-reduction}}
    if ply > 0 and depth >= tune[IIR_DEPTH] and table_move == NO_MOVE and excluded == NO_MOVE and (is_pv or cut != 0):
        depth -= 1
    shortened(worker, depth)

    # 13. Singular extension: if all other moves fail low against the table's score less a margin, its move is the only
    #     one, and worth a closer look; if they fail high even against beta, there is more than one refutation.
    #      when     depth >= SINGULAR_DEPTH, a table move whose score is a lower bound or exact, no mate, from a search
    #               at most SINGULAR_SLACK plies shallower; not at the root, nor within a singular search; the line not
    #               yet twice as long as the iteration is deep, and ply < MAX_PLY / 2
    #      formula  value without it, at depth (depth - 1) / 2, < target = table score - SINGULAR_MARGIN / 100 * depth:
    #               one ply more, two when below by DOUBLE_MARGIN outside PV nodes; otherwise target >= beta: cut
    #               (multi-cut); otherwise table score >= beta: one ply less
    #      worth    {{singular-extension}}
    extension = np.int64(0)
    if (
        ply > 0
        and depth >= tune[SINGULAR_DEPTH]
        and table_move != NO_MOVE
        and excluded == NO_MOVE
        and table_bound & LOWER != 0
        and table_depth >= depth - tune[SINGULAR_SLACK]
        and abs(table_score) < MATE_BOUND
        and ply < min(2 * worker.root_depth, MAX_PLY // 2)
    ):
        target = table_score - tune[SINGULAR_MARGIN] * depth // 100
        half = (depth - 1) // 2
        frame.excluded = table_move
        searching(worker, SINGULAR, depth - half, 0)
        score = alpha_beta(worker, table, ply, half, target - 1, target, cut)
        frame.excluded = NO_MOVE
        frame.pv_length = 0
        if worker.aborted != 0:
            return np.int64(0)
        if score < target:
            extension = np.int64(1)
            if not is_pv and score < target - tune[DOUBLE_MARGIN]:
                extension = np.int64(2)
        elif target >= beta:
            return ended(worker, MULTI_CUT, target)
        elif table_score >= beta:
            extension = np.int64(-1)

    # 14. The moves, best first (see `search.picker`).
    if ply == 0:
        start_root(worker)
    else:
        start(worker, ply, usable_table_move(position, table_move, np.int64(ALL_QUIETS)), np.int64(ALL_QUIETS))
    original_alpha = alpha
    best = np.int64(-INFINITE)
    best_move = np.int64(NO_MOVE)
    searched = np.int64(0)
    quiets = np.int64(0)
    frame.tried_count = 0
    quiet_limit = (tune[LMP_BASE] + depth * depth) // (2 - improving)
    noisy_table_move = table_move != NO_MOVE and is_noisy(table_move)
    while True:
        move = next_move(worker, table, ply)
        if move == NO_MOVE:
            break
        if move == excluded:
            skipped(worker, ply, move, EXCLUDED)
            continue
        quiet = not is_noisy(move)
        history = quiet_history(worker, ply, move) if quiet else np.int64(0)
        reduction = worker.reductions[min(depth, 63), min(searched + 1, 63)]

        # 15. Pruning of late moves: what the ordering has put far behind is hardly worth a look.
        #      when     not at the root, one move is known not to be mated, and a piece beside pawns: pawn endings are
        #               won by quiet moves
        if ply > 0 and best > -MATE_BOUND and has_pieces(position, position.turn):
            reduced = max(depth - reduction // 100, 0)
            if not quiet:
                if _may_prune_noisy(worker, ply, move, depth):
                    skipped(worker, ply, move, EXCHANGE_NOISY)
                    continue
            else:
                # Late move pruning: after so many quiet moves the ordering has had its chance.
                #   formula  LMP_BASE + depth * depth of them, half as many when not improving (or in check)
                #   worth    {{late-move-pruning}}
                if quiets >= quiet_limit:
                    frame.skip_quiets = 1
                    skipped(worker, ply, move, LATE_MOVE)
                    continue
                # Futility: a quiet move will not lift an evaluation this far below alpha in the plies that remain.
                #   when     not in check, reduced depth <= FUTILITY_DEPTH, alpha is no mate
                #   formula  static evaluation + FUTILITY_BASE + FUTILITY_SLOPE * reduced depth <= alpha
                #   worth    {{futility}}
                if not in_check and reduced <= tune[FUTILITY_DEPTH] and alpha < MATE_BOUND:
                    hoped = frame.evaluation + tune[FUTILITY_BASE] + tune[FUTILITY_SLOPE] * reduced
                    if hoped <= alpha:
                        # They might have come so far: the value must not be that of the bad captures alone.
                        best = max(best, hoped)
                        frame.skip_quiets = 1
                        skipped(worker, ply, move, FUTILITY)
                        continue
                if _has_bad_history(worker, depth, reduced, history):
                    skipped(worker, ply, move, BAD_HISTORY)
                    continue
                if _loses_piece(worker, ply, move, reduced):
                    skipped(worker, ply, move, EXCHANGE_QUIET)
                    continue

        # 16. Late move reduction, in hundredths of a ply: moves far down the list are most likely no good.
        #      when     depth >= LMR_DEPTH, from the second move on (third in PV nodes), never below one ply
        #      formula  LMR_BASE + LMR_FACTOR * ln(depth) * ln(number of the move); less where the move has done well,
        #               is noisy or a killer, gives check, or this is a PV node; more where a cutoff is expected anyway,
        #               the position does not improve (which in check it never does), the table's move is noisy, or more
        #               than CUTOFFS_MANY moves have failed high a ply further, here or below the siblings before
        #      worth    {{late-move-reduction}}
        #               of the reduction by the table's move  {{noisy-table-move}}
        #               of that by the count of cutoffs       {{cutoff-count}}
        if quiet:
            reduction -= 100 * history // tune[LMR_HISTORY]
            quiets += 1
        else:
            reduction -= tune[LMR_NOISY]
        reduction += tune[LMR_NOT_IMPROVING] * (1 - improving) + tune[LMR_CUT] * cut
        if noisy_table_move:
            reduction += tune[LMR_TABLE_NOISY]
        if worker.frames[ply + 1].cutoffs > CUTOFFS_MANY:
            reduction += tune[LMR_CUTOFFS]
        if is_pv:
            reduction -= tune[LMR_PV]
        if move == frame.killers[0] or move == frame.killers[1]:
            reduction -= tune[LMR_KILLER]
        frame.tried[frame.tried_count] = move
        frame.tried_count += 1
        searched += 1
        nodes_before = worker.nodes
        play(worker, ply, move)
        if worker.frames[ply + 1].position.checkers != U0:
            reduction -= tune[LMR_CHECK]
        new_depth = depth - 1
        if move == table_move:
            new_depth += extension

        # 17. Principal variation search: the first move gets the whole window; the others only have to be shown not
        #     to beat it, first to a reduced depth, and are searched again when they do.
        #      when     every move; the whole window again only in PV nodes
        #      formula  first move: (alpha, beta); others: (alpha, alpha + 1), reduced; if above alpha and reduced: the
        #               same to the full depth, a ply deeper when above the best value by more than DEEPER_MARGIN, a ply
        #               shallower when by less than SHALLOWER_MARGIN; if still above alpha: (alpha, beta)
        #      worth    not measured: by itself it changes no value, only its cost
        #               of the ply deeper or shallower  {{deeper-shallower}}
        score = alpha + 1
        if searched > 1:
            reduced = new_depth
            if depth >= LMR_DEPTH and searched > 1 + (1 if is_pv else 0):
                reduced = min(max(new_depth - reduction // 100, 1), new_depth)
            searching(worker, MOVE, new_depth - reduced, new_depth - depth + 1)
            score = -alpha_beta(worker, table, ply + 1, reduced, -alpha - 1, -alpha, CUT)
            if worker.aborted == 0 and score > alpha and reduced < new_depth:
                if score > best + tune[DEEPER_MARGIN]:
                    new_depth += 1
                elif score < best + tune[SHALLOWER_MARGIN]:
                    new_depth -= 1
                if reduced < new_depth:
                    searching(worker, FULL_DEPTH, 0, new_depth - depth + 1)
                    score = -alpha_beta(worker, table, ply + 1, new_depth, -alpha - 1, -alpha, 1 - cut)
        elif not is_pv:
            searching(worker, MOVE, 0, new_depth - depth + 1)
            score = -alpha_beta(worker, table, ply + 1, new_depth, -alpha - 1, -alpha, 1 - cut)
        if is_pv and worker.aborted == 0 and (searched == 1 or score > alpha):
            searching(worker, MOVE if searched == 1 else OPEN_WINDOW, 0, new_depth - depth + 1)
            score = -alpha_beta(worker, table, ply + 1, new_depth, -beta, -alpha, NO_CUT)
        if worker.aborted != 0:
            return np.int64(0)
        if ply == 0:
            worker.root_nodes[searched - 1] = worker.nodes - nodes_before
        if score > best:
            best = score
            if score > alpha:
                best_move = move
                if is_pv:
                    update_pv(worker, ply, move)
                if score >= beta:
                    frame.cutoffs += 1
                    _learn(worker, ply, depth, move)
                    break
                alpha = score

    skipped_rest(worker, ply)
    if searched == 0:
        if excluded != NO_MOVE:
            # Only the excluded move was there: nothing else comes near it.
            return ended(worker, ONLY_MOVE, original_alpha)
        reason = CHECKMATE if in_check else STALEMATE
        return ended(worker, reason, np.int64(ply - MATE) if in_check else np.int64(DRAW))

    # 18. What was found out, for the next time: the result, and how far off the evaluation was.
    #      when     no singular search, and no root of which some moves were left out: those say nothing of the
    #               position; the correction not in check, where the result is not about a capture, promotion or mate
    #               and says more than the evaluation did
    #      formula  bound by the window; error = best - evaluation
    if excluded == NO_MOVE and (ply > 0 or worker.root_is_partial == 0):
        if best >= beta:
            bound = LOWER
        elif best > original_alpha:
            bound = EXACT
        else:
            bound = UPPER
        store(table, position.key, worker.generation, ply, min(depth, MAX_PLY), best, bound, raw, best_move)
        if (
            not in_check
            and not is_noisy(best_move)
            and abs(best) < MATE_BOUND
            and not (bound == LOWER and best <= frame.evaluation)
            and not (bound == UPPER and best >= frame.evaluation)
        ):
            learn_correction(worker, ply, depth, best - frame.evaluation)
    return ended(worker, CUTOFF if best >= beta else ALL_MOVES, best)


@subkernel
def search_window(worker, table, depth, alpha, beta):
    """Searches the root position to `depth` plies with a window; returns its value, int64. Mutates both.

    `worker` is a WORKER record whose root fields are set, `table` ENTRY[n]. Afterwards `frames[0].pv` holds the best
    line, also when the search was aborted after a move had raised alpha; `frames[0].tried[:tried_count]` the moves
    searched, and `root_nodes` what each of them cost.
    """
    worker.null_from = 0
    worker.root_depth = depth
    worker.frames[1].cutoffs = 0
    forget_accumulators(worker.accumulators, 0)
    searching(worker, WINDOW, 0, 0)
    return alpha_beta(worker, table, 0, depth, alpha, beta, NO_CUT)


@kernel
def search_root(worker, table, depth, alpha, beta):
    """`search_window` for Python: what the contract above is proven by. Play goes through `search.aspiration`."""
    return search_window(worker, table, depth, alpha, beta)
