"""Comparisons of how well evaluations predict the scores of searches and the results of games.

As in training, an evaluation's expected result is 1 / (1 + exp(-evaluation / scale)). The score error is the mean
squared difference between this result and the expected result of the search's score. The result error is the mean
squared difference between this result and the game's result. The score error favours evaluations that resemble the
search's own (the teacher), and is fair only between networks with the same teacher. The result error has no such bias.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.board.position import POSITION
from engine.memory import allocate
from eval.kernels.workspace import new_workspace
from eval.training.kernels.decoding import sample_evaluations
from eval.training.kernels.records import BLACK_TO_MOVE
from eval.training.pool import Reals, expected_results, fit_slope
from eval.training.samples import game_numbers
from eval.training.shards import ShardError

#: A function from SAMPLE[n] to evaluations in centipawns for the side to move, int64[n].
Evaluate = Callable[[Any], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Errors:
    """The errors of one evaluation.

    `scores` is the score error, computed with the scale of the Comparison. `results` is the result error, computed with
    `scale`: the scale in centipawns with which this evaluation predicts results best. `difference` is `results` minus
    the first evaluation's `results`. `deviation` is the standard error of the difference if games are independent.
    """

    name: str
    scores: float
    results: float
    scale: float
    difference: float
    deviation: float


@dataclass(frozen=True)
class Comparison:
    """A comparison. `scale` is the scale, in centipawns, with which the scores of searches predict results best."""

    positions: int
    games: int
    scale: float
    errors: tuple[Errors, ...]


def classical_scores(samples: Any) -> npt.NDArray[np.int64]:
    """Returns the classical evaluations of SAMPLE[n], in centipawns for the side to move, int64[n]."""
    out = np.zeros(len(samples), np.int64)
    sample_evaluations(samples, allocate(POSITION, 1), new_workspace(), out)
    return out


def compare(evaluations: Mapping[str, Evaluate], shards: Iterable[Any]) -> Comparison:
    """Compares the named `evaluations` on the SAMPLE[n] of all shards. Raises ShardError if there are no positions."""
    values: dict[str, list[Reals]] = {name: [] for name in evaluations}
    scores, results, games = [], [], []
    begun = 0
    for samples in shards:
        if not len(samples):
            continue
        games.append(begun + game_numbers(samples))
        begun = int(games[-1][-1]) + 1
        scores.append(samples["score"].astype(np.float64))
        results.append(samples["result"] * 0.5)
        white = np.where(samples["position"]["state"] & BLACK_TO_MOVE, -1.0, 1.0)
        for name, evaluation in evaluations.items():
            values[name].append(white * evaluation(samples))
    if not games:
        raise ShardError("there are no positions to compare the evaluations on")
    came, told, game = np.concatenate(results), np.concatenate(scores), np.concatenate(games)
    scale = fit_slope(told, came)
    teacher = expected_results(told, scale)
    errors: list[Errors] = []
    first: Reals | None = None
    for name in evaluations:
        value = np.concatenate(values[name])
        to_scores = float(np.mean((expected_results(value, scale) - teacher) ** 2))
        own = fit_slope(value, came)
        squares = (expected_results(value, own) - came) ** 2
        first = squares if first is None else first
        difference, deviation = _clustered(squares - first, game)
        errors.append(Errors(name, to_scores, float(np.mean(squares)), own, difference, deviation))
    return Comparison(len(game), begun, scale, tuple(errors))


def _clustered(values: Reals, games: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Returns the mean of `values` and its standard error; only values of different `games` count as independent."""
    mean = float(np.mean(values))
    sums = np.bincount(games, values - mean)
    return mean, float(np.sqrt(np.sum(sums**2)) / len(values))
