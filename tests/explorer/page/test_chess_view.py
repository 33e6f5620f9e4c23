"""The page's view of recorded chess searches, against the recording and python-chess."""

from __future__ import annotations

import json
from typing import Any

import chess
import pytest

pytest.importorskip("uvicorn", reason="the extra 'explore' is not installed")

from engine.version import full_name, version
from search.explorer.chess_document import save, score_text
from tests.explorer.conftest import TACTICS, Recorded
from tests.explorer.page.conftest import Shown, explorer_running, new_page

CUTS = {
    "mate-distance",
    "table",
    "reverse-futility",
    "null-move",
    "probcut",
    "multi-cut",
    "cutoff",
    "stand-pat",
}


def open_recording(shown: Shown, recorded: Recorded, name: str) -> Any:
    """Has the page import a recording; gives the document."""
    # The board is there from the second recording on, the caption changes with each.
    shown.import_file(recorded.path(name), until="#caption-a:has-text('depth')")
    return recorded[name]


@pytest.fixture
def tactics(shown: Shown, recorded: Recorded) -> Shown:
    open_recording(shown, recorded, "tactics")
    return shown


def seek_row(shown: Shown, document: Any, row: int, *, done: bool = False) -> None:
    """Goes to the step at which a row of the last iteration begins, or is done."""
    shown.seek(step_of(shown, row - document["iterations"][-1]["first_node"], done=done))


def step_of(shown: Shown, number: int, *, done: bool = False) -> int:
    script = "([n, name]) => { const chess = secateur.state.chess; return chess[name][n + chess.model.offset] + 1; }"
    return int(shown.page.evaluate(script, [number, "ends" if done else "begins"]))


def placement(shown: Shown) -> str | None:
    found: str | None = shown.page.get_attribute("#board", "data-placement")
    return found


@pytest.mark.parametrize("name", ["special", "chess960"])
def test_each_step_shows_node_and_board_together(shown: Shown, recorded: Recorded, name: str) -> None:
    document, tree = open_recording(shown, recorded, name), recorded.tree(name)
    reasons = {row["key"]: row["text"] for row in document["reasons"]}
    stages = {row["key"]: row["text"] for row in document["stages"]} | {"": "–"}
    columns = {"alpha": tree.alpha, "beta": tree.beta, "value": tree.value, "evaluation": tree.eval}
    for number, iteration in enumerate(document["iterations"]):
        shown.page.click(f"#iterations button:nth-child({number + 1})")
        rows = range(iteration["first_node"], iteration["last_node"] + 1)
        # A row with other rows below it begins and ends in two steps.
        assert shown.length == len(rows) + sum(bool(tree.children[row]) for row in rows)
        steps = shown.page.evaluate(
            """() => {
                const panel = secateur.state.chess, {begins, ends, model} = panel;
                const at = (step) => {
                    secateur.seek(step + 1);
                    return [document.getElementById("board").dataset.placement, panel.describe(),
                            Object.fromEntries(panel.facts(panel.selected))];
                };
                const nodes = Array.from({length: model.rows}, (_, i) => i + model.offset);
                return nodes.map(n => [at(begins[n]), at(ends[n])]);
            }"""
        )
        for row, ((found, told, before), (_, told_after, facts)) in zip(rows, steps, strict=True):
            assert found == tree.board(row).board_fen()
            line = " ".join(tree.sans(row))
            assert told.startswith(line or "The root")
            assert told_after.startswith(line or "The root")
            assert reasons[tree.end[row]] in told_after
            assert facts["line"] == before["line"] == (line or "root")
            assert facts["type"].split(",")[0] == tree.type[row]
            if tree.children[row]:
                # What the search finds out later is not shown before.
                assert reasons[tree.end[row]] not in told
                assert not {"value", "ended", "moves", "below"} & set(before)
            for label, column in columns.items():
                score = column[row]
                assert facts[label] == ("–" if score is None else score_text(score, document["scores"]))
            assert facts["depth"] == f"{tree.depth[row]} (ply {tree.ply[row]})"
            assert (facts["reduction"], facts["extension"]) == (str(tree.reduction[row]), str(tree.extension[row]))
            assert facts["stage"] == stages[tree.stage[row]]
            assert facts["ended"].startswith(tree.end[row] + ": ")
            assert facts["moves"] == f"{tree.moves_searched[row]} searched, {tree.moves_pruned[row]} skipped"
            assert facts["below"] == f"{tree.size[row] - 1:,} visit{'' if tree.size[row] == 2 else 's'}"
            skipped: dict[str, list[str]] = {}
            for move, reason in tree.skips[row].items():
                skipped.setdefault(reason, []).append(tree.board(row).san(chess.Move.from_uci(move)))
            for reason, moves in skipped.items():
                assert facts[reason] == " ".join(moves)
            assert ("saved" in facts) == (tree.moves_pruned[row] > 0)


