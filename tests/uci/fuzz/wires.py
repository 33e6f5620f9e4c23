"""The two ways to the engine: its session in this process, or a process of its own behind pipes."""

from __future__ import annotations

import functools
import gc
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
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
from tests.uci.conftest import ENGINE
from tests.uci.fuzz import samples
from tests.uci.fuzz.script import CACHE, Setting

#: What takes the engine's lines: the text without its newline, and when it came (`time.perf_counter`).
Listener = Callable[[str, float], None]

#: Sessions in this process between two collections of what they left.
_COLLECT_EVERY = 10


class Wire(Protocol):
    """A started engine."""

    def send(self, line: bytes) -> None:
        """Sends a line, to which a newline is added."""

    def end_input(self) -> None:
        """Closes the engine's input."""

    def ended(self, seconds: float) -> str | None:
        """Waits so long for the engine's end; what was wrong with that, None for nothing."""


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


class _Lines:
    """Lines as they are sent, for `converse` to read."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def put(self, line: bytes | None) -> None:
        """One line more, None for the end."""
        self._queue.put(line)

    def __iter__(self) -> Iterator[bytes]:
        while (line := self._queue.get()) is not None:
            yield line


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
        self._lines = _Lines()
        self._failures: list[str] = []
        self._loader = _loader()
        self._output = Output(_Ear(listener))  # type: ignore[arg-type]
        self._thread = threading.Thread(target=self._run, name="session", daemon=True)
        self._usual_hook, threading.excepthook = threading.excepthook, self._note_failure
        self._thread.start()

    def _run(self) -> None:
        with patch.object(session_module, "Loader", lambda: self._loader):
            converse(self._lines, self._output, "under test")
        self._output.log_to("")

    def _note_failure(self, failure: threading.ExceptHookArgs) -> None:
        self._failures.append(f"{failure.exc_type.__name__} in a thread: {failure.exc_value}")

    def send(self, line: bytes) -> None:
        self._lines.put(line + b"\n")

    def end_input(self) -> None:
        self._lines.put(None)

    def ended(self, seconds: float) -> str | None:
        self._thread.join(seconds)
        self._lines.put(None)  # for the reader of a session that did not end
        threading.excepthook = self._usual_hook
        if self._failures:
            return self._failures[0]
        return f"it goes on {seconds:g} s after the end" if self._thread.is_alive() else None


def _limit(setting: Setting) -> None:
    """In the new process: the system gives it no more."""
    import resource

    most = int(setting.value) << (20 if setting.what == "AS" else 0)
    resource.setrlimit(getattr(resource, f"RLIMIT_{setting.what}"), (most, most))


class OverPipes:
    """A process of its own, as a GUI starts it; with a `setting` it lacks something."""

    def __init__(self, listener: Listener, setting: Setting | None = None) -> None:
        self._listener = listener
        self._cache: tempfile.TemporaryDirectory[str] | None = None
        environment, limit = {**os.environ}, None
        if setting is not None and setting.what == CACHE:
            kind, _, seed = setting.value.rpartition(" ")
            # A copy of its own: the kernels that are compiled in its place are good ones.
            self._cache = tempfile.TemporaryDirectory(prefix="secateur-cache-")
            environment[CACHE_VARIABLE] = f"{self._cache.name}/cache"
            if kind == "no kernels":
                Path(environment[CACHE_VARIABLE]).mkdir(mode=0o700)
            else:
                shutil.copytree(
                    samples.standing_file("cache", kind, int(seed)), environment[CACHE_VARIABLE], symlinks=True
                )
        elif setting is not None:
            limit = functools.partial(_limit, setting)
        self._process = subprocess.Popen(
            ENGINE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=environment,
            preexec_fn=limit,
        )
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._listen, self._listen_to_errors)]
        self._errors = b""
        for reader in self._readers:
            reader.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        rest = b""
        while data := self._process.stdout.read(1 << 16):
            now = time.perf_counter()
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._listener(line.decode("utf-8", "backslashreplace"), now)
        if rest:
            self._listener(rest.decode("utf-8", "backslashreplace"), time.perf_counter())

    def _listen_to_errors(self) -> None:
        assert self._process.stderr is not None
        self._errors = self._process.stderr.read()

    def send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # its end is found out by those who listen
            self._process.stdin.write(line + b"\n")

    def end_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def ended(self, seconds: float) -> str | None:
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            status = None
        for reader in self._readers:
            reader.join(seconds)
        if self._cache is not None:
            self._cache.cleanup()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()
        if status is None:
            return f"it goes on {seconds:g} s after the end"
        if self._errors:
            return f"on stderr: {self._errors.decode('utf-8', 'backslashreplace')[-2000:]}"
        return f"exit status {status}" if status else None
