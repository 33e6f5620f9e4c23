"""`highest` finds the maximum, wherever the numbers begin and end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.compiler.jit import kernel
from search.kernels.highest import LANES, LOWEST, highest


@kernel
def _highest(numbers: Any, first: Any, end: Any) -> Any:
    return highest(numbers, first, end)


@pytest.mark.parametrize("count", [1, 2, LANES - 1, LANES, LANES + 1, 3 * LANES - 1, 3 * LANES])
@pytest.mark.parametrize("first", [0, 1, 5, LANES])
def test_every_place_can_be_the_highest(first: int, count: int) -> None:
    rng = np.random.default_rng(count)
    for place in range(count):
        numbers = rng.integers(-(1 << 62), 1 << 62, first + count + LANES)
        # What is in front does not count.
        numbers[:first] = np.iinfo(np.int64).max
        numbers[first + place] = numbers[first : first + count].max() + 1
        numbers[first + count :] = LOWEST
        assert _highest(numbers, first, first + count) == numbers[first + place] == max(numbers[first : first + count])


def test_the_lowest_number_is_one() -> None:
    assert _highest(np.full(1 + LANES, LOWEST), 0, 1) == LOWEST
