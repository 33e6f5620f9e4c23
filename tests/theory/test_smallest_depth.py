"""The derivation: every step gives the right number and visits no more than the step before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from search.theory.smallest_depth import (
    INFINITE,
    Nested,
    max_value,
    maximum_below,
    maximum_of_minima,
    min_value,
    minimum_above,
    shallow_max,
    smallest_depth,
    smallest_depth_stopping,
    value_to_mover,
)
from tests.theory.trees_at_random import NUMBERS, nested_lists

TREES = nested_lists(NUMBERS, 60)
ROWS = st.lists(st.lists(NUMBERS, min_size=1, max_size=5), min_size=1, max_size=5)


class Watched(list[Nested]):
    """A node that counts the visited children of all nodes."""

    seen = 0

    def __iter__(self) -> Iterator[Nested]:
        for child in super().__iter__():
            Watched.seen += 1
            yield child


def watched(node: Nested) -> Nested:
    return node if isinstance(node, int) else Watched(watched(child) for child in node)


def count(search: Callable[[Nested], int], node: Nested) -> int:
    Watched.seen = 0
    search(watched(node))
    return Watched.seen


def exhaustive(node: Nested, is_max: bool = True) -> int:
    if isinstance(node, int):
        return node
    return (max if is_max else min)(exhaustive(child, not is_max) for child in node)


def test_a_leaf_that_is_near_ends_the_search() -> None:
    tree: Nested = [5, [[[1, 2], 3], 4]]
    assert smallest_depth(tree) == smallest_depth_stopping(tree) == 1
    assert count(smallest_depth, tree) == 8
    assert count(smallest_depth_stopping, tree) == 2


@given(TREES)
def test_stopping_early_finds_the_same_depth(tree: Nested) -> None:
    assert smallest_depth_stopping(tree) == smallest_depth(tree)
    assert count(smallest_depth_stopping, tree) <= count(smallest_depth, tree)


@given(st.lists(NUMBERS, min_size=1), NUMBERS)
def test_a_running_maximum_or_minimum_may_stop_at_its_limit(numbers: list[int], limit: int) -> None:
    largest, smallest = maximum_below(numbers, limit), minimum_above(numbers, limit)
    assert largest == max(numbers) if max(numbers) < limit else largest >= limit
    assert smallest == min(numbers) if min(numbers) > limit else smallest <= limit
    assert maximum_below(numbers, INFINITE) == max(numbers)


def test_limits_are_of_use() -> None:
    assert maximum_below([1, 7, 9], 5) == 7
    assert minimum_above([8, 3, 1], 5) == 3


@given(ROWS)
def test_maximum_of_minima(rows: list[list[int]]) -> None:
    assert maximum_of_minima(rows) == max(min(row) for row in rows)


@given(TREES)
def test_each_step_to_alpha_beta_finds_minimaxs_value(tree: Nested) -> None:
    true = exhaustive(tree)
    assert shallow_max(tree) == max_value(tree) == value_to_mover(tree) == true
    assert min_value(tree) == -value_to_mover(tree, -1) == exhaustive(tree, is_max=False)


@given(TREES)
def test_each_step_to_alpha_beta_looks_at_no_more(tree: Nested) -> None:
    assert count(value_to_mover, tree) == count(max_value, tree) <= count(shallow_max, tree) <= count(exhaustive, tree)


def test_deep_pruning_is_more_than_shallow_pruning() -> None:
    # MAX has 5 at the root; four plies down MIN gets 4, which no node between knows to be too little.
    tree: Nested = [5, [[[4, 8], 2], 9]]
    assert count(max_value, tree) < count(shallow_max, tree)
