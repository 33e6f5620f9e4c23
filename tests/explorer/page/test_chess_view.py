"""The page's view of recorded chess searches, against the recording and python-chess."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import chess
import pytest

pytest.importorskip("uvicorn", reason="the extra 'explore' is not installed")

from engine.version import full_name, version
from search.explorer.chess_document import save, score_text
from tests.explorer.page.chess_sample import POSITION, chess_sample
from tests.explorer.page.conftest import Shown, start_explorer, stop_explorer

CUTS = {
    "mate-distance",
    "table",
    "razoring",
    "reverse-futility",
    "null-move",
    "probcut",
    "multi-cut",
    "cutoff",
    "stand-pat",
}


def line_of(document, row):
    nodes, moves = document["nodes"], []
    while row >= 0:
        if nodes["move"][row] >= 0:
            moves.append(document["moves"][nodes["move"][row]])
        row = nodes["parent"][row]
    return moves[::-1]


def board_after(document, row):
    board = chess.Board(document["position"], chess960=document["chess960"])
    for move in line_of(document, row):
        board.push_uci(move)
    return board.board_fen()


@pytest.fixture
def opened(shown: Shown, tmp_path: Path):
    """The page with the sample opened."""
    file = tmp_path / "sample.json.gz"
    save(chess_sample(), file)
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#board svg")
    shown.settle()
    return shown


def rows_of(document, number):
    iteration = document["iterations"][number]
    return range(iteration["first_node"], iteration["last_node"] + 1)


@pytest.mark.parametrize("number", [0, 1])
def test_each_step_shows_node_and_board_together(opened, number):
    document = chess_sample()
    opened.page.click(f"#iterations button:nth-child({number + 1})")
    opened.settle()
    rows = rows_of(document, number)
    assert opened.length == len(rows)
    nodes = document["nodes"]
    reasons = document["reasons"]
    for row in rows:
        opened.click("step")
        placement = opened.page.get_attribute("#board", "data-placement")
        assert placement == board_after(document, row)
        line = line_of(document, row)
        told = opened.text("explanation")
        assert told.startswith(" ".join(line) or "The root")
        assert reasons[nodes["end"][row]]["text"] in told
        facts = opened.facts()
        assert facts["line"] == (" ".join(line) or "root")
        assert facts["type"].split(",")[0] == document["types"][nodes["type"][row]]["key"]
        for name, column in (("alpha", "alpha"), ("beta", "beta"), ("value", "value"), ("evaluation", "eval")):
            assert facts[name] == score_text(nodes[column][row], document["scores"])
        assert facts["depth"] == f"{nodes['depth'][row]} (ply {nodes['ply'][row]})"
        for name in ("reduction", "extension"):
            assert facts[name] == str(nodes[name][row])
        stage = nodes["stage"][row]
        assert facts["stage"] == ("–" if stage < 0 else document["stages"][stage]["text"])
        assert facts["ended"].startswith(reasons[nodes["end"][row]]["key"] + ": ")
        assert facts["moves"] == f"{nodes['moves_searched'][row]} searched, {nodes['moves_pruned'][row]} skipped"
        assert facts["below"] == f"{nodes['size'][row] - 1} visits"
        skipped = {}
        for node, move, reason in zip(*(document["pruned"][name] for name in ("node", "move", "reason")), strict=True):
            if node == row:
                skipped.setdefault(reasons[reason]["key"], []).append(document["moves"][move])
        for reason, moves in skipped.items():
            assert facts[reason] == " ".join(moves)
        assert ("saved" in facts) == (nodes["moves_pruned"][row] > 0)


def test_pieces_on_the_board_are_those_of_the_position(opened):
    opened.click("reset")
    pieces = opened.page.evaluate(
        "[...document.querySelectorAll('#board g[data-piece]')].map(p => p.dataset.square + p.dataset.piece).sort()"
    )
    board = chess.Board(POSITION)
    expected = sorted(
        chess.square_name(square) + ("w" if piece.color else "b") + piece.symbol().lower()
        for square, piece in board.piece_map().items()
    )
    assert pieces == expected


def test_run_to_the_next_cut_stops_where_a_node_was_spared(opened):
    document = chess_sample()
    rows = rows_of(document, 1)
    keys = [document["reasons"][document["nodes"]["end"][row]]["key"] for row in rows]
    for number, key in enumerate(keys, start=1):
        if key in CUTS:
            opened.click("next-cut")
            assert opened.index == number


def test_statistics_are_those_of_the_recording(opened):
    document = chess_sample()
    statistics = document["statistics"]
    shown = dict(opened.table("statistics"))
    assert shown["searched by"] == document["engine"]
    assert shown["evaluation"] == document["evaluation"]
    assert shown["first move best"] == f"{100 * statistics['first_move_best']:.1f} %"
    assert shown["effective branching factor"] == f"{statistics['branching']:.2f}"
    assert shown["minimax would visit"] == f"{statistics['minimax_estimate']:.0f}"
    assert shown["minimal tree"] == f"{statistics['minimal_tree']:.0f}"
    rows = opened.table("iteration-table")
    assert [row[:3] for row in rows] == [
        [str(iteration["depth"]), iteration["score"], str(iteration["nodes"])] for iteration in document["iterations"]
    ]
    pruned = opened.table("pruned-table")
    assert pruned == [
        [row["key"], *(f"{row[name]:,}" for name in ("ended", "skipped", "saved"))] for row in statistics["reasons"]
    ]
    assert opened.page.is_visible("#iteration-chart canvas")


def test_a_click_shows_a_nodes_board(opened):
    document = chess_sample()
    opened.click("end")
    # Two searches of the root hang below one node of the page's own, so rows are shifted by one.
    first = document["iterations"][1]["first_node"]
    for row in (4, 7, 9):
        opened.select(row - first + 1)
        assert opened.page.get_attribute("#board", "data-placement") == board_after(document, row)
    assert not opened.page.is_visible("#orders")
    assert not opened.page.is_visible("#quiz-box")


def test_back_to_trees(opened):
    opened.page.click("#tab-example")
    opened.choose("example", "textbook")
    assert not opened.page.is_visible("#board")
    assert opened.counts(2)["evaluated"] == 7


def test_exports_of_chess(opened):
    assert json.loads(opened.download("json"))["kind"] == "chess"
    assert b"<polygon" in opened.download("svg")
    opened.page.click("#exports > summary")
    opened.page.click("[data-export=dot]")
    opened.settle()
    assert "SVG, PNG and JSON" in opened.message


def test_the_page_starts_with_a_recording(browser, tmp_path: Path):
    file = tmp_path / "sample.json.gz"
    file.write_bytes(gzip.compress(json.dumps(chess_sample()).encode()))
    running = start_explorer(str(file))
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    page = Shown(context.new_page())
    page.open(running.url)
    assert page.page.is_visible("#board svg")
    assert page.length == 8
    context.close()
    stop_explorer(running)
    assert page.problems == []


def test_a_real_recording_is_shown(shown, recorded, tmp_path: Path):
    document = recorded.documents["tactics"]
    file = tmp_path / "tactics.json"
    save(document, file)
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#board svg")
    shown.settle()
    iteration = document["iterations"][-1]
    assert shown.length == iteration["last_node"] - iteration["first_node"] + 1
    for index in (1, 2, 57, shown.length // 2, shown.length):
        shown.seek(index)
        row = iteration["first_node"] + index - 1
        assert shown.page.get_attribute("#board", "data-placement") == board_after(document, row)
    passed = next(
        row for row in range(iteration["first_node"], iteration["last_node"] + 1) if "0000" in line_of(document, row)
    )
    shown.seek(passed - iteration["first_node"] + 1)
    line = " ".join("pass" if move == "0000" else move for move in line_of(document, passed))
    assert shown.text("explanation").startswith(f"{line}: ")
    assert shown.facts()["line"] == line
    assert shown.text("path").endswith("pass")
    for width in (360, 1600):
        shown.page.set_viewport_size({"width": width, "height": 800})
        shown.settle()
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width


def test_secateur_searches_a_position_on_request(shown):
    shown.page.click("#tab-chess")
    shown.page.fill("#chess-position", "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")
    shown.page.fill("#chess-depth", "3")
    shown.page.fill("#chess-nodes", "5000")
    shown.page.click("#chess-search")
    shown.page.wait_for_selector("body:not([aria-busy])", timeout=300_000)
    shown.settle()
    assert shown.message == ""
    assert shown.page.is_visible("#board svg")
    assert "#1" in shown.text("caption-a")
    shown.page.fill("#chess-position", "no position")
    shown.page.click("#chess-search")
    shown.settle()
    assert shown.message != ""


# --------------------------------------------------------------------------------------------------------------
# What it would have cost
# --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def tactics(shown, recorded, tmp_path: Path):
    """The page with a search of Secateur's own opened."""
    file = tmp_path / "tactics.json"
    save(recorded.documents["tactics"], file)
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#board svg")
    shown.settle()
    return shown


