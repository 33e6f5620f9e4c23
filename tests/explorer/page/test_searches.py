"""What the page searches with: algorithms, lattices, two at once, and children in every order."""

from __future__ import annotations

import pytest

from search.explorer import service
from search.theory.algorithms import run
from search.theory.lattice_text import KINDS, make_lattice
from search.theory.orders import ordered_children
from search.theory.tree_text import read_tree
from tests.explorer.page.reference import path_to, sentence, state_after
from tests.explorer.page.trees import IN_LATTICES, THREES, UNIFORM

LATTICES = [
    ("sets", "a b c", "[{a} [{b} {a,b}] [[{c} {a,c}] {a,b,c}]]"),
    ("product", "0..1 x 0..1", "[(1,0) [[(0,1) (0,1)]]]"),
    ("divisors", "60", "[[12 30] [20 [4 6] 15] [5 60]]"),
    ("intervals", "0..9", "[[3..5 4..6] [2..7 1..2 5..5]]"),
    ("M3", "", "[c [b [a b]]]"),
    ("N5", "", "[a [b [c a 0]]]"),
    ("order", "0 < a, b < 1", "[a [b [1 0]]]"),
    ("chain", "0..9", "[[3 5] [2 9] [4 [7 1]]]"),
]


@pytest.mark.parametrize(("kind", "spec", "text"), LATTICES)
def test_lattices_show_join_and_meet(shown, kind, spec, text):
    # Rules that cut more are refused where the lattice is not distributive.
    rule = "lattice-shallow" if kind in ("M3", "N5") else "lattice-fold"
    enter_in_lattice(shown, text, rule, kind, spec)
    lattice = make_lattice(kind, spec)
    done = run(read_tree(text), rule, lattice=lattice)
    for number in range(len(done.events) + 1):
        shown.seek(number)
        state = state_after(done, number)
        facts = shown.facts()
        assert facts["alpha (join)"] == state.alpha.get(0, "–")
        assert facts["beta (meet)"] == state.beta.get(0, "–")
        assert shown.counts() == state.counts()
        if number:
            assert shown.text("explanation") == sentence(done, done.events[number - 1])
    assert f"Value at the root: {lattice.format(done.value)}" in shown.text("result")


def enter_in_lattice(shown, text, rule, kind, spec):
    """Types a tree, chooses rule and lattice, and initialises."""
    shown.page.click("#tab-text")
    shown.page.fill("#tree-text", text)
    shown.page.select_option("#algorithm", rule)
    shown.settle()
    shown.page.select_option("#lattice", kind)
    shown.page.fill("#lattice-spec", spec)
    shown.click("initialise")
    assert shown.message == ""


def test_every_kind_of_lattice_is_tried():
    assert {kind for kind, _, _ in LATTICES} == set(KINDS)


@pytest.mark.parametrize("rule", IN_LATTICES)
def test_every_event_of_every_rule_is_told_as_in_python(shown, rule):
    kind, spec, text = "sets", "a b c", service.example({"key": "worlds"})["text"]
    enter_in_lattice(shown, text, rule, kind, spec)
    done = run(read_tree(text), rule, lattice=make_lattice(kind, spec))
    told = shown.every_event()
    assert len(told) == len(done.events)
    for number, (event, (words, path, counts)) in enumerate(zip(done.events, told, strict=True), start=1):
        assert words == sentence(done, event)
        assert path.split(" › ") == path_to(done, event.node)
        assert counts == list(state_after(done, number).counts().values()), f"after event {number}, {event}"


def test_unsound_rules_are_refused_with_the_triple(shown):
    shown.page.click("#tab-example")
    shown.choose("example", "M3")
    shown.choose("algorithm", "lattice-strong")
    assert "a meet (b join c)" in shown.message
    shown.choose("algorithm", "lattice-shallow")
    assert shown.message == ""


