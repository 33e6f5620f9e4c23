"""The optimiser: AdamW (Loshchilov and Hutter 2019) over all parameters, with clipped gradients and weights."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from engine.compiler.jit import float_kernel

MOMENTUM: Final = 0.9
SQUARES: Final = 0.999
TINY: Final = np.float32(1e-8)
_ZERO: Final = np.float32(0.0)
_NEW_MOMENTUM: Final = np.float32(1.0 - MOMENTUM)
_NEW_SQUARES: Final = np.float32(1.0 - SQUARES)

#: Parameters stay between -1.94 and 1.94. Then the bias plus the weights of 32 pieces, in units of 1 / QA, fits into an
#: int16 accumulator, and an output weight is within OUTPUT_LIMIT.
MOST_WEIGHT: Final = np.float32(1.94)


class Step(NamedTuple):
    """The factors of one step, all np.float32.

    A step multiplies the gradient by `shrink` (1 if the gradient is not clipped), the parameters by `keep` (for weight
    decay), the momentum by `length` (which contains the learning rate) and the squares by `spread`. `length` and
    `spread` also correct the bias of the averages, which start at 0.
    """

    shrink: np.float32
    keep: np.float32
    length: np.float32
    spread: np.float32


def make_step(number: int, rate: float, decay: float, norm: float, most_norm: float) -> Step:
    """Returns step `number` (1 or more). A gradient whose `norm` exceeds `most_norm` is scaled down to `most_norm`."""
    shrink = most_norm / norm if norm > most_norm else 1.0
    length, spread = rate / (1.0 - MOMENTUM**number), 1.0 / (1.0 - SQUARES**number)
    return Step(np.float32(shrink), np.float32(1.0 - rate * decay), np.float32(length), np.float32(spread))


@float_kernel
def reduce_gradients(gradients, scale):
    """Sets row 0 of `gradients`, float32[threads][n], to `scale` (float32) times the sum of all rows; zeroes the rest.

    Returns the squared norm of the new `gradients[0]`, float64. Mutates `gradients`.
    """
    for thread in range(1, gradients.shape[0]):
        for index in range(gradients.shape[1]):
            gradients[0, index] += gradients[thread, index]
            gradients[thread, index] = _ZERO
    norm = 0.0
    for index in range(gradients.shape[1]):
        value = gradients[0, index] * scale
        gradients[0, index] = value
        norm += np.float64(value) * np.float64(value)
    return norm


@float_kernel
def adamw_step(parameters, momentum, squares, gradient, step):
    """Updates all parameters by one Step, limits them to +-MOST_WEIGHT, and zeroes the gradient.

    Mutates `parameters`, `momentum`, `squares` and `gradient`, float32[n] each.
    """
    for index in range(parameters.size):
        slope = gradient[index] * step.shrink
        gradient[index] = _ZERO
        mean = momentum[index] + _NEW_MOMENTUM * (slope - momentum[index])
        square = squares[index] + _NEW_SQUARES * (slope * slope - squares[index])
        momentum[index] = mean
        squares[index] = square
        value = parameters[index] * step.keep - step.length * mean / (math.sqrt(square * step.spread) + TINY)
        value = value if value < MOST_WEIGHT else MOST_WEIGHT
        parameters[index] = value if value > -MOST_WEIGHT else -MOST_WEIGHT