def test_a_recording_is_walked_from_cut_to_cut_and_by_clicks(shown: Shown, recorded: Recorded) -> None:
    document, tree = open_recording(shown, recorded, "special"), recorded.tree("special")
    shown.click("reset")
    pieces = shown.page.eval_on_selector_all(
        "#board g[data-piece]", "all => all.map((piece) => piece.dataset.square + piece.dataset.piece).sort()"
    )
    board = chess.Board(document["position"])
    assert pieces == sorted(
        chess.square_name(square) + ("w" if piece.color else "b") + piece.symbol().lower()
        for square, piece in board.piece_map().items()
    )
    iteration = document["iterations"][-1]
    rows = range(iteration["first_node"], iteration["last_node"] + 1)
    cuts = sorted(step_of(shown, row - rows[0], done=True) for row in rows if tree.end[row] in CUTS)
    for number in cuts[:5]:
        shown.click("next-cut")
        assert shown.index == number
    # Several searches of the root hang below one node of the page's own, which shifts the rows.
    offset = int(sum(tree.parent[row] == -1 for row in rows) > 1)
    shown.click("end")
    for row in tree.children[rows[0]][:3]:
        shown.select(row - rows[0] + offset)
        assert placement(shown) == tree.board(row).board_fen()
    assert not shown.page.is_visible("#quiz-box")
    shown.page.click("#tab-example")
    shown.choose("example", "textbook")
    assert not shown.page.is_visible("#board")
    assert shown.counts(2)["evaluated"] == 7


def test_a_recorded_example_has_its_name_and_ends_with_the_best_line(shown: Shown) -> None:
    shown.page.click("#tab-chess")
    shown.page.select_option("#recorded", "mate")
    shown.page.wait_for_selector("#title:has-text('Bratko-Kopec 1')")
    shown.click("end")
    assert "The search to depth 9 is over: no more cuts follow. Best play: Qd1+ Kxd1 Bg4+" in shown.text("explanation")


