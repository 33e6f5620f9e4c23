"""Going through a search on the page, forwards and backwards, against the theory room after every event."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from search.explorer import service
from search.theory.algorithms import run
from search.theory.tree_text import read_tree
from tests.explorer.page.reference import is_skipped, path_to, sentence, state_after
from tests.explorer.page.trees import NUMBERS, SEVEN, TWINS, UNIFORM


@pytest.mark.parametrize("key", NUMBERS)
def test_every_event_of_every_algorithm_is_told_as_in_python(shown, key):
    shown.enter(TWINS)
    shown.choose("algorithm", key)
    done = run(read_tree(TWINS), key)
    assert shown.length == len(done.events)
    told = shown.every_event()
    for number, (event, (text, path, counts)) in enumerate(zip(done.events, told, strict=True), start=1):
        assert text == sentence(done, event)
        assert path.split(" › ") == path_to(done, event.node)
        assert counts == list(state_after(done, number).counts().values()), f"after event {number}, {event}"


@pytest.mark.parametrize("key", ["minimax", "alpha-beta", "pvs", "table", "engine"])
def test_every_node_is_as_in_python_after_every_event(shown, key):
    shown.enter(TWINS)
    shown.choose("algorithm", key)
    done = run(read_tree(TWINS), key)
    every = shown.page.evaluate(
        """() => {
            const panel = secateur.state.panels[0], states = [];
            for (let i = 0; i <= panel.length; i++) {
                secateur.seek(i);
                states.push(Array.from(panel.trace.parent, (_, node) => Object.fromEntries(panel.facts(node, false))));
            }
            return states;
        }"""
    )
    assert len(every) == len(done.events) + 1
    for number, nodes in enumerate(every):
        state = state_after(done, number)
        for node, facts in enumerate(nodes):
            where = f"node {node} after event {number}"
            skipped = is_skipped(done, state, node)
            leaf = done.tree.leaf[node]
            assert facts["alpha"] == ("–" if skipped else state.alpha.get(node, "–")), where
            assert facts["beta"] == ("–" if skipped else state.beta.get(node, "–")), where
            value = "" if skipped else state.value.get(node, "")
            assert facts["value"] == (value or leaf or "–"), where
            if skipped:
                assert facts["state"].startswith("cut off"), where
            else:
                known = "done" if node in state.done else "being searched" if node in state.entered else "not reached"
                assert facts["state"] == known, where


def test_the_selected_node_tells_its_window_and_why_it_was_cut(shown):
    shown.enter(SEVEN)
    done = run(read_tree(SEVEN), "alpha-beta")
    shown.click("end")
    for node in range(len(done.tree)):
        shown.select(node)
        facts = shown.facts()
        assert facts["node"].startswith(done.tree.name(node) + " ")
    cuts = [event for event in done.events if event.kind == "cut"]
    for cut in cuts:
        last = done.tree.children[cut.node][-1]
        shown.select(last)
        assert shown.facts()["state"].startswith("cut off")
        assert shown.facts()["why"] == sentence(done, cut)
        shown.select(cut.node)
        assert shown.facts()["why"] == sentence(done, cut)


def test_step_step_back_cut_end_and_reset(shown):
    shown.enter(UNIFORM)
    done = run(read_tree(UNIFORM), "alpha-beta")
    cuts = [number for number, event in enumerate(done.events, start=1) if event.kind == "cut"]
    assert shown.index == 0
    shown.click("step")
    shown.click("step")
    assert shown.index == 2
    shown.click("back")
    assert (shown.index, shown.text("explanation")) == (1, sentence(done, done.events[0]))
    shown.click("next-cut")
    assert (shown.index, shown.text("explanation")) == (cuts[0], sentence(done, done.events[cuts[0] - 1]))
    shown.click("next-cut")
    assert shown.index == cuts[1]
    shown.click("back")
    assert shown.counts() == state_after(done, cuts[1] - 1).counts()
    shown.click("end")
    assert shown.index == shown.length == len(done.events)
    shown.click("reset")
    assert shown.index == 0
    assert shown.counts() == dict.fromkeys(shown.counts(), 0)
    for _ in range(len(cuts) + 1):
        shown.click("next-cut")
    assert shown.index == len(done.events)
    shown.page.evaluate(
        "const s = document.getElementById('position'); s.value = 100; s.dispatchEvent(new Event('input'))"
    )
    assert (shown.index, shown.counts()) == (100, state_after(done, 100).counts())


def test_statistics_stand_beside_minimax_and_the_bound(shown):
    shown.enter(UNIFORM)
    done = run(read_tree(UNIFORM), "alpha-beta").statistics
    assert shown.counts(2) == {name: getattr(done, name) for name in shown.counts()}
    assert shown.counts(3) == {"visited": 121, "evaluated": 81, "pruned": 0, "cuts": 0, "table_hits": 0}
    assert shown.text("bound") == (
        "No search can do with fewer than 17 leaves here. Knuth and Moore: 3^2 + 3^2 − 1 = 17 of 3^4 = 81."
    )
    assert shown.page.is_visible("#chart canvas")


def test_the_keyboard_does_all_of_it(shown):
    shown.enter(UNIFORM)
    done = run(read_tree(UNIFORM), "alpha-beta")
    first_cut = next(number for number, event in enumerate(done.events, start=1) if event.kind == "cut")
    shown.press("n", "n", "n", "b")
    assert shown.index == 2
    shown.press("c")
    assert shown.index == first_cut
    shown.press("e")
    assert shown.index == len(done.events)
    shown.press("r")
    assert shown.index == 0
    shown.press("ArrowDown", "ArrowRight", "ArrowDown")
    second = done.tree.children[0][1]
    assert shown.facts()["node"].startswith(f"#{done.tree.children[second][0]} ")
    shown.press("ArrowUp", "ArrowLeft")
    assert shown.facts()["node"].startswith(f"#{done.tree.children[0][0]} ")
    kx = "secateur.state.panels[0].view.kx"
    before = shown.page.evaluate(kx)
    shown.press("+", "+")
    assert shown.page.evaluate(kx) > before
    shown.press("-", "-", "-")
    assert shown.page.evaluate(kx) <= before
    shown.press("0", "f")
    assert shown.page.get_attribute("#follow", "aria-pressed") == "false"
    shown.press("?")
    assert shown.page.is_visible("#keys")
    # Keys that are typed into a field stay there.
    shown.page.click("#tab-text")
    shown.page.fill("#tree-text", "")
    shown.page.type("#tree-text", "[1 2] neb")
    assert shown.page.input_value("#tree-text") == "[1 2] neb"
    assert shown.index == 0


def test_it_runs_at_a_speed_pauses_and_stops_at_the_end(shown):
    shown.enter(UNIFORM)
    shown.page.evaluate("const s = document.getElementById('speed'); s.value = 20; s.dispatchEvent(new Event('input'))")
    assert shown.text("speed-value") == "100 a second"
    shown.page.evaluate("document.activeElement.blur()")
    shown.press("Space")
    assert shown.page.get_attribute("#play", "aria-label") == "Pause"
    shown.page.wait_for_timeout(700)
    shown.press("Space")
    reached = shown.index
    assert 20 < reached < 200
    shown.page.wait_for_timeout(200)
    assert shown.index == reached
    shown.page.evaluate("const s = document.getElementById('speed'); s.value = 40; s.dispatchEvent(new Event('input'))")
    shown.page.click("#play")
    shown.page.wait_for_selector("#play[aria-label=Run]")
    assert shown.index == shown.length
    done = run(read_tree(UNIFORM), "alpha-beta")
    assert shown.counts() == state_after(done, len(done.events)).counts()


@pytest.mark.parametrize("key", ["alpha-beta", "deepening", "engine"])
def test_stepping_back_is_exact(shown, key):
    shown.enter(UNIFORM)
    shown.choose("algorithm", key)
    differing = shown.page.evaluate(
        """() => {
            const replay = secateur.state.panels[0].replay, length = secateur.state.panels[0].length, digests = [];
            for (let i = 0; i <= length; i++) { replay.seek(i); digests.push(replay.digest()); }
            const wrong = [];
            for (let i = length; i >= 0; i--) { replay.seek(i); if (replay.digest() !== digests[i]) wrong.push(i); }
            let at = 1;
            for (let n = 0; n < 200; n++) {
                at = (at * 7919 + 13) % (length + 1);
                replay.seek(at);
                if (replay.digest() !== digests[at]) wrong.push(at);
            }
            return [wrong, new Set(digests).size, length + 1];
        }"""
    )
    assert differing[0] == []
    assert differing[1] > 0.9 * differing[2]


def painted_a_second(shown, speed):
    """How often the tree is drawn in a second while a search runs at this speed."""
    return shown.page.evaluate(
        """async (speed) => {
            const {player, state} = secateur, view = state.panels[0].view, paint = view.paint.bind(view);
            secateur.seek(50000);
            let painted = 0;
            view.paint = () => { painted++; paint(); };
            player.speed = speed;
            const start = performance.now();
            player.start();
            await new Promise((done) => setTimeout(done, 1000));
            player.stop();
            view.paint = paint;
            return painted / (performance.now() - start) * 1000;
        }""",
        speed,
    )


def test_a_hundred_thousand_events_open_in_two_seconds_and_step_at_thirty_frames(shown, tmp_path: Path):
    text = service.generate({"branching": 3, "depth": 9, "seed": 1})["text"]
    document = service.trace({"text": text, "algorithm": "minimax"})
    document["events"] = {name: column[:100_000] for name, column in document["events"].items()}
    file = tmp_path / "large.json"
    file.write_text(json.dumps(document, separators=(",", ":")))
    shown.page.evaluate(
        """() => {
            document.getElementById("import").addEventListener("change", () => {
                const start = performance.now();
                const look = () => {
                    if (secateur.state.panels[0].length !== 100000) return requestAnimationFrame(look);
                    requestAnimationFrame(() => { secateur.opened = performance.now() - start; });
                };
                look();
            });
        }"""
    )
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#count:has-text('of 100,000')")
    shown.settle()
    assert shown.page.evaluate("secateur.opened") < 2000
    for speed in (40, 2000):
        # What else the machine does must not count: one good second is enough.
        assert any(painted_a_second(shown, speed) > 30 for _ in range(10)), speed
    jump = shown.page.evaluate(
        """() => {
            const start = performance.now();
            secateur.seek(100000);
            secateur.seek(0);
            return performance.now() - start;
        }"""
    )
    assert jump < 1000
