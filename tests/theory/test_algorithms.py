"""Algorithms by name: at any depth, and refused where they do not belong. `test_events` checks their values."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from search.explorer.examples import EXAMPLES
from search.theory.algorithms import ALGORITHMS, AlgorithmError, run
from search.theory.counting import fewest_leaves, minimal_leaves
from search.theory.generate import Arrangement, uniform_tree
from search.theory.lattice_search import UnsoundRuleError
from search.theory.lattice_text import make_lattice
from search.theory.lattices import Chain, Lattice, Sets
from search.theory.orders import ordered_children
from search.theory.tree_text import read_tree
from search.theory.trees import MAX_DEPTH, TreeError, minimax_values
from tests.theory.trees_at_random import deep_tree

#: These search the whole tree again for every ply of it.
DEEPENING = ["deepening", "engine"]


@pytest.mark.parametrize("key", ALGORITHMS)
def test_the_deepest_tree_can_be_searched(key: str) -> None:
    tree = deep_tree(300 if key in DEEPENING else MAX_DEPTH)
    made = run(tree, key)
    assert made.value == minimax_values(tree, tree.integers())[0]
    assert fewest_leaves(tree) <= made.statistics.evaluated


def test_deep_searches_may_run_at_the_same_time() -> None:
    tree = deep_tree(MAX_DEPTH)
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda key: run(tree, key).value, ["minimax", "alpha-beta", "pvs", "lattice-weak"]))
    assert set(runs) == {minimax_values(tree, tree.integers())[0]}


def test_perfect_order_costs_the_bound_in_the_statistics() -> None:
    found = run(uniform_tree(3, 4, "best"), "alpha-beta").statistics
    assert found.uniform == (3, 4, 17)
    assert found.evaluated == found.fewest_leaves == 17
    assert found.leaves == 81
    shuffled = uniform_tree(3, 4, "random", 5)
    assert run(shuffled, "alpha-beta", children=ordered_children(shuffled, "best")).statistics.evaluated == 17


def test_the_bound_for_uniform_trees_is_for_numbers_only() -> None:
    found = run(read_tree("[[{a} {a}] [{} {}]]"), "lattice-strong", lattice=Sets("a")).statistics
    assert (found.uniform, found.evaluated) == (None, 2)
    assert minimal_leaves(2, 2) == 3


def test_the_table_counts_its_hits() -> None:
    twins = read_tree("[[[1 5] [7 2]] [[1 5] [7 2]]]")
    found = run(twins, "table").statistics
    assert found.table_hits > 0
    assert found.evaluated < (found.fewest_leaves or 0)
    assert run(twins, "alpha-beta").statistics.table_hits == 0


@pytest.mark.parametrize(
    ("text", "key", "lattice", "error", "message"),
    [
        ("[1 2]", "alphabeta", None, AlgorithmError, "unknown algorithm 'alphabeta'"),
        ("[a [b c]]", "alpha-beta", make_lattice("M3"), AlgorithmError, "compares numbers"),
        ("[a [b c]]", "lattice-weak", make_lattice("M3"), UnsoundRuleError, "'weak' requires a distributive lattice"),
        ("[a\n  [b d]]", "lattice-shallow", make_lattice("M3"), TreeError, "line 2, column 6: the leaf 'd' is not one"),
        ("[a [b c]]", "minimax", None, TreeError, "line 1, column 2: the leaf 'a' is not a number"),
        ("[1 5]", "minimax", Chain(0, 4), TreeError, r"5 is outside the range 0\.\.4"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    text: str, key: str, lattice: Lattice[object] | None, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run(read_tree(text), key, lattice=lattice)


@pytest.mark.parametrize("leaf", ["inf", "-∞"])
def test_a_chain_may_have_infinite_leaves(leaf: str) -> None:
    made = run(read_tree(f"[[3 {leaf}] [2 5]]"), "lattice-strong", lattice=Chain())
    assert made.value == (3 if leaf == "inf" else 2)
    # The infinite leaf may end the search before all leaves of a proof by numbers are valued.
    assert made.statistics.fewest_leaves is None


def test_an_unsound_rule_can_be_forced() -> None:
    diamond = make_lattice("M3")
    assert run(read_tree("[a [b c]]"), "lattice-weak", lattice=diamond, force=True).value in ("a", "b", "c", "0", "1")


def test_a_run_of_too_many_events_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.theory.algorithms.MAX_EVENTS", 1000)
    with pytest.raises(TreeError, match="more than 1,000 steps"):
        run(uniform_tree(4, 5), "minimax")


def test_the_order_of_children_is_that_of_the_events() -> None:
    made = run(read_tree("[1 2 3]"), "minimax", children=[[3, 1, 2], [], [], []])
    assert [event.node for event in made.events if event.kind == "enter"] == [0, 3, 1, 2]
    assert made.line == [0, 3]


@pytest.mark.parametrize("key", ALGORITHMS)
@pytest.mark.parametrize(
    "text", ["[" * 900 + "1" + "]" * 900, "[" + "[[1 2] [3 4]] " * 200 + "]"], ids=["deep", "wide"]
)
def test_a_run_asks_now_and_then_whether_it_is_still_wanted(key: str, text: str) -> None:
    class EnoughError(Exception):
        pass

    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked == 5:
            raise EnoughError

    with pytest.raises(EnoughError):
        run(read_tree(text), key, check=check)
    assert asked == 5


def test_deepening_and_aspiration_pay_if_leaves_are_correlated_only() -> None:
    def share(key: str, arrangement: Arrangement) -> float:
        runs = [run(uniform_tree(4, 6, arrangement, seed), key).statistics for seed in range(6)]
        return sum(found.evaluated for found in runs) / sum(found.plain or 0 for found in runs)

    assert share("deepening", "correlated") < 0.8
    assert share("engine", "correlated") < 0.8
    assert share("aspiration", "correlated") < 0.95
    assert share("deepening", "random") > 0.9
    assert share("aspiration", "random") > 1.1
    assert share("pvs", "random") > 1.1


def test_principal_variation_search_pays_if_good_moves_come_first() -> None:
    runs = [run(uniform_tree(5, 5, "ordered", seed), "pvs").statistics for seed in range(20)]
    assert sum(found.evaluated for found in runs) < 0.99 * sum(found.plain or 0 for found in runs)


def test_the_notes_of_the_examples_have_the_counts() -> None:
    tree = read_tree(EXAMPLES["uniform"].text())
    counts = [
        run(tree, "alpha-beta", children=ordered_children(tree, order)).statistics.evaluated
        for order in ("best", "worst")
    ]
    assert counts == [17, 79]
    assert all(str(count) in EXAMPLES["uniform"].note for count in counts)
    found = run(read_tree(EXAMPLES["ordered"].text()), "pvs").statistics
    assert f"values {found.evaluated} leaves, alpha-beta {found.plain}" in EXAMPLES["ordered"].note
