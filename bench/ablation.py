"""What each technique of the search gains, from one run of games in which each side lacks random techniques.

In each pair of games each side may lack each technique, with the probability `SHARE` and independently of the others.
The result counts for each technique that one side had and the other had not, so every game measures all of them and
the intervals are narrower than those of one match for each technique. A gain is measured beside most of the other
techniques, not beside all of them, and interactions are not measured; a technique that does nothing without another one
comes out by about `SHARE` too low. (Designs of this kind are called random balance: F. E. Satterthwaite, "Random
Balance Experimentation", Technometrics 1, 1959.)

The model is that of `bench.rating`, where a side's rating is the sum of its techniques' gains: with the difference d,
in Elo, a side is expected to score 1 / (1 + 10 ** (-d / 400)). The intervals come from the sandwich estimator on
pairs, which uses the observed spread of the results. Pairs of high leverage are corrected for it (the estimator HC3 of
J. G. MacKinnon and H. White, "Some heteroskedasticity-consistent covariance matrix estimators with improved finite
sample properties", Journal of Econometrics 29, 1985), and with few pairs an interval is at least the model's own.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.pairs import PairsError
from bench.rating import RUNAWAY, UNIT, Floats, RatingError, fit_logistic
from bench.stats import Z95
from engine.files import count_of

#: Probability that a side lacks a technique in a pair of games.
SHARE: Final = 0.15

#: With fewer pairs than this for each technique the observed spread is a poor guide.
FEW_PAIRS: Final = 10


@dataclass(frozen=True, slots=True)
class Effect:
    """The gain by a technique in Elo, and half of its 95 % interval."""

    elo: float
    error: float


def left_out(techniques: Sequence[str], seed: int, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The techniques that the first and the second side of pair `number` lack.

    They depend on the arguments alone and are never the same for both sides, which would measure nothing.
    """
    rng = random.Random(f"{seed}/{number}")
    while True:
        first, second = (tuple(key for key in techniques if rng.random() < SHARE) for _ in range(2))
        if first != second:
            return first, second


def effects(techniques: Sequence[str], seed: int, results: Mapping[int, int]) -> dict[str, Effect]:
    """What each technique gains, from the points (-2 to 2) of the first side by number of pair.

    `techniques`, in this order, and `seed` are those of `left_out`. Raises `PairsError` when the pairs are too few, or
    so one-sided that a gain has no bound.
    """
    had = np.zeros((len(results), len(techniques)))
    for row, number in enumerate(sorted(results)):
        first, second = left_out(techniques, seed, number)
        had[row] = [(key in second) - (key in first) for key in techniques]
    scores = np.array([(results[number] + 2) / 4 for number in sorted(results)])
    games = 2 * len(results)
    if not results or np.linalg.matrix_rank(had) < len(techniques):
        raise PairsError(f"{games} games do not measure {count_of(len(techniques), 'technique')}: play more")
    try:
        gains = fit_logistic(had, scores)
    except RatingError as error:
        raise PairsError(f"{games} games: {error}") from None
    if np.abs(gains).max() > RUNAWAY:
        worst = techniques[int(np.abs(gains).argmax())]
        raise PairsError(f"{games} games are too one-sided to measure {worst}: play more")
    errors = Z95 * _deviations(had, scores, gains)
    return {
        key: Effect(float(gain) * UNIT, float(error) * UNIT)
        for key, gain, error in zip(techniques, gains, errors, strict=True)
    }


def _deviations(had: Floats, scores: Floats, gains: Floats) -> Floats:
    """Standard deviations of the gains, in natural units: float64[techniques]."""
    from scipy.special import expit

    expected = expit(had @ gains)
    weights = expected * (1 - expected)
    bread = np.linalg.inv((had.T * weights) @ had)
    leverages = weights * np.einsum("ij,jk,ik->i", had, bread, had)
    spread = had * ((scores - expected) / np.maximum(1 - leverages, 1e-3))[:, None]
    variances = np.diag(bread @ (spread.T @ spread) @ bread)
    if len(had) < FEW_PAIRS * had.shape[1]:
        variances = np.maximum(variances, np.diag(bread))
    return np.asarray(np.sqrt(variances), np.float64)
