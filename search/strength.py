"""Limited playing strength: levels, their parameters, and their measured ratings.

A level plays on one thread. Three parameters distinguish its searches from those at full strength:

    nodes      the node limit of a search; the first iteration may exceed it (see FIRST_NODES). With few nodes a level
               overlooks tactics. A limit by nodes, not time, makes it about equally strong on every machine.
    lines      how many of the best root moves it compares (as MultiPV does); this costs depth, too
    softness   how often it plays a line other than the best: a line that is `loss` centipawns worse has
               exp(-loss / softness) times the chance of the best line, or no chance if loss > MOST_LOSS * softness

So a weak level overlooks tactics and misjudges positions, but it saves pieces that it sees attacked and plays out
mates that it has seen. (The choice follows a Boltzmann distribution over scores. Stockfish's `Skill Level` instead adds
random numbers to the scores of its four best moves.)

The levels are `LEVELS`; their ratings come from `bench/ledger/strength/levels.json`, the output of `secateur tourney
--levels --json`. Between two levels, nodes are interpolated geometrically, softness and lines linearly. As the
rating grows, each parameter becomes stronger or stays the same. This module imports nothing heavy, because options are
declared before the engine loads.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

#: The most that a chosen move may lose against the best one, in multiples of the softness.
MOST_LOSS: Final = 2

#: The node limit of the first iteration if a level has fewer nodes. It usually suffices to search every move once and
#: to find all lines. It also ends an explosion of captures.
FIRST_NODES: Final = 20_000

#: The `Skill Level` that means full strength.
FULL_SKILL: Final = 20


@dataclass(frozen=True)
class Level:
    """A strength: rating `elo`, `nodes` a move, `softness` in centipawns, and the number of `lines` to choose from."""

    elo: int
    nodes: int
    softness: int
    lines: int

    @property
    def name(self) -> str:
        """The parameters without the rating, such as `500n-100cp-10l`; the level's games are stored under this name."""
        return f"{self.nodes}n-{self.softness}cp-{self.lines}l"

    def describe(self) -> str:
        """Returns the rating and the parameters in words."""
        return f"rated about {self.elo}: {self.nodes} nodes a move, softness {self.softness} cp, lines {self.lines}"


#: Rating, nodes, softness and lines, weakest first. No parameter of a row is weaker than in the row before.
LEVELS: Final = (
    Level(1158, 500, 100, 10),
    Level(1309, 800, 85, 9),
    Level(1436, 1100, 70, 8),
    Level(1573, 1400, 57, 7),
    Level(1736, 1750, 45, 6),
    Level(1858, 2100, 34, 5),
    Level(1948, 2500, 25, 4),
    Level(2096, 3000, 18, 3),
    Level(2312, 4500, 6, 2),
    Level(2440, 6500, 3, 2),
    Level(2596, 7000, 0, 1),
    Level(2687, 10_000, 0, 1),
    Level(2773, 14_000, 0, 1),
    Level(2881, 20_000, 0, 1),
    Level(2970, 28_000, 0, 1),
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
        softness=round(between(low.softness, high.softness)),
        lines=round(between(low.lines, high.lines)),
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


def choose(losses: Sequence[int], level: Level, rng: random.Random) -> int:
    """Returns the index of the line to play, chosen by `rng` as the module's docstring says.

    `losses` are the centipawns by which each line is worse than the best line, which comes first with 0. Only the first
    `level.lines` lines are candidates.
    """
    if not level.softness:
        return 0
    bound = MOST_LOSS * level.softness
    weights = [math.exp(-loss / level.softness) if loss <= bound else 0.0 for loss in losses[: level.lines]]
    return rng.choices(range(len(weights)), weights)[0]
