"""Algorithms by name: right on every tree, at any depth, and refused where they do not belong."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given

from search.theory.algorithms import ALGORITHMS, AlgorithmError, Settings, run
from search.theory.counting import fewest_leaves
from search.theory.deep import with_deep_stack
from search.theory.generate import uniform_tree
from search.theory.lattice_search import UnsoundRuleError
from search.theory.lattice_text import make_lattice
from search.theory.lattices import Chain
from search.theory.orders import ordered_children
from search.theory.tree_text import read_tree
from search.theory.trees import MAX_DEPTH, Tree, TreeError, minimax_values
from tests.theory.test_tree_text import deep_tree
from tests.theory.trees_at_random import NUMBER_TREES

#: These search the whole tree again for every ply of it.
DEEPENING = ["deepening", "engine"]


@pytest.mark.parametrize("key", ALGORITHMS)
@given(NUMBER_TREES)
def test_every_algorithm_finds_minimaxs_value_from_maxs_view(key: str, tree: Tree) -> None:
    assert run(tree, key).value == minimax_values(tree, tree.integers())[0]


@pytest.mark.parametrize("key", [key for key in ALGORITHMS if key not in DEEPENING])
def test_the_deepest_tree_can_be_searched(key: str) -> None:
    before = sys.getrecursionlimit()
    tree = deep_tree()
    made = run(tree, key)
    assert made.value == minimax_values(tree, tree.integers())[0]
    assert sys.getrecursionlimit() == before
    assert fewest_leaves(tree) <= made.statistics.evaluated


@pytest.mark.parametrize("key", DEEPENING)
def test_searching_a_deep_tree_again_and_again_works_too(key: str) -> None:
    tree = deep_tree(300)
    assert run(tree, key).value == minimax_values(tree, tree.integers())[0]


def test_deep_searches_may_run_at_the_same_time() -> None:
    before = sys.getrecursionlimit()
    tree = deep_tree()
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda key: run(tree, key).value, ["minimax", "alpha-beta", "pvs", "lattice-weak"] * 2))
    assert set(runs) == {minimax_values(tree, tree.integers())[0]}
    assert sys.getrecursionlimit() == before


def test_errors_come_back_from_the_deep() -> None:
    with pytest.raises(ZeroDivisionError):
        with_deep_stack(lambda: 1 // 0, MAX_DEPTH)
    with pytest.raises(ZeroDivisionError):
        with_deep_stack(lambda: 1 // 0, 1)
    assert with_deep_stack(lambda: 5, MAX_DEPTH) == 5


def test_perfect_order_costs_the_bound_in_the_statistics() -> None:
    found = run(uniform_tree(3, 4, "best"), "alpha-beta").statistics
    assert found.uniform == (3, 4, 17)
    assert found.evaluated == found.fewest_leaves == 17
    assert found.leaves == 81
    shuffled = uniform_tree(3, 4, "random", 5)
    found = run(shuffled, "alpha-beta", children=ordered_children(shuffled, "best")).statistics
    assert found.evaluated == 17


@pytest.mark.parametrize("side", ["MAX", "MIN"])
def test_what_is_expected_is_told_from_maxs_view(side: str) -> None:
    tree = read_tree(f"{side} [[8 7] [9 6] [7 5]]")
    value = run(tree, "minimax").value
    right = run(tree, "aspiration", settings=Settings(value, 1)).events
    wrong = run(tree, "aspiration", settings=Settings(-value, 1)).events
    assert [event.reason for event in right if event.kind == "window"] == []
    assert {event.reason for event in wrong if event.kind == "window"} == {"fail-high"}


def test_the_table_counts_its_hits() -> None:
    twins = read_tree("[[[1 5] [7 2]] [[1 5] [7 2]]]")
    assert run(twins, "table").statistics.table_hits > 0
    assert run(twins, "alpha-beta").statistics.table_hits == 0


def test_what_does_not_belong_together_is_refused() -> None:
    tree = read_tree("[a [b c]]")
    diamond = make_lattice("M3")
    with pytest.raises(AlgorithmError, match="no algorithm 'alphabeta'"):
        run(tree, "alphabeta")
    with pytest.raises(AlgorithmError, match="compares numbers"):
        run(tree, "alpha-beta", lattice=diamond)
    with pytest.raises(UnsoundRuleError, match="'weak' needs a distributive lattice"):
        run(tree, "lattice-weak", lattice=diamond)
    with pytest.raises(TreeError, match="line 1, column 2: the leaf 'a' is no whole number"):
        run(tree, "minimax")
    with pytest.raises(AlgorithmError, match="at least 1, not 0"):
        run(read_tree("[1 2]"), "aspiration", settings=Settings(width=0))
    with pytest.raises(TreeError, match=r"5 does not lie in 0\.\.4"):
        run(read_tree("[1 5]"), "minimax", lattice=Chain(0, 4))
    assert run(tree, "lattice-weak", lattice=diamond, force=True).value in ("a", "b", "c", "0", "1")


def test_a_run_that_would_never_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.theory.algorithms.MAX_EVENTS", 1000)
    with pytest.raises(TreeError, match="more than 1,000 steps"):
        run(uniform_tree(4, 5), "minimax")


def test_the_order_of_children_is_that_of_the_events() -> None:
    tree = read_tree("[1 2 3]")
    made = run(tree, "minimax", children=[[3, 1, 2], [], [], []])
    assert [event.node for event in made.events if event.kind == "enter"] == [0, 3, 1, 2]
    assert made.line == [0, 3]


@pytest.mark.parametrize("key", ALGORITHMS)
@pytest.mark.parametrize(
    "tree",
    [read_tree("[" * 900 + "1" + "]" * 900), read_tree("[" + "[[1 2] [3 4]] " * 200 + "]")],
    ids=["deep", "wide"],
)
def test_a_run_asks_now_and_then_whether_it_is_still_wanted(key: str, tree: Tree) -> None:
    class EnoughError(Exception):
        pass

    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked == 5:
            raise EnoughError

    with pytest.raises(EnoughError):
        run(tree, key, check=check)
    assert asked == 5
