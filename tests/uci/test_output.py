"""The writer of stdout: which lines it writes at once, and which it keeps for a while."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from engine.uci import output as module
from engine.uci.output import HOLD, Output


class Clock:
    """The time that `Output` sees, in seconds."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class Stream(io.BytesIO):
    """A stream that remembers what each call of `write` wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.writes.append(data)
        return super().write(data)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_a_report_soon_after_a_write_is_written_with_the_next_line(clock: Clock) -> None:
    stream = Stream()
    output = Output(stream)
    output.line("readyok")
    output.report("info depth 1")
    clock.now += HOLD / 2
    output.report("info depth 2")
    assert stream.writes == [b"readyok\n"]
    output.line("bestmove e2e4")
    assert stream.writes[1:] == [b"info depth 1\ninfo depth 2\nbestmove e2e4\n"]


def test_a_later_report_is_written_at_once_with_those_before_it(clock: Clock) -> None:
    stream = Stream()
    output = Output(stream)
    output.report("info depth 1")
    clock.now += 2 * HOLD
    output.report("info depth 2")
    assert stream.writes == [b"info depth 1\ninfo depth 2\n"]
    clock.now += 2 * HOLD
    output.report("info depth 3")
    assert stream.writes[1:] == [b"info depth 3\n"]


def test_flush_writes_what_was_kept_and_nothing_twice(clock: Clock) -> None:
    stream = Stream()
    output = Output(stream)
    output.flush()
    assert stream.writes == []
    output.report("info depth 1")
    output.flush()
    output.flush()
    assert stream.writes == [b"info depth 1\n"]


def test_the_log_has_a_report_before_it_is_written(tmp_path: Path) -> None:
    stream = Stream()
    output = Output(stream)
    log = tmp_path / "uci.log"
    output.log_to(str(log))
    output.report("info depth 1")
    assert stream.writes == []
    assert log.read_text().endswith(" << info depth 1\n")
    output.log_to("")
