"""The quiz: which branches will be cut."""

from __future__ import annotations

from search.theory.algorithms import run
from search.theory.tree_text import read_tree
from tests.explorer.page.reference import state_after
from tests.explorer.page.trees import SEVEN


def test_the_quiz_counts_found_missed_and_wrong(shown):
    shown.enter(SEVEN)
    tree = read_tree(SEVEN)
    done = run(tree, "alpha-beta")
    last = state_after(done, len(done.events))
    branches = sorted(last.cut_nodes)
    assert len(branches) == 2
    shown.page.click("#quiz-box summary")
    shown.click("quiz-start")
    assert shown.page.is_disabled("#step")
    assert shown.page.evaluate("getComputedStyle(document.querySelector('.spoils')).visibility") == "hidden"
    shown.press("n", "e")
    assert shown.index == 0
    shown.select(branches[0])
    wrong = tree.children[tree.children[tree.children[0][0]][0]][0]
    shown.select(wrong)
    assert shown.text("quiz-score") == "2 marked."
    shown.click("quiz-check")
    assert shown.text("quiz-score") == "You found 1 of 2 cut branches. 1 mark is on nodes that were visited."
    assert shown.index == len(done.events)
    shown.click("quiz-start")
    shown.select(branches[1])
    shown.select(branches[0])
    shown.select(wrong)
    shown.select(wrong)
    shown.click("quiz-check")
    assert shown.text("quiz-score") == "You found 2 of 2 cut branches. All right!"


def test_the_quiz_by_keyboard(shown):
    shown.enter("[[5 6] [4 9]]")
    shown.page.click("#quiz-box summary")
    shown.click("quiz-start")
    shown.press("ArrowDown", "ArrowRight", "ArrowDown", "ArrowRight", "q")
    shown.click("quiz-check")
    assert shown.text("quiz-score") == "You found 1 of 1 cut branches. All right!"