def times(count, usual):
    return f"{count:,} (×{count / usual:.2f})"


def counted(reason, costs):
    """What stands behind the meaning of a reason whose technique was counted."""
    nodes = {row["reason"]: row["nodes"] for row in costs["without"]}.get(reason)
    return "" if nodes is None else f"; without it {times(nodes, costs['nodes'])} nodes"


def meanings(page):
    """The rows below those of the reasons."""
    return page.page.evaluate("Array.from(document.querySelectorAll('#pruned-table .meaning'), row => row.textContent)")


def count(page, control):
    page.page.click(f"#{control}")
    page.page.wait_for_selector("body:not([aria-busy])", timeout=300_000)
    page.settle()
    assert page.message == ""


def test_what_each_technique_saves_is_counted_on_request(tactics, recorded):
    costs = recorded.facts["costs"]
    rows = recorded.documents["tactics"]["statistics"]["reasons"]
    texts = {reason["key"]: reason["text"] for reason in recorded.documents["tactics"]["reasons"]}
    assert [row[0] for row in tactics.table("pruned-table")] == [row["key"] for row in rows]
    assert meanings(tactics) == [texts[row["key"]] for row in rows]
    count(tactics, "count-costs")
    assert meanings(tactics) == [texts[row["key"]] + counted(row["key"], costs) for row in rows]
    assert tactics.text("costs-note").endswith(f"to depth 8, which takes {costs['nodes']:,} nodes as it is.")
    # It is part of the recording from then on.
    assert json.loads(tactics.download("json"))["costs"] == costs


