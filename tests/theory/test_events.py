"""Runs are replayed by other means: windows, values, reasons, and the nodes that were not visited."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.theory.algorithms import ALGORITHMS, Run, run
from search.theory.events import KINDS, REASONS, Event
from search.theory.finite_lattice import diamond, pentagon
from search.theory.generate import random_tree, uniform_tree
from search.theory.horizon import DepthLimited, Limited
from search.theory.lattices import Lattice, Sets
from search.theory.minimax import minimax
from search.theory.orders import ordered_children
from search.theory.tree_text import read_tree
from search.theory.trees import Tree, TreeGame, minimax_values
from tests.explorer.page.reference import explain
from tests.theory.trees_at_random import DISTRIBUTIVE, FEWER_EXAMPLES, NUMBER_TREES, elements, trees_over

CHAIN_KEYS = [key for key, algorithm in ALGORITHMS.items() if not algorithm.in_lattice]
LATTICE_KEYS = [key for key, algorithm in ALGORITHMS.items() if algorithm.in_lattice]


class Visit:
    def __init__(self, event: Event) -> None:
        self.node = event.node
        self.low, self.high = event.alpha, event.beta
        self.alpha, self.beta = event.alpha, event.beta
        self.value: Any = None
        self.returned: Any = None
        self.done: list[int] = []
        self.is_cut = False


class Replay:
    """Follows a run event by event, computes every value itself, and asserts that the events agree."""

    def __init__(self, run: Run, truth: Callable[[int, int | None], Any]) -> None:
        self.run = run
        self.tree = run.tree
        self.lattice: Lattice[Any] = run.lattice
        self.truth = truth
        self.depth: int | None = None
        self.path: list[Visit] = []
        self.last: tuple[int, Any] | None = None
        for event, following in zip_longest(run.events, run.events[1:]):
            assert event.kind in KINDS
            assert event.reason in REASONS or not event.reason
            getattr(self, event.kind)(event)
            if event.kind == "leaf" and (
                following is None or (following.kind, following.node) != ("leave", event.node)
            ):
                # The visit has ended with the same value, so no other event says so.
                self.leave(replace(event, kind="leave", reason="exact"))
        assert not self.path
        assert self.last == (0, run.value)

    def better(self, node: int, a: Any, b: Any) -> Any:
        """The better of two values for the side to move."""
        if a is None:
            return b
        return self.lattice.join(a, b) if self.tree.is_max(node) else self.lattice.meet(a, b)

    def enter(self, event: Event) -> None:
        if self.path:
            above = self.path[-1]
            assert self.tree.parent[event.node] == above.node
            assert not above.is_cut
            if event.alpha is not None:
                assert self.lattice.is_below(above.alpha, event.alpha)
                assert self.lattice.is_below(event.beta, above.beta)
        else:
            assert event.node == 0
        self.path.append(Visit(event))

    def leaf(self, event: Event) -> None:
        visit = self.at(event)
        assert not visit.done
        assert event.value == self.truth(event.node, self.depth)
        visit.returned = event.value

    def update(self, event: Event) -> None:
        before = self.at(event).value
        self.child_done(event)
        assert self.at(event).value != before

    def keep(self, event: Event) -> None:
        before = self.at(event).value
        self.child_done(event)
        assert self.at(event).value == before

    def child_done(self, event: Event) -> None:
        visit = self.at(event)
        assert self.last is not None
        child, value = self.last
        assert event.other == child
        visit.done.append(child)
        made = self.better(event.node, visit.value, value)
        if self.run.algorithm.key == "fail-hard" and visit.value is None:
            # What is no better than the window may be anything out there.
            beyond = made <= visit.low if self.tree.is_max(event.node) else made >= visit.high
            made = None if beyond else made
        assert event.value == made
        visit.value = made
        if event.alpha is not None:
            # Windows only ever get narrower.
            assert self.lattice.is_below(visit.alpha, event.alpha)
            assert self.lattice.is_below(event.beta, visit.beta)
        visit.alpha, visit.beta = event.alpha, event.beta

    def cut(self, event: Event) -> None:
        visit = self.at(event)
        visit.is_cut = True
        assert len(visit.done) < len(self.tree.children[event.node])
        assert event.value == visit.value
        is_max = self.tree.is_max(event.node)
        name, reason = event.reason.split("-")
        assert name == ("beta" if is_max else "alpha")
        others = [above for above in self.path[:-1] if self.tree.is_max(above.node) != is_max]
        bound = event.beta if is_max else event.alpha
        holders = [above.node for above in others if above.value == bound and self.is_within(above)]
        beaters = [above.node for above in others if self.is_beaten(visit, self.held(above))]
        parent = self.path[-2].node if len(self.path) > 1 else -1
        if reason in ("shallow", "deep"):
            # The bound is the value so far of a node above, and the node has reached it.
            assert event.other == holders[-1]
            assert (event.other == parent) == (reason == "shallow")
            assert self.is_beaten(visit, bound)
        elif reason in ("window", "scout"):
            assert event.other == -1
            assert not holders
            assert self.is_beaten(visit, bound)
        elif reason in ("parent", "single"):
            assert event.other == beaters[-1]
            assert (event.other == parent) == (reason == "parent")
        else:
            assert event.other == -1
            assert not beaters
            assert self.is_beaten(visit, bound) == (reason in ("join", "meet"))
            extreme = self.lattice.top if is_max else self.lattice.bottom
            assert self.root(visit.value) == self.root(extreme)

    def held(self, visit: Visit) -> Any:
        """The certain value of a node: the worst one before its first child is done."""
        if visit.value is not None:
            return visit.value
        return self.lattice.bottom if self.tree.is_max(visit.node) else self.lattice.top

    def is_beaten(self, visit: Visit, other: Any) -> bool:
        below = (other, visit.value) if self.tree.is_max(visit.node) else (visit.value, other)
        return self.lattice.is_below(*below)

    def is_within(self, visit: Visit) -> bool:
        """Whether the node's value so far is better for its side than the window of its visit allowed from outside."""
        return bool(visit.value > visit.low if self.tree.is_max(visit.node) else visit.value < visit.high)

    def root(self, value: Any) -> Any:
        for above in reversed(self.path[:-1]):
            value = self.better(above.node, above.value, value)
        return value

    def table(self, event: Event) -> None:
        visit = self.at(event)
        assert not visit.done
        if event.reason != "table-move":
            visit.returned = event.value
            self.check_meaning(event, event.reason.removeprefix("table-"))

    def leave(self, event: Event) -> None:
        self.left = visit = self.path.pop()
        assert visit.node == event.node
        value = visit.value if visit.returned is None else visit.returned
        if self.run.algorithm.key == "fail-hard":
            if value is None:
                value = visit.low if self.tree.is_max(event.node) else visit.high
            value = min(max(value, visit.low), visit.high)
        assert event.value == value
        if visit.returned is None and not visit.is_cut:
            assert sorted(visit.done) == list(self.tree.children[event.node])
        if event.reason == "sufficient":
            assert event.node != 0, "what is cut cannot change the root's value"
        else:
            self.check_meaning(event, event.reason)
        self.last = event.node, event.value

    def check_meaning(self, event: Event, meaning: str) -> None:
        true = self.truth(event.node, self.depth)
        if meaning == "exact":
            assert event.value == true
        elif meaning == "lower":
            assert event.value <= true
        else:
            assert meaning == "upper"
            assert event.value >= true

    def iteration(self, event: Event) -> None:
        assert not self.path
        assert event.value == (self.depth or 0) + 1
        self.depth = event.value

    def window(self, event: Event) -> None:
        if event.reason in ("fail-low", "fail-high"):
            assert not self.path
            assert self.last is not None
            assert event.node == self.last[0] == 0
            # The value is outside, and the window is opened on that side.
            if event.reason == "fail-low":
                assert self.last[1] <= self.left.low
                assert (event.alpha < self.left.low, event.beta) == (True, self.left.high)
            else:
                assert self.last[1] >= self.left.high
                assert (event.alpha, event.beta > self.left.high) == (self.left.low, True)
        else:
            assert self.tree.parent[event.node] == self.path[-1].node
            assert (event.beta - event.alpha == 1) == (event.reason == "null-window")

    def at(self, event: Event) -> Visit:
        assert self.path[-1].node == event.node
        return self.path[-1]


