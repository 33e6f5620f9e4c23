"""Editing the tree in its drawing."""

from __future__ import annotations

from search.theory.tree_text import read_tree
from tests.explorer.page.conftest import Shown

SEVEN = "[A:[B:[5 6] C:[7 4]] D:[E:[3 2] 8]]"


def type_value(shown: Shown, text: str) -> None:
    shown.page.wait_for_selector(".node-input")
    shown.page.keyboard.type(text)
    shown.press("Enter")
    shown.page.wait_for_selector(".node-input", state="detached")
    shown.settle()


def tree_text(shown: Shown) -> str:
    return str(shown.page.input_value("#tree-text"))


def test_nodes_are_added_valued_and_removed_by_clicks_and_every_change_is_undone(shown: Shown) -> None:
    shown.click("edit")
    shown.select(2)
    type_value(shown, "-2.75")
    shown.select(4)
    type_value(shown, "9")
    texts = [SEVEN, SEVEN.replace("5 6", "5 6 0"), SEVEN.replace("5 6", "5 6 -2.75"), SEVEN.replace("5 6", "5 9 -2.75")]
    assert tree_text(shown) == texts[3]
    assert shown.facts()["value"] == "9"
    shown.press("Delete")
    texts.append(SEVEN.replace("5 6", "5 -2.75"))
    assert tree_text(shown) == texts[4]
    for text in reversed(texts[:4]):
        shown.press("Control+z")
        assert tree_text(shown) == text
    assert shown.page.is_disabled("#undo")
    for text in texts[1:]:
        shown.page.click("#redo")
        shown.page.wait_for_function("text => document.getElementById('tree-text').value === text", arg=text)
    shown.settle()
    # The drawing shows the tree of the text, and decimals are values like others.
    assert shown.page.evaluate("secateur.state.trees.a.trace.leaf.filter(text => text !== null)") == [
        leaf for leaf in read_tree(texts[4]).leaf if leaf is not None
    ]
    shown.click("end")
    assert shown.text("result") == "Value at the root: 5"
    shown.click("edit")


def test_several_quick_changes_are_all_made(shown: Shown) -> None:
    shown.press("i")
    for _ in range(3):
        shown.select(1)
        type_value(shown, "4")
    assert tree_text(shown) == "[A:[B:[5 6] C:[7 4] 4 4 4] D:[E:[3 2] 8]]"
    shown.page.evaluate("for (let i = 0; i < 6; i++) document.getElementById('undo').click()")
    shown.page.wait_for_function("text => document.getElementById('tree-text').value === text", arg=SEVEN)
    shown.settle()
    shown.press("i")


def test_names_are_drawn_and_spoken_and_bad_values_are_refused(shown: Shown) -> None:
    shown.enter("[[1 2] [3 4]]")
    shown.click("reset")
    shown.press("n", "n")
    assert "node #1" in shown.text("explanation")
    assert ">#1</text>" in shown.download("svg").decode()
    shown.select(1)
    shown.page.click("[data-edit=name]")
    type_value(shown, "left")
    assert tree_text(shown) == "[left:[1 2] [3 4]]"
    shown.select(2)
    shown.page.click("[data-edit=set]")
    before = shown.page.locator("#trees").bounding_box()
    shown.page.keyboard.type("1.2.3")
    shown.press("Enter")
    shown.page.wait_for_selector(".node-input .wrong:not([hidden])")
    # The field stays open with what was typed, and nothing on the page moves.
    assert shown.page.inner_text(".node-input .wrong") == "'1.2.3' is not a number"
    assert shown.page.input_value(".node-input input") == "1.2.3"
    assert (shown.message, shown.page.locator("#trees").bounding_box()) == ("", before)
    assert tree_text(shown) == "[left:[1 2] [3 4]]"
    shown.press("Escape")
    assert not shown.page.is_visible(".node-input")
    for key in ("v", "a"):
        shown.select(0)
        shown.press(key)
    type_value(shown, "7")
    assert tree_text(shown) == "[left:[1 2] [3 4] 7]"


def test_the_last_child_leaves_its_value_to_its_parent(shown: Shown) -> None:
    shown.enter("[1 [[5]]]")
    for text in ("[1 [5]]", "[1 5]"):
        deepest = int(shown.page.evaluate("secateur.state.trees.a.trace.nodes - 1"))
        shown.select(deepest)
        shown.press("Delete")
        assert tree_text(shown) == text
