"""What long runs say where there is no terminal."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.commands import epd
from engine.progress import Display, Line, Steps
from tests.bench.fakes import FAKE


class Counting(Display):
    """Shows a number."""

    number = 1

    def line(self) -> str:
        return f"{self.number} done"


def test_a_silent_run_goes_on_telling_what_it_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Steps, "line_seconds", 0.01)
    told = ""

    def wait_for(text: str, count: int) -> None:
        nonlocal told
        while sum(line.startswith(text) for line in told.splitlines()) < count:
            time.sleep(0.01)
            told += capsys.readouterr().err

    with Steps("reading") as steps:
        wait_for("reading (0:00:0", 2)
        steps.show("fitting")
        wait_for("fitting (0:00:0", 1)


def test_only_the_innermost_view_speaks(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counting, "line_seconds", 0.01)
    asked: list[str] = []

    def inner() -> str:
        asked.append("compiling")
        return asked[-1]

    def wait_until(condition: Callable[[], bool]) -> None:
        while not condition():
            time.sleep(0.01)

    with Counting() as outer:
        wait_until(lambda: bool(outer._shown))
        with Line(inner, patience=0.01):
            wait_until(lambda: bool(asked))
            capsys.readouterr()
            outer.number = 2
            time.sleep(0.1)  # ten of its lines
            assert capsys.readouterr().err == ""
        wait_until(lambda: outer._shown == "2 done")
        assert capsys.readouterr().err == "2 done\n"


def test_what_takes_no_time_is_not_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Steps, "line_seconds", 60.0)
    with Steps("reading") as steps:
        steps.show("fitting")
    assert capsys.readouterr().err == ""


def test_a_suite_tells_how_far_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that thinks for long about its only position: nothing happens, and lines come all the same."""
    pytest.importorskip("rich")
    monkeypatch.setattr(Display, "line_seconds", 0.01)
    suite = tmp_path / "one.epd"
    suite.write_text('4k3/8/8/8/8/8/8/4K2R w K - bm O-O; id "one";\n')
    command = [str(suite), "--engine", f"cmd={sys.executable} {FAKE}", "name=Slow", "--movetime", "0.5"]
    assert epd.main(command) == 0
    assert re.search(r"0 of 1 positions?, 0 solved", capsys.readouterr().err)
    assert epd.main([*command, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
