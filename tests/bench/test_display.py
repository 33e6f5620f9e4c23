"""What long runs say where there is no terminal."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from fakes import fake

from bench.engines import SECATEUR
from engine.progress import Display, Line, Steps


class Counting(Display):
    """Shows a number."""

    number = 1

    def line(self) -> str:
        return f"{self.number} done"


def test_a_line_is_not_said_twice(capsys: pytest.CaptureFixture[str]) -> None:
    with Counting() as display:
        display.print_line()
        display.print_line()
        display.number = 2
        display.print_line()
        display.print_line()
    assert capsys.readouterr().err == "1 done\n2 done\n"


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counting, "line_seconds", 0.01)
    with Counting(quiet=True) as display:
        time.sleep(0.2)
        display.say("something")
    assert capsys.readouterr().err == ""


def test_a_silent_run_goes_on_telling_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    with Steps("reading") as steps:
        time.sleep(2.5)
        steps.show("fitting")
        time.sleep(2.5)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("reading (0:00:0")
    assert lines[-1].startswith("fitting (0:00:0")
    assert len(lines) >= 3


def test_only_the_innermost_view_speaks(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counting, "line_seconds", 0.01)
    outer = Counting()
    with outer:
        while outer.number == 1 and not outer._shown:
            time.sleep(0.01)
        with Line(lambda: "compiling", patience=0.01):
            time.sleep(0.5)
            capsys.readouterr()
            outer.number = 2
            time.sleep(0.5)
            assert capsys.readouterr().err == ""
        time.sleep(0.5)
        assert capsys.readouterr().err == "2 done\n"


def test_what_takes_no_time_is_not_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Steps, "line_seconds", 60.0)
    with Steps("reading") as steps:
        steps.show("fitting")
    assert capsys.readouterr().err == ""


def test_a_suite_tells_how_far_it_is(tmp_path: Path) -> None:
    """An engine that thinks for long about its only position: nothing happens, and lines come all the same."""
    pytest.importorskip("rich")
    suite = tmp_path / "one.epd"
    suite.write_text('4k3/8/8/8/8/8/8/4K2R w K - bm O-O; id "one";\n')
    spec = fake("Slow")
    words = ["--engine", f"cmd={spec.command[0]}", f"arg={spec.command[1]}", "name=Slow", "--movetime", "6"]
    command = [*SECATEUR, "epd", str(suite), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("0 of 1 position, 0 solved (0:00:0")]
    assert len(told) >= 2
    done = subprocess.run([*command, "--quiet"], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
