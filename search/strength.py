"""Limited playing strength: levels, their parameters, and their measured ratings.

A level plays on one thread. Two parameters distinguish its searches from those at full strength:

    nodes      the node limit of a search; the first iteration may exceed it (see FIRST_NODES). With few nodes a level
               does not look far ahead. A limit by nodes, not time, makes it about equally strong on every machine.
    oversight  scales the chance of overlooking a move, in percent (see `search.oversight`). It may exceed 100: the
               chance of some moves reaches 1 at half of that.

The levels are `LEVELS`; their ratings come from `bench/ledger/strength/levels.json`, the output of `secateur tourney
--levels --json`, plus the Elo of the record that it names under `since`, if any. Between two levels, nodes are
interpolated geometrically, oversight linearly. This module imports nothing heavy, because options are declared before
the engine loads.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

#: The node limit of the first iteration if a level has fewer nodes. It usually suffices to search every move
#: once. It also ends an explosion of captures.
FIRST_NODES: Final = 20_000

#: The `Skill Level` that means full strength.
FULL_SKILL: Final = 20


@dataclass(frozen=True)
class Level:
    """A strength: rating `elo`, `nodes` a move, and `oversight` in percent."""

    elo: int
    nodes: int
    oversight: float

    @property
    def name(self) -> str:
        """The parameters without the rating, such as `500n-60o`; the level's games are stored under this name."""
        return f"{self.nodes}n-{self.oversight:g}o"

    def describe(self) -> str:
        """Returns the rating and the parameters in words."""
        return f"rated about {self.elo}: {self.nodes} nodes a move, oversight {self.oversight:g} %"


#: Rating, nodes and oversight, weakest first. No parameter of a row is weaker than in the row before.
LEVELS: Final = (
    Level(1045, 300, 115),
    Level(1248, 300, 90),
    Level(1447, 300, 75),
    Level(1518, 400, 65),
    Level(1699, 550, 56),
    Level(1743, 750, 48),
    Level(1846, 1000, 41),
    Level(1969, 1400, 34),
    Level(2094, 2000, 28),
    Level(2240, 2800, 22),
    Level(2449, 4000, 16),
    Level(2635, 5500, 11),
    Level(2773, 7500, 7),
    Level(2953, 10_000, 4),
    Level(3044, 14_000, 2),
    Level(3208, 20_000, 0.5),
    Level(3321, 28_000, 0),
    Level(3396, 42_000, 0),
)

#: The range of `UCI_Elo`.
MIN_ELO: Final = LEVELS[0].elo
MAX_ELO: Final = LEVELS[-1].elo


def level_at(elo: int) -> Level:
    """Returns the level rated `elo`, interpolated between neighbours in `LEVELS`; clamps `elo` to their range."""
    elo = min(max(elo, MIN_ELO), MAX_ELO)
    place = min(bisect_right([level.elo for level in LEVELS], elo), len(LEVELS) - 1)
    low, high = LEVELS[place - 1], LEVELS[place]
    share = (elo - low.elo) / (high.elo - low.elo)

    def between(first: float, second: float) -> float:
        return first + share * (second - first)

    return Level(
        elo,
        nodes=round(math.exp(between(math.log(low.nodes), math.log(high.nodes)))),
        oversight=round(between(low.oversight, high.oversight), 1),
    )


def wanted_level(is_limited: bool, elo: int, skill: int) -> Level | None:
    """Returns the level that `UCI_LimitStrength`, `UCI_Elo` and `Skill Level` select; None means full strength.

    If `is_limited` is set, `elo` decides, as in Stockfish; otherwise `skill` does. Skill levels 0 to 19 go from the
    weakest level to the strongest in even steps of rating.
    """
    if not is_limited:
        if skill >= FULL_SKILL:
            return None
        elo = MIN_ELO + (MAX_ELO - MIN_ELO) * skill // (FULL_SKILL - 1)
    return level_at(elo)
