"""Converts a trained float network to the integers of a network file and back, and measures the loss in centipawns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.compiler.jit import kernel
from eval.network.features import output_bucket
from eval.network.format import SCALE, Network
from eval.network.layout import MOST_PIECES, OUTPUT_LIMIT, QA, QB
from eval.training.gradients import Layers, sample_features

#: Positions scored at a time.
_CHUNK: Final = 65_536


class Integers(NamedTuple):
    """A quantised network's arrays as `eval.network.format.Network` has them."""

    features: npt.NDArray[np.int16]
    bias: npt.NDArray[np.int16]
    output: npt.NDArray[np.int16]
    output_bias: npt.NDArray[np.int32]


@dataclass(frozen=True)
class Loss:
    """The change by rounding, in centipawns: number of positions, largest and root mean square difference."""

    positions: int
    most: float
    rms: float


def quantised(layers: Layers, provenance: dict[str, Any]) -> Network:
    """The network with features in units of 1 / QA and outputs in units of 1 / QB, rounded to nearest.

    Output weights are small, and their integers go only from -127 to 127. So they are stretched until the largest one
    is 127, and the network's scale is reduced from SCALE by the same factor. In a network of 128 units, this reduced
    the error from 13.7 centipawns to 2.5.
    """
    buckets, width = layers.output.shape
    output = layers.output.astype(np.float64)
    scale = max(math.ceil(SCALE * float(np.abs(output).max()) * QB / OUTPUT_LIMIT), 1)
    stretch = SCALE / scale
    return Network(
        features=np.rint(layers.features.astype(np.float64) * QA).astype(np.int16),
        bias=np.rint(layers.bias.astype(np.float64) * QA).astype(np.int16),
        output=np.rint(output * (stretch * QB)).astype(np.int16).reshape(buckets, 2, width // 2),
        output_bias=np.rint(layers.output_bias.astype(np.float64) * (stretch * QA * QB)).astype(np.int32),
        scale=scale,
        provenance=provenance,
    )


def restore(network: Network, layers: Layers) -> None:
    """Writes a network's weights into `layers` (mutated), which must be of its size: the inverse of `quantised`."""
    layers.features[:] = network.features / QA
    layers.bias[:] = network.bias / QA
    stretch = SCALE / network.scale
    layers.output[:] = network.output.reshape(layers.output.shape) / (stretch * QB)
    layers.output_bias[:] = network.output_bias / (stretch * QA * QB)


@kernel
def _integer_scores(network, scale, samples, rows, accumulator, out):
    """Writes the evaluation of SAMPLE[n] in centipawns, as `eval.network.layout` defines it, into `out` int64[n].

    `network` is Integers. Mutates `rows` int64[2][32], `accumulator` int64[H] and `out`.
    """
    for index in range(samples.size):
        pieces = sample_features(samples[index].position, rows)
        bucket = output_bucket(pieces, network.output_bias.size)
        total = np.int64(0)
        for side in range(2):
            for unit in range(accumulator.size):
                accumulator[unit] = network.bias[unit]
            for piece in range(pieces):
                for unit in range(accumulator.size):
                    accumulator[unit] += network.features[rows[side, piece], unit]
            for unit in range(accumulator.size):
                clipped = min(max(accumulator[unit], 0), QA)
                total += clipped * clipped * np.int64(network.output[bucket, side, unit])
        out[index] = (total // QA + np.int64(network.output_bias[bucket])) * scale // (QA * QB)


def integer_scores(network: Network, samples: Any) -> npt.NDArray[np.int64]:
    """The quantised network's evaluations of SAMPLE[n], in centipawns for the side to move, int64[n]."""
    arrays = Integers(network.features, network.bias, network.output, network.output_bias)
    rows, accumulator = np.zeros((2, MOST_PIECES), np.int64), np.zeros(network.hidden, np.int64)
    out = np.zeros(len(samples), np.int64)
    for first in range(0, len(samples), _CHUNK):
        part = slice(first, first + _CHUNK)
        _integer_scores(arrays, network.scale, samples[part], rows, accumulator, out[part])
    return out


def measure(network: Network, samples: Any, exact: npt.NDArray[np.float64]) -> Loss:
    """The difference between a quantised network and the `exact` scores of the float network for SAMPLE[n]."""
    if not len(samples):
        return Loss(0, 0.0, 0.0)
    differences = integer_scores(network, samples) - exact
    return Loss(len(samples), float(np.abs(differences).max()), math.sqrt(float(np.mean(differences**2))))