def true_numbers(tree: Tree) -> Callable[[int, int | None], int]:
    game = TreeGame(tree)
    values = minimax_values(tree, tree.integers())

    def truth(node: int, depth: int | None) -> int:
        if depth is None:
            return values[node]
        value = minimax(DepthLimited(game), Limited(node, depth - tree.depth[node]))
        return value if tree.is_max(node) else -value

    return truth


@pytest.mark.parametrize("key", CHAIN_KEYS)
@FEWER_EXAMPLES
@given(NUMBER_TREES, st.sampled_from(["given", "best", "worst", "random"]))
def test_a_search_of_numbers_replays(key: str, tree: Tree, order: Any) -> None:
    made = run(tree, key, children=ordered_children(tree, order, 1))
    Replay(made, true_numbers(tree))
    check_statistics(made)


@pytest.mark.parametrize("key", LATTICE_KEYS)
@FEWER_EXAMPLES
@given(data=st.data(), name=st.sampled_from(sorted(DISTRIBUTIVE)))
def test_a_search_in_a_lattice_replays(key: str, data: st.DataObject, name: str) -> None:
    lattice = DISTRIBUTIVE[name]
    tree = data.draw(trees_over(lattice))
    made = run(tree, key, lattice=lattice)
    Replay(made, true_elements(tree, lattice))
    check_statistics(made)


