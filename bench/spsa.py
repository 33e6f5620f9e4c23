"""Simultaneous perturbation stochastic approximation (SPSA): many parameters tuned at once by paired games.

Each iteration moves every parameter at random one way or the other, plays the engine with all of these changes against
the engine with all of them reversed, and moves every parameter a little towards the side that won. An iteration takes
two measurements, however many parameters there are. (J. C. Spall, IEEE Transactions on Automatic Control 37, 1992, and
IEEE Transactions on Aerospace and Electronic Systems 34, 1998. The form for games, with gains given by their last
values, is that of Stockfish's fishtest.)
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.errors import CommandError
from search.tunables import Tunable

Floats = NDArray[np.float64]

#: Spall's exponents of gain and perturbation: the smallest for which the theory holds.
ALPHA: Final = 0.602
GAMMA: Final = 0.101
#: The gain's stability constant as a share of the iterations.
STABILITY: Final = 0.1

#: Default of the gain, times the iterations: the drift of a parameter in a whole run, in its steps, then does not
#: depend on the length; 0.002 is fishtest's custom for runs of about 30,000 pairs. Short runs would only follow noise.
GAIN_ITERATIONS: Final = 60.0
GAIN_MAX: Final = 0.02


def default_gain(iterations: int) -> float:
    """The gain for a run of that length, unless told otherwise."""
    return min(GAIN_ITERATIONS / max(iterations, 1), GAIN_MAX)


class SpsaError(CommandError, ValueError):
    """A run that makes no sense; the message is one line."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How far an iteration, counted from 0, perturbs and follows.

    In the last of `iterations` a parameter is perturbed by its step (Spall's c), and a point won moves it by `gain`
    steps (fishtest's R); both are larger before.
    """

    iterations: int
    gain: float

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise SpsaError(f"iterations is at least 1, not {self.iterations}")
        if not 0 < self.gain < math.inf:
            raise SpsaError(f"the gain is greater than 0, not {self.gain:g}")

    def perturbation(self, iteration: int) -> float:
        """Steps by which a parameter is perturbed: c_k / c_end."""
        return math.pow(self.iterations / (iteration + 1), GAMMA)

    def follow(self, iteration: int) -> float:
        """Steps by which a parameter moves for each point won: a_k / (c_k c_end)."""
        stability = STABILITY * self.iterations
        decay = math.pow((stability + self.iterations) / (stability + iteration + 1), ALPHA)
        return self.gain * decay / self.perturbation(iteration)


class Spsa:
    """The state of a run: `values`, float64[parameters], kept within their bounds.

    `propose` an iteration, play it, and `update`. Iterations may be updated in any order and several may be under way.
    What an iteration tries depends only on `seed`, its number and the values.
    """

    def __init__(self, parameters: Iterable[Tunable], schedule: Schedule, seed: int = 0) -> None:
        self.parameters = tuple(parameters)
        self.schedule = schedule
        self.seed = seed
        rows = [(row.default, row.low, row.high, row.step) for row in self.parameters]
        self._start, self._low, self._high, self._steps = np.array(rows, np.float64).T
        self.values = self._start.copy()

    def _flips(self, iteration: int) -> tuple[Floats, random.Random]:
        """The direction of each parameter, 1 or -1, and the generator that has drawn them."""
        generator = random.Random(f"{self.seed}/{iteration}")
        return np.array([generator.choice((-1.0, 1.0)) for _ in self.parameters]), generator

    def _within(self, values: Floats) -> Floats:
        return np.clip(values, self._low, self._high)

    def _named(self, values: Floats) -> dict[str, int]:
        """The values by name, rounded down, within the bounds."""
        whole = self._within(np.floor(values)).astype(int).tolist()
        return {parameter.name: value for parameter, value in zip(self.parameters, whole, strict=True)}

    def propose(self, iteration: int) -> tuple[dict[str, int], dict[str, int]]:
        """The values of both sides by name, whole numbers within the bounds: the plus side's and the minus side's."""
        flips, generator = self._flips(iteration)
        change = flips * self.schedule.perturbation(iteration) * self._steps
        # Engines take whole numbers. Rounded at random, they have the fractional value as their mean; both sides share
        # the draw, so that they differ no more than they should.
        draws = np.array([generator.random() for _ in self.parameters])
        return self._named(self.values + change + draws), self._named(self.values - change + draws)

    def update(self, iteration: int, points: float) -> None:
        """Takes the result of an iteration: games won minus games lost by the plus side."""
        flips, _ = self._flips(iteration)
        self.values = self._within(self.values + flips * self.schedule.follow(iteration) * points * self._steps)

    def result(self) -> dict[str, int]:
        """The nearest whole values, by name."""
        return self._named(self.values + 0.5)

    def change_in_steps(self) -> Floats:
        """The distance of each parameter from its start, in units of its step: float64[parameters]."""
        change: Floats = (self.values - self._start) / self._steps
        return change


def select(table: Iterable[Tunable], only: Iterable[str] = ()) -> tuple[Tunable, ...]:
    """The tunables whose names match one of the patterns `only`; without any, all but switches.

    `*` and `?` are wildcards. A tunable whose range is less than two steps is a switch, which cannot be perturbed to
    both sides. Raises `SpsaError` when a pattern matches nothing or nothing is left.
    """
    table, only = tuple(table), tuple(only)
    for pattern in only:
        if not any(fnmatchcase(row.name, pattern) for row in table):
            raise SpsaError(f"no tunable is called '{pattern}'")
    if only:
        return tuple(row for row in table if any(fnmatchcase(row.name, pattern) for pattern in only))
    return tuple(row for row in table if row.high - row.low >= 2 * row.step)
