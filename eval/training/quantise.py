"""Converts a trained float network to the integers of a network file and back, and measures errors."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engine.board.position import POSITION
from engine.memory import allocate
from eval.kernels.inference import EVALUATION_LIMIT
from eval.network.format import Network
from eval.network.layout import FEATURES, LOGIT, ONE, POLICY_QB, QA, QB, SCALE
from eval.training.kernels import gradients
from eval.training.kernels.gradients import MOST_ROWS, Integers, Layers, by_block, by_row
from eval.training.kernels.policy import Weights
from eval.training.kernels.records import BLACK_TO_MOVE
from eval.training.pool import expected_results

#: The number of positions to score at a time.
_CHUNK: Final = 65_536
#: `rescaled_errors` fits a polynomial of tanh(evaluation in centipawns / _FIT_SCALE) and of the number of pieces, with
#: so many powers of each, to every other block of so many positions.
_FIT_SCALE: Final = 400.0
_FIT_POWERS: Final = 8, 3
_FIT_BLOCK: Final = 50


def quantised(layers: Layers, provenance: dict[str, Any]) -> Network:
    """Returns `layers` as a network of integers: features and threats in units of 1 / QA, output weights of 1 / QB.

    Weights of threats are limited to 127 units.
    """
    buckets, width = layers.output.shape
    rows = np.rint(by_row(layers.features).astype(np.float64) * QA)
    return Network(
        features=rows[:FEATURES].astype(np.int16),
        bias=np.rint(layers.bias.astype(np.float64) * QA).astype(np.int16),
        output=np.rint(layers.output.astype(np.float64) * QB).astype(np.int16).reshape(buckets, 2, width // 2),
        output_bias=np.rint(layers.output_bias.astype(np.float64) * (ONE * QB)).astype(np.int32),
        provenance=provenance,
        threats=np.clip(rows[FEATURES:], -127, 127).astype(np.int8) if len(rows) > FEATURES else None,
    )


def with_policy(network: Network, weights: Weights, provenance: dict[str, Any]) -> Network:
    """Returns `network` with `weights` as its policy of integers, and `provenance` as its own, under "policy"."""
    return replace(
        network,
        policy_rows=np.clip(np.rint(weights.rows.astype(np.float64) * POLICY_QB), -127, 127).astype(np.int8),
        policy_bias=np.rint(weights.bias.astype(np.float64) * LOGIT).astype(np.int32),
        provenance={**network.provenance, "policy": provenance},
    )


def restore(network: Network, layers: Layers) -> None:
    """Writes a network's weights into `layers` (mutated) of the same size: inverts `quantised`, except for rounding."""
    layers.features[:] = by_block(network.all_rows() / QA)
    layers.bias[:] = network.bias / QA
    stretch = SCALE / network.scale
    layers.output[:] = network.output.reshape(layers.output.shape) / (stretch * QB)
    layers.output_bias[:] = network.output_bias / (stretch * ONE * QB)


def integer_scores(network: Network, samples: Any) -> npt.NDArray[np.int64]:
    """Returns the quantised network's evaluations of SAMPLE[n], in centipawns for the side to move, int64[n]."""
    arrays = Integers(network.all_rows(), network.bias, network.output, network.output_bias)
    rows, accumulator = np.zeros((2, MOST_ROWS), np.int64), np.zeros(network.hidden, np.int64)
    board = allocate(POSITION, 1)[0]
    out = np.zeros(len(samples), np.int64)
    for first in range(0, len(samples), _CHUNK):
        part = slice(first, first + _CHUNK)
        gradients.integer_scores(arrays, network.scale, samples[part], board, rows, accumulator, out[part])
    return out


def predictions(network: Network, samples: Any) -> npt.NDArray[np.int64]:
    """Returns the quantised network's evaluations of SAMPLE[n] within +-EVALUATION_LIMIT, as `integer_scores`."""
    return np.clip(integer_scores(network, samples), -EVALUATION_LIMIT, EVALUATION_LIMIT)


def searched_scores(samples: Any) -> npt.NDArray[np.int64]:
    """Returns the scores of SAMPLE[n], in centipawns for the side to move, int64[n]."""
    is_black = samples["position"]["state"] & BLACK_TO_MOVE != 0
    scores: npt.NDArray[np.int64] = np.where(is_black, -1, 1) * samples["score"].astype(np.int64)
    return scores


def squared_errors(
    evals: npt.NDArray[np.int64], scores: npt.NDArray[np.int64], scale: float
) -> npt.NDArray[np.float64]:
    """Returns the squared differences between evaluations and scores (centipawns, int64[n]), float64[n].

    Both are expected results: 1 / (1 + exp(-centipawns / scale)).
    """
    differences: npt.NDArray[np.float64] = (expected_results(evals, scale) - expected_results(scores, scale)) ** 2
    return differences


def rescaled_errors(
    evals: npt.NDArray[np.int64], scores: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64], scale: float
) -> npt.NDArray[np.float64]:
    """Returns `squared_errors` after the best correction that depends on the evaluation and the number of pieces alone.

    `pieces`, int64[n], are the numbers of pieces. The correction is a polynomial, fitted by least squares; each half of
    the positions (every other block of _FIT_BLOCK) gets the one that fits the other half. With fewer than some thousand
    positions, the fit's own noise adds to the errors.
    """
    given, wanted = expected_results(evals, scale), expected_results(scores, scale)
    half = np.arange(len(evals)) // _FIT_BLOCK % 2
    # Positions may be many, so there are never terms for more than _CHUNK of them.
    parts = [slice(first, first + _CHUNK) for first in range(0, len(evals), _CHUNK)]
    size = math.prod(_FIT_POWERS)
    matrices, vectors = np.zeros((2, size, size)), np.zeros((2, size))
    for part in parts:
        terms, rest = _terms(evals[part], pieces[part]), (wanted - given)[part]
        for number in range(2):
            fitted = half[part] != number
            matrices[number] += terms[fitted].T @ terms[fitted]
            vectors[number] += terms[fitted].T @ rest[fitted]
    weights = np.stack([np.linalg.lstsq(*system)[0] for system in zip(matrices, vectors, strict=True)])
    errors = np.zeros(len(evals))
    for part in parts:
        corrections = np.sum(_terms(evals[part], pieces[part]) * weights[half[part]], axis=1)
        errors[part] = (given[part] + corrections - wanted[part]) ** 2
    return errors


def _terms(evals: npt.NDArray[np.int64], pieces: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Returns the terms of the polynomial that `rescaled_errors` fits, float64[n][number of terms]."""
    size, phase = np.tanh(evals / _FIT_SCALE), (pieces - 16) / 16
    powers = itertools.product(*map(range, _FIT_POWERS))
    return np.stack([size**first * phase**second for first, second in powers], axis=1)


def measure(network: Network, samples: Any, exact: npt.NDArray[np.float64]) -> dict[str, float]:
    """Measures how much rounding changes the float network's `exact` scores of SAMPLE[n].

    Returns a dictionary: `positions` is n; `most` and `rms` are the largest and the root mean square difference in cp.
    """
    differences = integer_scores(network, samples) - exact if len(samples) else np.zeros(1)
    most, rms = float(np.abs(differences).max()), math.sqrt(float(np.mean(differences**2)))
    return {"positions": len(samples), "most": round(most, 2), "rms": round(rms, 3)}
