"""Fits the model of results (see `search.outcome`) to self-play games, by maximum likelihood.

Positions are counted by material, White's score and White's result; the model treats both sides alike. The fit treats
positions as independent. Neighbouring positions of a game are dependent, but the estimates are consistent nevertheless.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from eval.training.shards import ShardError
from search.outcome import FULL_MATERIAL, LEAST_MATERIAL, PIECE_MATERIAL

#: Scores are counted in steps of SCORE_STEP centipawns. Positions with scores beyond +-SCORE_LIMIT are left out. They
#: are won, except after blunders. Blunders are frequent in self-play with few nodes, and they would distort the fit.
SCORE_STEP: Final = 10
SCORE_LIMIT: Final = 400
BINS: Final = 2 * SCORE_LIMIT // SCORE_STEP + 1

#: The number of coefficients of each of the two polynomials.
DEGREE: Final = 3

#: The material of each piece code of a packed position; code 7 is a rook that may castle.
_CODE_MATERIAL: Final = np.array([*PIECE_MATERIAL, PIECE_MATERIAL[4]], np.int64)

Counts = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """The coefficients of the two polynomials in centipawns, lowest power first, and the quality of the fit.

    `loss` is the mean negative logarithm of the chance that the model gives to the actual result; `plain_loss` is the
    same mean for a model whose chances are the shares of the results in all positions.
    """

    win_score: tuple[float, ...]
    spread: tuple[float, ...]
    positions: int
    loss: float
    plain_loss: float


def count_results(batches: Iterable[npt.NDArray[np.void]]) -> Counts:
    """Counts positions by material, score and White's result (loss, draw, win): float64[FULL_MATERIAL + 1][BINS][3]."""
    counts = np.zeros((FULL_MATERIAL + 1, BINS, 3))
    for samples in batches:
        samples = samples[np.abs(samples["score"].astype(np.int64)) <= SCORE_LIMIT]
        pieces = samples["position"]["pieces"].astype(np.int64)
        material = (_CODE_MATERIAL[pieces & 7] + _CODE_MATERIAL[pieces >> 4 & 7]).sum(axis=1)
        material = np.clip(material, LEAST_MATERIAL, FULL_MATERIAL)
        index = (samples["score"].astype(np.int64) + SCORE_LIMIT + SCORE_STEP // 2) // SCORE_STEP
        np.add.at(counts, (material, index, samples["result"].astype(np.int64)), 1.0)
    return counts


def bin_scores() -> npt.NDArray[np.float64]:
    """Returns the score in the middle of each bin, float64[BINS]."""
    return np.arange(BINS, dtype=np.float64) * SCORE_STEP - SCORE_LIMIT


def chances(parameters: npt.NDArray[np.float64]) -> Counts:
    """Returns the chances of each result by material and score, in the shape of the counts. `parameters` are the
    coefficients of two polynomials: the win score, raised to at least 1 cp, and the spread, raised to at least 5 cp.
    """
    share = np.arange(FULL_MATERIAL + 1) / FULL_MATERIAL
    powers = share[:, None] ** np.arange(DEGREE)
    win_score = np.maximum(powers @ parameters[:DEGREE], 1.0)[:, None]
    spread = np.maximum(powers @ parameters[DEGREE:], 5.0)[:, None]
    score = bin_scores()[None, :]
    win = 1.0 / (1.0 + np.exp(np.clip((win_score - score) / spread, -500.0, 500.0)))
    loss = 1.0 / (1.0 + np.exp(np.clip((win_score + score) / spread, -500.0, 500.0)))
    return np.stack([loss, 1.0 - win - loss, win], axis=-1)


def mean_loss(counts: Counts, given: Counts) -> float:
    """Returns the mean negative logarithm of the chances `given` to the counted results."""
    return float(-(counts * np.log(np.maximum(given, 1e-9))).sum() / counts.sum())


def fit(counts: Counts) -> Fit:
    """Returns the model that fits the counts best. Raises ShardError if all counts are 0."""
    from scipy.optimize import minimize

    if not counts.sum():
        raise ShardError("there are no positions to fit the model to")
    start = np.array([150.0, 0.0, 0.0, 80.0, 0.0, 0.0])
    found = minimize(
        lambda scaled: mean_loss(counts, chances(100.0 * scaled)),
        start / 100.0,
        method="Nelder-Mead",
        options={"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-4, "fatol": 1e-9, "adaptive": True},
    )
    parameters = 100.0 * found.x
    plain = np.broadcast_to(counts.sum(axis=(0, 1)) / counts.sum(), counts.shape)
    rounded = tuple(round(float(number), 1) for number in parameters)
    return Fit(rounded[:DEGREE], rounded[DEGREE:], int(counts.sum()), float(found.fun), mean_loss(counts, plain))


def calibration(counts: Counts, fitted: Fit) -> list[tuple[int, int, float, float]]:
    """Returns (mean score, positions, mean expected points, mean actual points) for each non-empty range of scores."""
    given = chances(np.array([*fitted.win_score, *fitted.spread]))
    rows = []
    edges = (-400, -250, -150, -80, -40, -15, 15, 40, 80, 150, 250, 400)
    scores = bin_scores()
    for low, high in pairwise((-SCORE_LIMIT - 1, *edges)):
        inside = (scores > low) & (scores <= high)
        part, there = counts[:, inside], given[:, inside]
        total = part.sum()
        if total:
            came = (part[..., 2] + 0.5 * part[..., 1]).sum() / total
            expected = (part.sum(axis=-1) * (there[..., 2] + 0.5 * there[..., 1])).sum() / total
            middle = float((part.sum(axis=(0, 2)) * scores[inside]).sum() / total)
            rows.append((round(middle), int(total), float(expected), float(came)))
    return rows
