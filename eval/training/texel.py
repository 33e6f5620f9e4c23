"""The tuner of the classical evaluation, after Peter Österlund's method for Texel ("Texel's Tuning Method", Chess
Programming Wiki): it moves the weights so that the evaluation, as an expected result, is closest to the games' results.

    value    v = (middlegame * phase + endgame * scale / 64 * (24 - phase)) / 24, White's view, centipawns
    expected p = 1 / (1 + exp(-v / slope))
    loss     mean of (p - target)^2, plus `pull` * sum of (weight - prior)^2
    target   share * result + (1 - share) * 1 / (1 + exp(-score / score slope))

The slopes are fitted first, with the prior weights, and then held, so that a centipawn keeps its meaning for the
search's margins. The prior keeps weights with little evidence in the games near their old values: `pull` is the weight
in the loss of a normal prior of the given spread, if one position in `CORRELATION` counts as independent.

The gradient is exact, the price of danger included. Steps are Adam's (Kingma and Ba 2015) on shuffled batches with a
falling rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.compiler.jit import inlined, kernel
from eval.classical import FULL_PHASE
from eval.terms.endgames import FULL_SCALE
from eval.terms.king import DANGER_DIVISOR, ENDGAME_DIVISOR, MOST_DANGER
from eval.training.coefficients import IS_DANGER, Coefficients, Labelled
from eval.training.recipe import Recipe
from eval.training.shards import ShardError
from eval.weights import COUNT, GROUPS, ROWS

Weights = npt.NDArray[np.float64]

#: Rows of the breakdown that games cannot teach: the side that drives a bare king wins anyway.
FIXED_ROWS: Final = (ROWS.index("Endings"),)
#: The unit of danger is smaller than a centipawn, so the prior spread of its weights is this many times larger.
DANGER_SPREAD: Final = 2.0

#: Neighbouring positions of a game share its result: about this many are worth one independent position.
CORRELATION: Final = 30.0
#: Variance of a result around its expectation, half points of draws included.
RESULT_VARIANCE: Final = 0.12

_MOMENTUM, _SQUARES, _TINY = 0.9, 0.999, 1e-10


@inlined
def _column(data, weights, column, phase):
    """The sum of one column's counts times one phase of the weights, float64."""
    total = 0.0
    for entry in range(data.starts[column], data.starts[column + 1]):
        total += data.counts[entry] * weights[data.weights[entry], phase]
    return total


@inlined
def _clipped(danger):
    return min(max(danger, 0.0), MOST_DANGER)


@inlined
def _value(data, weights, index):
    """The evaluation of position `index` for White without rounding, float64."""
    middlegame = _column(data, weights, 3 * index, 0)
    endgame = _column(data, weights, 3 * index, 1)
    for color in range(2):
        sign = 2.0 * color - 1.0
        danger = _clipped(_column(data, weights, 3 * index + 1 + color, 0))
        middlegame += sign * danger * danger / DANGER_DIVISOR
        endgame += sign * _clipped(_column(data, weights, 3 * index + 1 + color, 1)) / ENDGAME_DIVISOR
    phase = data.phases[index] / FULL_PHASE
    scale = data.scales[index] / FULL_SCALE
    if scale == 0.0:
        return 0.0
    return middlegame * phase + endgame * scale * (1.0 - phase)


@kernel
def values(data, weights, out):
    """Writes the evaluation of every position for White into `out`, float64[n] (mutated).

    `data` is Coefficients, `weights` float64[COUNT][2].
    """
    for index in range(out.size):
        out[index] = _value(data, weights, index)


@inlined
def _add_column(data, column, phase, factor, gradient):
    """Adds `factor` times one column's counts to one phase of the gradient. Mutates `gradient`."""
    for entry in range(data.starts[column], data.starts[column + 1]):
        gradient[data.weights[entry], phase] += factor * data.counts[entry]


@kernel
def loss_and_gradient(data, weights, chosen, slope, gradient):
    """Mean squared error over the positions `chosen` (int64[m]); adds its derivatives to `gradient` (mutated).

    `data` is Coefficients, `weights` and `gradient` float64[COUNT][2].
    """
    loss = 0.0
    for index in chosen:
        expected = 1.0 / (1.0 + math.exp(-_value(data, weights, index) / slope))
        error = expected - data.targets[index]
        loss += error * error
        if data.scales[index] == 0:
            continue
        # d loss / d value, then by the chain rule down to the weights.
        steepness = 2.0 * error * expected * (1.0 - expected) / slope / chosen.size
        phase = data.phases[index] / FULL_PHASE
        middlegame = steepness * phase
        endgame = steepness * (1.0 - phase) * data.scales[index] / FULL_SCALE
        _add_column(data, 3 * index, 0, middlegame, gradient)
        _add_column(data, 3 * index, 1, endgame, gradient)
        for color in range(2):
            sign = 2.0 * color - 1.0
            column = 3 * index + 1 + color
            danger = _column(data, weights, column, 0)
            if 0.0 < danger < MOST_DANGER:
                _add_column(data, column, 0, sign * middlegame * 2.0 * danger / DANGER_DIVISOR, gradient)
            if 0.0 < _column(data, weights, column, 1) < MOST_DANGER:
                _add_column(data, column, 1, sign * endgame / ENDGAME_DIVISOR, gradient)
    return loss / chosen.size


