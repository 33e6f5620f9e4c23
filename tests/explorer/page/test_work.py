"""Searches that take long: told how far they are, stopped when that is asked for, or when nobody waits any more."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import chess
import pytest

pytest.importorskip("uvicorn", reason="the extra 'explore' is not installed")

from tests.explorer.page.asking import LONG, LONG_LATTICE, LONG_TEXT, TREE, Asked, ask, stands
from tests.explorer.page.conftest import PROJECT, start_explorer, stop_explorer

#: Seconds that stopping may take, on a machine that does other things as well. The searches would take longer.
SOON = 4.0


# --------------------------------------------------------------------------------------------------------------
# The server
# --------------------------------------------------------------------------------------------------------------


def test_a_search_of_a_tree_is_stopped(explorer):
    asked = Asked(explorer, "/api/trace", LONG, "long")
    assert asked.wait_for("searching") == "searching 3,001 nodes, as given"
    assert asked.stop() < SOON
    assert (asked.status, asked.answer) == (409, {"error": "stopped", "stopped": True})
    assert asked.progress() == ""
    assert stands(explorer)


def test_a_search_that_waits_for_its_turn_is_stopped(explorer):
    first = Asked(explorer, "/api/trace", LONG, "first")
    first.wait_for("searching")
    second = Asked(explorer, "/api/orders", LONG, "second")
    second.wait_for("waiting for the search before this one")
    assert second.stop() < SOON
    assert second.status == 409
    assert first.is_alive()
    assert first.stop() < SOON
    assert stands(explorer)


def test_a_search_that_nobody_waits_for_is_stopped(explorer):
    body = json.dumps(LONG).encode()
    head = (
        f"POST /api/trace?job=left HTTP/1.1\r\nHost: 127.0.0.1:{explorer.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", explorer.port)) as connection:
        connection.sendall(head.encode() + body)
        deadline = time.monotonic() + 20
        while b"searching" not in ask(explorer, "GET", "/api/progress?job=left")[2]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    began = time.monotonic()
    # Searches take turns, so this one is answered when the other is over.
    assert stands(explorer)
    assert time.monotonic() - began < SOON


def test_interrupting_the_server_ends_its_searches():
    running = start_explorer()
    asked = Asked(running, "/api/trace", LONG, "long")
    asked.wait_for("searching")
    began = time.monotonic()
    running.process.send_signal(signal.SIGINT)
    out, errors = running.process.communicate(timeout=30)
    assert (running.process.returncode, out, errors) == (0, "", "")
    assert time.monotonic() - began < SOON


def test_names_of_searches_are_checked_and_unknown_ones_are_not_found(explorer):
    for name in ("a%20b", "x" * 65, "%00", "%C3%A9", "..%2F"):
        status, _, content = ask(explorer, "POST", f"/api/trace?job={name}", TREE)
        assert status == 400
        assert b"letters, digits and hyphens" in content
    asked = Asked(explorer, "/api/trace", LONG, "twin")
    asked.wait_for("searching")
    assert b"there is a job 'twin' already" in ask(explorer, "POST", "/api/trace?job=twin", TREE)[2]
    asked.stop()
    assert json.loads(ask(explorer, "GET", "/api/progress?job=none")[2]) == {"progress": "", "running": False}
    for body in ({"job": "none"}, {"job": 3}, {}, [], None):
        status, _, content = ask(explorer, "POST", "/api/stop", body if body is not None else b"null")
        assert (status, json.loads(content)) == (200, {"running": False})
    assert ask(explorer, "POST", "/api/stop", b"{")[0] == 400
    assert ask(explorer, "GET", "/api/stop")[0] in (404, 405)


def test_a_search_of_chess_that_is_stopped_gives_what_was_searched_by_then(explorer):
    asked = Asked(explorer, "/api/chess", {"position": "", "depth": 60, "nodes": 10_000_000}, "chess")
    asked.wait_for(r"depth ([5-9]|\d\d) is done", seconds=300)
    asked.stop()
    assert asked.status == 200
    document = asked.answer
    assert 5 <= document["result"]["depth"] < 60
    assert document["result"]["nodes"] < 10_000_000
    assert not document["iterations"][-1]["complete"]
    assert chess.Move.from_uci(document["result"]["move"]) in chess.Board().legal_moves


def test_counting_what_techniques_save_is_stopped(explorer):
    body = {"fen": chess.STARTING_FEN, "moves": [], "depth": 25, "reasons": ["null-move"]}
    asked = Asked(explorer, "/api/cost", body, "cost")
    asked.wait_for("search 1 of 2, as it is", seconds=300)
    assert asked.stop() < SOON
    assert asked.status == 409


def test_compiling_is_told_of_and_need_not_be_waited_for(tmp_path: Path):
    running = start_explorer(SECATEUR_CACHE_DIR=str(tmp_path))
    asked = Asked(running, "/api/chess", {"position": "", "depth": 1, "nodes": 1000}, "cold")
    told = asked.wait_for("so far; a new version compiles them once")
    assert told.startswith("loading ")
    assert asked.stop() < SOON
    assert asked.status == 409
    assert stands(running)
    began = time.monotonic()
    stop_explorer(running)
    assert time.monotonic() - began < SOON


def test_a_recording_on_the_command_line_tells_of_compiling(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("SECATEUR_CACHE_DIR", str(tmp_path / "cache"))
    arguments = ["explore", "--record", str(tmp_path / "x.json"), "--depth", "1"]
    command = [sys.executable, str(PROJECT / "uci_main.py"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        # The first line says that kernels have to be compiled.
        line = next((line for line in process.stderr if line.startswith("secateur explore: loading ")), "")
        process.kill()
    assert line.endswith(" s so far; a new version compiles them once\n")


# --------------------------------------------------------------------------------------------------------------
# The page
# --------------------------------------------------------------------------------------------------------------


def ask_for_a_long_search(shown):
    shown.page.click("#tab-text")
    shown.page.select_option("#format", "list")
    shown.page.fill("#tree-text", LONG_TEXT)
    shown.page.select_option("#algorithm", LONG["algorithm"])
    shown.page.select_option("#lattice", LONG_LATTICE["kind"])
    shown.page.fill("#lattice-spec", LONG_LATTICE["spec"])
    shown.page.click("#initialise")
    shown.page.wait_for_selector("#work:has-text('Searching 3,001 nodes, as given')")


@pytest.mark.parametrize("by", ["button", "key"])
def test_the_page_stops_a_search_and_shows_what_it_showed(shown, explorer, by):
    before = shown.length, shown.text("explanation"), shown.text("caption-a")
    assert not shown.page.is_visible("#work")
    ask_for_a_long_search(shown)
    began = time.monotonic()
    if by == "button":
        shown.page.click("#stop")
    else:
        shown.page.keyboard.press("Escape")
    shown.settle()
    assert time.monotonic() - began < SOON
    assert shown.message == "Stopped. What was shown before is still shown."
    assert not shown.page.is_visible("#work")
    assert (shown.length, shown.text("explanation"), shown.text("caption-a")) == before
    # The server is free again, and so is the page.
    assert stands(explorer)
    shown.page.click("#tab-example")
    shown.choose("example", "textbook")
    assert shown.message == ""
    assert shown.counts(2)["evaluated"] == 7


def test_another_wish_ends_the_search_of_the_last_one(shown):
    ask_for_a_long_search(shown)
    began = time.monotonic()
    shown.page.click("#tab-example")
    shown.choose("example", "textbook")
    assert time.monotonic() - began < SOON
    assert shown.message == ""
    assert shown.text("title") == "Three by three"


def test_the_page_shows_what_a_stopped_search_of_chess_has_recorded(shown):
    shown.page.click("#tab-chess")
    shown.page.fill("#chess-depth", "60")
    shown.page.fill("#chess-nodes", "10000000")
    shown.page.click("#chess-search")
    deep = re.compile(r"Depth ([5-9]|\d\d) is done")
    shown.page.locator("#work", has_text=deep).wait_for(timeout=300_000)
    shown.page.click("#stop")
    shown.page.wait_for_selector("body:not([aria-busy])", timeout=60_000)
    shown.settle()
    assert shown.message.startswith("Stopped: what was searched by then is shown, ")
    assert shown.page.is_visible("#board svg")
    assert len(shown.table("iteration-table")) >= 6
    assert shown.table("iteration-table")[-1][1] == "-"


def test_the_page_says_how_far_compiling_is(browser, shown, tmp_path: Path):
    running = start_explorer(SECATEUR_CACHE_DIR=str(tmp_path))
    context = browser.new_context(viewport={"width": 360, "height": 740})
    page = type(shown)(context.new_page())
    page.open(running.url)
    page.page.click("#tab-chess")
    page.page.click("#chess-search")
    page.page.wait_for_selector("#work:has-text('a new version compiles them once')", timeout=30_000)
    box = page.page.locator("#work").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    page.page.click("#stop")
    page.settle()
    assert page.message == "Stopped. What was shown before is still shown."
    context.close()
    stop_explorer(running)
    assert page.problems == []
