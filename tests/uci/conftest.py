"""A UCI engine as a child process, for tests that talk to the real thing."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from search.warmup import EVERYTHING, load_kernels

PROJECT = Path(__file__).resolve().parents[2]
ENGINE = [sys.executable, str(PROJECT / "uci_main.py")]


class Engine:
    """Secateur under test: send lines, expect answers, look at everything it said. Or another program (`command`)."""

    def __init__(
        self,
        cwd: Path | None = None,
        arguments: tuple[str, ...] = (),
        command: tuple[str, ...] = (*ENGINE,),
        **environment: str,
    ) -> None:
        self.lines: list[str] = []
        self._queue: queue.Queue[str | None] = queue.Queue()
        self.process = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=os.environ | environment,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            self._queue.put(raw.decode().rstrip("\n"))
        self._queue.put(None)

    def send(self, *lines: str) -> None:
        self.send_bytes("".join(line + "\n" for line in lines).encode())

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
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

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def stderr(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode() if self.process.poll() is not None else ""

    def finish(self, timeout: float = 10) -> list[str]:
        """Waits for the engine to end; returns what it said since the last `expect`. Its stderr must be empty."""
        assert self.process.wait(timeout) == 0
        rest = []
        while (line := self._queue.get(timeout=5)) is not None:
            rest.append(line)
        self.lines += rest
        assert self.stderr() == ""
        return rest

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


@pytest.fixture(scope="session", autouse=True)
def warm_kernels() -> None:
    """Every kernel is in the cache before a test looks at the clock."""
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
        engines.append(Engine(cwd, arguments, command, **environment))
        return engines[-1]

    yield launch
    for engine in engines:
        engine.kill()


@pytest.fixture(scope="module")
def shared_engine() -> Iterator[Engine]:
    """One loaded engine for all tests of a module that leave it idle."""
    engine = Engine()
    engine.send("isready")
    engine.expect("readyok")
    yield engine
    engine.kill()


@pytest.fixture
def engine(shared_engine: Engine) -> Engine:
    """The module's engine in its initial state."""
    shared_engine.send(
        "setoption name UCI_Chess960 value false",
        "setoption name Hash value 16",
        "setoption name Move Overhead value 10",
        "setoption name Threads value 1",
        "setoption name Ponder value false",
        "setoption name MultiPV value 1",
        "setoption name UCI_ShowWDL value false",
        "debug off",
        "ucinewgame",
        "position startpos",
        "isready",
    )
    shared_engine.expect("readyok")
    shared_engine.lines.clear()
    return shared_engine
