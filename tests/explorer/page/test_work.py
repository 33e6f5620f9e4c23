"""Long searches show their progress, and end when they are stopped or when nobody waits any more.

The long search would take minutes, so that whatever follows its end proves that it was stopped.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the extra 'explore' is not installed")

from tests.explorer.page.asking import LONG, LONG_LATTICE, LONG_TEXT, TREE, Asked, answer, ask, stands
from tests.explorer.page.conftest import PROJECT, Explorer, Shown, explorer_running, new_page, start_explorer

# --- the server ----------------------------------------------------------------------------------------------------


def test_a_search_that_runs_and_one_that_waits_for_its_turn_are_stopped(explorer: Explorer) -> None:
    first = Asked(explorer, "/api/trace", LONG, "first")
    assert first.wait_for("searching") == "searching 3,001 nodes, as given"
    second = Asked(explorer, "/api/export", LONG, "second")
    second.wait_for("waiting for an earlier search")
    second.stop()
    assert second.status == 409
    assert first.is_alive()
    assert b"a job named 'first' is already running" in ask(explorer, "POST", "/api/trace?job=first", TREE)[2]
    first.stop()
    assert (first.status, first.answer) == (409, {"error": "stopped", "stopped": True})
    assert first.progress() == ""
    assert stands(explorer)


def test_a_search_that_nobody_waits_for_is_stopped(explorer: Explorer) -> None:
    body = json.dumps(LONG).encode()
    head = (
        f"POST /api/trace?job=left HTTP/1.1\r\nHost: 127.0.0.1:{explorer.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", explorer.port)) as connection:
        connection.sendall(head.encode() + body)
        deadline = time.monotonic() + 60
        while "searching" not in answer(explorer, "/api/progress?job=left")["progress"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    # Searches take turns, so this one is answered when the other is over.
    assert stands(explorer)


def test_interrupting_the_server_ends_its_searches() -> None:
    running = start_explorer()
    asked = Asked(running, "/api/trace", LONG, "long")
    asked.wait_for("searching")
    running.process.send_signal(signal.SIGINT)
    out, errors = running.process.communicate(timeout=60)
    assert (running.process.returncode, out, errors) == (0, "", "")
    asked.join(60)


# --- compiling -----------------------------------------------------------------------------------------------------


def test_a_recording_on_the_command_line_tells_of_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECATEUR_CACHE_DIR", str(tmp_path / "cache"))
    arguments = ["explore", "--record", str(tmp_path / "x.json"), "--depth", "1"]
    command = [sys.executable, str(PROJECT / "uci_main.py"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        # The first line says that kernels must be compiled.
        line = next((line for line in process.stderr if line.startswith("secateur explore: loading ")), "")
        process.kill()
    assert line.endswith(" s so far; this takes longest the first time\n")


def test_the_page_says_how_far_compiling_is_and_need_not_wait_for_it(browser: Any, tmp_path: Path) -> None:
    with (
        explorer_running(SECATEUR_CACHE_DIR=str(tmp_path)) as running,
        new_page(browser, running.url, viewport={"width": 360, "height": 740}) as page,
    ):
        page.page.click("#tab-chess")
        page.page.click("#chess-search")
        page.page.wait_for_selector("#work:has-text('this takes longest the first time')")
        box = page.page.locator("#work").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        page.page.click("#stop")
        page.settle()
        assert page.message == "Stopped. The page still shows the previous search."
        assert stands(running)


# --- the page ------------------------------------------------------------------------------------------------------


def ask_for_a_long_search(shown: Shown) -> None:
    shown.page.click("#tab-text")
    shown.page.select_option("#format", "list")
    shown.page.fill("#tree-text", LONG_TEXT)
    shown.page.select_option("#algorithm", "lattice-fold")
    shown.page.select_option("#lattice", LONG_LATTICE["kind"])
    shown.page.fill("#lattice-spec", LONG_LATTICE["spec"])
    shown.page.click("#initialise")
    shown.page.wait_for_selector("#work:has-text('Searching 3,001 nodes, as given')")


@pytest.mark.parametrize("by", ["button", "key", "another search"])
def test_the_page_stops_a_search_and_shows_what_it_showed(shown: Shown, explorer: Explorer, by: str) -> None:
    before = shown.length, shown.text("explanation"), shown.text("caption-a")
    assert not shown.page.is_visible("#work")
    ask_for_a_long_search(shown)
    if by == "another search":
        shown.page.click("#tab-example")
        shown.choose("example", "textbook")
        assert shown.message == ""
        assert shown.text("title") == "Three by three"
        return
    if by == "button":
        shown.page.click("#stop")
    else:
        shown.page.keyboard.press("Escape")
    shown.settle()
    assert shown.message == "Stopped. The page still shows the previous search."
    assert not shown.page.is_visible("#work")
    assert (shown.length, shown.text("explanation"), shown.text("caption-a")) == before
    assert stands(explorer)


def test_the_page_shows_what_a_stopped_search_of_chess_has_recorded(shown: Shown) -> None:
    shown.page.click("#tab-chess")
    shown.page.fill("#chess-depth", "60")
    shown.page.fill("#chess-nodes", "10000000")
    shown.page.click("#chess-search")
    deep = re.compile(r"Completed depth ([5-9]|\d\d),")
    shown.page.locator("#work", has_text=deep).wait_for(timeout=300_000)
    shown.page.click("#stop")
    shown.page.wait_for_selector("body:not([aria-busy])", timeout=60_000)
    shown.settle()
    assert shown.message.startswith("Stopped. The page shows the search so far: ")
    assert shown.page.is_visible("#board svg")
    scores = [row[1] for row in shown.table("iteration-table")]
    assert len(scores) >= 6
    # The last iteration has no score, unless the stop came just after it.
    assert "-" not in scores[:-1]
