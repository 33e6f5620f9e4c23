"""Runs UCI engines as child processes and measures how long their answers take."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bench.engines import SECATEUR, EngineSpec, find_program
from bench.uci import UCIOK_SECONDS
from engine.errors import CommandError
from engine.files import quoted, reason

#: The longest time to wait for an answer, in seconds. A program that `run` starts may take twice as long.
PATIENCE: Final = 300.0


class EngineError(CommandError):
    """Raised if an engine does not start, fails, or does not give a valid answer; the message names the engine."""


class Conversation:
    """A UCI engine in a child process; a context manager. Raises MissingEngineError or EngineError on failure."""

    def __init__(self, spec: EngineSpec) -> None:
        self.name = spec.name
        #: The lines that `ask` has read from the engine's stdout and stderr.
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
        """Sends a command; returns the first line that starts with `answer`, and the seconds until it arrived.

        Kills the engine if this takes more than `patience` seconds. Raises EngineError if no such line comes.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        start = time.perf_counter()
        # The alarm kills an engine that does not answer. This closes the engine's output, which ends the loop below.
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


#: The Secateur that is running, as an engine.
OURS: Final = EngineSpec("Secateur", tuple(SECATEUR))


@contextmanager
def started(spec: EngineSpec) -> Iterator[Conversation]:
    """Starts an engine, sets its options, yields the engine and then ends it. Raises the errors of `Conversation`."""
    with Conversation(spec) as engine:
        engine.ask("uci", "uciok", UCIOK_SECONDS)
        for name, value in spec.options:
            engine.ask(f"setoption name {name} value {value}\nisready", "readyok")
        engine.ask("isready", "readyok")
        yield engine


def find_stockfish() -> EngineSpec | None:
    """Returns Stockfish where `find_program` finds it; None if it is not installed."""
    path = find_program("stockfish")
    return None if path is None else EngineSpec("Stockfish", (path,))


def run(spec: EngineSpec, *arguments: object) -> tuple[str, str]:
    """Runs an engine until it exits; returns stdout and stderr. Raises MissingEngineError or EngineError on failure."""
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
        raise EngineError(f"{name}: did not end within {2 * PATIENCE:.0f} s") from None
    if done.returncode:
        lines = f"{done.stdout}\n{done.stderr}".strip().splitlines()
        said = f"its last line: {quoted(lines[-1])}" if lines else "it said nothing"
        raise EngineError(f"{name}: exit status {done.returncode}; {said}")
    return done.stdout, done.stderr