def test_the_current_node_is_always_in_view(tactics: Shown, recorded: Recorded) -> None:
    length = tactics.length
    for index in (*range(1, 60), *range(length // 2, length // 2 + 40), length - 3):
        tactics.seek(index)
        node = int(tactics.page.evaluate("secateur.state.chess.current"))
        assert tactics.page.evaluate("n => secateur.state.chess.view.layout.placed[n]", node) == 1
        x, y = tactics.place(node)
        box = tactics.page.locator("#tree-a").bounding_box()
        assert box is not None
        assert box["x"] <= x <= box["x"] + box["width"]
        assert box["y"] <= y <= box["y"] + box["height"]
        assert tactics.page.evaluate("secateur.state.chess.view.kx") >= 0.8
    # What was unfolded on the way is folded again.
    assert tactics.page.evaluate("secateur.state.chess.view.layout.order.length") < tactics.length / 4
    # A pinned node stays described, whatever the step.
    tactics.page.evaluate("secateur.state.chess.view.handlers.select(3)")
    line = tactics.facts()["line"]
    tactics.press("n", "n", "n")
    assert (tactics.facts()["line"], tactics.text("node-title")) == (line, "Pinned node")
    tactics.click("unpin")
    assert tactics.text("node-title") == "Current node"


def test_alpha_rises_with_the_moves_that_were_searched(shown: Shown, recorded: Recorded) -> None:
    document, tree = open_recording(shown, recorded, "special"), recorded.tree("special")
    first = document["iterations"][-1]["first_node"]
    root = max(row for row in range(first, len(tree.parent)) if tree.parent[row] == -1)
    moves = tree.searched(root)
    for row in moves.values():
        seek_row(shown, document, row, done=True)
        script = "(node) => { const {view, model} = secateur.state.chess; view.handlers.select(node + model.offset); }"
        shown.page.evaluate(script, root - first)
        best = max(-tree.value[one] for one in moves.values() if one <= row)
        assert shown.facts()["best so far"] == score_text(best, document["scores"])
        assert shown.facts()["alpha"] == score_text(max(best, tree.alpha[root]), document["scores"])


def test_the_page_starts_with_a_recording(browser: Any, recorded: Recorded) -> None:
    with explorer_running(str(recorded.path("special"))) as running, new_page(browser, running.url) as page:
        assert page.page.is_visible("#board svg")
        iteration = recorded["special"]["iterations"][-1]
        assert page.length >= iteration["last_node"] - iteration["first_node"] + 1


def test_a_large_recording_is_shown(tactics: Shown, recorded: Recorded) -> None:
    document, tree = recorded["tactics"], recorded.tree("tactics")
    first, last = document["iterations"][-1]["first_node"], document["iterations"][-1]["last_node"]
    passed = next(row for row in range(first, last + 1) if "0000" in tree.line(row))
    for row in (first, first + 56, (first + last) // 2, last, passed):
        seek_row(tactics, document, row)
        assert placement(tactics) == tree.board(row).board_fen()
    line = " ".join(tree.sans(passed))
    assert "pass" in line
    assert tactics.text("explanation").startswith(f"{line}: ")
    assert tactics.facts()["line"] == line
    assert tactics.text("path").endswith("pass")


# --- searches, and what they would have cost -----------------------------------------------------------------------

GAME = '[Event "A game"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 *\n'


def count(page: Shown, control: str) -> None:
    page.page.click(f"#{control}")
    page.page.wait_for_selector("body:not([aria-busy])", timeout=300_000)
    page.settle()
    assert page.message == ""


def test_a_position_of_a_game_is_searched_on_request(shown: Shown) -> None:
    shown.page.click("#tab-chess")
    shown.page.fill("#chess-position", GAME)
    shown.page.fill("#chess-depth", "2")
    for after in ("", "2w"):
        shown.page.fill("#chess-after", after)
        count(shown, "chess-search")
        board = chess.Board()
        for move in ("e4", "e5", "Nf3", *(() if after else ("Nc6", "Bb5", "a6"))):
            board.push_san(move)
        shown.click("reset")
        assert placement(shown) == board.board_fen()
    assert shown.text("caption-a").startswith(f"{full_name()}: depth 2, ")
    assert shown.text("version") == version()
    # The address has the game and the move in it.
    shown.click("share")
    address = shown.page.input_value("#share-address")
    shown.page.goto("about:blank")
    shown.open(address)
    assert shown.page.input_value("#chess-after") == "2w"
    assert placement(shown) == board.board_fen()
    shown.page.fill("#chess-after", "9b")
    shown.click("chess-search")
    assert shown.message == "there is no move 9b in the game, whose last move is 3... a6"


def times(count: int, usual: int) -> str:
    return f"{count:,} (×{count / usual:.2f})"


def meanings(page: Shown) -> list[str]:
    """The rows below those of the reasons."""
    found: list[str] = page.page.eval_on_selector_all(
        "#pruned-table .meaning", "all => all.map((row) => row.textContent)"
    )
    return found


def test_what_each_technique_saves_is_counted_on_request(tactics: Shown, recorded: Recorded) -> None:
    costs, document = recorded.facts["costs"], recorded["tactics"]
    rows, texts = document["statistics"]["reasons"], {row["key"]: row["text"] for row in document["reasons"]}
    assert meanings(tactics) == [texts[row["key"]] for row in rows]
    count(tactics, "count-costs")
    without = {row["reason"]: f"; without it {times(row['nodes'], costs['nodes'])} nodes" for row in costs["without"]}
    assert meanings(tactics) == [texts[row["key"]] + without.get(row["key"], "") for row in rows]
    assert tactics.text("costs-note").endswith(f" The unchanged search takes {costs['nodes']:,} nodes.")
    for width in (360, 1600):
        tactics.assert_within(width, "step", "next-cut", "end", "count-costs", "count-node-costs", "collapse", "fit")
    # The costs are part of the recording from then on.
    exported = json.loads(tactics.download("json"))
    assert exported["costs"] == costs
    file = recorded.folder / "counted.json"
    save(exported, file)
    tactics.page.set_viewport_size({"width": 1280, "height": 800})
    tactics.import_file(file, until="#pruned-table .meaning strong")


def test_what_cut_a_single_node_is_counted_there(tactics: Shown, recorded: Recorded) -> None:
    document, row, costs = recorded["tactics"], recorded.facts["row"], recorded.facts["at_row"]
    seek_row(tactics, document, row)
    seek_row(tactics, document, row, done=True)
    assert tactics.facts()["ended"].startswith("reverse-futility: ")
    count(tactics, "count-node-costs")
    scores, nodes, without = document["scores"], document["nodes"], costs["without"][0]
    assert document["position"] == TACTICS
    assert tactics.table("node-costs") == [
        ["in this search", f"{nodes['size'][row]:,}", score_text(nodes["value"][row], scores)],
        ["searched separately", f"{costs['nodes']:,}", score_text(costs["value"], scores)],
        ["without reverse-futility", times(without["nodes"], costs["nodes"]), score_text(without["value"], scores)],
    ]
    # Another node has not been counted; this one is remembered.
    seek_row(tactics, document, row + 1)
    assert not tactics.page.is_visible("#node-costs")
    seek_row(tactics, document, row)
    assert tactics.page.is_visible("#node-costs")
    # Quiescence has no depth to search again.
    seek_row(tactics, document, nodes["quiescence"].index(1, document["iterations"][-1]["first_node"]))
    assert tactics.page.is_disabled("#count-node-costs")
