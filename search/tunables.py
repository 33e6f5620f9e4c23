"""The numbers of the search that games can tune, each once: default, range and step.

What games would hardly tell apart, or what is no matter of degree, stands where it is used: plies of a few that decide
the form of a technique (CHECK_PLIES, which `search.theory` plays by, LMR_DEPTH, FIRST_DEPTHS, half the depth for a
singular search), what counts as many cutoffs (CUTOFFS_MANY) or as a safe check (CHECK_LOSS), guards against the rules
(NEAR_FIFTY_MOVES), the units and limits of histories and corrections, which entry of the table is replaced, and the
milliseconds and counts of `search.timing` and `search.searcher`.

Kernels read a tunable as `worker.tune[NAME]`, where NAME is its index; a new worker holds the defaults, and the
reductions that follow from them. No value is compiled in. In a tuning build (`secateur --tuning`) each is a UCI option.

Imports nothing heavy, because the answer to `uci` declares those options before NumPy is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Tunable:
    """One number of the search; `step` is what a tuner changes it by to see a difference."""

    name: str
    default: int
    low: int
    high: int
    step: int

    def __post_init__(self) -> None:
        if not self.low <= self.default <= self.high or self.step < 1:
            raise ValueError(f"{self.name}: {self.default} is not within {self.low} to {self.high}")


TABLE: Final[list[Tunable]] = []


def _tunable(name: str, default: int, low: int, high: int, step: int) -> int:
    TABLE.append(Tunable(name, default, low, high, step))
    return len(TABLE) - 1


# Whether a table score may end a node, 0 or 1; its move and evaluation are used either way.
TABLE_CUTS = _tunable("TableCuts", 1, 0, 1, 1)

# Aspiration: least depth; half the first window in centipawns; what it grows to when it fails, in hundredths.
ASPIRATION_DEPTH = _tunable("AspirationDepth", 4, 2, 8, 1)
ASPIRATION_WINDOW = _tunable("AspirationWindow", 20, 5, 80, 4)
ASPIRATION_GROWTH = _tunable("AspirationGrowth", 200, 125, 400, 15)

# Check extension: plies that a move out of check is searched deeper.
CHECK_EXTENSION = _tunable("CheckExtension", 1, 0, 1, 1)

# Correction history: weights of pawns, of each side's pieces and of the last two moves, in hundredths.
CORRECTION_PAWNS = _tunable("CorrectionPawns", 100, 0, 300, 15)
CORRECTION_PIECES = _tunable("CorrectionPieces", 75, 0, 300, 15)
CORRECTION_MOVES = _tunable("CorrectionMoves", 75, 0, 300, 15)

# Correction history: sixteenths of a centipawn that enter the tables for an error of 1000 centipawns and each ply of
# the depth that found it.
CORRECTION_RATE = _tunable("CorrectionRate", 125, 30, 400, 18)

# Improving: whether a better evaluation than at the last turn counts for anything, 0 or 1.
IMPROVING = _tunable("Improving", 1, 0, 1, 1)

# Razoring: greatest depth; margin = base + slope * depth * depth, centipawns.
RAZOR_DEPTH = _tunable("RazorDepth", 4, 0, 8, 1)
RAZOR_BASE = _tunable("RazorBase", 200, 50, 500, 20)
RAZOR_SLOPE = _tunable("RazorSlope", 150, 50, 400, 15)

# Reverse futility: greatest depth; margin a ply in centipawns.
RFP_DEPTH = _tunable("RfpDepth", 8, 4, 12, 1)
RFP_MARGIN = _tunable("RfpMargin", 75, 30, 150, 8)

# Null move: least depth; plies saved: base + depth / divisor + (evaluation - beta) / eval divisor, at most eval max.
NULL_DEPTH = _tunable("NullDepth", 3, 1, 5, 1)
NULL_BASE = _tunable("NullBase", 4, 2, 6, 1)
NULL_DIVISOR = _tunable("NullDivisor", 4, 2, 8, 1)
NULL_EVAL_DIVISOR = _tunable("NullEvalDivisor", 200, 100, 400, 20)
NULL_EVAL_MAX = _tunable("NullEvalMax", 3, 1, 6, 1)

# Null move: least depth at which its cutoff is verified by another search; percent of that one's plies in which nobody
# passes.
NULL_VERIFY_DEPTH = _tunable("NullVerifyDepth", 14, 8, 20, 1)
NULL_VERIFY_SHARE = _tunable("NullVerifyShare", 75, 30, 100, 5)

# ProbCut: least depth; how far above beta a capture has to come out, centipawns; plies saved.
PROBCUT_DEPTH = _tunable("ProbCutDepth", 5, 3, 10, 1)
PROBCUT_MARGIN = _tunable("ProbCutMargin", 180, 60, 400, 16)
PROBCUT_SAVED = _tunable("ProbCutSaved", 4, 2, 6, 1)

# Internal iterative reduction: least depth.
IIR_DEPTH = _tunable("IirDepth", 4, 2, 8, 1)

# Late move pruning: quiets tried before the rest is skipped: base + depth * depth, half of that when not improving.
LMP_BASE = _tunable("LmpBase", 4, 1, 8, 1)

# Futility of quiets: greatest reduced depth; margin = base + slope * reduced depth, centipawns.
FUTILITY_DEPTH = _tunable("FutilityDepth", 8, 4, 12, 1)
FUTILITY_BASE = _tunable("FutilityBase", 90, 20, 250, 12)
FUTILITY_SLOPE = _tunable("FutilitySlope", 90, 40, 180, 8)

# History pruning: greatest reduced depth; history a ply below which a quiet is skipped.
HISTORY_DEPTH = _tunable("HistoryPruningDepth", 4, 1, 8, 1)
HISTORY_MARGIN = _tunable("HistoryPruningMargin", 3500, 1000, 8000, 350)

# Exchange pruning: greatest depth; centipawns lost a ply (noisy) or a squared reduced ply (quiet).
SEE_DEPTH = _tunable("SeeDepth", 8, 4, 12, 1)
SEE_NOISY = _tunable("SeeNoisy", 90, 30, 180, 8)
SEE_QUIET = _tunable("SeeQuiet", 25, 10, 60, 3)

# Late move reduction: hundredths of base and factor of the logarithms; history that is worth a ply.
LMR_BASE = _tunable("LmrBase", 80, 0, 160, 8)
LMR_FACTOR = _tunable("LmrFactor", 45, 25, 70, 3)
LMR_HISTORY = _tunable("LmrHistory", 8000, 3000, 16000, 600)
# Further hundredths of a ply: less for captures and promotions, in PV nodes, for killers and for checks; more where
# the side to move is not improving and where a cutoff is expected.
LMR_NOISY = _tunable("LmrNoisy", 100, 0, 300, 15)
LMR_PV = _tunable("LmrPv", 100, 0, 300, 15)
LMR_KILLER = _tunable("LmrKiller", 100, 0, 300, 15)
LMR_CHECK = _tunable("LmrCheck", 100, 0, 300, 15)
LMR_NOT_IMPROVING = _tunable("LmrNotImproving", 100, 0, 300, 15)
LMR_CUT = _tunable("LmrCut", 100, 0, 300, 15)
# More, too, where the table's move is a capture or promotion, and where a count of cutoffs exceeds CUTOFFS_MANY.
LMR_TABLE_NOISY = _tunable("LmrTableNoisy", 100, 0, 300, 15)
LMR_CUTOFFS = _tunable("LmrCutoffs", 100, 0, 300, 15)

# After a reduced search that comes out above alpha: how far above the best value so far the full one goes a ply
# deeper, and how close to it a ply shallower, centipawns.
DEEPER_MARGIN = _tunable("DeeperMargin", 60, 10, 150, 8)
SHALLOWER_MARGIN = _tunable("ShallowerMargin", 8, 0, 40, 3)

# Singular extension: least depth; how much shallower the table's entry may be; margin a ply in hundredths of a
# centipawn; further margin of a double extension.
SINGULAR_DEPTH = _tunable("SingularDepth", 7, 5, 10, 1)
SINGULAR_SLACK = _tunable("SingularSlack", 3, 1, 5, 1)
SINGULAR_MARGIN = _tunable("SingularMargin", 200, 50, 400, 20)
DOUBLE_MARGIN = _tunable("DoubleMargin", 20, 0, 60, 4)

# Quiescence: what a capture may lack to alpha beyond its victim, centipawns.
DELTA_MARGIN = _tunable("DeltaMargin", 150, 50, 300, 15)
# Quiescence: what a move may lose by exchange and still be tried, centipawns.
QUIESCENCE_LOSS = _tunable("QuiescenceLoss", 0, -100, 150, 10)
# Quiescence: whether its first plies try quiet checks, 0 or 1.
QUIESCENCE_CHECKS = _tunable("QuiescenceChecks", 1, 0, 1, 1)
# Quiescence in check: moves tried before quiet evasions are left out, once one move is known not to be mated.
EVASIONS = _tunable("Evasions", 3, 1, 8, 1)

# Histories: bonus a ply of depth, and its limit.
BONUS_SLOPE = _tunable("BonusSlope", 170, 50, 350, 15)
BONUS_MAX = _tunable("BonusMax", 1800, 600, 4000, 150)
# Percent of that bonus that each history learns: of quiet moves by their squares, as continuations, and of captures.
BUTTERFLY_SHARE = _tunable("ButterflyShare", 100, 0, 200, 10)
CONTINUATION_SHARE = _tunable("ContinuationShare", 100, 0, 200, 10)
CAPTURE_SHARE = _tunable("CaptureShare", 100, 0, 200, 10)

# Killers: whether quiet moves that cut are remembered for their siblings, 0 or 1.
KILLERS = _tunable("Killers", 1, 0, 1, 1)
# Counter moves: whether the last refutation of the opponent's move is tried early, 0 or 1.
COUNTER_MOVES = _tunable("CounterMoves", 1, 0, 1, 1)
# What a quiet move that gives a safe check is raised by in the order, in units of the histories.
CHECK_BONUS = _tunable("CheckBonus", 8000, 0, 32000, 1000)

# Lazy SMP: centipawns that every thread's score is raised by before threads vote for a move.
VOTE_BASE = _tunable("VoteBase", 10, 1, 60, 3)

# Time for a move without surprises: moves that a clock without moves-to-go has to last for; percent of an even share
# of it; percent of that which an iteration may run on for; percent of the clock that no move may exceed, in general
# and as the last before the time control; percent of those that may be planned for.
TIME_HORIZON = _tunable("TimeHorizon", 50, 20, 80, 3)
TIME_SHARE = _tunable("TimeShare", 110, 50, 200, 8)
TIME_OVERRUN = _tunable("TimeOverrun", 400, 200, 900, 35)
TIME_MOST = _tunable("TimeMost", 40, 10, 70, 4)
TIME_MOST_LAST = _tunable("TimeMostLast", 90, 50, 95, 3)
TIME_PLAN_MOST = _tunable("TimePlanMost", 60, 20, 100, 5)
# Milliseconds that stay on the clock for stalls of the system.
TIME_RESERVE = _tunable("TimeReserve", 100, 0, 300, 20)
# Percent added when the opponent's time is ours, too.
TIME_PONDER = _tunable("TimePonder", 25, 0, 60, 4)

# What scales that time after an iteration, from this depth on.
SCALE_DEPTH = _tunable("TimeScaleDepth", 6, 2, 12, 1)
# A best move that stays: percent at first, less this for each iteration that confirms it, at least this.
STABLE_BASE = _tunable("TimeStableBase", 130, 100, 200, 6)
STABLE_STEP = _tunable("TimeStableStep", 8, 0, 20, 1)
STABLE_LEAST = _tunable("TimeStableLeast", 75, 40, 100, 4)
# A score that falls: hundredths of a percent a centipawn; centipawns of fall and of rise that count at most.
FALL_SLOPE = _tunable("TimeFallSlope", 80, 0, 200, 10)
FALL_MOST = _tunable("TimeFallMost", 60, 20, 150, 8)
RISE_MOST = _tunable("TimeRiseMost", 25, 0, 80, 5)
# A best move that took most of the nodes: percent without any, less this for all of them.
EFFORT_BASE = _tunable("TimeEffortBase", 210, 120, 300, 9)
EFFORT_SLOPE = _tunable("TimeEffortSlope", 140, 0, 240, 9)

COUNT: Final = len(TABLE)

#: Index of each tunable by its name.
INDEX: Final = {tunable.name: index for index, tunable in enumerate(TABLE)}
assert len(INDEX) == COUNT, "two tunables have one name"

#: What `reductions` depends on.
REDUCTION_TUNABLES: Final = (LMR_BASE, LMR_FACTOR)

# Side lengths of the table of reductions.
_DEPTHS: Final = 64
_MOVES: Final = 64


def defaults() -> list[int]:
    """The default values by index."""
    return [tunable.default for tunable in TABLE]


#: What switches off everything that makes the search selective or takes a score from elsewhere, by index.
OFF: Final = {
    TABLE_CUTS: 0,
    CHECK_EXTENSION: 0,
    CORRECTION_PAWNS: 0,
    CORRECTION_PIECES: 0,
    CORRECTION_MOVES: 0,
    RAZOR_DEPTH: -1,
    RFP_DEPTH: -1,
    NULL_DEPTH: 1000,
    PROBCUT_DEPTH: 1000,
    IIR_DEPTH: 1000,
    LMP_BASE: 1_000_000,
    FUTILITY_DEPTH: -1,
    HISTORY_DEPTH: -1,
    SEE_DEPTH: -1,
    LMR_BASE: -1_000_000,
    SINGULAR_DEPTH: 1000,
    DELTA_MARGIN: 1_000_000,
    QUIESCENCE_LOSS: 0,
    EVASIONS: 1_000_000,
}


def plain() -> list[int]:
    """Values by index, beyond their ranges, with which the search is nothing but alpha-beta with quiescence.

    Nothing is pruned, reduced, extended or corrected, and no score is taken from the table: the value is minimax's over
    the game of `search.theory.chess_game`, which the reference search there finds, too.
    """
    values = defaults()
    for index, value in OFF.items():
        values[index] = value
    return values


def reductions(tune: Sequence[int]) -> list[list[int]]:
    """Plies that late moves are reduced by, in hundredths: [depth][number of the move], 64 by 64."""
    base, factor = int(tune[LMR_BASE]), int(tune[LMR_FACTOR])
    logarithms = [math.log(max(number, 1)) for number in range(max(_DEPTHS, _MOVES))]
    return [
        [int(base + factor * logarithms[depth] * logarithms[move]) if depth and move else 0 for move in range(_MOVES)]
        for depth in range(_DEPTHS)
    ]
