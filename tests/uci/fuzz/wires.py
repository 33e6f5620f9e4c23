"""The two ways to the engine: its session in this process, or a process of its own behind pipes."""

from __future__ import annotations

import functools
import gc
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from io import RawIOBase
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

from engine.compiler.cache_folder import CACHE_VARIABLE
from engine.uci import session as session_module
from engine.uci.loader import Loader
from engine.uci.loop import converse
from engine.uci.output import Output
from search.warmup import EVERYTHING, load_kernels
from tests.uci.conftest import Engine
from tests.uci.fuzz import samples

#: What takes the engine's lines: the text without its newline, and when it came (`time.perf_counter`).
Listener = Callable[[str, float], None]

#: Sessions in this process between two collections of what they left.
_COLLECT_EVERY = 10


class Wire(Protocol):
    """A started engine."""

    def send(self, line: bytes) -> None:
        """Sends a line, to which a newline is added."""

    def close_input(self) -> None:
        """Closes the engine's input."""

    def ended(self, seconds: float) -> str | None:
        """Waits so long for the engine's end; a description of what was wrong, or None."""


@functools.cache
def _loader() -> Loader:
    """The loaded engine, which all sessions of this process share; what `eval` and `go perft` need is loaded, too."""
    load_kernels(EVERYTHING)
    loader = Loader()
    loader.start()
    loader.done.wait()
    if loader.error is not None:
        raise loader.error
    return loader


class _Ear(RawIOBase):
    """The stream that the session writes on."""

    def __init__(self, listener: Listener) -> None:
        super().__init__()
        self._listener = listener

    def write(self, data: Any) -> int:
        now = time.perf_counter()
        for line in bytes(data).decode("utf-8").removesuffix("\n").split("\n"):
            self._listener(line, now)
        return len(data)


class InProcess:
    """The real session on threads of this process; kernels are loaded once for all of them."""

    _started = 0

    def __init__(self, listener: Listener) -> None:
        InProcess._started += 1
        if InProcess._started % _COLLECT_EVERY == 0:
            gc.collect()
        #: Lines as they are sent, None for the end.
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._failures: list[str] = []
        self._loader = _loader()
        self._output = Output(_Ear(listener))  # type: ignore[arg-type]
        self._thread = threading.Thread(target=self._run, name="session", daemon=True)
        self._usual_hook, threading.excepthook = threading.excepthook, self._note_failure
        self._thread.start()

    def _run(self) -> None:
        with patch.object(session_module, "Loader", lambda: self._loader):
            converse(iter(self._lines.get, None), self._output, "under test")
        self._output.log_to("")

    def _note_failure(self, failure: threading.ExceptHookArgs) -> None:
        self._failures.append(f"{failure.exc_type.__name__} in a thread: {failure.exc_value}")

    def send(self, line: bytes) -> None:
        self._lines.put(line + b"\n")

    def close_input(self) -> None:
        self._lines.put(None)

    def ended(self, seconds: float) -> str | None:
        self._thread.join(seconds)
        self._lines.put(None)  # for the reader of a session that did not end
        threading.excepthook = self._usual_hook
        if self._failures:
            return self._failures[0]
        return f"it goes on {seconds:g} s after the end" if self._thread.is_alive() else None


def _limit(what: str, value: int) -> None:
    """Limits a resource of the new process."""
    import resource

    most = value << (20 if what == "AS" else 0)
    resource.setrlimit(getattr(resource, f"RLIMIT_{what}"), (most, most))


class OverPipes(Engine):
    """A process of its own, as a GUI starts it.

    A `setting` is a resource with its limit, or `cache` with the damage of the kernel cache and a seed.
    """

    def __init__(self, listener: Listener, setting: str = "") -> None:
        self._listener = listener
        self._cache = tempfile.TemporaryDirectory(prefix="secateur-cache-")
        environment, limit = {}, None
        what, _, value = setting.partition(" ")
        if what == "cache":
            kind, _, seed = value.rpartition(" ")
            # A copy: the engine compiles good kernels in the place of the damaged ones.
            cache = Path(self._cache.name, "cache")
            environment[CACHE_VARIABLE] = str(cache)
            if kind == "no kernels":
                cache.mkdir(mode=0o700)
            else:
                shutil.copytree(samples.standing_file("cache", kind, int(seed)), cache, symlinks=True)
        elif what:
            limit = functools.partial(_limit, what, int(value))
        super().__init__(preexec=limit, environment=environment)

    def hear(self, line: str, now: float) -> None:
        self._listener(line, now)

    def send(self, line: bytes) -> None:  # type: ignore[override]
        with suppress(BrokenPipeError):  # the player notices the end
            self.send_bytes(line + b"\n")

    def ended(self, seconds: float) -> str | None:
        try:
            status = self.process.wait(seconds)
            if errors := self.stderr():
                return f"on stderr: {errors[-2000:]}"
            return f"exit status {status}" if status else None
        except subprocess.TimeoutExpired:
            return f"it goes on {seconds:g} s after the end"
        finally:
            self.kill()
            self._cache.cleanup()