def true_elements(tree: Tree, lattice: Lattice[Any]) -> Callable[[int, int | None], Any]:
    values: list[Any] = [None if text is None else lattice.parse(text) for text in tree.leaf]
    for node in reversed(range(len(tree))):
        for child in tree.children[node]:
            combine = lattice.join if tree.is_max(node) else lattice.meet
            values[node] = values[child] if values[node] is None else combine(values[node], values[child])
    return lambda node, _: values[node]


def check_statistics(made: Run) -> None:
    found = made.statistics
    entered = [event.node for event in made.events if event.kind == "enter"]
    assert found.visited == len(entered)
    assert found.pruned == found.nodes - len(set(entered))
    assert found.evaluated == sum(event.kind == "leaf" for event in made.events)
    assert found.leaves == len(made.tree.leaves)
    if found.fewest_leaves is not None and made.algorithm.key in ("alpha-beta", "fail-hard", "pvs"):
        assert found.evaluated >= found.fewest_leaves
    for above, below in pairwise(made.line):
        assert made.tree.parent[below] == above


@pytest.mark.parametrize("key", ["minimax", "negamax", "fail-hard", "alpha-beta", "pvs", "guess", "lattice-strong"])
@FEWER_EXAMPLES
@given(NUMBER_TREES)
def test_the_principal_variation_ends_in_a_leaf_with_the_roots_value(key: str, tree: Tree) -> None:
    made = run(tree, key)
    assert tree.leaf[made.line[-1]] == str(made.value)


def test_reasons_by_example() -> None:
    shallow = run(read_tree("[a:[3 12 8] b:[2 4 6] [14 5 2]]"), "alpha-beta")
    cuts = [event for event in shallow.events if event.kind == "cut"]
    assert cuts == [Event("cut", 5, 3, 2, 2, "alpha-shallow", 0)]
    deep = run(read_tree("[5 [[[4 8] 2] 9]]"), "alpha-beta")
    assert ("alpha-deep", 0) in [(event.reason, event.other) for event in deep.events if event.kind == "cut"]
    sentence = explain(cuts[0], shallow.tree.name, shallow.lattice.format)
    assert sentence.startswith("MIN can limit b to 2, but one step up, at root, MAX is already sure of 3")


def test_every_reason_can_be_given() -> None:
    """A text that is never used has no test."""
    given_reasons = set()
    generator = random.Random(1)
    for _ in range(8):
        tree = random_tree(generator.randrange(1000), 5, 3, lambda rng: str(rng.randint(-6, 6)), 0.2, 60)
        for key in CHAIN_KEYS:
            given_reasons |= {event.reason for event in run(tree, key).events}
    for lattice in (DISTRIBUTIVE["2x2"], diamond(), pentagon()):
        leaves = [lattice.format(element) for element in elements(lattice)]
        for _ in range(30):
            tree = random_tree(generator.randrange(1000), 6, 3, lambda rng: rng.choice(leaves), 0.2, 60)  # noqa: B023
            for key in LATTICE_KEYS:
                given_reasons |= {event.reason for event in run(tree, key, lattice=lattice, force=True).events}
    assert given_reasons == {"", *REASONS}


@pytest.mark.parametrize("key", ALGORITHMS)
def test_every_event_can_be_said_in_words(key: str) -> None:
    tree = uniform_tree(3, 4, seed=1)
    made = run(tree, key)
    for event in made.events:
        sentence = explain(event, tree.name, made.lattice.format)
        assert sentence[-1] in ".:"
        assert "{" not in sentence
        assert "None" not in sentence
        assert "  " not in sentence


@pytest.mark.parametrize("key", ["alpha-beta", "two-sided", "pvs"])
def test_a_cut_names_a_node_that_is_sure_of_the_bound(key: str) -> None:
    """#4 fails low, so its value 5 is only a bound, and #3 is not sure of 5 when #7 is cut. The root is."""
    cuts = [event for event in run(read_tree("[5 [[[5 2] [4 9]] 6]]"), key).events if event.kind == "cut"]
    cut = next(event for event in cuts if event.node == 7)
    assert (cut.reason, cut.other) == ("alpha-deep", 0)


def test_a_visit_that_fails_low_does_not_change_the_main_line() -> None:
    """When #2 is searched again, #3 is at most 3, and #4 seems as good as #7, which is the right move."""
    assert run(read_tree("[0 [[[3 -5] 3] 9]]"), "pvs").line == [0, 2, 3, 7]


@pytest.mark.parametrize("key", LATTICE_KEYS)
def test_the_main_line_in_a_lattice_avoids_nodes_that_were_cut(key: str) -> None:
    """#3 returns {a,b} where it is cut, but it is worth {}."""
    assert run(read_tree("[{a} {b} [{a,b} {}]]"), key, lattice=Sets("ab")).line == [0]
