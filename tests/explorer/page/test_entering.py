"""Where the page's tree comes from: typed in three formats, an example, generated; and what is refused."""

from __future__ import annotations

import pytest

from search.explorer import service
from search.explorer.examples import EXAMPLES
from search.theory.algorithms import run
from search.theory.generate import uniform_tree
from search.theory.tree_text import read_tree, write_indented, write_list
from tests.explorer.page.trees import SEVEN


@pytest.mark.parametrize("form", ["list", "indented", "json"])
@pytest.mark.parametrize("explicit", [True, False])
def test_a_tree_can_be_entered_in_each_format(shown, form, explicit):
    tree = read_tree(SEVEN)
    text = {
        "list": write_list(tree),
        "indented": write_indented(tree),
        "json": '{"tree": [[[5, 6], [7, 4]], [[3, 2], {"label": "eight", "value": 8}]]}',
    }[form]
    shown.enter(text, form if explicit else "")
    assert shown.message == ""
    done = run(tree, "alpha-beta")
    shown.click("end")
    assert shown.counts() == {name: getattr(done.statistics, name) for name in shown.counts()}
    assert f"Value at the root: {done.value}" in shown.text("result")


@pytest.mark.parametrize(("text", "line", "column"), [("[1 2", 1, 5), ("[1\n 2]]", 2, 4), ("[1 two]", 1, 4)])
def test_malformed_text_names_its_place_and_leaves_the_rest_alone(shown, text, line, column):
    before = shown.length
    shown.enter(text)
    assert f"line {line}, column {column}" in shown.message
    start = shown.page.evaluate("document.getElementById('tree-text').selectionStart")
    lines = text[:start].split("\n")
    assert (len(lines), len(lines[-1]) + 1) == (line, column)
    assert shown.length == before
    shown.enter(SEVEN)
    assert shown.message == ""


def test_every_example_can_be_chosen(shown):
    for key, example in EXAMPLES.items():
        shown.page.click("#tab-example")
        shown.choose("example", key)
        assert shown.message == "", key
        assert shown.text("title") == example.name
        assert shown.page.input_value("#format") == ""
        chosen = service.example({"key": key})
        algorithm = chosen["algorithm"] or "alpha-beta"
        document = service.trace({name: chosen[name] for name in ("text", "lattice")} | {"algorithm": algorithm})
        assert shown.length == len(document["events"]["kind"])
        shown.page.click("#end")
        assert shown.counts() == {name: document["statistics"][name] for name in shown.counts()}
        assert f"Value at the root: {document['result']['value']}" in shown.text("result")


def test_a_uniform_tree_can_be_generated(shown):
    shown.page.click("#tab-uniform")
    for control, value in (("branching", "4"), ("plies", "3"), ("seed", "9")):
        shown.page.fill(f"#{control}", value)
    for arrangement, evaluated in (("best", 19), ("worst", 64), ("random", None)):
        shown.page.select_option("#arrangement", arrangement)
        shown.click("generate")
        tree = uniform_tree(4, 3, arrangement, 9)
        assert shown.page.input_value("#tree-text") == write_list(tree)
        counted = shown.counts(2)["evaluated"]
        assert counted == run(tree, "alpha-beta").statistics.evaluated
        assert evaluated in (None, counted)
        assert "4^2 + 4^1 − 1 = 19 of 4^3 = 64" in shown.text("bound")


def test_a_tree_that_is_too_large_is_refused(shown):
    shown.page.click("#tab-uniform")
    shown.page.fill("#branching", "1000")
    shown.click("generate")
    assert "200,000 nodes" in shown.message


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("'[' + '1 '.repeat(500001) + ']'", "at most 1,000,000 bytes"),
        ("'['.repeat(2002) + '1' + ']'.repeat(2002)", "at most 2000 plies deep"),
        ("'[' + '1 '.repeat(200001) + ']'", "at most 200,000 nodes"),
    ],
)
def test_text_beyond_the_limits_is_refused_and_leaves_the_rest_alone(shown, script, complaint):
    before = shown.length, shown.text("explanation")
    shown.page.click("#tab-text")
    shown.page.evaluate(f"document.getElementById('tree-text').value = {script}")
    shown.click("initialise")
    assert complaint in shown.message
    assert (shown.length, shown.text("explanation")) == before


def test_before_the_first_step_the_page_says_what_there_is_and_what_to_do(shown):
    shown.enter(SEVEN)
    tree = read_tree(SEVEN)
    told = shown.text("explanation")
    assert told.startswith(
        f"{len(tree)} nodes, {len(tree.leaves)} leaves, none visited yet. MAX wants the largest value"
    )
    shown.enter("5")
    assert shown.text("explanation").startswith("1 node, 1 leaf, none visited yet.")
    shown.page.click("#tab-example")
    shown.choose("example", "worlds")
    assert "MAX takes the join of its children's values, MIN the meet" in shown.text("explanation")
