"""Expected results of values in centipawns, and the slope that fits them to results."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def expected_results(centipawns: Floats, slope: float) -> Floats:
    """White's expected results, 0 to 1, for values in centipawns: 1 / (1 + exp(-centipawns / slope))."""
    expected: Floats = 1.0 / (1.0 + np.exp(-np.clip(centipawns / slope, -500.0, 500.0)))
    return expected


def fit_slope(centipawns: Floats, results: Floats) -> float:
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
