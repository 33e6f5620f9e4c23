"""Loads the engine, which takes about a second, or about half a minute if kernels must be compiled."""

from __future__ import annotations

import gc
import mmap
import threading
import time
from typing import Any, Final

#: The free memory, in bytes, without which no kernels are loaded. LLVM ends the process if it gets no memory.
HEADROOM: Final = 32 << 20


class Loader:
    """A loader of the engine. It works on its own thread, so that the session can quit at any moment."""

    def __init__(self) -> None:
        #: Set when loading has ended; then either `backend` or `error` is set, too.
        self.done = threading.Event()
        self.error: BaseException | None = None
        self.backend: Any = None
        #: A description of the current step, and when loading began, by `time.perf_counter`.
        self.step = ""
        self.began = 0.0
        #: How many kernels had to be compiled, and the seconds from `began` until all kernels were loaded.
        self.compiled = 0
        self.seconds = 0.0
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts loading on another thread; later calls do nothing. If no thread can start, sets `error` and `done`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._load, name="loader", daemon=True)
            try:
                self._thread.start()
            except (RuntimeError, MemoryError) as error:
                self.error = error
                self.done.set()

    def _load(self) -> None:
        self.began = time.perf_counter()
        try:
            self.step = "importing modules"
            from engine.uci import backend
            from search.warmup import load_kernels

            try:
                mmap.mmap(-1, HEADROOM).close()
            except OSError:
                raise MemoryError(f"loading the kernels needs {HEADROOM >> 20} MiB") from None
            self.compiled = load_kernels(on_step=self._on_step)
            self.seconds = time.perf_counter() - self.began
            self.step = "trying a short search"
            backend.rehearse()
            # The imported objects are permanent: the garbage collector must not spend 50 ms on them during a move.
            gc.freeze()
            self.backend = backend
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()

    def _on_step(self, index: int, count: int, name: str) -> None:
        self.step = f"{name} kernels ({index + 1} of {count})"
