"""Trees as text: written trees are read back, errors name their place, and no text is too deep."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.theory.algorithms import ALGORITHMS, run
from search.theory.run_text import run_as_text
from search.theory.tree_text import Format, guess_format, read_tree, write_indented, write_list
from search.theory.trees import MAX_BYTES, MAX_DEPTH, MAX_NODES, NOWHERE, Tree, TreeError, grown_tree
from tests.theory.trees_at_random import FEWER_EXAMPLES, NUMBER_TREES, built, deep_tree


def write_json(tree: Tree) -> str:
    """The tree as JSON with a label and a value or children at every node."""
    parts: list[Any] = []
    for label, leaf in zip(tree.label, tree.leaf, strict=True):
        parts.append({"label": label, "value": leaf} if leaf is not None else {"label": label, "children": []})
    for node in range(1, len(tree)):
        parts[tree.parent[node]]["children"].append(parts[node])
    return json.dumps({"mover": "max" if tree.root_is_max else "min", "tree": parts[0]})


WRITERS: dict[Format, Callable[[Tree], str]] = {"list": write_list, "indented": write_indented, "json": write_json}

#: Anything that can be typed, and things that look like parts of the formats.
WORDS = st.text(max_size=6) | st.sampled_from(
    ["MAX", "MIN", "a:b", "{a, b}", "(1,0)", "{", '"', "a b", "3..5", "", "#1", "\\", "x:"]
)


#: Trees whose leaves and labels are such words: an inner node is a label with a list, a leaf a label with a word.
LABELLED = st.builds(
    lambda node, root_is_max: grown_tree(node, lambda node: (node[0], NOWHERE, node[1]), root_is_max=root_is_max),
    st.recursive(st.tuples(WORDS, WORDS), lambda inner: st.tuples(WORDS, st.lists(inner, min_size=1)), max_leaves=12),
    st.booleans(),
)


@pytest.mark.parametrize("form", WRITERS)
@FEWER_EXAMPLES
@given(LABELLED)
def test_what_is_written_is_read_back(form: Format, tree: Tree) -> None:
    again = read_tree(WRITERS[form](tree), form)
    assert (again.parent, again.leaf, again.label) == (tree.parent, tree.leaf, tree.label)
    # An indented leaf alone does not say whose turn it is.
    assert again.root_is_max == tree.root_is_max or (len(tree) == 1 and form == "indented")


@pytest.mark.parametrize("form", WRITERS)
@FEWER_EXAMPLES
@given(NUMBER_TREES)
def test_the_format_need_not_be_told(form: Format, tree: Tree) -> None:
    again = read_tree(WRITERS[form](tree))
    assert (again.parent, again.leaf) == (tree.parent, tree.leaf)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[3 12 8] [2 4 6] [14 5 2]]", [[3, 12, 8], [2, 4, 6], [14, 5, 2]]),
        ("[[3, 12], [2]]", [[3, 12], [2]]),
        (" [ c[b [a b]] ] ", ["c", ["b", ["a", "b"]]]),
        ("[(1,0) [[(0, 1) {a, b}]]]", ["(1,0)", [["(0, 1)", "{a, b}"]]]),
        ("7", 7),
        ("[{} {a}]", ["{}", "{a}"]),
        ("MAX\n  MIN\n    3\n    4\n  5", [[3, 4], 5]),
        ("MAX d=4 a=10 b=30 \n\tMIN d=3, a=10, b=30\n\t\t2 a=10 b=15 (cut: 1 of 2)\n\n\t6", [[2], 6]),
        ('{"tree": [1, [2, {"label": "x", "value": 3}]]}', [1, [2, 3]]),
        ('{"label": "r", "children": [{"children": [1], "label": "late"}]}', [[1]]),
        ('[{"value": "a"}, 2]', ["a", 2]),
    ],
)
def test_every_format_by_example(text: str, expected: Any) -> None:
    tree = read_tree(text)
    assert tree.parent == built(expected).parent
    assert tree.leaf == built(expected).leaf


def test_labels_and_movers_by_example() -> None:
    tree = read_tree('MIN root:[a: 3 "two words":[4]]')
    assert tree.label == ("root", "a", "two words", "")
    assert not tree.root_is_max
    assert tree.is_max(1)
    assert tree.name(3) == "#3"
    tree = read_tree("top: MIN\n  a: MAX v=3\n    b: 5")
    assert (tree.label, tree.root_is_max) == (("top", "a", "b"), False)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "contains no tree"),
        ("[1 [2 3]", 1, 9, "expected 1 more ']'"),
        ("[1 2]]", 1, 6, "this ']' has no matching '['"),
        ("[1\n []]", 2, 2, "a node without children"),
        ("[1] 2", 1, 5, "text after the end"),
        ("[1 } 2]", 1, 4, "'}' is unexpected here"),
        ("[1 {a 2]", 1, 4, "'{' is unexpected here or not closed on its line"),
        ("MAX\n  , ,", 2, 6, "the line contains only commas"),
        ("[1 x: ]", 1, 7, "expected a node after the label 'x'"),
        ("[1] x:", 1, 7, "expected a node after the label 'x'"),
        ('[1 "a\\qb"]', 1, 4, "is not a valid string"),
        ("MAX\n  3\n 4", 3, 2, "not indented like the other children"),
        ("MAX\n  MIN\n  4", 2, 3, "a node without children"),
        ("MAX\n  MAX\n    4", 2, 3, "expected MIN to move here, got MAX"),
        ("MAX\n  4 5", 2, 5, "unexpected '5': a node may be followed only by remarks"),
        ("MAX\n  x:", 2, 5, "expected a node after the label 'x'"),
        ("MAX\n  3\nMAX\n  4", 3, 1, "text after the end"),
        ("MAX\n  3\n  [3]", 3, 3, "'[' is unexpected here"),
        ('{"tree": [1, ]}', 1, 14, "not valid JSON"),
        ('{"tree": ', 1, 10, "not valid JSON"),
        ('{"tree": [1,\n true]}', 0, 0, "a number or a string"),
        ('{"tree": [{"value": 1, "children": [2]}]}', 0, 0, "either"),
        ('{"tree": [{"lable": "x", "value": 1}]}', 0, 0, "unknown field 'lable'"),
        ('{"tree": [1], "mover": "white"}', 0, 0, '"mover" must be "max" or "min"'),
    ],
)
def test_mistakes_are_named_with_their_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        read_tree(text)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert "\n" not in str(caught.value)


def test_leaves_that_are_no_numbers_are_named_with_their_place() -> None:
    for text, message in (
        ("[1\n  x]", "line 2, column 3: the leaf 'x' is not a number"),
        ("[1 1000000001]", "line 1, column 4: the leaf 1000000001 is outside"),
        ("MAX\n  a: y v=3", "line 2, column 6: the leaf 'y'"),
        ("[" + "9" * 9999 + "]", "line 1, column 2: the leaf"),
    ):
        with pytest.raises(TreeError, match=message):
            run(read_tree(text), "minimax")


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(TreeError, match=r"at most 1,000,000 bytes \(got 1,000,004\)"):
        read_tree("[" + "1" * (MAX_BYTES + 2) + "]")
    with pytest.raises(TreeError, match="bytes"):
        read_tree("[" + "é" * (MAX_BYTES // 2) + "]")
    with pytest.raises(TreeError, match="more than 200,000 nodes"):
        read_tree("[" + "1 " * MAX_NODES + "]")
    too_deep = MAX_DEPTH + 1
    with pytest.raises(TreeError, match=r"line 1, column \d+: the tree is more than 2000 plies deep"):
        read_tree("[" * too_deep + "1" + "]" * too_deep)
    with pytest.raises(TreeError, match="nested too deeply"):
        read_tree('{"children": [' * 50_000 + "1" + "]}" * 50_000)


def test_the_deepest_tree_can_be_written_and_read() -> None:
    tree = deep_tree(MAX_DEPTH)
    assert tree.height == MAX_DEPTH
    assert read_tree(write_list(tree)) == tree
    with pytest.raises(TreeError, match="bytes"):
        # Indented, the deepest trees are larger than a text may be.
        read_tree(write_indented(tree))
    assert read_tree(write_indented(deep_tree(500))).leaf == deep_tree(500).leaf


@given(st.text(alphabet='[]{}()",: \n\t-0123ab=\\MAXIN#.', max_size=60))
def test_no_text_does_worse_than_a_clear_refusal(text: str) -> None:
    for form in (None, "list", "indented", "json"):
        with suppress(TreeError):
            read_tree(text, form)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("[1]", "list"),
        ("MIN x:[1]", "list"),
        ("MIN\n[1 2]", "list"),
        ("MIN 5", "list"),
        ("MIN x: {a, b}", "list"),
        ("MAX\n 1", "indented"),
        ("MAX d=4", "indented"),
        ("MAX\n  x: 5", "indented"),
        ("5", "indented"),
        ("{a, b}", "indented"),
        ("{}", "indented"),
        ('"a b":[1]', "list"),
        # Braces are sets here, with or without quotes near them, empty or not.
        ("[{} {a}]", "list"),
        ('[{} "x": {a}]', "list"),
        ('["{": 5 {}: 6]', "list"),
        ('["{\\"a\\": 1" 2]', "list"),
        ('[{"a", "b"} {"a"}]', "list"),
        ("{a, b}: [{a} {b}]", "list"),
        ('{"a", "b"}: MAX\n  {"a"}\n  {}', "indented"),
        # And objects here, even where they are damaged.
        ('{"tree": 1}', "json"),
        ('{ "tree" 1}', "json"),
        ('{"tree: [1]}', "json"),
        ('[{"value": 1}]', "json"),
        ('[[1, 2], [{}, {"value" : 1}]]', "json"),
    ],
)
def test_formats_are_guessed(text: str, form: str) -> None:
    assert guess_format(text) == form


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ('[{} {"a", "b"} [{c}', 1, 20, "expected 2 more ']'"),
        ("[{} {}\n [{} 1]", 2, 8, "expected 1 more ']'"),
        ('["{": {}\n {a]', 2, 2, "or not closed on its line"),
        ('[{"value" : 1} {}]', 1, 16, "not valid JSON"),
        ('[{}, {"value": 1}]', 0, 0, 'a node must have either "value" or "children"'),
    ],
)
def test_mistakes_beside_braces_are_told_for_the_format_that_was_meant(
    text: str, line: int, column: int, message: str
) -> None:
    with pytest.raises(TreeError, match=re.escape(message)) as caught:
        read_tree(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@given(st.lists(st.frozensets(st.sampled_from("abc")), min_size=1, max_size=6), st.integers(0, 3))
def test_a_list_of_sets_is_never_taken_for_json(sets: list[frozenset[str]], depth: int) -> None:
    leaves = ["{" + ",".join(sorted(names)) + "}" for names in sets]
    text = "[" * depth + "[" + " ".join(leaves) + "]" + "]" * depth
    assert read_tree(text) == read_tree(text, "list")
    assert [leaf for leaf in read_tree(text).leaf if leaf is not None] == leaves


def test_a_run_is_written_onto_its_tree() -> None:
    made = run(read_tree("[a:[3 12 8] b:[2 4 6] [14 5 2]]"), "alpha-beta")
    text = run_as_text(made)
    assert text.splitlines()[:7] == [
        "MAX d=2 a=-∞ b=+∞ v=3",
        "  a: MIN d=1 a=-∞ b=+∞ v=3",
        "    3 a=-∞ b=+∞ v=3",
        "    12 a=-∞ b=3 v=12",
        "    8 a=-∞ b=3 v=8",
        "  b: MIN d=1 a=3 b=+∞ v=2 (cut after 1 of 3: alpha-shallow)",
        "    2 a=3 b=+∞ v=2",
    ]
    assert text.count("(pruned)") == 2


@pytest.mark.parametrize("key", ALGORITHMS)
def test_a_run_that_is_written_can_be_read_as_a_tree(key: str) -> None:
    generator = random.Random(key)
    tree = built([[[generator.randint(0, 9) for _ in range(3)] for _ in range(3)] for _ in range(3)], root_is_max=False)
    again = read_tree(run_as_text(run(tree, key)))
    assert (again.parent, again.leaf, again.root_is_max) == (tree.parent, tree.leaf, False)


def test_a_printed_tree_is_read_also_if_its_lines_were_joined() -> None:
    printed = "MAX, d=4, a=10, b=30 MIN, d=3, a=10, b=30 MAX, d=2, a=10, b=15 (Pruned!)"
    lines = "MAX, d=4, a=10, b=30\n  MIN, d=3, a=10, b=30\n    MAX, d=2, a=10, b=15 (Pruned!)"
    assert read_tree(printed) == read_tree(lines) == read_tree("[[15]]")
    more = "MIN d=2 a=-inf b=+inf\n  MAX d=1 v=4\n  MAX d=1 a=-inf b=4\n    3\n    7 (leaf)\n  MAX d=1 b=4 (pruned)"
    assert read_tree(more) == read_tree("MIN [4 [3 7] 4]")
    with pytest.raises(TreeError, match="must have a value"):
        read_tree("MAX d=2 a=1 b=2\n  MIN d=1 a=1 b=2")
