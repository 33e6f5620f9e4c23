"""The techniques of the search, each with the values of tunables that switch it off.

The explorer switches techniques off to count the nodes that they save (`search.explorer`). In a tuning build the UCI
option `Without` switches them off, so that games can measure them (`secateur ablation`). Many of the values are beyond
the ranges of their tunables.

This module imports nothing heavy, because the answer to `uci` declares the option `Without` before NumPy is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from search.tunables import NO_REDUCTION, OFF


@dataclass(frozen=True)
class Technique:
    """One technique of the search.

    `key` is its name in kebab-case, `title` describes it, `off` maps tunables to the values that switch it off.
    `reasons` are the names that recordings give to the nodes and moves that the technique cuts (see
    `search.explorer.chess_document`), if they differ from the key. `needs_clock` is True if the technique decides about
    time, so that only games with a clock can measure it.
    """

    key: str
    title: str
    off: Mapping[str, int]
    reasons: tuple[str, ...] = ()
    needs_clock: bool = False


def _plain(*names: str) -> dict[str, int]:
    """Returns the values of these tunables in the plain search."""
    return {name: OFF[name] for name in names}


#: Every technique that can be switched off by itself, roughly in the order in which the search applies them.
TECHNIQUES: Final = (
    Technique("aspiration", "aspiration windows", {"aspiration_depth": 1000}),
    Technique("tt-cutoffs", "transposition table cutoffs", _plain("tt_cutoffs"), ("table",)),
    Technique(
        "correction-history",
        "correction history",
        _plain("correction_pawns", "correction_pieces", "correction_moves"),
    ),
    Technique("improving", "improving: less pruning if the static evaluation rises", {"improving": 0}),
    Technique("eval-change", "butterfly history learns from changes of the evaluation", {"eval_change_weight": 0}),
    Technique("reverse-futility", "reverse futility", _plain("rfp_depth")),
    Technique("null-move", "null move", _plain("nmp_depth")),
    Technique("null-move-verification", "verification of null moves", {"nmp_verify_depth": 1000}),
    Technique("probcut", "ProbCut", _plain("probcut_depth")),
    Technique("check-probcut", "a cut in check by a TT bound far above beta", {"check_probcut_margin": 1_000_000}),
    Technique("internal-iterative-reduction", "internal iterative reduction", _plain("iir_depth", "iir_pv")),
    Technique(
        "singular-extension",
        "singular, double and negative extension with multi-cut",
        _plain("singular_depth"),
        ("multi-cut",),
    ),
    Technique("check-extension", "extension of checks", _plain("check_extension_depth")),
    Technique("alpha-raised", "less depth for the other moves after one has raised alpha", _plain("raised_depth")),
    Technique("fail-high-mean", "values above beta drawn towards it", _plain("fail_high_weight")),
    Technique("late-move-pruning", "late move pruning", _plain("lmp_base"), ("late-move",)),
    Technique("futility", "futility of quiet moves", _plain("futility_depth")),
    Technique("history-pruning", "history pruning", _plain("history_pruning_depth"), ("history",)),
    Technique(
        "exchange-pruning",
        "SEE pruning of noisy and quiet moves",
        _plain("see_depth"),
        ("exchange-quiet", "exchange-noisy"),
    ),
    Technique("check-exemption", "quiet checks pruned like noisy moves", {"exempt_checks": 0}),
    Technique("late-move-reduction", "late move reduction", NO_REDUCTION),
    Technique("lmr-tt-noisy", "more reduction if the TT move is noisy", {"lmr_tt_noisy": 0}),
    Technique("lmr-tt-pv", "less reduction where the position was in a PV node", {"lmr_tt_pv": 0}),
    Technique("lmr-cutoffs", "more reduction after many cutoffs at the next ply", {"lmr_cutoffs": 0}),
    Technique("lmr-late-parent", "less reduction after many moves of the parent", {"lmr_late_parent": 0}),
    Technique("lmr-singular", "less reduction if the quiet TT move is singular", {"lmr_singular": 0}),
    Technique("lmr-threatened", "less reduction of threatened pieces", {"lmr_threatened": 0}),
    Technique(
        "deeper-shallower",
        "re-searches a ply deeper or shallower",
        {"deeper_margin": 1_000_000, "shallower_margin": -1_000_000},
    ),
    Technique("butterfly-history", "butterfly history", {"butterfly_share": 0}),
    Technique("continuation-history", "continuation history", {"continuation_share": 0}),
    Technique("tt-move-bonus", "histories learn from TT cutoffs", {"tt_move_share": 0}),
    Technique("prior-move-bonus", "histories learn from moves without an answer", {"prior_move_share": 0}),
    Technique("research-bonus", "histories learn from searches after reduced ones", {"research_share": 0}),
    Technique("refuted-move-malus", "histories learn from refuted moves", {"refuted_move_share": 0}),
    Technique("capture-history", "capture history", {"capture_share": 0}),
    Technique("check-bonus", "ordering bonus for safe quiet checks", {"check_bonus": 0}),
    Technique("escape-bonus", "ordering bonus for escapes from lesser pieces", {"escape_share": 0}),
    Technique("quiescence-checks", "quiet checks in quiescence", {"quiescence_checks": 0}),
    Technique("delta-pruning", "futility in quiescence", _plain("delta_margin"), ("delta",)),
    Technique("quiescence-moves", "limit of moves in quiescence", _plain("quiescence_moves"), ("enough",)),
    # The plain search keeps this pruning, because the reference search uses it, too.
    Technique("exchange-quiescence", "SEE pruning in quiescence", {"quiescence_see_margin": 1_000_000}),
    Technique("evasion-limit", "limit of quiet evasions in quiescence", _plain("quiescence_evasions"), ("evasions",)),
    Technique(
        "time-stability",
        "time scaled by the stability of the best move",
        {"time_stable_base": 100, "time_stable_step": 0, "time_stable_least": 100},
        needs_clock=True,
    ),
    Technique("time-fall", "time scaled by the fall of the score", {"time_fall_slope": 0}, needs_clock=True),
    Technique(
        "time-effort",
        "time scaled by the best move's share of the nodes",
        {"time_effort_base": 100, "time_effort_slope": 0},
        needs_clock=True,
    ),
)

#: Each technique by its key and by its reasons in recordings. All these names are different.
BY_NAME: Final = {name: technique for technique in TECHNIQUES for name in (technique.key, *technique.reasons)}


def named(names: Iterable[str]) -> tuple[Technique, ...]:
    """Returns the techniques with these names (see `BY_NAME`), each once. Raises ValueError if a name is unknown."""
    found = {}
    for name in names:
        technique = BY_NAME.get(name)
        if technique is None:
            keys = ", ".join(technique.key for technique in TECHNIQUES)
            raise ValueError(f"unknown technique {name[:40]!r}; the techniques are {keys}")
        found[technique.key] = technique
    return tuple(found.values())


def switched_off(techniques: Iterable[Technique]) -> dict[str, int]:
    """Returns the values, by name of tunable, that switch off all of `techniques`."""
    return {name: value for technique in techniques for name, value in technique.off.items()}
