"""The tracing build of the kernels: choosing it, and loading it. Imports nothing heavy.

Loading takes a second from the cache, and half a minute when the kernels must be compiled. A separate thread loads
them, so that a waiting caller gets progress reports and can stop waiting before the end.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Final

from engine.compiler import compiling
from search.explorer.jobs import Job

#: The environment variable that `engine.compiler.jit` reads.
VARIABLE: Final = "SECATEUR_TRACING"

#: Seconds of loading without a report: loading from the cache takes no longer.
SILENCE: Final = 1.5


def choose_tracing() -> None:
    """Makes this process, and those that it starts, use the tracing build.

    Call it before the kernels are imported: raises RuntimeError when those of the playing build have been.
    """
    jit = sys.modules.get("engine.compiler.jit")
    if jit is not None and not jit.TRACING:
        raise RuntimeError("the playing build is in use already; a process has only one")
    # A warmup compiles the playing build.
    compiling.without_advice()
    os.environ[VARIABLE] = "1"


class KernelLoader:
    """Loads the kernels that a recorded search runs, once for this process; any number of threads may wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._step = "the compiler"
        self._began = 0.0

    def wait(self, job: Job, every: float) -> None:
        """Starts loading, unless it has started, and waits for its end.

        After SILENCE and then every `every` seconds it tells the job how far it is. When the job is stopped, it raises
        `StoppedError`, and the loading goes on. Raises the exception of the loading, if any.
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
                job.tell(f"loading {self._step}, {now - self._began:.0f} s so far; a new version compiles them once")
        if self._error is not None:
            raise self._error

    def _load(self) -> None:
        try:
            # Imported here because the import takes the first second.
            from search.warmup import load_kernels

            load_kernels(on_step=self._on_step)
        except BaseException as error:  # raised again in every waiting thread
            self._error = error

    def _on_step(self, index: int, count: int, name: str) -> None:
        self._step = f"{name} kernels ({index + 1} of {count})"


#: The loader of this process.
KERNELS: Final = KernelLoader()
