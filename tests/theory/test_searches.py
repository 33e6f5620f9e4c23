"""The searches of numbers: each finds the minimax value, with any memory, order and window."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.theory.alphabeta import alpha_beta, fail_hard
from search.theory.aspiration import aspirate
from search.theory.deepening import deepen
from search.theory.enhanced import Memory, enhanced
from search.theory.games import INFINITE
from search.theory.generate import uniform_tree
from search.theory.horizon import Counted, DepthLimited, Limited
from search.theory.minimax import minimax
from search.theory.negamax import negamax
from search.theory.ordering import ByGuess, History, Killers
from search.theory.pvs import principal_variation_search
from search.theory.table import Bound, Entry, Table
from search.theory.trees import Tree, TreeGame
from tests.theory.trees_at_random import NUMBER_TREES, built

WINDOWS = st.tuples(st.integers(-8, 8), st.integers(1, 6)).map(lambda pair: (pair[0], pair[0] + pair[1]))

EXAMPLE = built([[3, 12, 8], [2, 4, 6], [14, 5, 2]])

Search = Callable[..., int]


def memories(game: TreeGame) -> list[Memory[int, int]]:
    return [
        Memory(),
        Memory(Table()),
        Memory(None, [ByGuess(game)]),
        Memory(None, [Killers()]),
        Memory(Table(), [History()]),
        Memory(Table(), [Killers(), History(), ByGuess(game)]),
    ]


def test_the_example_of_every_lecture() -> None:
    counted = Counted(TreeGame(EXAMPLE))
    assert minimax(counted, 0) == 3
    assert (counted.nodes, counted.leaves) == (13, 9)
    for search in (fail_hard, alpha_beta):
        counted = Counted(TreeGame(EXAMPLE))
        assert search(counted, 0) == 3
        assert (counted.nodes, counted.leaves) == (11, 7)


@pytest.mark.parametrize("search", [alpha_beta, principal_variation_search])
@given(NUMBER_TREES, WINDOWS)
def test_fail_soft_values_keep_their_contract(search: Search, tree: Tree, window: tuple[int, int]) -> None:
    true = minimax(TreeGame(tree), 0)
    assert search(TreeGame(tree), 0) == negamax(TreeGame(tree), 0) == true
    keeps_contract(search(TreeGame(tree), 0, *window), true, *window)


@pytest.mark.parametrize("search", [fail_hard, alpha_beta, principal_variation_search])
def test_bushy_trees(search: Search) -> None:
    """A null window that fails high says only that the value is above it."""
    for seed in range(20):
        game = TreeGame(uniform_tree(3, 4, seed=seed, leaf=lambda generator: str(generator.randint(-5, 5))))
        true = minimax(game, 0)
        assert search(game, 0) == true
        for expected in range(-6, 7):
            found = aspirate(lambda alpha, beta: search(game, 0, alpha, beta), expected, 1, 0)  # noqa: B023
            assert found == true


@given(NUMBER_TREES, WINDOWS)
def test_fail_hard_is_minimax_clipped_to_the_window(tree: Tree, window: tuple[int, int]) -> None:
    true = minimax(TreeGame(tree), 0)
    assert fail_hard(TreeGame(tree), 0) == true
    assert fail_hard(TreeGame(tree), 0, *window) == min(max(true, window[0]), window[1])


@given(NUMBER_TREES, WINDOWS)
def test_hard_and_soft_visit_the_same(tree: Tree, window: tuple[int, int]) -> None:
    hard, soft = Counted(TreeGame(tree)), Counted(TreeGame(tree))
    fail_hard(hard, 0, *window)
    alpha_beta(soft, 0, *window)
    assert (hard.nodes, hard.leaves) == (soft.nodes, soft.leaves)


def keeps_contract(value: int, true: int, alpha: int, beta: int) -> None:
    if value <= alpha:
        assert true <= value
    elif value >= beta:
        assert true >= value
    else:
        assert true == value


@given(NUMBER_TREES, st.lists(WINDOWS, min_size=1, max_size=4), st.integers(0, 4))
def test_no_memory_changes_a_value(tree: Tree, windows: list[tuple[int, int]], depth: int) -> None:
    game = TreeGame(tree)
    true = minimax(DepthLimited(game), Limited(0, depth))
    for memory in memories(game):
        # What earlier searches leave behind, with other windows and depths, must not matter either.
        for window in windows:
            keeps_contract(enhanced(game, 0, depth, memory, *window), true, *window)
            enhanced(game, 0, depth // 2 + 1, memory, *window)
        assert enhanced(game, 0, depth, memory) == true


@given(NUMBER_TREES, st.none() | st.integers(1, 5))
def test_iterative_deepening_finds_the_value_of_every_depth(tree: Tree, width: int | None) -> None:
    game = TreeGame(tree)
    for memory in memories(game):
        values = list(deepen(game, 0, 5, memory, width))
        assert values == [minimax(DepthLimited(game), Limited(0, depth)) for depth in range(1, 6)]


@given(NUMBER_TREES, st.integers(-20, 20), st.integers(1, 4))
def test_any_expectation_leads_to_the_value(tree: Tree, expected: int, width: int) -> None:
    game = TreeGame(tree)
    found = aspirate(lambda alpha, beta: alpha_beta(game, 0, alpha, beta), expected, width, 0)
    assert found == minimax(game, 0)


@pytest.mark.parametrize("value", [INFINITE - 1, 1 - INFINITE, 0])
@pytest.mark.parametrize("expected", [0, INFINITE, -(10**12)])
def test_aspiration_ends_at_the_ends_of_the_numbers(value: int, expected: int) -> None:
    assert aspirate(lambda alpha, beta: value, expected, 1, 0) == value


def test_a_window_has_a_width() -> None:
    with pytest.raises(ValueError, match=r"at least 1 \(got 0\)"):
        aspirate(lambda alpha, beta: 0, 0, 0, 0)


def test_aspiration_costs_less_when_it_is_right() -> None:
    tree = built([[[5, 4], [3, 2]], [[4, 6], [7, 1]], [[6, 5], [9, 8]]])
    right, full = Counted(TreeGame(tree)), Counted(TreeGame(tree))
    value = alpha_beta(full, 0)
    assert aspirate(lambda alpha, beta: alpha_beta(right, 0, alpha, beta), value, 1, 0) == value
    assert right.leaves < full.leaves


def test_principal_variation_search_costs_less_in_good_order_and_more_in_bad() -> None:
    good = built([[[8, 7], [9, 1]], [[6, 5], [9, 2]], [[4, 3], [9, 5]]])
    bad = built([[[1, 2], [2, 3]], [[3, 4], [4, 5]], [[5, 6], [6, 7]]])
    assert leaves(principal_variation_search, good) <= leaves(alpha_beta, good)
    assert leaves(principal_variation_search, bad) > leaves(alpha_beta, bad)


def leaves(search: Search, tree: Tree) -> int:
    counted = Counted(TreeGame(tree))
    search(counted, 0)
    return counted.leaves


def test_the_table_answers_for_equal_subtrees() -> None:
    twin = [[1, 5], [7, 2]]
    game = TreeGame(built([twin, twin, twin]))
    table: Table[int] = Table()
    enhanced(game, 0, 3, Memory(table))
    # The root, one twin, its two children, and the three leaves that are not cut.
    assert len(table) == 7


def test_a_search_that_fails_low_names_no_best_move() -> None:
    table: Table[int] = Table()
    assert enhanced(TreeGame(EXAMPLE), 0, 2, Memory(table), 10, 20) <= 10
    entry = table.probe(TreeGame(EXAMPLE).key(0))
    assert entry is not None
    assert (entry.bound, entry.move) == (Bound.UPPER, None)
    assert enhanced(TreeGame(EXAMPLE), 0, 2, Memory(table)) == 3
    entry = table.probe(TreeGame(EXAMPLE).key(0))
    assert entry == Entry(2, 3, Bound.EXACT, 0)


def test_killers_are_the_two_latest_of_their_ply() -> None:
    killers: Killers[int, str] = Killers()
    for move in ("a", "b", "c", "b"):
        killers.learn(0, move, 3, 1)
    assert [killers.rank(0, move, 3) for move in ("a", "b", "c")] == [0, 2, 1]
    assert killers.rank(0, "b", 2) == 0


def test_history_adds_up_the_squares_of_depths_for_each_side() -> None:
    history: History[int, str] = History()
    history.learn(0, "a", 2, 3)
    history.learn(0, "a", 4, 1)
    assert history.rank(0, "a", 6) == 10
    assert history.rank(0, "a", 7) == 0


class Circle:
    """A walk around a circle, either way or on the spot: positions recur, also within a line."""

    SIZE = 5

    def moves(self, position: int) -> list[int]:
        return [-1, 0, 1]

    def apply(self, position: int, move: int) -> int:
        return (position + move) % self.SIZE

    def value(self, position: int) -> int:
        raise AssertionError("nobody ever wins")

    def key(self, position: int) -> int:
        return position

    def guess(self, position: int) -> int:
        return (7 * position * position + 3 * position) % 11 - 5


@pytest.mark.parametrize("start", range(Circle.SIZE))
@pytest.mark.parametrize("depth", [2, 5, 6])
def test_the_table_is_right_where_positions_come_up_again(start: int, depth: int) -> None:
    game, memory = Circle(), Memory[int, int](Table())
    true = minimax(DepthLimited(game), Limited(start, depth))
    assert enhanced(game, start, depth, memory) == true
    assert enhanced(game, start, depth, memory) == true
    for alpha in range(-6, 6):
        keeps_contract(enhanced(game, start, depth, memory, alpha, alpha + 1), true, alpha, alpha + 1)
