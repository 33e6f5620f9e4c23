"""UCI engines as child processes whose answers are timed."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bench.engines import SECATEUR, EngineSpec
from bench.uci import UCIOK_SECONDS
from engine.errors import CommandError
from engine.files import quoted, reason

#: Seconds that any one answer may take; a whole command may take twice as long.
PATIENCE: Final = 300.0


class EngineError(CommandError):
    """An engine that does not start or answer, or answers nonsense; the message names it."""


class Conversation:
    """A UCI engine as a child process, for timing what it does. Raises EngineError when it does not start."""

    def __init__(self, spec: EngineSpec) -> None:
        self.name = spec.name
        #: Everything it said on stdout and stderr.
        self.heard: list[str] = []
        try:
            self.process = subprocess.Popen(
                [spec.resolved_program(), *spec.command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=1,
                text=True,
                errors="replace",
                cwd=spec.directory,
            )
        except OSError as error:
            raise EngineError(f"{self.name} does not start: {reason(error)}") from None

    def ask(self, command: str, answer: str, patience: float = PATIENCE) -> tuple[str, float]:
        """Sends a command; returns the first line that starts with `answer`, and the seconds until it came.

        Raises EngineError when that takes longer than `patience` seconds, or the engine has ended.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        start = time.perf_counter()
        # The alarm also ends an engine that says nothing at all: its output ends, and with it the loop below.
        alarm = threading.Timer(patience, self.process.kill)
        alarm.start()
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                self.heard.append(line.strip())
                if line.startswith(answer):
                    return line.strip(), time.perf_counter() - start
        except OSError:
            pass
        finally:
            alarm.cancel()
        last = next(filter(None, reversed(self.heard)), None)
        said = "it said nothing" if last is None else f"its last line: {quoted(last)}"
        waited = time.perf_counter() - start
        raise EngineError(f"{self.name} did not answer '{command}' with '{answer}' in {waited:.0f} s; {said}")

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.process.communicate("quit\n", timeout=5)
        except (subprocess.TimeoutExpired, OSError, ValueError):
            self.process.kill()
            self.process.wait()


#: This Secateur.
OURS: Final = EngineSpec("Secateur", tuple(SECATEUR))


@contextmanager
def started(spec: EngineSpec) -> Iterator[Conversation]:
    """An engine that is ready, with its options set. Raises EngineError."""
    with Conversation(spec) as engine:
        engine.ask("uci", "uciok", UCIOK_SECONDS)
        for name, value in spec.options:
            engine.ask(f"setoption name {name} value {value}\nisready", "readyok")
        engine.ask("isready", "readyok")
        yield engine


def find_stockfish() -> EngineSpec | None:
    """Stockfish on the PATH or where Debian puts games; None without it."""
    path = shutil.which("stockfish") or shutil.which("/usr/games/stockfish")
    return None if path is None else EngineSpec("Stockfish", (path,))


def run(spec: EngineSpec, *arguments: object) -> tuple[str, str]:
    """What an engine's program prints on stdout and stderr with these arguments. Raises EngineError when it fails."""
    name = " ".join(map(str, (spec.name, *arguments[:1])))
    command = [spec.resolved_program(), *spec.command[1:], *map(str, arguments)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2 * PATIENCE,
            text=True,
            errors="replace",
            cwd=spec.directory,
            check=False,
        )
    except OSError as error:
        raise EngineError(f"{name}: {reason(error)}") from None
    except subprocess.TimeoutExpired:
        raise EngineError(f"{name}: has not ended in {2 * PATIENCE:.0f} s") from None
    if done.returncode:
        last = ["nothing", *f"{done.stdout}\n{done.stderr}".strip().splitlines()][-1]
        raise EngineError(f"{name}: exit status {done.returncode}; its last line: {quoted(last)}")
    return done.stdout, done.stderr
