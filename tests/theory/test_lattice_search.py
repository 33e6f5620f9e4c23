"""Pruning in lattices: where each rule is right, what it visits, and how the unsound ones fail."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.theory.alphabeta import alpha_beta
from search.theory.counterexample import counterexample
from search.theory.finite_lattice import diamond, pentagon
from search.theory.horizon import Counted
from search.theory.lattice_search import (
    Rule,
    Step,
    UnsoundRuleError,
    deep,
    fold,
    justification,
    lattice_value,
    naive,
    searched,
    shallow,
    strong,
    weak,
)
from search.theory.lattice_text import make_lattice
from search.theory.lattices import Chain, Lattice, Product
from search.theory.tree_text import read_tree
from search.theory.trees import NOWHERE, Tree, TreeGame, grown_tree
from search.theory.watch import Watcher
from tests.theory.trees_at_random import DISTRIBUTIVE, FEWER_EXAMPLES, NUMBER_TREES, elements, trees_over

RULES: list[Rule] = [naive, shallow, deep, weak, strong, fold]
SOUND: list[Rule] = [naive, shallow]


class Visits(Watcher[int, Any]):
    def __init__(self) -> None:
        self.nodes: set[int] = set()

    def enter(self, position: int, alpha: Any = None, beta: Any = None) -> None:
        self.nodes.add(position)


def search(lattice: Lattice[Any], tree: Tree, rule: Rule, *, force: bool = False) -> tuple[Any, set[int]]:
    visits = Visits()
    value = lattice_value(lattice, tree, rule, visits, force=force)
    return value, visits.nodes


@pytest.mark.parametrize("name", DISTRIBUTIVE)
@FEWER_EXAMPLES
@given(data=st.data())
def test_every_rule_is_right_in_a_distributive_lattice_and_each_visits_no_more_than_the_one_before(
    name: str, data: st.DataObject
) -> None:
    lattice = DISTRIBUTIVE[name]
    tree = data.draw(trees_over(lattice))
    results = [search(lattice, tree, rule) for rule in RULES]
    assert len({value for value, _ in results}) == 1
    for (_, more), (_, fewer) in pairwise(results):
        assert fewer <= more


def path_of(lattice: Lattice[Any], values: Sequence[Any], starts_with_max: bool) -> list[Step[Any]]:
    """The path of nodes with these current values."""
    path: list[Step[Any]] = []
    alpha, beta = lattice.bottom, lattice.top
    for index, value in enumerate(values):
        is_max = (index % 2 == 0) == starts_with_max
        path.append(Step(index, is_max, value, alpha, beta))
        if is_max:
            alpha = lattice.join(alpha, value)
        else:
            beta = lattice.meet(beta, value)
    return path


@pytest.mark.parametrize("name", DISTRIBUTIVE)
@FEWER_EXAMPLES
@given(data=st.data())
def test_closed_form_and_fold_agree_on_every_path(name: str, data: st.DataObject) -> None:
    lattice = DISTRIBUTIVE[name]
    values = data.draw(st.lists(st.sampled_from(elements(lattice)), min_size=1, max_size=7))
    path = path_of(lattice, values, data.draw(st.booleans()))
    assert strong(lattice, path) == fold(lattice, path)
    assert bool(justification(lattice, path)[0]) == fold(lattice, path)
    # Each rule implies those after it.
    held = [rule(lattice, path) for rule in RULES]
    assert held == sorted(held)


@pytest.mark.parametrize("lattice", [diamond(), pentagon()])
def test_the_closed_form_goes_further_than_the_fold_where_they_differ(lattice: Lattice[Any]) -> None:
    further = 0
    for values in product(elements(lattice), repeat=4):
        path = path_of(lattice, values, True)
        assert strong(lattice, path) or not fold(lattice, path)
        further += strong(lattice, path) and not fold(lattice, path)
    assert further > 0


@pytest.mark.parametrize("rule", SOUND)
@pytest.mark.parametrize("lattice", [diamond(), pentagon(), Product([Chain(0, 1), pentagon()])])
@FEWER_EXAMPLES
@given(data=st.data())
def test_sound_rules_are_right_in_any_lattice(rule: Rule, lattice: Lattice[Any], data: st.DataObject) -> None:
    tree = data.draw(trees_over(lattice, 40))
    truth, everything = search(lattice, tree, naive)
    value, visited = search(lattice, tree, rule)
    assert value == truth
    assert visited <= everything == set(range(len(tree)))


@pytest.mark.parametrize(
    ("lattice", "text", "rule", "wrong", "truth"),
    [
        (diamond(), "[c [b [a b]]]", strong, "c", "1"),
        (pentagon(), "[a [b [c a 0]]]", strong, "a", "b"),
        (diamond(), "[a [[[a c c] [b 1]] c]]", weak, "1", "a"),
        (diamond(), "[a [[[a c c] [b 1]] c]]", deep, "1", "a"),
        # The root cannot change as things stand, and yet it does later.
        (diamond(), "[a [[[a c c] [b 1]] c]]", fold, "1", "a"),
        (pentagon(), "[a [[c 1] b]]", fold, "a", "b"),
        (pentagon(), "[a [[c 1] b]]", strong, "a", "b"),
        (diamond(), "[c [[a 1] b]]", fold, "c", "1"),
        (pentagon(), "[a [b [[a c] c]]]", deep, "b", "a"),
        (pentagon(), "[a [b [[a c] c]]]", weak, "b", "a"),
    ],
)
def test_unsound_rules_fail_as_listed(lattice: Lattice[Any], text: str, rule: Rule, wrong: str, truth: str) -> None:
    tree = read_tree(text)
    for sound in SOUND:
        assert search(lattice, tree, sound)[0] == truth
    assert search(lattice, tree, rule, force=True)[0] == wrong
    with pytest.raises(UnsoundRuleError, match=f"'{rule.__name__}' .* meet .* join") as caught:
        search(lattice, tree, rule)
    a, b, c = caught.value.triple
    assert lattice.meet(a, lattice.join(b, c)) != lattice.join(lattice.meet(a, b), lattice.meet(a, c))


def test_strong_visits_less_than_weak_as_listed() -> None:
    lattice, tree = DISTRIBUTIVE["2x2"], read_tree("[(1,0) [[(0,1) (0,1)]]]")
    assert len(search(lattice, tree, strong)[1]) == len(search(lattice, tree, fold)[1]) == 5
    assert len(search(lattice, tree, weak)[1]) == 6


@given(NUMBER_TREES)
def test_on_numbers_it_is_alpha_beta(tree: Tree) -> None:
    counted = Counted(TreeGame(tree))
    value = alpha_beta(counted, 0)
    for rule in (deep, weak, strong, fold):
        found, visited = search(Chain(), tree, rule)
        assert found == (value if tree.root_is_max else -value)
        assert len(visited) == counted.nodes


def all_shapes(nodes: int) -> list[Any]:
    """All ordered trees with this many nodes, as nested tuples."""

    def rows(count: int) -> list[tuple[Any, ...]]:
        if not count:
            return [()]
        return [
            (shape, *rest)
            for first in range(1, count + 1)
            for shape in all_shapes(first)
            for rest in rows(count - first)
        ]

    return rows(nodes - 1)


@pytest.mark.parametrize("kind", ["M3", "N5"])
@pytest.mark.parametrize("rule", [deep, weak, strong, fold])
def test_the_counterexample_is_wrong_and_none_is_smaller(kind: str, rule: Rule) -> None:
    lattice = make_lattice(kind)
    found = counterexample(lattice, rule)
    assert found is not None
    tree, value, true = found
    assert lattice_value(lattice, tree, rule, force=True) == value != true == lattice_value(lattice, tree)
    # All trees with fewer nodes, as far as there is time to try them.
    for nodes in range(2, min(len(tree), 7)):
        for shape, side in product(all_shapes(nodes), (True, False)):
            tried = grown_tree(shape, lambda node: ("", NOWHERE, list(node) or "0"), root_is_max=side)
            values: list[Any] = [None] * nodes
            for chosen in product(diamond().elements, repeat=len(tried.leaves)):
                for leaf, element in zip(tried.leaves, chosen, strict=True):
                    values[leaf] = element
                assert searched(lattice, tried, values, rule) == searched(lattice, tried, values, naive)


def test_sound_rules_and_distributive_lattices_have_no_counterexample() -> None:
    assert counterexample(make_lattice("sets", "a b"), strong) is None
    assert counterexample(make_lattice("M3"), naive) is None
