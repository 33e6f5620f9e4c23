"""The writer of stdout: which lines it writes at once, which it keeps for a while, and a GUI that reads nothing."""

from __future__ import annotations

import io
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.uci import output as module
from engine.uci.output import Output
from tests.search.games import KIWIPETE
from tests.uci.conftest import ENGINE


class Clock:
    """The time that `Output` sees, in seconds."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


#: Seconds for which reports are kept in these tests: longer than any of them takes.
LONG = 600.0


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
    monkeypatch.setattr(module, "HOLD", LONG)
    return clock


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_report_soon_after_a_write_is_written_with_the_next_line(clock: Clock) -> None:
    stream = Stream()
    output = Output(stream)
    output.line("readyok")
    output.report("info depth 1")
    clock.now += LONG / 2
    output.report("info depth 2")
    assert stream.writes == [b"readyok\n"]
    output.line("bestmove e2e4")
    assert stream.writes[1:] == [b"info depth 1\ninfo depth 2\nbestmove e2e4\n"]


def test_a_report_soon_after_a_command_waits(clock: Clock) -> None:
    stream = Stream()
    output = Output(stream)
    clock.now += 2 * LONG
    output.heard("go infinite")
    output.report("info depth 1")
    assert stream.writes == []


def test_a_later_report_is_written_at_once_with_those_before_it(clock: Clock) -> None:
    stream = Stream()
    output = Output(stream)
    output.report("info depth 1")
    clock.now += 2 * LONG
    output.report("info depth 2")
    assert stream.writes == [b"info depth 1\ninfo depth 2\n"]
    clock.now += 2 * LONG
    output.report("info depth 3")
    assert stream.writes[1:] == [b"info depth 3\n"]


def test_kept_reports_are_written_without_another_line() -> None:
    stream = Stream()
    output = Output(stream)
    for depth in (1, 2):
        output.report(f"info depth {depth}")
        wait_for(lambda depth=depth: len(stream.writes) == depth)  # type: ignore[misc]
    assert stream.writes == [b"info depth 1\n", b"info depth 2\n"]
    output.close()


def test_the_log_has_a_report_before_it_is_written(clock: Clock, tmp_path: Path) -> None:
    stream = Stream()
    output = Output(stream)
    log = tmp_path / "uci.log"
    output.log_to(str(log))
    output.report("info depth 1")
    assert stream.writes == []
    assert log.read_text().endswith(" << info depth 1\n")
    output.log_to("")


def test_the_engine_ends_with_its_input_although_nobody_reads_its_output() -> None:
    fcntl = pytest.importorskip("fcntl", reason="only POSIX has it")
    if not hasattr(fcntl, "F_SETPIPE_SZ"):
        pytest.skip("only Linux makes pipes small")
    with subprocess.Popen([*ENGINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        output = process.stdout.fileno()
        # Less than the report of one iteration.
        fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, 4096)
        process.stdin.write(f"setoption name MultiPV value 100\nposition fen {KIWIPETE}\nisready\n".encode())
        process.stdin.flush()
        try:
            while process.stdout.readline() != b"readyok\n":
                pass
            process.stdin.write(b"go infinite\n")
            process.stdin.flush()
            wait_for(lambda: bool(select.select([output], [], [], 0)[0]))
            time.sleep(1.0)  # until the search waits for the reader
            process.stdin.close()
            process.wait(30.0)
        finally:
            process.kill()
    assert process.returncode == 0