def test_a_recording_that_was_counted_shows_it_at_once(shown, recorded, tmp_path: Path):
    costs = recorded.facts["costs"]
    file = tmp_path / "counted.json"
    save(recorded.documents["tactics"] | {"costs": costs}, file)
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#board svg")
    found = dict(zip([row[0] for row in shown.table("pruned-table")], meanings(shown), strict=True))
    for row in costs["without"]:
        assert found[row["reason"]].endswith(counted(row["reason"], costs))


def test_what_cut_a_single_node_is_counted_there(tactics, recorded):
    document, row, costs = recorded.documents["tactics"], recorded.facts["row"], recorded.facts["at_row"]
    first = document["iterations"][-1]["first_node"]
    tactics.seek(row - first + 1)
    assert tactics.facts()["ended"].startswith("reverse-futility: ")
    count(tactics, "count-node-costs")
    scores, nodes = document["scores"], document["nodes"]
    assert tactics.table("node-costs") == [
        ["in this search", f"{nodes['size'][row]:,}", score_text(nodes["value"][row], scores)],
        ["searched by itself", f"{costs['nodes']:,}", score_text(costs["value"], scores)],
        [
            "and without reverse-futility",
            times(costs["without"][0]["nodes"], costs["nodes"]),
            score_text(costs["without"][0]["value"], scores),
        ],
    ]
    # Another node has not been counted; this one is remembered.
    tactics.seek(row - first + 2)
    assert not tactics.page.is_visible("#node-costs")
    tactics.seek(row - first + 1)
    assert tactics.page.is_visible("#node-costs")
    # Quiescence has no depth to search again.
    quiet = document["nodes"]["quiescence"].index(1, first)
    tactics.page.evaluate("index => secateur.seek(index)", quiet - first + 1)
    assert tactics.page.is_disabled("#count-node-costs")


GAME = '[Event "A game"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 *\n'


def test_a_position_of_a_game_is_searched(shown):
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
        assert shown.page.get_attribute("#board", "data-placement") == board.board_fen()
    assert shown.text("caption-a").startswith(f"{full_name()}: depth 2, ")
    assert shown.text("version") == version()
    shown.page.fill("#chess-after", "9b")
    shown.click("chess-search")
    assert shown.message == "no move 9b in the game: the last is 3... a6"
    # The address has the game and the move in it.
    shown.page.fill("#chess-after", "2w")
    count(shown, "chess-search")
    shown.click("share")
    address = shown.page.input_value("#share-address")
    shown.page.goto("about:blank")
    shown.open(address)
    assert shown.page.input_value("#chess-after") == "2w"
    assert shown.page.get_attribute("#board", "data-placement") is not None


@pytest.mark.parametrize("width", [360, 1600])
def test_all_controls_of_chess_can_be_reached(tactics, width):
    tactics.page.set_viewport_size({"width": width, "height": 800})
    count(tactics, "count-costs")
    assert tactics.page.evaluate("document.documentElement.scrollWidth") <= width
    controls = ("step", "next-cut", "end", "count-costs", "count-node-costs", "chess-search", "collapse", "fit")
    for control in controls:
        box = tactics.page.locator(f"#{control}").bounding_box()
        assert box is not None, control
        assert box["x"] >= 0, control
        assert box["x"] + box["width"] <= width, control
        assert min(box["width"], box["height"]) >= 30, control
