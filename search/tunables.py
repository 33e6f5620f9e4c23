"""The search parameters that games can tune, each with its default, range and step.

Kernels read tunables from the worker, such as `worker.tune.rfp_margin`, so another value needs no compilation. In a
tuning build (`secateur --tuning`) each tunable is a UCI option of the same name. An edit of this file, however, makes
the kernels compile again.

A parameter is not tunable, and is defined where it is used, if it changes the form of a technique (CHECK_PLIES), guards
a rule of the game (NEAR_FIFTY_MOVES), is a unit or bound of a table (BUTTERFLY_LIMIT), or has values that games could
hardly tell apart (CHECK_LOSS).

This module imports nothing heavy: in a tuning build the answer to `uci` declares the options before NumPy is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Final


@dataclass(frozen=True)
class Tunable:
    """A search parameter, from `low` to `high`; `step` is a change that is large enough for a tuner to notice."""

    name: str
    default: int
    low: int
    high: int
    step: int

    def __post_init__(self) -> None:
        if not self.low <= self.default <= self.high or self.step < 1:
            raise ValueError(f"{self.name}: {self.default} must be {self.low} to {self.high}, and the step at least 1")


TUNABLES: Final = (
    # Whether a TT score may end a node, 0 or 1; the TT's move and evaluation are used in any case.
    Tunable("tt_cutoffs", 1, 0, 1, 1),
    # Aspiration: least depth; half the first window in centipawns; the factor by which a failure widens it, in %;
    # plies less after each fail high.
    Tunable("aspiration_depth", 4, 2, 8, 1),
    Tunable("aspiration_window", 6, 5, 80, 4),
    Tunable("aspiration_growth", 180, 125, 400, 30),
    Tunable("aspiration_reduction", 1, 0, 2, 1),
    # Correction history: weights of pawns, of each side's pieces and of the last two moves, in hundredths.
    Tunable("correction_pawns", 25, 0, 300, 30),
    Tunable("correction_pieces", 56, 0, 300, 30),
    Tunable("correction_moves", 150, 0, 300, 30),
    # Correction history: the most that an error of 1000 centipawns moves an entry per ply of depth, in sixteenths of a
    # centipawn.
    Tunable("correction_rate", 245, 30, 400, 36),
    # Improving: whether the search compares the evaluation with that of the side's last turn, 0 or 1.
    Tunable("improving", 1, 0, 1, 1),
    # Reverse futility: greatest depth; margin for each ply of depth, centipawns; the stat_score of the last move
    # that is worth a centipawn.
    Tunable("rfp_depth", 8, 4, 12, 1),
    Tunable("rfp_margin", 70, 30, 150, 12),
    Tunable("rfp_history_divisor", 629, 200, 3000, 100),
    # Null move: least depth; how far the static evaluation must exceed beta at depth 0 and how much less for each ply,
    # centipawns; the least stat_score of the last move that forbids it; R = base + depth / divisor + min((eval - beta)
    # / eval divisor, eval max). The null move is searched to depth - R.
    Tunable("nmp_depth", 1, 1, 5, 1),
    Tunable("nmp_static_base", 56, 0, 300, 24),
    Tunable("nmp_static_slope", 11, 0, 30, 2),
    Tunable("nmp_history_max", 19831, 5000, 60000, 2000),
    Tunable("nmp_base", 5, 2, 6, 1),
    Tunable("nmp_depth_divisor", 3, 2, 8, 1),
    Tunable("nmp_eval_divisor", 91, 30, 400, 20),
    Tunable("nmp_eval_max", 7, 1, 12, 1),
    # Null move: least depth at which another search verifies a null move cutoff; percent of that search's plies that
    # have no null moves.
    Tunable("nmp_verify_depth", 14, 8, 20, 1),
    Tunable("nmp_verify_share", 75, 30, 100, 5),
    # ProbCut: least depth; how far above beta a noisy move's score must be, centipawns, and how much less if improving;
    # how many plies shallower the move is searched; in check, how far above beta the TT's score must be.
    Tunable("probcut_depth", 3, 3, 10, 1),
    Tunable("probcut_margin", 68, 30, 300, 16),
    Tunable("probcut_improving", 37, 0, 100, 8),
    Tunable("probcut_reduction", 4, 2, 6, 1),
    Tunable("check_probcut_margin", 245, 60, 500, 32),
    # Internal iterative reduction: least depth in cut nodes, and plies in these and in PV nodes.
    Tunable("iir_depth", 9, 2, 12, 1),
    Tunable("iir_cut", 2, 0, 4, 1),
    Tunable("iir_pv", 1, 0, 5, 1),
    # Late move pruning: after base + depth * depth moves, half as many if not improving, quiet moves are skipped, from
    # this iteration on.
    Tunable("lmp_base", 5, 1, 8, 1),
    Tunable("lmp_root_depth", 10, 1, 16, 1),
    # Futility of quiets: greatest reduced depth; margin = base + slope * reduced depth, centipawns, plus the history
    # of the move / divisor.
    Tunable("futility_depth", 13, 4, 16, 1),
    Tunable("futility_base", 91, 20, 250, 24),
    Tunable("futility_slope", 78, 40, 180, 12),
    Tunable("futility_history_divisor", 139, 40, 600, 20),
    # History pruning: greatest reduced depth; a quiet move is skipped if its continuation histories are below -margin *
    # (depth - 1).
    Tunable("history_pruning_depth", 4, 1, 8, 1),
    Tunable("history_pruning_margin", 3837, 500, 8000, 300),
    # SEE pruning: greatest depth (noisy) or reduced depth (quiet); centipawns that a move may lose, times the
    # depth (noisy) or the square of the reduced depth (quiet).
    Tunable("see_depth", 64, 4, 64, 8),
    Tunable("see_noisy_margin", 117, 30, 180, 16),
    Tunable("see_quiet_margin", 19, 10, 60, 6),
    # Whether early quiet checks are exempt from all pruning except that of noisy moves, 0 or 1.
    Tunable("exempt_checks", 1, 0, 1, 1),
    # Late move reduction: base and factor of the logarithms, in %; the stat_score that changes the reduction by a ply.
    Tunable("lmr_base", 148, 0, 250, 20),
    Tunable("lmr_factor", 39, 25, 70, 4),
    Tunable("lmr_history_divisor", 20483, 6000, 40000, 2000),
    # Changes of the reduction, in hundredths of a ply. Smaller: in PV nodes; where the position was in a PV node; after
    # many moves of the parent; if the TT move is quiet and singular; for a threatened piece; for a window as wide as
    # the root's. Larger: if the side to move is not improving; if a cutoff is expected.
    Tunable("lmr_pv", 81, 0, 300, 30),
    Tunable("lmr_tt_pv", 137, 0, 400, 30),
    Tunable("lmr_late_parent", 88, 0, 300, 30),
    Tunable("lmr_singular", 115, 0, 300, 30),
    Tunable("lmr_threatened", 134, 0, 300, 30),
    Tunable("lmr_window", 145, 0, 300, 30),
    Tunable("lmr_not_improving", 78, 0, 300, 30),
    Tunable("lmr_cut_node", 191, 0, 400, 30),
    # Also larger: if the TT move is a capture or promotion; if the cutoffs at the next ply exceed MANY_CUTOFFS.
    Tunable("lmr_tt_noisy", 91, 0, 300, 30),
    Tunable("lmr_cutoffs", 87, 0, 300, 30),
    # After a reduced search scores above alpha: the full search goes a ply deeper if the score exceeds alpha by more
    # than the first margin, and a ply shallower if it exceeds the best score by less than the second, centipawns.
    Tunable("deeper_margin", 56, 10, 150, 16),
    Tunable("shallower_margin", 15, 0, 40, 6),
    # Singular extension: least depth; how many plies more in PV nodes; how many plies shallower the TT entry may be;
    # margin for each ply of depth, in hundredths of a centipawn, and how much more where the position was in a PV node;
    # further margin of a double extension, and beyond it that of a triple one, centipawns; how many plies shallower a
    # TT move that is not singular is searched.
    Tunable("singular_depth", 5, 3, 10, 1),
    Tunable("singular_pv_extra", 2, 0, 4, 1),
    Tunable("singular_tt_slack", 3, 1, 5, 1),
    Tunable("singular_margin", 154, 30, 400, 30),
    Tunable("singular_pv_margin", 49, 0, 300, 30),
    Tunable("double_extension_margin", 11, 0, 60, 6),
    Tunable("triple_extension_margin", 29, 0, 300, 20),
    Tunable("negative_extension", 2, 1, 4, 1),
    # Check extension: least depth. After a move has raised alpha: greatest depth at which the others are searched a ply
    # shallower.
    Tunable("check_extension_depth", 10, 4, 1000, 1),
    Tunable("raised_depth", 6, 0, 12, 1),
    # After a fail high: the weight of beta in the value of the node; that of the best move's score is the depth.
    Tunable("fail_high_weight", 1, 0, 4, 1),
    # Futility in quiescence: how far below alpha the estimate plus victim may be before a capture is skipped,
    # centipawns; how many moves are tried.
    Tunable("delta_margin", 56, 20, 300, 16),
    Tunable("quiescence_moves", 2, 1, 8, 1),
    # Quiescence: the most that a tried move may lose by SEE, centipawns.
    Tunable("quiescence_see_margin", 30, -100, 150, 20),
    # Quiescence: whether its first plies try quiet checks, 0 or 1.
    Tunable("quiescence_checks", 1, 0, 1, 1),
    # Quiescence in check: moves tried before quiet evasions are skipped, once one move is known to avoid mate.
    Tunable("quiescence_evasions", 3, 1, 8, 1),
    # Histories: the bonus of the best move and the malus of the others, for each square of the depth, for each ply of
    # depth, and at most.
    Tunable("history_bonus_square", 13, 0, 40, 3),
    Tunable("history_bonus_slope", 315, 50, 600, 30),
    Tunable("history_bonus_max", 1447, 500, 4000, 150),
    # A cutoff by more than this counts as one a ply deeper, centipawns.
    Tunable("clear_cutoff_margin", 81, 10, 300, 30),
    # Percent of the bonus that a quiet TT move gets for a TT cutoff.
    Tunable("tt_move_share", 103, 0, 200, 25),
    # Percent of the bonus that a quiet move gets if the opponent finds no answer to it.
    Tunable("prior_move_share", 117, 0, 300, 25),
    # Percent of a malus that a quiet move gets if the first moves refute it.
    Tunable("refuted_move_share", 62, 0, 300, 25),
    # Percent of a bonus or malus that a quiet move gets from its search after a reduced one.
    Tunable("research_share", 82, 0, 300, 25),
    # The bonus of a quiet move for each centipawn that the static evaluation lost for the opponent by it.
    Tunable("eval_change_weight", 31, 0, 120, 6),
    # Weights of a quiet move's histories in their sum, in 128ths: butterfly, and continuation 1, 2 and 4 plies back.
    Tunable("butterfly_weight", 241, 0, 384, 24),
    Tunable("answer_weight", 242, 0, 384, 24),
    Tunable("follow_up_weight", 132, 0, 384, 24),
    Tunable("far_weight", 99, 0, 384, 24),
    # Percent of the bonus or malus that is added to each history: butterfly, continuation and capture history.
    Tunable("butterfly_share", 108, 0, 200, 20),
    Tunable("continuation_share", 70, 0, 200, 20),
    Tunable("capture_share", 100, 0, 200, 20),
    # Policy: least depth at which it rates quiet moves; the weight of a logit of 1, in units of the histories.
    Tunable("policy_depth", 4, 1, 40, 1),
    Tunable("policy_weight", 7000, 0, 20000, 600),
    # Ordering bonus of a quiet move that gives a safe check, in units of the histories; percent of the bonus of a
    # piece that escapes from a lesser one.
    Tunable("check_bonus", 16748, 0, 48000, 3000),
    Tunable("escape_share", 94, 0, 300, 25),
    # Time for a move on a clock: the greatest number of moves to plan for and, with an increment of twice the overhead
    # and without a time control to come, how many fewer after 100 moves, and the least number; the plan in percent of
    # an even share; the hard limit in percent of the plan; the most of the clock that a move may take, in percent, in
    # general and for the last move before the time control; the most that the plan may take of that, in percent.
    Tunable("time_horizon", 40, 20, 80, 3),
    Tunable("time_horizon_slope", 50, 0, 100, 6),
    Tunable("time_horizon_least", 20, 10, 50, 2),
    Tunable("time_share", 122, 50, 200, 8),
    Tunable("time_overrun", 400, 200, 900, 35),
    Tunable("time_most", 40, 10, 70, 4),
    Tunable("time_most_last", 90, 50, 95, 3),
    Tunable("time_plan_most", 60, 20, 100, 5),
    # Milliseconds that stay on the clock for stalls of the system.
    Tunable("time_reserve", 100, 0, 300, 20),
    # Percent added to the plan if the engine may think on the opponent's time.
    Tunable("time_ponder", 25, 0, 60, 4),
    # From this depth on, the result of each iteration scales the planned time by the following factors.
    Tunable("time_scale_depth", 6, 2, 12, 1),
    # A stable best move: percent at first; percent less for each iteration that confirms it; least percent.
    Tunable("time_stable_base", 130, 100, 200, 6),
    Tunable("time_stable_step", 8, 0, 20, 1),
    Tunable("time_stable_least", 75, 40, 100, 4),
    # A falling score: hundredths of a percent per centipawn; the most centipawns of fall and of rise that count.
    Tunable("time_fall_slope", 80, 0, 200, 10),
    Tunable("time_fall_most", 60, 20, 150, 8),
    Tunable("time_rise_most", 25, 0, 80, 5),
    # The best move's share of the nodes: percent at share 0; percent less at share 1.
    Tunable("time_effort_base", 210, 120, 300, 9),
    Tunable("time_effort_slope", 140, 0, 240, 9),
)

BY_NAME: Final = {tunable.name: tunable for tunable in TUNABLES}
assert len(BY_NAME) == len(TUNABLES), "two tunables have the same name"

#: The names of the tunables that `reductions` takes, in order.
REDUCTION_TUNABLES: Final = ("lmr_base", "lmr_factor")

# Side lengths of the table of reductions.
_DEPTHS: Final = 64
_MOVES: Final = 64


def defaults() -> dict[str, int]:
    """Returns the default values by name."""
    return {tunable.name: tunable.default for tunable in TUNABLES}


#: Values by name with which no move is reduced or, by a negative reduction, extended. Pruning by the reduced depth then
#: uses the full depth. Rounding of the history term leaves a hundredth of a ply, which has no effect.
NO_REDUCTION: Final = {
    "lmr_base": 0,
    "lmr_factor": 0,
    "lmr_history_divisor": 1_000_000_000,
    "lmr_pv": 0,
    "lmr_tt_pv": 0,
    "lmr_late_parent": 0,
    "lmr_singular": 0,
    "lmr_threatened": 0,
    "lmr_window": 0,
    "lmr_not_improving": 0,
    "lmr_cut_node": 0,
    "lmr_tt_noisy": 0,
    "lmr_cutoffs": 0,
}

#: Values by name that switch off reductions, extensions, corrections, TT scores and nearly all pruning (see `plain`).
OFF: Final = {
    "tt_cutoffs": 0,
    "aspiration_reduction": 0,
    "correction_pawns": 0,
    "correction_pieces": 0,
    "correction_moves": 0,
    "rfp_depth": -1,
    "nmp_depth": 1000,
    "probcut_depth": 1000,
    "iir_depth": 1000,
    "iir_pv": 0,
    "lmp_base": 1_000_000,
    "futility_depth": -1,
    "history_pruning_depth": -1,
    "see_depth": -1,
    "singular_depth": 1000,
    "check_extension_depth": 1000,
    "raised_depth": 0,
    "fail_high_weight": 0,
    "delta_margin": 1_000_000,
    "quiescence_moves": 1_000_000,
    "quiescence_see_margin": 0,
    "quiescence_evasions": 1_000_000,
} | NO_REDUCTION


def plain() -> dict[str, int]:
    """Returns values by name, some beyond their ranges, that make the search plain alpha-beta with quiescence.

    That search reduces, extends and corrects nothing and takes no score from the TT. It prunes only by mate distance
    and, in quiescence, by SEE. Its value is the minimax value of the game in `search.theory.chess_game`; the reference
    search there finds the same value.
    """
    return defaults() | OFF


def namespace(values: Mapping[str, int]) -> SimpleNamespace:
    """Returns an object with the values as attributes. Python code reads them as kernels do: `tune.time_share`."""
    return SimpleNamespace(**values)


def reductions(base: int, factor: int) -> list[list[int]]:
    """Returns the reductions of late moves in hundredths of a ply, by [depth][number of the move], 64 by 64.

    Each is base + factor * ln(depth) * ln(number), 0 if depth or number is 0; the tunables are lmr_base, lmr_factor.
    """
    logarithms = [math.log(max(number, 1)) for number in range(max(_DEPTHS, _MOVES))]
    return [
        [int(base + factor * logarithms[depth] * logarithms[move]) if depth and move else 0 for move in range(_MOVES)]
        for depth in range(_DEPTHS)
    ]
