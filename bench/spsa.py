"""Simultaneous perturbation stochastic approximation (SPSA), which tunes many parameters at once by paired games.

Each iteration changes every parameter up or down at random, plays the engine with these changes against the engine with
the opposite changes, and shifts every parameter a little towards the winner's value. The number of games per iteration
does not depend on the number of parameters. (J. C. Spall, IEEE Transactions on Automatic Control 37, 1992, and IEEE
Transactions on Aerospace and Electronic Systems 34, 1998. The form for games, with gains given by their last values, is
that of Stockfish's fishtest.)
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.stats import Z95
from engine.errors import CommandError
from search.tunables import Tunable

Floats = NDArray[np.float64]

#: Spall's exponents of the gain and of the perturbation, which are the smallest that the theory allows.
ALPHA: Final = 0.602
GAMMA: Final = 0.101
#: Spall's stability constant of the gain, as a share of the number of iterations.
STABILITY: Final = 0.1

#: The default gain is this number divided by the number of iterations, so that the drift of a parameter (in steps) does
#: not depend on the run's length. fishtest uses 0.002 for about 30,000 pairs. A gain above GAIN_MAX would follow noise.
GAIN_ITERATIONS: Final = 60.0
GAIN_MAX: Final = 0.02

#: How many Elo a share of the points is worth near an even score: the slope of the Elo curve there.
ELO_OF_SHARE: Final = 1600 / math.log(10)

#: How many net wins of a pair e times the time is worth. Twice the time is then worth 0.83 net wins, which is between
#: what it gained from balanced openings, +138.5 +- 50.2 [ledger: twice-the-nodes], and from unbalanced ones,
#: +171.3 +- 27.0 [ledger: twice-the-time]. At a limit of nodes or depth, results are corrected by it; else values look
#: good that search fewer nodes a second.
WINS_OF_TIME: Final = 1.2

#: The least number of results beyond the unknowns of a regression; with fewer, its intervals would be too narrow.
LEAST_FREEDOM: Final = 50


def default_gain(iterations: int) -> float:
    """Returns the default gain for a run of `iterations` iterations."""
    return min(GAIN_ITERATIONS / max(iterations, 1), GAIN_MAX)


class SpsaError(CommandError, ValueError):
    """Raised if a tuning run cannot be carried out; the message is one line."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The sizes of the perturbations and updates in each iteration. Iterations are counted from 0.

    In the last iteration, a parameter is perturbed by its step, and each net win (wins less losses) shifts it by `gain`
    steps (fishtest's R). Both amounts are larger in earlier iterations. With gain 0 the values stay, and the run only
    measures what a step is worth (see `Spsa.effects`). Raises `SpsaError` if an argument is invalid.
    """

    iterations: int
    gain: float

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise SpsaError(f"iterations must be at least 1 (got {self.iterations})")
        if not 0 <= self.gain < math.inf:
            raise SpsaError(f"the gain must be finite and not negative (got {self.gain:g})")

    def perturbation(self, iteration: int) -> float:
        """Returns the perturbation of a parameter in an iteration (Spall's c_k), in units of the parameter's step."""
        return math.pow(self.iterations / (iteration + 1), GAMMA)

    def follow(self, iteration: int) -> float:
        """Returns the shift of a parameter for each net win (Spall's a_k / c_k), in units of the parameter's step."""
        stability = STABILITY * self.iterations
        decay = math.pow((stability + self.iterations) / (stability + iteration + 1), ALPHA)
        return self.gain * decay / self.perturbation(iteration)


class Spsa:
    """The state of a tuning run. `values` (float64[parameters]) are the current values, which stay within their bounds.

    Call `propose`, play the iteration and call `update`. Several iterations may be in progress, and updates may come in
    any order. An iteration's proposal depends only on the arguments, the iteration's number and the current values.
    """

    def __init__(self, parameters: Iterable[Tunable], schedule: Schedule, seed: int = 0) -> None:
        self.parameters = tuple(parameters)
        self.schedule = schedule
        self.seed = seed
        rows = [(row.default, row.low, row.high, row.step) for row in self.parameters]
        self._start, self._low, self._high, self._steps = np.array(rows, np.float64).T
        self.values = self._start.copy()

    def _flips(self, iteration: int) -> tuple[Floats, random.Random]:
        """Returns the direction of each parameter, 1.0 or -1.0, and the generator that drew the directions."""
        generator = random.Random(f"{self.seed}/{iteration}")
        return np.array([generator.choice((-1.0, 1.0)) for _ in self.parameters]), generator

    def _within(self, values: Floats) -> Floats:
        return np.clip(values, self._low, self._high)

    def _named(self, values: Floats) -> dict[str, int]:
        """Returns the values, rounded down and limited to their bounds, as a dict by parameter name."""
        whole = self._within(np.floor(values)).astype(int).tolist()
        return {parameter.name: value for parameter, value in zip(self.parameters, whole, strict=True)}

    def propose(self, iteration: int) -> tuple[dict[str, int], dict[str, int]]:
        """Returns the plus engine's values and the minus engine's values by name, as integers within the bounds."""
        flips, generator = self._flips(iteration)
        change = flips * self.schedule.perturbation(iteration) * self._steps
        # Options are whole numbers. Random rounding keeps the mean at the fractional value. Both engines share the
        # random numbers, so that rounding changes the difference between their values by less than 1.
        draws = np.array([generator.random() for _ in self.parameters])
        return self._named(self.values + change + draws), self._named(self.values - change + draws)

    def update(self, iteration: int, points: float) -> None:
        """Updates the values after an iteration. `points` is how many more games the plus engine won than lost.

        At a limit of nodes or depth, the caller subtracts WINS_OF_TIME times the logarithm of plus's time over minus's.
        """
        flips, _ = self._flips(iteration)
        self.values = self._within(self.values + flips * self.schedule.follow(iteration) * points * self._steps)

    def result(self) -> dict[str, int]:
        """Returns the values, rounded to the nearest integers within their bounds, as a dict by parameter name."""
        return self._named(self.values + 0.5)

    def effects(self, results: Mapping[int, float]) -> tuple[Floats, Floats] | None:
        """Returns what a step up is worth in Elo, float64[parameters], and half the widths of 95 % intervals.

        `results` are the points by iteration (see `update`). The effects are means over the values that the parameters
        had; bounds and the rounding to integers are left out. Returns None as `slopes` does.
        """
        # Of an iteration's two games, the plus engine's share of the points above a half is a quarter of its net wins.
        found = self.slopes(results)
        return found and (found[0] * ELO_OF_SHARE / 4, found[1] * ELO_OF_SHARE / 4)

    def slopes(self, differences: Mapping[int, float]) -> tuple[Floats, Floats] | None:
        """Returns by how much a step up changes what `differences` compares, and half the widths of 95 % intervals.

        `differences` has the plus engine's value minus the minus engine's by iteration. One linear regression over all
        iterations estimates all slopes, float64[parameters]. Returns None if there are too few iterations, fewer than
        LEAST_FREEDOM more than unknowns.
        """
        if len(differences) < len(self.parameters) + 1 + LEAST_FREEDOM:
            return None
        # The two engines differ by two steps for each step of perturbation.
        rows = [np.append(self._flips(one)[0] * self.schedule.perturbation(one) * 2, 1.0) for one in differences]
        moves, values = np.array(rows), np.array(list(differences.values()))
        inverse = np.linalg.pinv(moves.T @ moves)
        found = inverse @ moves.T @ values
        rest = values - moves @ found
        variance = rest @ rest / (len(rest) - len(found))
        return found[:-1], Z95 * np.sqrt(variance * np.diag(inverse)[:-1])

    def change_in_steps(self) -> Floats:
        """Returns how far each parameter is from its start value, in units of its step, as float64[parameters]."""
        change: Floats = (self.values - self._start) / self._steps
        return change


def select(table: Iterable[Tunable], only: Iterable[str] = ()) -> tuple[Tunable, ...]:
    """Returns the tunables whose names match one of the patterns `only`. Without patterns, returns all except switches.

    `*` and `?` are wildcards. A tunable whose range is less than two steps is a switch, which cannot be perturbed in
    both directions. Raises `SpsaError` if a pattern matches no tunable.
    """
    table, only = tuple(table), tuple(only)
    for pattern in only:
        if not any(fnmatchcase(row.name, pattern) for row in table):
            raise SpsaError(f"no tunable matches '{pattern}'")
    if only:
        return tuple(row for row in table if any(fnmatchcase(row.name, pattern) for pattern in only))
    return tuple(row for row in table if row.high - row.low >= 2 * row.step)
