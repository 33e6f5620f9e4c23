"""What long runs say where there is no terminal."""

from __future__ import annotations

import pytest

from engine.display import Display


class Counting(Display):
    """Shows a number."""

    line_seconds = 0.0
    number = 1

    def line(self) -> str:
        return f"{self.number} done"


def test_a_line_is_not_said_twice(capsys: pytest.CaptureFixture[str]) -> None:
    with Counting() as display:
        display.tick()
        display.print_line()
        display.number = 2
        display.tick()
        display.print_line()
    assert capsys.readouterr().err == "1 done\n2 done\n"


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Counting(quiet=True) as display:
        display.tick()
        display.say("something")
    assert capsys.readouterr().err == ""
