"""A UCI engine as a child process, for tests that talk to the real thing."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from engine.uci.options import OPTIONS
from search.warmup import EVERYTHING, load_kernels

PROJECT = Path(__file__).resolve().parents[2]
ENGINE = [sys.executable, str(PROJECT / "uci_main.py")]


class Engine:
    """Secateur under test, or another program: `send` lines, `expect` answers, look at all `lines` it said."""

    def __init__(
        self,
        cwd: Path | None = None,
        arguments: tuple[str, ...] = (),
        command: tuple[str, ...] = (*ENGINE,),
        preexec: Callable[[], None] | None = None,
        has_one_output: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`preexec` is called in the new process before the program starts. With `has_one_output` its stderr is read as
        its stdout is.
        """
        self.lines: list[str] = []
        #: Everything that was sent since the last reset.
        self.sent = b""
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - `kill` closes it
        self.process = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if has_one_output else self._errors,
            cwd=cwd,
            env=os.environ | dict(environment or {}),
            preexec_fn=preexec,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            self.hear(raw.decode("utf-8", "backslashreplace").rstrip("\n"), time.perf_counter())
        self._queue.put(None)

    def hear(self, line: str, now: float) -> None:
        """Takes a line of output on the reader's thread, at `now` by `time.perf_counter`."""
        self._queue.put(line)

    def send(self, *lines: str) -> None:
        self.send_bytes("".join(line + "\n" for line in lines).encode())

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.sent += data
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def expect(self, start: str, timeout: float = 60) -> str:
        """The next line that begins with `start`; fails when it does not come in time."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                line = self._queue.get(timeout=max(deadline - time.monotonic(), 0.001))
            except queue.Empty:
                raise AssertionError(f"no '{start}' within {timeout} s; so far: {self.lines[-8:]}") from None
            assert line is not None, f"the engine ended before '{start}': {self.lines[-8:]} {self.stderr()}"
            self.lines.append(line)
            if line.startswith(start):
                return line

    def said(self, *lines: str) -> list[str]:
        """What the engine says to these lines before it is ready."""
        self.lines.clear()
        self.send(*lines, "isready")
        self.expect("readyok")
        return self.lines[:-1]

    def best(self, *lines: str, timeout: float = 60) -> str:
        """The move that the engine answers to these lines, the last of which is a `go`."""
        self.lines.clear()
        self.send(*lines)
        return self.expect("bestmove ", timeout).split()[1]

    def infos(self) -> list[dict[str, str]]:
        """The info lines with a line of moves, as words by name."""
        found = []
        for line in self.lines:
            if line.startswith("info depth") and " pv " in line:
                numbers, _, pv = line.partition(" pv ")
                words = numbers.split()
                names = ("depth", "seldepth", "multipv", "nodes", "tbhits", "time")
                named = {name: words[words.index(name) + 1] for name in names}
                score = words.index("score")
                found.append(named | {"score": " ".join(words[score + 1 : score + 3]), "pv": pv, "line": line})
        return found

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def stderr(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "backslashreplace")

    def finish(self, *lines: str, timeout: float = 30) -> list[str]:
        """Sends lines and waits for the end, which must be a good one; returns what came since the last `expect`."""
        if lines:
            self.send(*lines)
        assert self.process.wait(timeout) == 0
        rest = []
        while (line := self._queue.get(timeout=timeout)) is not None:
            rest.append(line)
        self.lines += rest
        assert self.stderr() == ""
        return rest

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


@pytest.fixture(scope="session", autouse=True)
def warm_kernels() -> None:
    """Puts every kernel into the cache before a test measures time."""
    load_kernels(EVERYTHING)


@pytest.fixture
def start() -> Iterator[Callable[..., Engine]]:
    """Starts engines that are ended after the test, whatever happens in it."""
    engines: list[Engine] = []

    def launch(
        cwd: Path | None = None,
        arguments: tuple[str, ...] = (),
        command: tuple[str, ...] = (*ENGINE,),
        **environment: str,
    ) -> Engine:
        engines.append(Engine(cwd, arguments, command, environment=environment))
        return engines[-1]

    yield launch
    for engine in engines:
        engine.kill()


@pytest.fixture(scope="module")
def shared_engine() -> Iterator[Engine]:
    """One loaded engine for all tests of a module that leave it idle."""
    engine = Engine()
    engine.best("go depth 1")
    engine.lines.clear()
    yield engine
    engine.kill()


@pytest.fixture
def engine(shared_engine: Engine) -> Iterator[Engine]:
    """The module's engine in its initial state."""
    yield shared_engine
    used = shared_engine.sent.decode(errors="replace").lower()
    defaults = [option for option in OPTIONS if option.kind != "button" and f"name {option.name.lower()} value" in used]
    shared_engine.said(
        "stop",
        *(f"setoption name {option.name} value {option.default!s}" for option in defaults),
        "debug off",
        "ucinewgame",
        "position startpos",
    )
    # What waited for the end of a search is done only now.
    shared_engine.said()
    shared_engine.lines.clear()
    shared_engine.sent = b""
