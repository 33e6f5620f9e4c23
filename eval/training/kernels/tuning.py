"""The kernels of the classical evaluation's tuner: they count weights in positions, and compute the loss's gradient.

The counts come from tracing the evaluation itself (`evaluation_terms`), and only those that are not zero are kept. For
weights in centipawns only White's count less Black's matters. Danger is stored for each colour separately, because its
price is not linear; an attack that is too small to have a price has no entries.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.compiler.jit import inlined, kernel
from eval.kernels.classical import FULL_PHASE, evaluation_terms
from eval.terms.endgames import FULL_SCALE
from eval.terms.king import DANGER_DIVISOR, ENDGAME_DIVISOR, MOST_DANGER
from eval.training.kernels.records import unpack
from eval.weights import ATTACK_BASE

#: Columns of a position: centipawns (White less Black), danger from Black, danger from White.
COLUMNS: Final = 3


class Coefficients(NamedTuple):
    """The coefficients of n positions.

    Column c of position i has `counts[k]` (int16) of weight `weights[k]` (uint16) for k from `starts[3 i + c]` up to
    `starts[3 i + c + 1]` (int64[3 n + 1]). `phases` and `scales` (uint8[n]) are the evaluation's own, `targets`
    (float64[n]) is the expected result for White, 0 to 1.
    """

    starts: npt.NDArray[np.int64]
    weights: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.int16]
    phases: npt.NDArray[np.uint8]
    scales: npt.NDArray[np.uint8]
    targets: npt.NDArray[np.float64]


@kernel
def collect(samples, line, workspace, trace, summary, is_danger, starts, weights, counts):
    """Traces SAMPLE[n] and appends the counts that are not zero from entry 0 on.

    Mutates all arguments but `samples` and `is_danger` (bool[COUNT]). `line` is POSITION[1] scratch, `summary`
    int64[n][SUMMARY], `starts` int64[3 n + 1]; the entries are uint16[] and int16[].
    """
    entry = 0
    starts[0] = 0
    for index in range(samples.size):
        unpack(samples[index].position, line[0])
        evaluation_terms(line[0], workspace, trace, summary[index])
        for weight in range(is_danger.size):
            count = trace[1, weight] - trace[0, weight]
            if count != 0 and not is_danger[weight]:
                weights[entry] = weight
                counts[entry] = count
                entry += 1
        starts[3 * index + 1] = entry
        for color in range(2):
            if trace[color, ATTACK_BASE] != 0:
                for weight in range(is_danger.size):
                    count = trace[color, weight]
                    if count != 0 and is_danger[weight]:
                        weights[entry] = weight
                        counts[entry] = count
                        entry += 1
            starts[3 * index + 2 + color] = entry


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
