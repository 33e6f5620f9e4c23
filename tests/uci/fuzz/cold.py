"""How long the engine and the commands are silent while they compile all kernels, with an empty cache."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

from engine.compiler.cache_folder import CACHE_VARIABLE
from tests.uci.conftest import Engine
from tests.uci.fuzz import samples
from tests.uci.fuzz.model import BreachError

#: Seconds that an answer to `isready` and a silence may take.
READY, SILENCE = 5.0, 3.0
#: Seconds that everything may take.
PATIENCE: Final = 900.0

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
)


class Timed(Engine):
    """An engine or a command with an empty cache; measures its longest silence."""

    def __init__(self, environment: dict[str, str], arguments: tuple[str, ...] = (), cwd: Path | None = None) -> None:
        #: The longest silence in seconds, and the line before it.
        self.silence, self.behind = 0.0, ""
        self._last, self._line = time.perf_counter(), "its start"
        super().__init__(cwd, arguments, samples.SECATEUR, None, bool(arguments), environment)

    def hear(self, line: str, now: float) -> None:
        self.silence, self.behind = max((self.silence, self.behind), (now - self._last, self._line))
        self._last, self._line = now, line[:80]
        super().hear(line, now)

    def check(self, allowance: float) -> str:
        """Returns the longest silence. Raises BreachError when it is too long."""
        self.hear("", time.perf_counter())
        measured = f"longest silence {self.silence:.1f} s, behind {self.behind!r}"
        if self.silence > allowance * SILENCE:
            raise BreachError(f"too long: {measured}")
        return measured

    def ready(self, allowance: float) -> None:
        """Sends `isready`. Raises AssertionError when the answer takes too long."""
        self.send("isready")
        self.expect("readyok", allowance * READY)


def two_engines(allowance: float = 1.0) -> str:
    """Talks to two engines at once on one empty cache, as CuteChess does. Raises AssertionError."""
    with tempfile.TemporaryDirectory(prefix="secateur-cold-") as folder:
        environment = {"SECATEUR_KERNELS": "jit", CACHE_VARIABLE: folder}
        started = [Timed(environment), Timed(environment)]
        try:
            for engine in started:
                engine.send("uci", "setoption name Hash value 16")
                engine.ready(allowance)
                engine.send("ucinewgame", "position startpos", "go movetime 100")
            deadline = time.monotonic() + PATIENCE
            waiting = list(started)
            while waiting and time.monotonic() < deadline:
                for engine in waiting:
                    engine.ready(allowance)
                waiting = [engine for engine in waiting if not any(map(_is_best, engine.lines))]
                time.sleep(0.5)
            for engine in started:
                engine.finish("quit")
                assert any(map(_is_best, engine.lines)), "no move"
            # One engine may find every kernel in the cache, if the other has compiled them first.
            assert any(" compiled in " in line for engine in started for line in engine.lines), "nothing was compiled"
            measured = [engine.check(allowance) for engine in started]
            again = Timed(environment)
            started.append(again)
            again.best("go depth 1")
            assert not any("compil" in line for line in again.lines), "the cache is not used"
        finally:
            for engine in started:
                engine.kill()
    return f"two engines: {'; '.join(measured)}"


def _is_best(line: str) -> bool:
    return line.startswith("bestmove ")


def command(line: str, allowance: float = 1.0) -> str:
    """Runs a command with an empty cache. Raises AssertionError when it fails or is silent for too long."""
    words = samples.expanded(line, "", samples.sample)
    with tempfile.TemporaryDirectory(prefix="secateur-cold-") as name:
        home = Path(name)
        environment = samples.environment(home, home) | {CACHE_VARIABLE: f"{name}/cache"}
        process = Timed(environment, tuple(words), home)
        try:
            process.close_input()
            process.finish(timeout=PATIENCE)
            return f"{line}: {process.check(allowance)}"
        finally:
            process.kill()
