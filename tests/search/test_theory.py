"""The algorithms of the theory room on trees: each finds minimax's value, and alpha-beta as cheaply as it can be."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.theory.alphabeta import INFINITE, alpha_beta
from search.theory.minimax import minimax

#: A leaf is a value for the side to move there, an inner node the list of its children.
Tree = int | list["Tree"]

TREES = st.recursive(st.integers(-9, 9), lambda children: st.lists(children, min_size=1, max_size=4), max_leaves=60)


class TreeGame:
    """An explicit tree as a game; counts the leaves that are valued."""

    def __init__(self) -> None:
        self.leaves = 0

    def moves(self, position: Tree) -> Sequence[int]:
        return range(len(position)) if isinstance(position, list) else ()

    def apply(self, position: Tree, move: int) -> Tree:
        assert isinstance(position, list)
        return position[move]

    def value(self, position: Tree) -> int:
        assert isinstance(position, int)
        self.leaves += 1
        return position


def test_minimax_takes_the_best_of_the_worst() -> None:
    # Leaves two plies down are the first side's again.
    assert minimax(TreeGame(), [[3, 12, 8], [2, 4, 6], [14, 5, 2]]) == 3
    assert minimax(TreeGame(), [[[5]]]) == -5
    assert minimax(TreeGame(), 7) == 7


def test_alpha_beta_leaves_out_what_cannot_matter() -> None:
    game = TreeGame()
    assert alpha_beta(game, [[3, 12, 8], [2, 4, 6], [14, 5, 2]]) == 3
    assert game.leaves == 7  # 4 and 6 are never looked at


@given(TREES)
def test_alpha_beta_finds_minimaxs_value(tree: Tree) -> None:
    full, pruned = TreeGame(), TreeGame()
    assert alpha_beta(pruned, tree) == minimax(full, tree)
    assert pruned.leaves <= full.leaves


@given(TREES, st.integers(-12, 12), st.integers(1, 6))
def test_values_outside_the_window_are_bounds(tree: Tree, alpha: int, width: int) -> None:
    true, found = minimax(TreeGame(), tree), alpha_beta(TreeGame(), tree, alpha, alpha + width)
    if found <= alpha:
        assert true <= found
    elif found >= alpha + width:
        assert true >= found
    else:
        assert true == found


def perfect_tree(generator: random.Random, branching: int, depth: int, value: int) -> Tree:
    """A uniform tree worth `value` whose best move is always first."""
    if depth == 0:
        return value
    children = [perfect_tree(generator, branching, depth - 1, -value)]
    for _ in range(branching - 1):
        # No better for this side: its child is worth at least as much to the other.
        children.append(perfect_tree(generator, branching, depth - 1, -value + generator.randint(0, 5)))
    return children


@pytest.mark.parametrize(("branching", "depth"), [(2, 1), (2, 6), (3, 5), (4, 4), (5, 3), (7, 2)])
def test_perfect_order_costs_what_knuth_and_moore_count(branching: int, depth: int) -> None:
    game = TreeGame()
    tree = perfect_tree(random.Random(1), branching, depth, 4)
    assert alpha_beta(game, tree) == 4
    assert game.leaves == branching ** ((depth + 1) // 2) + branching ** (depth // 2) - 1


def test_the_default_window_holds_every_value() -> None:
    assert alpha_beta(TreeGame(), [INFINITE - 1, 1 - INFINITE]) == INFINITE - 1
