"""Stepping through a search on the page, compared with Python after every event; and the quiz."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from search.explorer import service
from search.theory.algorithms import run
from search.theory.tree_text import read_tree
from tests.explorer.page.conftest import Explorer, Shown, new_page
from tests.explorer.page.reference import NUMBERS, SEVEN, TWINS, UNIFORM, is_skipped, path_to, sentence, state_after


def test_every_event_of_every_algorithm_is_told_as_in_python(shown: Shown) -> None:
    shown.enter(TWINS)
    for key in NUMBERS:
        shown.choose("algorithm", key)
        done = run(read_tree(TWINS), key)
        assert shown.length == len(done.events), key
        for number, (event, told) in enumerate(zip(done.events, shown.every_event(), strict=True), start=1):
            counts = list(state_after(done, number).counts().values())
            expected = (sentence(done, event), " › ".join(path_to(done, event.node)), counts)
            assert told == expected, f"{key} after event {number}, {event}"


def test_the_code_beside_the_tree_follows_the_search(shown: Shown) -> None:
    shown.enter(SEVEN)
    assert not shown.page.is_visible("#figure-code")
    shown.press("k")
    opposite = "\nMIN sees every value with the opposite sign."
    for key, line, cut in (
        ("two-sided", "if best <= alpha:", "if 3 <= 6  →  yes"),
        ("alpha-beta", "if best >= beta:", f"if -3 >= -6  →  yes{opposite}"),
    ):
        shown.choose("algorithm", key)
        shown.press("r", "c", "c")
        assert shown.text("derivation") == cut
        assert shown.page.inner_text(".running").strip() == line
    shown.click("tab-example")
    shown.choose("example", "worlds")
    shown.press("c")
    assert shown.text("derivation") == "if rule(lattice, path)  →  yes"
    shown.press("k")
    assert not shown.page.is_visible("#figure-code")


def test_values_in_the_code_are_right(shown: Shown) -> None:
    """Python evaluates every line that the page has filled in, and finds the result that the page shows."""
    shown.press("k")
    for key in ("two-sided", "minimax", "negamax", "fail-hard", "alpha-beta", "pvs"):
        shown.enter(UNIFORM)
        shown.choose("algorithm", key)
        every = shown.page.evaluate(
            """() => Array.from({length: secateur.state.panels[0].length}, (_, i) => {
                secateur.seek(i + 1);
                return document.getElementById("derivation").textContent;
            })"""
        )
        checked = 0
        for line in "\n".join(every).replace("∞", str(1 << 30)).splitlines():
            left, _, right = line.partition(" = ")[2].partition(" = ")
            if right and ", beta = " not in line:
                assert eval(left) == int(right), (key, line)
                checked += 1
            condition = line.removeprefix("if ").removeprefix("best is None or ").partition("  →  ")
            if condition[1] and "best" not in condition[0]:
                assert eval(condition[0]) is (condition[2] == "yes"), (key, line)
                checked += 1
        assert checked > 20, key


def test_newcomers_are_led_to_the_first_cut(shown: Shown) -> None:
    parts = ("welcome-first", "welcome-cut", "welcome-window")

    def assert_only(part: str) -> None:
        assert [name for name in parts if shown.page.is_visible(f"#{name}")] == [part]
        # The tree does not move when the words change.
        assert shown.page.locator("#trees").bounding_box() == place

    place = shown.page.locator("#trees").bounding_box()
    assert_only("welcome-first")
    shown.choose("algorithm", "minimax")
    assert "this search cuts nothing" in shown.text("explanation")
    shown.choose("algorithm", "two-sided")
    shown.click("show-cut")
    assert shown.text("explanation").startswith(
        "MAX can get 7 at C, but one step up, at A, MIN can already limit MAX to 6"
    )
    assert_only("welcome-cut")
    before = shown.index
    shown.page.click("#welcome [data-key=b]")
    assert shown.index == before - 1
    assert_only("welcome-window")
    shown.choose("example", "calculator")
    assert_only("welcome-first")
    shown.click("welcome-close")
    assert not shown.page.is_visible("#welcome")
    shown.page.evaluate("localStorage.removeItem('secateur-welcomed')")


def test_on_a_phone_newcomers_see_the_first_cut_and_its_reason_at_once(browser: Any, explorer: Explorer) -> None:
    with new_page(browser, explorer.url, viewport={"width": 390, "height": 844}) as phone:
        phone.click("show-cut")
        for control in ("explanation", "tree-a"):
            box = phone.page.locator(f"#{control}").bounding_box()
            assert box is not None
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= 844, control


def test_every_node_is_as_in_python_after_every_event(shown: Shown) -> None:
    shown.enter(TWINS)
    for key in ("alpha-beta", "table", "engine"):
        shown.choose("algorithm", key)
        done = run(read_tree(TWINS), key)
        every = shown.page.evaluate(
            """() => {
                const panel = secateur.state.panels[0], states = [];
                const facts = (_, node) => Object.fromEntries(panel.facts(node, false));
                for (let i = 0; i <= panel.length; i++) {
                    secateur.seek(i);
                    states.push(Array.from(panel.trace.parent, facts));
                }
                return states;
            }"""
        )
        assert len(every) == len(done.events) + 1
        for number, nodes in enumerate(every):
            state = state_after(done, number)
            for node, facts in enumerate(nodes):
                leaf = done.tree.leaf[node] or "–"
                if is_skipped(done, state, node):
                    was_visited = any(event.kind == "enter" and event.node == node for event in done.events[:number])
                    cut = "cut off in the latest visit" if was_visited else "cut off, never visited"
                    expected = ("–", "–", leaf, cut)
                else:
                    known = (
                        "done" if node in state.done else "being searched" if node in state.entered else "not reached"
                    )
                    bounds = state.alpha.get(node, "–"), state.beta.get(node, "–")
                    expected = (*bounds, state.words.get(node, "") + (state.value.get(node, "") or leaf), known)
                found = (facts["alpha"], facts["beta"], facts["value"], facts["state"])
                assert found == expected, f"{key}: node {node} after event {number}"


def test_the_selected_node_tells_its_window_and_why_it_was_cut(shown: Shown) -> None:
    shown.enter(SEVEN)
    done = run(read_tree(SEVEN), "alpha-beta")
    shown.click("end")
    for cut in (event for event in done.events if event.kind == "cut"):
        last = done.tree.children[cut.node][-1]
        for node, state in ((last, "cut off, never visited"), (cut.node, "done")):
            shown.select(node)
            facts = shown.facts()
            assert facts["node"].startswith(done.tree.name(node) + " ")
            assert (facts["state"], facts["why"]) == (state, sentence(done, cut))


def test_step_step_back_cut_end_and_reset(shown: Shown) -> None:
    shown.enter(UNIFORM)
    done = run(read_tree(UNIFORM), "alpha-beta")
    cuts = [number for number, event in enumerate(done.events, start=1) if event.kind == "cut"]
    assert shown.index == 0
    shown.click("step")
    shown.click("step")
    assert shown.index == 2
    shown.click("back")
    assert (shown.index, shown.text("explanation")) == (1, sentence(done, done.events[0]))
    for cut in cuts[:2]:
        shown.click("next-cut")
        assert (shown.index, shown.text("explanation")) == (cut, sentence(done, done.events[cut - 1]))
    shown.click("back")
    assert shown.counts() == state_after(done, cuts[1] - 1).counts()
    shown.click("end")
    shown.click("next-cut")
    assert shown.index == shown.length == len(done.events)
    statistics = done.statistics
    assert shown.counts(2) == {name: getattr(statistics, name) for name in shown.counts()}
    assert shown.counts(3) == {"visited": 121, "evaluated": 81, "pruned": 0, "cuts": 0, "table_hits": 0}
    assert shown.text("bound") == (
        "Without a transposition table, every search must value at least 17 leaves. "
        "Knuth and Moore: 3^2 + 3^2 − 1 = 17 of 3^4 = 81."
    )
    assert shown.page.is_visible("#chart canvas")
    shown.click("reset")
    assert shown.index == 0
    assert shown.counts() == dict.fromkeys(shown.counts(), 0)
    slide(shown, "position", 100)
    assert (shown.index, shown.counts()) == (100, state_after(done, 100).counts())


def slide(shown: Shown, control: str, value: int) -> None:
    shown.page.eval_on_selector(
        f"#{control}", "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }", value
    )


def test_the_keyboard_does_all_of_it(shown: Shown) -> None:
    shown.enter(UNIFORM)
    done = run(read_tree(UNIFORM), "alpha-beta")
    first_cut = next(number for number, event in enumerate(done.events, start=1) if event.kind == "cut")
    shown.press("n", "n", "n", "b")
    assert shown.index == 2
    for key, index in (("c", first_cut), ("e", len(done.events)), ("r", 0)):
        shown.press(key)
        assert shown.index == index
    shown.press("ArrowDown", "ArrowRight", "ArrowDown")
    second = done.tree.children[0][1]
    assert shown.facts()["node"].startswith(f"#{done.tree.children[second][0]} ")
    shown.press("ArrowUp", "ArrowLeft")
    assert shown.facts()["node"].startswith(f"#{done.tree.children[0][0]} ")
    before = shown.view()[0]
    shown.press("+", "+")
    assert shown.view()[0] > before
    shown.press("-", "-", "-")
    assert shown.view()[0] <= before
    shown.press("0", "f")
    assert shown.page.get_attribute("#follow", "aria-pressed") == "false"
    shown.press("?")
    assert shown.page.is_visible("#keys")
    shown.press("Escape")
    # Keys that are typed into a field stay there.
    shown.page.click("#tab-text")
    shown.page.fill("#tree-text", "")
    shown.page.type("#tree-text", "[1 2] neb")
    assert shown.page.input_value("#tree-text") == "[1 2] neb"
    assert shown.index == 0


def test_it_runs_at_a_speed_pauses_and_stops_at_the_end(shown: Shown) -> None:
    shown.enter(UNIFORM)
    slide(shown, "speed", 20)
    assert shown.text("speed-value") == "100 per second"
    shown.press("Space")
    assert shown.page.get_attribute("#play", "aria-label") == "Pause"
    shown.page.evaluate(
        """() => new Promise((done) => {
            const look = () => (secateur.state.panels[0].index > 20 ? done() : requestAnimationFrame(look));
            look();
        })"""
    )
    shown.press("Space")
    assert shown.page.get_attribute("#play", "aria-label") == "Run"
    reached = shown.index
    shown.settle()
    assert shown.index == reached
    slide(shown, "speed", 40)
    shown.page.click("#play")
    shown.page.wait_for_selector("#play[aria-label=Run]")
    assert shown.index == shown.length
    done = run(read_tree(UNIFORM), "alpha-beta")
    assert shown.counts() == state_after(done, len(done.events)).counts()


def test_a_hundred_thousand_events_open_and_step_at_once(shown: Shown, tmp_path: Path) -> None:
    text = service.generate({"branching": 6, "depth": 6, "seed": 1})["text"]
    document = service.trace({"text": text, "algorithm": "minimax"})
    document["events"] = {name: column[:100_000] for name, column in document["events"].items()}
    file = tmp_path / "large.json"
    file.write_text(json.dumps(document, separators=(",", ":")))
    shown.import_file(file, until="#count:has-text('of 100,000')")
    seek_and_paint = """() => {
        const start = performance.now(), {panels: [panel]} = secateur.state;
        secateur.seek(100000);
        secateur.seek(50000);
        const middle = performance.now();
        for (let i = 1; i <= 10; i++) {
            secateur.seek(50000 + 40 * i);
            panel.view.paint();
        }
        return [middle - start, (performance.now() - middle) / 10];
    }"""
    # What else the machine does must not count: one good run is enough.
    times = [shown.page.evaluate(seek_and_paint) for _ in range(10)]
    assert min(jump for jump, _ in times) < 1000
    assert min(frame for _, frame in times) < 33


def test_the_quiz_counts_found_missed_and_wrong(shown: Shown) -> None:
    shown.enter(SEVEN)
    tree = read_tree(SEVEN)
    done = run(tree, "alpha-beta")
    branches = sorted(state_after(done, len(done.events)).cut_nodes)
    assert len(branches) == 2
    shown.page.click("#quiz-box summary")
    shown.click("quiz-start")
    assert shown.page.is_disabled("#step")
    assert not shown.page.is_visible("#welcome")
    assert "Step" not in shown.text("explanation")
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
    for node in (*reversed(branches), wrong, wrong):
        shown.select(node)
    shown.click("quiz-check")
    assert shown.text("quiz-score") == "You found 2 of 2 cut branches. All correct!"