def test_two_algorithms_side_by_side(shown):
    shown.enter(UNIFORM)
    shown.choose("compare", "minimax")
    tree = read_tree(UNIFORM)
    one, two = run(tree, "alpha-beta"), run(tree, "minimax")
    assert shown.page.is_visible("#tree-b")
    assert shown.text("count") == f"0 of {len(one.events)} | 0 of {len(two.events)}"
    for number in (10, 100, len(one.events), len(two.events)):
        shown.seek(number)
        assert shown.counts(1) == state_after(one, number).counts()
        assert shown.counts(2) == state_after(two, number).counts()
        assert shown.text("explanation-b") == "B: " + sentence(two, two.events[number - 1])
    shown.click("back")
    assert shown.text("count") == f"{len(one.events)} of {len(one.events)} | {len(two.events) - 1} of {len(two.events)}"
    assert shown.counts(3)["evaluated"] == one.statistics.evaluated
    assert shown.counts(4)["evaluated"] == 81
    shown.select(1)
    x, y = shown.place(4, "b")
    shown.page.mouse.click(x, y)
    shown.settle()
    assert shown.facts()["node"].startswith("#4 ")
    shown.choose("compare", "")
    assert not shown.page.is_visible("#tree-b")


@pytest.mark.parametrize("order", ["best", "worst", "random", "given"])
def test_the_order_of_children_changes_the_count(shown, order):
    shown.enter(UNIFORM)
    shown.choose("order", order)
    seed = 1
    if order == "random":
        seed = 7
        shown.page.fill("#order-seed", str(seed))
        shown.press("Tab")
    tree = read_tree(UNIFORM)
    done = run(tree, "alpha-beta", children=ordered_children(tree, order, seed))
    assert shown.counts(2) == {name: getattr(done.statistics, name) for name in shown.counts()}
    rows = {row[0].split(",")[0]: row[1:] for row in shown.table("orders")}
    assert set(rows) == {"as given", "best first", "worst first", "random"}
    assert rows["best first"][0] == "17"
    name = {"best": "best first", "worst": "worst first", "random": "random", "given": "as given"}[order]
    assert rows[name] == [str(done.statistics.evaluated), str(done.statistics.visited)]
    assert shown.page.inner_text("#orders tr.chosen").split(",")[0].split("\t")[0] == name
    shown.seek(50)
    assert shown.counts() == state_after(done, 50).counts()


def evaluated(tree, children):
    return run(tree, "alpha-beta", children=children).statistics.evaluated


def test_children_are_ordered_by_hand_with_keys_and_buttons(shown):
    shown.enter(THREES)
    tree = read_tree(THREES)
    third = tree.children[0][2]
    shown.press("ArrowDown", "ArrowRight", "ArrowRight")
    assert shown.facts()["node"].startswith(f"#{third} ")
    shown.press("[")
    first, second, _ = tree.children[0]
    assert shown.page.input_value("#order") == "hand"
    by_hand = [(first, third, second), *tree.children[1:]]
    assert shown.counts(2)["evaluated"] == evaluated(tree, by_hand)
    assert shown.facts()["node"].startswith(f"#{third} ")
    shown.click("earlier")
    by_hand = [(third, first, second), *tree.children[1:]]
    assert shown.counts(2)["evaluated"] == evaluated(tree, by_hand)
    assert shown.table("orders")[-1][:2] == ["by hand", str(evaluated(tree, by_hand))]
    shown.click("later")
    shown.press("]")
    assert shown.counts(2)["evaluated"] == evaluated(tree, tree.children)
    shown.choose("order", "given")
    assert [row[0] for row in shown.table("orders")][-1].startswith("random")


def test_children_are_ordered_by_hand_by_dragging(shown):
    shown.enter(THREES)
    tree = read_tree(THREES)
    first, second, third = tree.children[0]
    shown.choose("order", "hand")
    x, y = shown.place(third)
    to, _ = shown.place(first)
    shown.page.mouse.move(x, y)
    shown.page.mouse.down()
    shown.page.mouse.move((x + to) / 2, y, steps=4)
    shown.page.mouse.move(to - 30, y, steps=4)
    shown.page.mouse.up()
    shown.settle()
    assert shown.counts(2)["evaluated"] == evaluated(tree, [(third, first, second), *tree.children[1:]])
    assert shown.page.evaluate("[...secateur.state.panels[0].trace.children[0]]") == [third, first, second]
