"""The fewest leaves: Knuth and Moore's formula, the smallest proof, and the effect of orders on alpha-beta."""

from __future__ import annotations

import math
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.theory.alphabeta import alpha_beta
from search.theory.counting import effective_branching, fewest_leaves, minimal_leaves
from search.theory.generate import random_tree, uniform_tree
from search.theory.horizon import Counted
from search.theory.minimax import minimax
from search.theory.orders import ORDERS, Order, ordered_children
from search.theory.trees import Children, Tree, TreeError, TreeGame
from tests.theory.trees_at_random import FEWER_EXAMPLES, NUMBER_TREES, NUMBERS, built, nested_lists

UNIFORM = [(1, 4), (2, 0), (2, 1), (2, 7), (3, 5), (4, 4), (5, 3), (9, 2)]


def cost(tree: Tree, children: Children | None = None) -> tuple[int, int]:
    """Nodes that alpha-beta visits, and leaves that it values."""
    counted = Counted(TreeGame(tree, children))
    assert alpha_beta(counted, 0) == minimax(TreeGame(tree), 0)
    return counted.nodes, counted.leaves


@pytest.mark.parametrize(("branching", "depth"), UNIFORM)
@pytest.mark.parametrize("seed", [0, 1])
def test_best_order_costs_what_knuth_and_moore_count(branching: int, depth: int, seed: int) -> None:
    nodes = sum(minimal_leaves(branching, ply) for ply in range(depth + 1))
    expected = nodes, minimal_leaves(branching, depth)
    assert cost(uniform_tree(branching, depth, "best", seed)) == expected
    shuffled = uniform_tree(branching, depth, "random", seed)
    assert cost(shuffled, ordered_children(shuffled, "best")) == expected
    assert fewest_leaves(shuffled) == expected[1]


@pytest.mark.parametrize(("branching", "depth"), UNIFORM)
def test_worst_order_costs_as_much_as_minimax(branching: int, depth: int) -> None:
    tree = uniform_tree(branching, depth, "worst", 1)
    assert cost(tree) == (len(tree), branching**depth)


@given(st.integers(0, 1000), st.integers(2, 5), st.integers(1, 3))
def test_up_to_three_plies_worst_first_always_costs_everything(seed: int, branching: int, depth: int) -> None:
    tree = uniform_tree(branching, depth, "random", seed)
    assert cost(tree, ordered_children(tree, "worst")) == (len(tree), branching**depth)


def test_deeper_trees_may_have_cuts_even_when_the_worst_comes_first() -> None:
    tree = uniform_tree(3, 5, "random", 1)
    assert cost(tree, ordered_children(tree, "worst"))[1] < 3**5


@given(NUMBER_TREES)
def test_no_order_beats_the_smallest_proof_and_the_best_order_reaches_it(tree: Tree) -> None:
    least = fewest_leaves(tree)
    assert cost(tree, ordered_children(tree, "best"))[1] == least
    assert cost(tree, ordered_children(tree, "random", 1))[1] >= least


@FEWER_EXAMPLES
@given(nested_lists(NUMBERS, 8).map(built))
def test_the_smallest_proof_is_the_smallest_over_all_orders(tree: Tree) -> None:
    if math.prod(math.factorial(len(children)) for children in tree.children) <= 100:
        orders = product(*(list(permutations(children)) for children in tree.children))
        assert min(cost(tree, order)[1] for order in orders) == fewest_leaves(tree)


def test_the_formula_in_numbers() -> None:
    assert minimal_leaves(30, 8) == 2 * 30**4 - 1
    assert minimal_leaves(2, 3) == 4 + 2 - 1
    assert effective_branching(3**4, 4) == pytest.approx(3)


@pytest.mark.parametrize("order", [order for order in ORDERS if order != "learned"])
@FEWER_EXAMPLES
@given(NUMBER_TREES)
def test_an_order_has_the_same_children(order: Order, tree: Tree) -> None:
    children = ordered_children(tree, order, 5)
    assert [sorted(one) for one in children] == [list(one) for one in tree.children]
    assert ordered_children(tree, order, 5) == children


def test_another_seed_is_another_order() -> None:
    tree = uniform_tree(4, 3, "random", 1)
    assert ordered_children(tree, "random", 5) != ordered_children(tree, "random", 6)


def test_all_arrangements_have_the_same_leaves() -> None:
    trees = [uniform_tree(3, 4, arrangement, 7) for arrangement in ("best", "worst", "random")]
    assert len({frozenset(tree.leaf) for tree in trees}) == 1
    assert trees[0] == uniform_tree(3, 4, "best", 7)
    assert trees[0].uniform() == (3, 4)
    assert built([[1, 2], 3]).uniform() is None


def test_trees_of_impossible_size_are_refused() -> None:
    with pytest.raises(TreeError, match="a tree of depth 6 with 10 children per node has more than 200,000 nodes"):
        uniform_tree(10, 6)
    with pytest.raises(TreeError, match="depth must be at most 2000"):
        uniform_tree(1, 2001)
    with pytest.raises(TreeError, match=r"branching must be at least 1 \(got 0\)"):
        uniform_tree(0, 3)
    with pytest.raises(TreeError):
        random_tree(1, 5, 0, lambda generator: "1")


@given(st.integers(0, 1000), st.integers(0, 8), st.integers(1, 4), st.integers(1, 60))
def test_irregular_trees_keep_within_their_limits(seed: int, depth: int, branching: int, most: int) -> None:
    tree = random_tree(seed, depth, branching, lambda generator: str(generator.randint(0, 9)), most_nodes=most)
    assert len(tree) <= most
    assert tree.height <= depth
    assert max(map(len, tree.children)) <= branching
    assert tree == random_tree(seed, depth, branching, lambda rng: str(rng.randint(0, 9)), most_nodes=most)
