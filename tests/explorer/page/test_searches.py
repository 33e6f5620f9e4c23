"""What the page searches: trees that are typed, chosen or generated; algorithms, lattices, and orders of children."""

from __future__ import annotations

from typing import Any

from search.explorer import service
from search.explorer.examples import EXAMPLES
from search.theory.algorithms import Run, run
from search.theory.generate import uniform_tree
from search.theory.lattice_text import KINDS, make_lattice
from search.theory.orders import Order, ordered_children
from search.theory.policy import priors_of
from search.theory.tree_text import read_tree, write_indented, write_list
from search.theory.trees import Children, Tree
from tests.explorer.page.conftest import Shown
from tests.explorer.page.reference import (
    IN_LATTICES,
    SEVEN,
    THREES,
    UNIFORM,
    path_to,
    sentence,
    state_after,
)

# --- trees ---------------------------------------------------------------------------------------------------------


def test_a_tree_can_be_entered_in_each_format(shown: Shown) -> None:
    tree = read_tree(SEVEN)
    done = run(tree, "alpha-beta")
    as_json = '{"tree": [[[5, 6], [7, 4]], [[3, 2], {"label": "eight", "value": 8}]]}'
    for form, text in (("list", write_list(tree)), ("indented", write_indented(tree)), ("json", as_json)):
        for chosen in (form, ""):
            shown.enter(text, chosen)
            assert shown.message == "", form
            shown.click("end")
            assert shown.counts() == {name: getattr(done.statistics, name) for name in shown.counts()}
            assert f"Value at the root: {done.value}" in shown.text("result")


def test_malformed_text_names_its_place_and_leaves_the_rest_alone(shown: Shown) -> None:
    before = shown.length
    for text, line, column in (("[1 2", 1, 5), ("[1\n 2]]", 2, 4), ("[1 two]", 1, 4)):
        shown.enter(text)
        assert f"line {line}, column {column}" in shown.message
        start = shown.page.evaluate("document.getElementById('tree-text').selectionStart")
        lines = text[:start].split("\n")
        assert (len(lines), len(lines[-1]) + 1) == (line, column)
        assert shown.length == before
    # While the text is being corrected, the old error is gone, and the page says that the text is not searched yet.
    shown.page.fill("#tree-text", THREES)
    assert shown.message == ""
    assert shown.page.is_visible("#unapplied")
    shown.click("initialise")
    assert shown.message == ""
    assert not shown.page.is_visible("#unapplied")
    assert shown.page.input_value("#example") == ""


def test_examples_can_be_chosen(shown: Shown) -> None:
    listed = shown.page.evaluate(
        "Array.from(document.getElementById('example').options, (one) => [one.value, one.text])"
    )
    assert listed == [[key, example.name] for key, example in EXAMPLES.items()]
    shown.page.click("#tab-example")
    for key in ("calculator", "uniform", "tic-tac-toe-win", "strong", "seven"):
        example = EXAMPLES[key]
        shown.choose("example", key)
        assert shown.message == "", key
        assert shown.text("title") == example.name
        assert shown.page.input_value("#algorithm") == (example.algorithm or "two-sided")
        assert shown.page.evaluate("secateur.state.request.lattice?.spec ?? ''") == (example.lattice or ("", ""))[1]
        shown.page.click("#end")
        assert "Value at the root: " in shown.text("result")


def test_a_uniform_tree_can_be_generated(shown: Shown) -> None:
    shown.page.click("#tab-uniform")
    assert not shown.page.is_visible("#initialise")
    for control, value in (("branching", "4"), ("plies", "3"), ("seed", "9")):
        shown.page.fill(f"#{control}", value)
    for arrangement in ("best", "worst", "random"):
        shown.page.select_option("#arrangement", arrangement)
        shown.click("generate")
        tree = uniform_tree(4, 3, arrangement, 9)
        assert shown.page.input_value("#tree-text") == write_list(tree)
        assert shown.counts(2)["evaluated"] == run(tree, "alpha-beta").statistics.evaluated
        assert "4^2 + 4^1 − 1 = 19 of 4^3 = 64" in shown.text("bound")
    shown.page.fill("#branching", "1000")
    shown.click("generate")
    assert "200,000 nodes" in shown.message


def test_before_the_first_step_the_page_says_what_there_is_and_what_to_do(shown: Shown) -> None:
    tree = read_tree(SEVEN)
    assert shown.text("explanation").startswith(
        f"{len(tree)} nodes, {len(tree.leaves)} leaves, none visited yet. MAX wants the largest value"
    )
    shown.enter("5")
    assert shown.text("explanation").startswith("1 node, 1 leaf, none visited yet.")
    shown.page.click("#tab-example")
    shown.choose("example", "worlds")
    assert "MAX takes the join of its children's values, MIN the meet" in shown.text("explanation")


