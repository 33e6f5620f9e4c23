"""Selects and loads the tracing build of the kernels. Importing this module does not import the kernels.

Loading takes about a second from the cache, or half a minute if the kernels must be compiled. A separate thread loads
the kernels, so that a waiting caller gets progress reports and can stop waiting early.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Final

from engine.compiler import compiling
from search.explorer.jobs import Job

#: The environment variable by which `engine.compiler.jit` chooses the build.
VARIABLE: Final = "SECATEUR_TRACING"

#: Seconds of loading before the first progress report. Loading from the cache usually takes less time.
SILENCE: Final = 1.5


def choose_tracing() -> None:
    """Makes this process and its child processes use the tracing build.

    Call this function before the kernels are imported. Raises RuntimeError if the playing build is already imported.
    """
    jit = sys.modules.get("engine.compiler.jit")
    if jit is not None and not jit.TRACING:
        raise RuntimeError("the playing build is already in use, and a process can use only one build")
    # Suppress the advice to run `warmup`, because `warmup` compiles only the playing build.
    compiling.without_advice()
    os.environ[VARIABLE] = "1"


class KernelLoader:
    """A loader of the kernels that a recorded search needs. Any number of threads may wait; the kernels load once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._step = "the compiler"
        self._began = 0.0

    def wait(self, job: Job, every: float) -> None:
        """Starts loading, unless an earlier call has started it, and waits until the kernels are loaded.

        Reports progress to the job after SILENCE seconds of loading and then every `every` seconds. If the job is
        stopped, raises `StoppedError`, but loading continues. If loading fails, raises the same exception as loading.
        """
        with self._lock:
            if self._thread is None:
                self._began = time.monotonic()
                self._thread = threading.Thread(target=self._load, name="loader of kernels", daemon=True)
                self._thread.start()
        due = self._began + SILENCE
        while self._thread.is_alive():
            self._thread.join(0.1)
            job.check()
            now = time.monotonic()
            if now >= due and self._thread.is_alive():
                due = now + every
                job.tell(f"loading {self._step}, {now - self._began:.0f} s so far; this takes longest the first time")
        if self._error is not None:
            raise self._error

    def _load(self) -> None:
        try:
            # Imported here because the import alone takes a second.
            from search.warmup import load_kernels

            load_kernels(on_step=self._on_step)
        except BaseException as error:  # `wait` raises it in every waiting thread
            self._error = error

    def _on_step(self, index: int, count: int, name: str) -> None:
        self._step = f"{name} kernels ({index + 1} of {count})"


#: The loader that the whole process shares.
KERNELS: Final = KernelLoader()
