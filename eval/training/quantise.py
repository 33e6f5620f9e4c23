"""Converts a trained float network to the integers of a network file and back, and measures errors."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from eval.kernels.inference import EVALUATION_LIMIT
from eval.network.format import Network
from eval.network.layout import LOGIT, MOST_PIECES, ONE, POLICY_QB, QA, QB, SCALE
from eval.training.kernels import gradients
from eval.training.kernels.gradients import Integers, Layers, by_block, by_row
from eval.training.kernels.policy import Weights
from eval.training.kernels.records import BLACK_TO_MOVE

#: The number of positions to score at a time.
_CHUNK: Final = 65_536


def quantised(layers: Layers, provenance: dict[str, Any]) -> Network:
    """Returns `layers` as a network of integers: features in units of 1 / QA, output weights in units of 1 / QB."""
    buckets, width = layers.output.shape
    return Network(
        features=np.rint(by_row(layers.features).astype(np.float64) * QA).astype(np.int16),
        bias=np.rint(layers.bias.astype(np.float64) * QA).astype(np.int16),
        output=np.rint(layers.output.astype(np.float64) * QB).astype(np.int16).reshape(buckets, 2, width // 2),
        output_bias=np.rint(layers.output_bias.astype(np.float64) * (ONE * QB)).astype(np.int32),
        provenance=provenance,
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
    layers.features[:] = by_block(network.features / QA)
    layers.bias[:] = network.bias / QA
    stretch = SCALE / network.scale
    layers.output[:] = network.output.reshape(layers.output.shape) / (stretch * QB)
    layers.output_bias[:] = network.output_bias / (stretch * ONE * QB)


def integer_scores(network: Network, samples: Any) -> npt.NDArray[np.int64]:
    """Returns the quantised network's evaluations of SAMPLE[n], in centipawns for the side to move, int64[n]."""
    arrays = Integers(network.features, network.bias, network.output, network.output_bias)
    rows, accumulator = np.zeros((2, MOST_PIECES), np.int64), np.zeros(network.hidden, np.int64)
    out = np.zeros(len(samples), np.int64)
    for first in range(0, len(samples), _CHUNK):
        part = slice(first, first + _CHUNK)
        gradients.integer_scores(arrays, network.scale, samples[part], rows, accumulator, out[part])
    return out


def squared_errors(network: Network, samples: Any, scale: float) -> npt.NDArray[np.float64]:
    """Returns the squared differences between the network's evaluations of SAMPLE[n] and their scores, float64[n].

    Both are expected results: 1 / (1 + exp(-centipawns / scale)).
    """
    is_black = samples["position"]["state"] & BLACK_TO_MOVE != 0
    scores = np.where(is_black, -1.0, 1.0) * samples["score"]
    evals = np.clip(integer_scores(network, samples), -EVALUATION_LIMIT, EVALUATION_LIMIT)
    differences: npt.NDArray[np.float64] = (_expected(evals, scale) - _expected(scores, scale)) ** 2
    return differences


def _expected(centipawns: npt.NDArray[Any], scale: float) -> npt.NDArray[np.float64]:
    results: npt.NDArray[np.float64] = 1.0 / (1.0 + np.exp(-centipawns / scale))
    return results


def measure(network: Network, samples: Any, exact: npt.NDArray[np.float64]) -> dict[str, float]:
    """Measures how much rounding changes the float network's `exact` scores of SAMPLE[n].

    Returns a dictionary: `positions` is n; `most` and `rms` are the largest and the root mean square difference in cp.
    """
    differences = integer_scores(network, samples) - exact if len(samples) else np.zeros(1)
    most, rms = float(np.abs(differences).max()), math.sqrt(float(np.mean(differences**2)))
    return {"positions": len(samples), "most": round(most, 2), "rms": round(rms, 3)}