# --- algorithms ----------------------------------------------------------------------------------------------------

LATTICES = [
    ("sets", "a b c", "[{a} [{b} {a,b}] [[{c} {a,c}] {a,b,c}]]"),
    ("product", "0..1 x 0..1", "[(1,0) [[(0,1) (0,1)]]]"),
    ("intervals", "0..9", "[[3..5 4..6] [2..7 1..2 5..5]]"),
    ("M3", "", "[c [b [a b]]]"),
    ("N5", "", "[a [b [c a 0]]]"),
    ("order", "0 < a, b < 1", "[a [b [1 0]]]"),
    ("chain", "0..9", "[[3 5] [2 9] [4 [7 1]]]"),
]


def in_lattice(shown: Shown, text: str, rule: str, kind: str, spec: str) -> Run:
    """Types a tree, chooses rule and lattice, and initialises; the same search in Python."""
    shown.page.click("#tab-text")
    shown.page.fill("#tree-text", text)
    shown.page.select_option("#algorithm", rule)
    shown.settle()
    shown.page.select_option("#lattice", kind)
    shown.page.fill("#lattice-spec", spec)
    shown.click("initialise")
    assert shown.message == "", kind
    return run(read_tree(text), rule, lattice=make_lattice(kind, spec))


def test_lattices_show_join_and_meet(shown: Shown) -> None:
    assert {kind for kind, _, _ in LATTICES} == set(KINDS)
    for kind, spec, text in LATTICES:
        # Rules that cut more are refused where the lattice is not distributive.
        done = in_lattice(shown, text, "lattice-shallow" if kind in ("M3", "N5") else "lattice-fold", kind, spec)
        every: list[Any] = shown.page.evaluate(
            """length => Array.from({length}, (_, i) => {
                secateur.seek(i);
                return Object.fromEntries(secateur.state.panels[0].facts(0, true));
            })""",
            len(done.events) + 1,
        )
        for number, facts in enumerate(every):
            state = state_after(done, number)
            expected = (state.alpha.get(0, "–"), state.beta.get(0, "–"))
            assert (facts["alpha (join)"], facts["beta (meet)"]) == expected, f"{kind} after event {number}"
        assert shown.counts() == state_after(done, len(done.events)).counts()
        assert f"Value at the root: {done.lattice.format(done.value)}" in shown.text("result")


def test_every_event_of_every_rule_is_told_as_in_python(shown: Shown) -> None:
    text = service.example({"key": "worlds"})["text"]
    for rule in IN_LATTICES:
        done = in_lattice(shown, text, rule, "sets", "a b c")
        for number, (event, told) in enumerate(zip(done.events, shown.every_event(), strict=True), start=1):
            counts = list(state_after(done, number).counts().values())
            expected = (sentence(done, event), " › ".join(path_to(done, event.node)), counts)
            assert told == expected, f"{rule} after event {number}, {event}"


def test_unsound_rules_are_refused_with_the_triple(shown: Shown) -> None:
    shown.page.click("#tab-example")
    shown.choose("example", "M3")
    shown.choose("algorithm", "lattice-strong")
    assert "a meet (b join c)" in shown.message
    shown.choose("algorithm", "lattice-shallow")
    assert shown.message == ""


def test_two_algorithms_side_by_side(shown: Shown) -> None:
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
    shown.click("reset")
    assert shown.text("explanation").startswith("A: ")
    assert shown.text("caption-b") == "B: Minimax"
    # The scissors keep both searches at the same event.
    shown.click("next-cut")
    cut = next(number for number, event in enumerate(one.events, start=1) if event.kind == "cut")
    assert shown.text("count") == f"{cut} of {len(one.events)} | {cut} of {len(two.events)}"
    shown.choose("compare", "")
    assert not shown.page.is_visible("#tree-b")


# --- orders --------------------------------------------------------------------------------------------------------


def test_the_order_of_children_changes_the_count(shown: Shown) -> None:
    shown.enter(UNIFORM)
    tree = read_tree(UNIFORM)
    orders: tuple[tuple[Order, str, int], ...] = (
        ("best", "best first", 1),
        ("worst", "worst first", 1),
        ("random", "random", 7),
        ("given", "as given", 1),
    )
    for order, name, seed in orders:
        shown.choose("order", order)
        if order == "random":
            shown.page.fill("#order-seed", str(seed))
            shown.press("Tab")
        done = run(tree, "alpha-beta", children=ordered_children(tree, order, seed))
        assert shown.counts(2) == {name: getattr(done.statistics, name) for name in shown.counts()}
        shown.seek(50)
        assert shown.counts() == state_after(done, 50).counts()


