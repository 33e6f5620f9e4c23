"""How long the engine and the commands say nothing while they compile all kernels, with an empty cache."""

from __future__ import annotations

import itertools
import os
import selectors
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.compiler.cache_folder import CACHE_VARIABLE
from tests.uci.fuzz import samples
from tests.uci.fuzz.searches import BreachError

#: Seconds: what an answer to `isready` and a silence may take.
READY, SILENCE = 5.0, 3.0
#: Seconds after which nothing is expected any more.
PATIENCE: Final = 900.0
#: Seconds between two questions whether the engine is ready while it owes a move.
BETWEEN: Final = 0.5

#: Commands that need kernels, in a folder of their own (see `samples.expanded`).
COMMANDS: Final = (
    "warmup",
    "bench 4",
    "perft --depth 3",
    "genfens 2 seed 1 book None --nodes 20",
    "epd <suite.epd> --depth 1",
    "match --engine name=A cmd={python} arg={secateur} --engine name=B cmd={python} arg={fake} "
    "--each depth=1 --max-moves 4",
    "ablation futility --tc depth=1 --max-moves 4 --games 2",
    "explore --depth 2 --record new.json",
    "datagen new --nodes 20 --hard-nodes 60 --workers 2 --max-plies 60 --games 16",
    "wdl <shards>",
    "train <shards> --output new.snet --hidden 32 --superbatches 1 --superbatch-size 256 --batch-size 256 "
    "--validation 0.2 --threads 1",
    "net <network.snet> --on <shards>",
)


@dataclass
class Measured:
    """The slowest answer to `isready` and the longest silence, in seconds, and what came before each."""

    name: str
    ready: float = 0.0
    silence: float = 0.0
    behind: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def quiet(self, seconds: float, behind: str) -> None:
        """So long nothing was said."""
        with self._lock:
            if seconds > self.silence:
                self.silence, self.behind = seconds, behind

    def check(self, allowance: float = 1.0) -> None:
        """Raises BreachError when it took longer than so many times what it may."""
        if self.ready > allowance * READY or self.silence > allowance * SILENCE:
            raise BreachError(str(self))

    def __str__(self) -> str:
        ready = f"slowest readyok {self.ready:.1f} s, " if self.ready else ""
        return f"{self.name}: {ready}longest silence {self.silence:.1f} s, behind {self.behind!r}"


class _Talk:
    """One engine, spoken to as CuteChess does."""

    def __init__(self, measured: Measured, environment: dict[str, str]) -> None:
        self._measured = measured
        self._process = subprocess.Popen(
            samples.SECATEUR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0
        )
        assert self._process.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._rest = b""
        self._last, self._behind = time.perf_counter(), "its start"

    def run(self) -> None:
        """The whole conversation. Raises BreachError for an answer that does not come."""
        try:
            self._say("uci")
            self._expect("uciok")
            self._say("setoption name Hash value 16")
            self._ready()
            self._say("ucinewgame")
            self._say("position startpos")
            self._ready()
            self._say("go movetime 100")
            deadline = time.perf_counter() + PATIENCE
            while not self._ready(until="bestmove"):
                if time.perf_counter() > deadline:
                    raise BreachError("no move")
                if self._expect("bestmove", BETWEEN):
                    break
            self._say("quit")
            self._process.wait(20)
        finally:
            self._process.kill()
            self._process.wait()
            self._selector.close()
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                stream.close()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")

    def _ready(self, until: str = "") -> bool:
        """Asks whether it is ready, and waits for that; whether a line `until` came meanwhile."""
        began = time.perf_counter()
        self._say("isready")
        has_come = self._expect("readyok", until=until)
        self._measured.ready = max(self._measured.ready, time.perf_counter() - began)
        return bool(until) and has_come == until

    def _expect(self, start: str, seconds: float = PATIENCE, until: str = "") -> str:
        """Waits for a line; which of the two came, or "" when none did in `seconds`. Without them: BreachError."""
        found = ""
        deadline = time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            if not self._selector.select(left):
                break
            assert self._process.stdout is not None
            data = self._process.stdout.read(1 << 16)
            if not data:
                raise BreachError(f"it ended before '{start}'")
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                text, now = line.decode(), time.perf_counter()
                self._measured.quiet(now - self._last, self._behind)
                self._last, self._behind = now, text
                if until and text.startswith(until):
                    found = until
                if text.startswith(start):
                    return found or start
        if seconds == PATIENCE:
            raise BreachError(f"no '{start}'")
        return ""


def engines(number: int) -> Measured:
    """So many engines at once on one empty cache."""
    measured = Measured(f"{number} engine{'s' * (number > 1)}")
    failures: list[BreachError] = []

    def talk() -> None:
        try:
            _Talk(measured, environment).run()
        except BreachError as error:
            failures.append(error)

    with tempfile.TemporaryDirectory(prefix="secateur-cold-") as name:
        environment = {**os.environ, "SECATEUR_KERNELS": "jit", CACHE_VARIABLE: name}
        threads = [threading.Thread(target=talk) for _ in range(number)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    return measured


def command(line: str) -> Measured:
    """A command with an empty cache, which has to succeed."""
    words = samples.expanded(line, "", samples.sample)
    measured = Measured(line)
    with tempfile.TemporaryDirectory(prefix="secateur-cold-") as name:
        home = Path(name)
        environment = samples.environment(home, home) | {CACHE_VARIABLE: f"{name}/cache"}
        last, behind = time.perf_counter(), "its start"
        process = subprocess.Popen(
            [*samples.SECATEUR, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=name,
            env=environment,
            bufsize=0,
        )
        assert process.stdout is not None
        for data in itertools.chain(iter(lambda: process.stdout.read(1 << 16), b""), [b"its end"]):  # type: ignore[union-attr]
            now = time.perf_counter()
            measured.quiet(now - last, behind)
            last, behind = now, data.decode("utf-8", "replace").strip().split("\n")[-1][:80]
        process.stdout.close()
        if process.wait():
            raise BreachError(f"{line}: exit status {process.returncode}")
    return measured