def expected_results(centipawns: npt.NDArray[np.float64], slope: float) -> npt.NDArray[np.float64]:
    """White's expected results, 0 to 1, for values in centipawns."""
    expected: npt.NDArray[np.float64] = 1.0 / (1.0 + np.exp(-np.clip(centipawns / slope, -500.0, 500.0)))
    return expected


def fit_slope(centipawns: npt.NDArray[np.float64], results: npt.NDArray[np.float64]) -> float:
    """The slope with which values predict results best (least squares), by golden section between 20 and 2000."""

    def loss(log_slope: float) -> float:
        return float(np.mean((expected_results(centipawns, math.exp(log_slope)) - results) ** 2))

    low, high, ratio = math.log(20.0), math.log(2000.0), (math.sqrt(5.0) - 1.0) / 2.0
    while high - low > 1e-4:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if loss(left) <= loss(right):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2.0)


@dataclass(frozen=True)
class Outcome:
    """Tuned weights float64[COUNT][2], the slopes of evaluation and score, and the mean squared errors on training
    and validation positions: before tuning and after each epoch.
    """

    weights: Weights
    slope: float
    score_slope: float
    training: list[float]
    validation: list[float]


def split_games(games: npt.NDArray[np.int64], share: float, seed: int) -> npt.NDArray[np.bool_]:
    """Which positions are for validation: those of about `share` of the games, chosen by `seed`."""
    numbers, inverse = np.unique(games, return_inverse=True)
    held_out: npt.NDArray[np.bool_] = (np.random.default_rng(seed).random(len(numbers)) < share)[inverse]
    return held_out


def targets_of(labelled: Labelled, share: float) -> tuple[npt.NDArray[np.float64], float]:
    """The blend of results and scores, and the slope fitted to the scores."""
    score_slope = fit_slope(labelled.scores, labelled.results)
    return share * labelled.results + (1.0 - share) * expected_results(labelled.scores, score_slope), score_slope


def mean_error(data: Coefficients, weights: Weights, chosen: npt.NDArray[np.int64], slope: float) -> float:
    """Mean squared error over some positions."""
    return float(loss_and_gradient(data, weights, chosen, slope, np.zeros_like(weights))) if len(chosen) else math.nan


def _spreads(prior: float) -> Weights:
    """Spread of the prior of each weight, float64[COUNT][1]; 0 for fixed weights."""
    spreads = np.full((COUNT, 1), float(prior))
    spreads[IS_DANGER] *= DANGER_SPREAD
    for group in GROUPS:
        if group.row in FIXED_ROWS:
            spreads[group.first : group.first + group.size] = 0.0
    return spreads


def tune(
    labelled: Labelled, prior: Weights, recipe: Recipe, on_epoch: Callable[[int, float, float], None] | None = None
) -> Outcome:
    """Tunes all weights from their `prior` values. The same positions, recipe and machine give the same weights.

    `on_epoch(number, training error, validation error)` is called before the first epoch (number 0) and after each.
    """
    targets, score_slope = targets_of(labelled, recipe.result_share)
    data = labelled.coefficients._replace(targets=targets)
    initial = np.zeros(data.size)
    values(data, prior, initial)
    slope = fit_slope(initial, labelled.results)
    held_out = split_games(labelled.games, recipe.validation, recipe.seed)
    training, validation = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    if not len(training):
        raise ShardError("there are no positions to tune on")
    spreads = _spreads(recipe.prior)
    is_free = spreads > 0.0
    pull = RESULT_VARIANCE * CORRELATION / len(training) / np.where(is_free, spreads, 1.0) ** 2

    weights, rng = prior.copy(), np.random.default_rng(recipe.seed)
    momentum, squares = np.zeros_like(weights), np.zeros_like(weights)
    steps = -(-len(training) // recipe.batch)
    errors: list[tuple[float, float]] = []

    # The training error of a sample as large as the validation set is accurate enough.
    sample = training[:: max(1, len(training) // max(len(validation), recipe.batch))].copy()

    def note(epoch: int) -> None:
        errors.append((mean_error(data, weights, sample, slope), mean_error(data, weights, validation, slope)))
        if on_epoch is not None:
            on_epoch(epoch, *errors[-1])

    note(0)
    for epoch in range(recipe.epochs):
        rng.shuffle(training)
        for step in range(steps):
            done = epoch * steps + step
            rate = recipe.rate * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * done / (steps * recipe.epochs))))
            gradient = 2.0 * pull * (weights - prior)
            loss_and_gradient(data, weights, training[step * recipe.batch : (step + 1) * recipe.batch], slope, gradient)
            momentum += (1.0 - _MOMENTUM) * (gradient - momentum)
            squares += (1.0 - _SQUARES) * (gradient**2 - squares)
            corrected = momentum / (1.0 - _MOMENTUM ** (done + 1))
            size = np.sqrt(squares / (1.0 - _SQUARES ** (done + 1)))
            weights -= np.where(is_free, rate * corrected / (size + _TINY), 0.0)
        note(epoch + 1)
    return Outcome(weights, slope, score_slope, [one for one, _ in errors], [two for _, two in errors])
