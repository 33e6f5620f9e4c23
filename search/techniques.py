"""The techniques of the search, and for each what switches it off: how recordings and games find out what it is worth.

A technique is off with certain values of tunables, most of them beyond their ranges. Recordings count what the search
takes without one (`search.explorer`), and in a tuning build the UCI option `Without` plays without some, which is how
`secateur worth` measures them in games.

Imports nothing heavy, because the answer to `uci` declares that option before NumPy is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from search import tunables
from search.tunables import OFF


@dataclass(frozen=True)
class Technique:
    """One technique: `key` is its name in kebab-case, `title` what it is, `off` the values by tunable index without it.

    `reasons` are what a recording calls nodes and moves that it has cut (see `search.explorer.chess_document`), where
    that is not its key. `needs_clock`: it decides about time, and only games with a clock can tell what it is worth.
    """

    key: str
    title: str
    off: Mapping[int, int]
    reasons: tuple[str, ...] = ()
    needs_clock: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What it is called by: its key, and the reasons of recordings."""
        return (self.key, *self.reasons)


def _plain(*indexes: int) -> dict[int, int]:
    """The values with which the plain search does without these tunables."""
    return {index: OFF[index] for index in indexes}


#: No move is reduced, and the pruning of late moves, which asks for the reduced depth, gets the depth. (With the plain
#: search's LMR_BASE it would get thousands of plies, and prune nothing.) Of history only the rounding is left, a
#: hundredth of a ply.
_NO_REDUCTION: Final = {
    tunables.LMR_BASE: 0,
    tunables.LMR_FACTOR: 0,
    tunables.LMR_HISTORY: 1_000_000_000,
    tunables.LMR_NOT_IMPROVING: 0,
    tunables.LMR_CUT: 0,
    tunables.LMR_TABLE_NOISY: 0,
    tunables.LMR_CUTOFFS: 0,
}

#: Every technique that can be switched off by itself, in the order in which the search comes to them.
TECHNIQUES: Final = (
    Technique("aspiration", "aspiration windows", {tunables.ASPIRATION_DEPTH: 1000}),
    Technique("check-extension", "check extension", _plain(tunables.CHECK_EXTENSION)),
    Technique("table-cuts", "cutoffs by the transposition table", _plain(tunables.TABLE_CUTS), ("table",)),
    Technique(
        "correction-history",
        "correction history",
        _plain(tunables.CORRECTION_PAWNS, tunables.CORRECTION_PIECES, tunables.CORRECTION_MOVES),
    ),
    Technique("improving", "the question whether the side to move is improving", {tunables.IMPROVING: 0}),
    Technique("razoring", "razoring", _plain(tunables.RAZOR_DEPTH)),
    Technique("reverse-futility", "reverse futility", _plain(tunables.RFP_DEPTH)),
    Technique("null-move", "null move", _plain(tunables.NULL_DEPTH)),
    Technique("null-move-verification", "verification of null moves", {tunables.NULL_VERIFY_DEPTH: 1000}),
    Technique("probcut", "ProbCut", _plain(tunables.PROBCUT_DEPTH)),
    Technique("internal-iterative-reduction", "internal iterative reduction", _plain(tunables.IIR_DEPTH)),
    Technique(
        "singular-extension",
        "singular, double and negative extension with multi-cut",
        _plain(tunables.SINGULAR_DEPTH),
        ("multi-cut",),
    ),
    Technique("late-move-pruning", "late move pruning", _plain(tunables.LMP_BASE), ("late-move",)),
    Technique("futility", "futility of quiet moves", _plain(tunables.FUTILITY_DEPTH)),
    Technique("history-pruning", "history pruning", _plain(tunables.HISTORY_DEPTH), ("history",)),
    Technique(
        "exchange-pruning",
        "exchange pruning of noisy and quiet moves",
        _plain(tunables.SEE_DEPTH),
        ("exchange-quiet", "exchange-noisy"),
    ),
    Technique("late-move-reduction", "late move reduction", _NO_REDUCTION),
    Technique("noisy-table-move", "more reduction where the table's move is noisy", {tunables.LMR_TABLE_NOISY: 0}),
    Technique("cutoff-count", "more reduction where many were cut off", {tunables.LMR_CUTOFFS: 0}),
    Technique(
        "deeper-shallower",
        "re-searches a ply deeper or shallower",
        {tunables.DEEPER_MARGIN: 1_000_000, tunables.SHALLOWER_MARGIN: -1_000_000},
    ),
    Technique("butterfly-history", "butterfly history", {tunables.BUTTERFLY_SHARE: 0}),
    Technique("continuation-history", "continuation history", {tunables.CONTINUATION_SHARE: 0}),
    Technique("capture-history", "capture history", {tunables.CAPTURE_SHARE: 0}),
    Technique("killers", "killer moves", {tunables.KILLERS: 0}),
    Technique("counter-moves", "counter moves", {tunables.COUNTER_MOVES: 0}),
    Technique("check-bonus", "safe quiet checks early in the order", {tunables.CHECK_BONUS: 0}),
    Technique("quiescence-checks", "quiet checks in quiescence", {tunables.QUIESCENCE_CHECKS: 0}),
    Technique("delta-pruning", "delta pruning", _plain(tunables.DELTA_MARGIN), ("delta",)),
    # What the plain search leaves on, because the reference search knows this rule, too.
    Technique("exchange-quiescence", "exchange pruning in quiescence", {tunables.QUIESCENCE_LOSS: 1_000_000}),
    Technique("evasion-limit", "limit of quiet evasions in quiescence", _plain(tunables.EVASIONS), ("evasions",)),
    Technique(
        "time-stability",
        "time by how long the best move has stayed",
        {tunables.STABLE_BASE: 100, tunables.STABLE_STEP: 0, tunables.STABLE_LEAST: 100},
        needs_clock=True,
    ),
    Technique("time-fall", "time by how far the score has fallen", {tunables.FALL_SLOPE: 0}, needs_clock=True),
    Technique(
        "time-effort",
        "time by the best move's share of the nodes",
        {tunables.EFFORT_BASE: 100, tunables.EFFORT_SLOPE: 0},
        needs_clock=True,
    ),
)

#: Each technique by what it may be called.
BY_NAME: Final = {name: technique for technique in TECHNIQUES for name in technique.names}
assert len(BY_NAME) == sum(len(technique.names) for technique in TECHNIQUES), "two techniques have one name"


def named(names: Iterable[str]) -> tuple[Technique, ...]:
    """The techniques of these names, each once. Raises ValueError that names an unknown one and lists the keys."""
    found = {}
    for name in names:
        technique = BY_NAME.get(name)
        if technique is None:
            keys = ", ".join(technique.key for technique in TECHNIQUES)
            raise ValueError(f"there is no technique {name[:40]!r}; those are {keys}")
        found[technique.key] = technique
    return tuple(found.values())


def switched_off(techniques: Iterable[Technique]) -> dict[int, int]:
    """The values by tunable index that switch off all of `techniques`."""
    return {index: value for technique in techniques for index, value in technique.off.items()}
