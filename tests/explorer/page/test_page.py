"""Every control of the page, in headless Chromium, against the theory room."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("uvicorn", reason="the extra 'explore' is not installed")

from search.explorer import service
from search.explorer.examples import EXAMPLES
from search.theory.algorithms import ALGORITHMS, run
from search.theory.generate import uniform_tree
from search.theory.lattice_text import make_lattice
from search.theory.orders import ordered_children
from search.theory.run_text import run_as_dot, run_as_text
from search.theory.tree_text import read_tree, write_indented, write_json, write_list
from tests.explorer.page.reference import is_skipped, path_to, sentence, state_after

SEVEN = "[A:[B:[5 6] C:[7 4]] D:[E:[3 2] 8]]"
THREES = "[[3 12 8] [2 4 6] [14 5 2]]"
UNIFORM = write_list(uniform_tree(3, 4, "random", 1))
TWINS = "[[[1 5] [4 4]] [[1 5] [9 2]] [[3 7] [1 5]]]"

NUMBERS = [key for key, algorithm in ALGORITHMS.items() if not algorithm.in_lattice]


# --------------------------------------------------------------------------------------------------------------
# Trees
# --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [write_list, write_indented, write_json])
@pytest.mark.parametrize("explicit", [True, False])
def test_a_tree_can_be_entered_in_each_format(shown, write, explicit):
    tree = read_tree(SEVEN)
    form = {write_list: "list", write_indented: "indented", write_json: "json"}[write] if explicit else ""
    shown.enter(write(tree), form)
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
        chosen = service.example({"key": key})
        algorithm = chosen["algorithm"] or "alpha-beta"
        document = service.trace(
            {name: chosen[name] for name in ("text", "format", "lattice")} | {"algorithm": algorithm}
        )
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


# --------------------------------------------------------------------------------------------------------------
# Stepping
# --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", NUMBERS)
def test_every_event_of_every_algorithm_is_told_as_in_python(shown, key):
    shown.enter(TWINS)
    shown.choose("algorithm", key)
    done = run(read_tree(TWINS), key)
    assert shown.length == len(done.events)
    told = shown.page.evaluate(
        """() => Array.from({length: Number(document.getElementById("position").max)}, (_, i) => {
            secateur.seek(i + 1);
            return [document.getElementById("explanation").textContent, document.getElementById("path").textContent,
              [...document.getElementById("statistics").tBodies[0].rows].map(row => Number(row.cells[1].textContent))];
        })"""
    )
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
        # What else the machine does must not count: the best of a few seconds.
        assert max(painted_a_second(shown, speed) for _ in range(4)) > 30
    jump = shown.page.evaluate(
        """() => {
            const start = performance.now();
            secateur.seek(100000);
            secateur.seek(0);
            return performance.now() - start;
        }"""
    )
    assert jump < 1000


# --------------------------------------------------------------------------------------------------------------
# Algorithms, lattices, orders
# --------------------------------------------------------------------------------------------------------------

LATTICES = [
    ("sets", "a b c", "[{a} [{b} {a,b}] [[{c} {a,c}] {a,b,c}]]"),
    ("product", "0..1 x 0..1", "[(1,0) [[(0,1) (0,1)]]]"),
    ("divisors", "60", "[[12 30] [20 [4 6] 15] [5 60]]"),
    ("intervals", "0..9", "[[3..5 4..6] [2..7 1..2 5..5]]"),
    ("M3", "", "[c [b [a b]]]"),
    ("order", "0 < a, b < 1", "[a [b [1 0]]]"),
]


@pytest.mark.parametrize(("kind", "spec", "text"), LATTICES)
def test_lattices_show_join_and_meet(shown, kind, spec, text):
    shown.page.click("#tab-text")
    shown.page.select_option("#format", "list")
    shown.page.fill("#tree-text", text)
    # Rules that cut more are refused where the lattice is not distributive.
    rule = "lattice-shallow" if kind == "M3" else "lattice-fold"
    shown.page.select_option("#algorithm", rule)
    shown.settle()
    shown.page.select_option("#lattice", kind)
    shown.page.fill("#lattice-spec", spec)
    shown.click("initialise")
    assert shown.message == ""
    lattice = make_lattice(kind, spec)
    done = run(read_tree(text, "list"), rule, lattice=lattice)
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


# --------------------------------------------------------------------------------------------------------------
# Quiz
# --------------------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------------------
# Share, export, import
# --------------------------------------------------------------------------------------------------------------


def test_an_address_shows_the_same_again(shown, browser):
    shown.enter(UNIFORM)
    shown.choose("algorithm", "pvs")
    shown.choose("compare", "alpha-beta")
    shown.choose("order", "worst")
    shown.press("ArrowDown")
    shown.seek(77)
    facts, counts, told = shown.facts(), shown.counts(), shown.text("explanation")
    shown.click("share")
    address = shown.page.input_value("#share-address")
    assert len(address) < 2000
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    other = type(shown)(context.new_page())
    other.open(address)
    assert (other.facts(), other.counts(), other.text("explanation")) == (facts, counts, told)
    assert other.index == 77
    assert other.page.input_value("#algorithm") == "pvs"
    assert other.page.input_value("#compare") == "alpha-beta"
    assert other.page.input_value("#order") == "worst"
    context.close()
    assert other.problems == []


def test_a_damaged_address_is_one_clear_line(shown, explorer):
    shown.page.goto("about:blank")
    shown.open(explorer.url + "#s=broken")
    assert "address is damaged" in shown.message
    assert shown.length > 0


@pytest.mark.parametrize("key", ["minimax", "alpha-beta", "pvs", "table", "engine"])
def test_text_and_dot_are_those_of_python(shown, key):
    shown.enter(SEVEN)
    shown.choose("algorithm", key)
    shown.click("end")
    done = run(read_tree(SEVEN), key)
    text = shown.download("text").decode()
    assert text == run_as_text(done)
    assert read_tree(text) == done.tree
    assert shown.download("dot").decode() == run_as_dot(done)


def test_text_of_awkward_labels_can_be_read_again(shown):
    text = '["a b": [1 "x:y": 2] "[": [3 "a quote\\" here": 4] "MAX": ["{": 5 {}: 6] ",": ["(1, 0)": 7 "-": 8]]'
    tree = read_tree(text, "list")
    shown.enter(write_list(tree), "list")
    assert shown.message == ""
    shown.click("end")
    assert read_tree(shown.download("text").decode(), "indented") == tree


def test_svg_has_every_node_and_marks_what_was_cut(shown):
    shown.enter(SEVEN)
    shown.click("end")
    root = ElementTree.fromstring(shown.download("svg"))
    name = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{name}svg"
    polygons = root.findall(f"{name}polygon")
    assert len(polygons) == 13
    assert sum("stroke-dasharray" in polygon.attrib for polygon in polygons) == 2
    texts = [element.text for element in root.findall(f"{name}text")]
    assert {"A", "B", "C", "D", "E", "8", "4"} <= set(texts)


def test_png_is_a_picture(shown):
    shown.enter(SEVEN)
    data = shown.download("png")
    assert data.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", data[16:24])
    assert width > 300
    assert height > 300


def test_json_can_be_imported_again(shown, tmp_path: Path):
    shown.enter(UNIFORM)
    shown.choose("order", "worst")
    shown.seek(60)
    counts, told = shown.counts(), shown.text("explanation")
    data = shown.download("json")
    document = json.loads(data)
    assert document == service.trace(document["request"])
    file = tmp_path / "trace.json"
    file.write_bytes(data)
    shown.page.click("#tab-example")
    shown.choose("example", "seven")
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector(f"#count:has-text('of {len(document['events']['kind'])}')")
    shown.settle()
    shown.seek(60)
    assert (shown.counts(), shown.text("explanation")) == (counts, told)
    # It can be changed again, because it knows what it was made of.
    shown.choose("order", "best")
    assert shown.counts(2)["evaluated"] == 17


def test_a_tree_can_be_imported(shown, tmp_path: Path):
    file = tmp_path / "tree.txt"
    file.write_text(write_indented(read_tree(THREES)))
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#title:has-text('tree.txt')")
    shown.settle()
    assert shown.length == len(run(read_tree(THREES), "alpha-beta").events)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": 2}, "version"),
        ({"kind": "other"}, "kind"),
        ({"tree": {}}, "no nodes"),
        ({"events": {"kind": [99]}}, "kind"),
        ({"statistics": None}, "statistics"),
        ({"texts": [1]}, "texts"),
        ({"order": [0, 0, 1]}, "order"),
    ],
)
def test_documents_that_are_none_are_refused_and_change_nothing(shown, tmp_path: Path, change, complaint):
    document = service.trace({"text": "[[5 6] [4 9]]", "algorithm": "alpha-beta"}) | change
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(document))
    length, told = shown.length, shown.text("explanation")
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#message:not([hidden])")
    assert complaint in shown.message
    shown.press("n", "b")
    assert (shown.length, shown.text("explanation")) == (length, told)


# --------------------------------------------------------------------------------------------------------------
# The view
# --------------------------------------------------------------------------------------------------------------


def drawn(shown):
    shown.settle()
    return shown.page.evaluate("secateur.state.panels[0].view.drawn")


def test_collapsing_hides_and_shows_what_is_below(shown):
    shown.enter(UNIFORM)
    shown.page.set_viewport_size({"width": 1600, "height": 900})
    placed = "secateur.state.panels[0].view.layout.order.length"
    assert shown.page.evaluate(placed) == 121
    shown.press("ArrowDown", "Enter")
    assert shown.page.evaluate(placed) == 121 - 39
    assert shown.text("collapse") == "Expand"
    shown.click("collapse")
    assert shown.page.evaluate(placed) == 121
    shown.choose("collapse-depth", "2")
    assert shown.page.evaluate(placed) == 13
    shown.choose("collapse-depth", "all")
    assert shown.page.evaluate(placed) == 121
    x, y = shown.place(1)
    shown.page.mouse.dblclick(x, y)
    assert shown.page.evaluate(placed) == 121 - 39


def test_zooming_panning_and_fitting(shown):
    shown.enter(UNIFORM)
    view = "(({kx, tx, ty}) => [kx, tx, ty])(secateur.state.panels[0].view)"
    fitted = shown.page.evaluate(view)
    shown.click("zoom-in")
    assert shown.page.evaluate(view)[0] > fitted[0]
    shown.click("zoom-out")
    shown.page.mouse.move(600, 300)
    shown.page.mouse.wheel(0, -200)
    shown.settle()
    zoomed = shown.page.evaluate(view)
    assert zoomed[0] > fitted[0]
    shown.page.mouse.move(760, 460)
    shown.page.mouse.down()
    shown.page.mouse.move(700, 420, steps=4)
    shown.page.mouse.up()
    shown.settle()
    panned = shown.page.evaluate(view)
    assert (panned[1] - zoomed[1], panned[2] - zoomed[2]) == pytest.approx((-60, -40), abs=7)
    shown.click("fit")
    assert shown.page.evaluate(view) == fitted


def test_the_search_is_followed_when_zoomed_in(shown):
    shown.enter(UNIFORM)
    for _ in range(12):
        shown.press("+")
    done = run(read_tree(UNIFORM), "alpha-beta")
    for number in (1, 40, 90, 200):
        shown.seek(number)
        shown.settle()
        x, y = shown.place(done.events[number - 1].node)
        box = shown.page.locator("#tree-a").bounding_box()
        assert box["x"] <= x <= box["x"] + box["width"]
        assert box["y"] <= y <= box["y"] + box["height"]


def test_fifty_thousand_nodes_are_usable(shown):
    shown.page.click("#tab-uniform")
    shown.page.fill("#branching", "6")
    shown.page.fill("#plies", "6")
    shown.click("generate")
    assert shown.page.evaluate("secateur.state.panels[0].trace.nodes") == 55_987
    assert 20 < drawn(shown) < 2000
    milliseconds = shown.page.evaluate(
        """() => {
            const view = secateur.state.panels[0].view, start = performance.now();
            for (let i = 0; i < 10; i++) view.paint();
            return (performance.now() - start) / 10;
        }"""
    )
    assert milliseconds < 33
    shown.click("end")
    for _ in range(40):
        shown.press("+")
    assert 1 <= drawn(shown) < 2000
    shown.choose("collapse-depth", "2")
    assert drawn(shown) == 43


def test_a_tree_of_the_greatest_depth_is_shown(shown):
    shown.page.click("#tab-uniform")
    shown.page.fill("#branching", "1")
    shown.page.fill("#plies", "2000")
    shown.click("generate")
    assert shown.message == ""
    shown.seek(3000)
    shown.settle()
    assert drawn(shown) > 5


def test_light_and_dark(shown):
    background = "getComputedStyle(document.body).backgroundColor"
    first = shown.page.evaluate(background)
    shown.click("theme")
    assert shown.page.evaluate(background) != first
    shown.page.reload()
    shown.ready()
    assert shown.page.evaluate(background) != first


@pytest.mark.parametrize("width", [360, 414, 768, 1000, 1280, 1600])
def test_no_width_needs_sideways_scrolling_and_all_controls_can_be_reached(shown, width):
    shown.page.set_viewport_size({"width": width, "height": 740})
    shown.enter(UNIFORM)
    shown.choose("compare", "minimax")
    shown.seek(30)
    shown.settle()
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    for control in (
        "initialise",
        "step",
        "back",
        "play",
        "next-cut",
        "reset",
        "end",
        "share",
        "theme",
        "fit",
        "collapse",
    ):
        box = shown.page.locator(f"#{control}").bounding_box()
        assert box is not None, control
        assert box["x"] >= 0, control
        assert box["x"] + box["width"] <= width, control
        assert min(box["width"], box["height"]) >= 30, control


def test_fingers_select_pan_and_pinch(browser, explorer, shown):
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    phone = type(shown)(context.new_page())
    phone.open(explorer.url)
    phone.page.wait_for_selector("#count:has-text('of 39')")
    x, y = phone.place(1)
    phone.page.touchscreen.tap(x, y)
    phone.settle()
    assert phone.facts()["node"].startswith("A ")
    session = context.new_cdp_session(phone.page)

    def touch(kind, *points):
        places = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    view = "(({kx, tx, ty}) => [kx, tx, ty])(secateur.state.panels[0].view)"
    before = phone.page.evaluate(view)
    touch("touchStart", (60, 500))
    for step in range(1, 6):
        touch("touchMove", (60 + 8 * step, 500 - 5 * step))
    touch("touchEnd")
    phone.settle()
    panned = phone.page.evaluate(view)
    assert panned[1] - before[1] == pytest.approx(40, abs=9)
    touch("touchStart", (140, 400), (220, 400))
    for step in range(1, 6):
        touch("touchMove", (140 - 8 * step, 400), (220 + 8 * step, 400))
    touch("touchEnd")
    phone.settle()
    assert phone.page.evaluate(view)[0] > panned[0] * 1.3
    phone.page.touchscreen.tap(*[phone.page.locator("#step").bounding_box()[side] + 10 for side in ("x", "y")])
    phone.settle()
    assert phone.index == 1
    context.close()
    assert phone.problems == []