def evaluated(tree: Tree, children: Children) -> int:
    return run(tree, "alpha-beta", children=children).statistics.evaluated


def test_children_are_ordered_by_hand_with_keys_and_buttons(shown: Shown) -> None:
    shown.enter(THREES)
    tree = read_tree(THREES)
    first, second, third = tree.children[0]
    shown.press("ArrowDown", "ArrowRight", "ArrowRight", "[")
    assert shown.page.input_value("#order") == "hand"
    assert shown.counts(2)["evaluated"] == evaluated(tree, [(first, third, second), *tree.children[1:]])
    assert shown.facts()["node"].startswith(f"#{third} ")
    shown.click("earlier")
    by_hand = evaluated(tree, [(third, first, second), *tree.children[1:]])
    assert shown.counts(2)["evaluated"] == by_hand
    shown.click("later")
    shown.press("]")
    assert shown.counts(2)["evaluated"] == evaluated(tree, tree.children)


def test_children_are_ordered_by_hand_by_dragging(shown: Shown) -> None:
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


def test_a_rule_is_watched_failing(shown: Shown) -> None:
    shown.choose("example", "M3")
    shown.choose("algorithm", "lattice-fold")
    assert "requires a distributive lattice" in shown.message
    shown.click("watch-fail")
    assert shown.message.endswith("Here it returns a (left), but the tree is worth 1 (right).")
    shown.click("end")
    assert shown.text("result") == "Value at the root: a (B: 1)"
    shown.page.uncheck("#force")
    shown.settle()
    assert "requires a distributive lattice" in shown.message
    shown.choose("lattice", "sets")
    shown.click("watch-fail")
    assert "sets need" in shown.message


def test_statements_are_checked_in_cells(shown: Shown) -> None:
    shown.click("check-statements")
    for key, expected in (
        ("half_is_saved", "25%"),
        ("eight_plies_of_chess", "656 billion"),
        ("still_gets_two", "-1000"),
    ):
        shown.page.click(f"[data-key={key}] button:has-text('Run')")
        shown.settle()
        assert expected in shown.page.inner_text(f"[data-key={key}] .finding")
    shown.page.click("[data-key=half_is_saved] button:has-text('Step through it')")
    shown.settle()
    assert shown.counts(2)["evaluated"] == 3
    assert "half of the work" not in shown.text("title")


# --- the learned order ---------------------------------------------------------------------------------------------


def test_the_learned_order_stands_beside_another_one_and_shows_priors(shown: Shown) -> None:
    assert not shown.page.is_visible("#order-note")
    shown.choose("example", "tic-tac-toe-learned")
    tree = read_tree(EXAMPLES["tic-tac-toe-learned"].text())
    priors = priors_of(tree)
    assert priors is not None
    shown.click("end")
    for rival in ("given", "best"):
        if rival == "best":
            shown.choose("compare", "order:best")
            shown.click("end")
        expected = [
            run(tree, "two-sided", children=ordered_children(tree, order)).statistics.evaluated
            for order in ("learned", rival)
        ]
        assert [shown.counts(column)["evaluated"] for column in (1, 2)] == expected
        assert all(str(count) in EXAMPLES["tic-tac-toe-learned"].note for count in expected)
    shown.click("measure")
    assert shown.message == ""
    node = tree.children[0][0]
    shown.select(node)
    assert shown.facts()["prior"] == f"{round(100 * (priors[node] or 0))} %"
    drawn = shown.page.evaluate(f"secateur.state.panels.map(panel => panel.look({node}).label)")
    assert drawn == [f"{tree.label[node]} {shown.facts()['prior']}", tree.label[node]]


def test_the_learned_order_ends_with_the_trees_of_games(shown: Shown) -> None:
    shown.choose("example", "tic-tac-toe-learned")
    assert "likely" in shown.text("order-note")
    # An edited tree of a game still has the order; a tree of no game has not.
    shown.choose("example", "connect-four")
    assert shown.page.input_value("#order") == "learned"
    shown.choose("compare", "order:learned")
    shown.choose("example", "seven")
    assert (shown.page.input_value("#order"), shown.page.input_value("#compare"), shown.message) == ("given", "", "")
    assert not shown.page.is_visible("#order-note")
    shown.choose("order", "learned")
    assert "the learned order needs the tree of a game" in shown.message
