"""Loads the recording kernels: a second from the cache, about a minute when they must be compiled.

A separate thread loads them, so that a waiting caller gets progress reports and can stop waiting before the end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

#: Seconds of loading without a report: loading from the cache takes no longer.
_SILENCE: Final = 1.5

#: Seconds between two checks of the thread.
_TICK: Final = 0.1


class KernelLoader:
    """Loads the kernels that a recorded search runs, once for this process; any number of threads may wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._step = "the compiler"
        self._began = 0.0

    def wait(self, tell: Callable[[str], None], every: float = 5.0) -> None:
        """Starts loading, unless it has started, and waits for its end.

        `tell(text)` is called on the waiting thread, after a second and a half and then every `every` seconds; an
        exception from it ends the waiting, while the loading goes on. Raises the exception of the loading, if any.
        """
        thread = self._start()
        told = None
        while thread.is_alive():
            thread.join(_TICK)
            now = time.monotonic()
            if now - self._began > _SILENCE and (told is None or now - told >= every) and thread.is_alive():
                told = now
                tell(f"loading {self._step}, {now - self._began:.0f} s so far; a new version compiles them once")
        if self._error is not None:
            raise self._error

    def _start(self) -> threading.Thread:
        with self._lock:
            if self._thread is None:
                self._began = time.monotonic()
                self._thread = threading.Thread(target=self._load, name="loader of kernels", daemon=True)
                self._thread.start()
            return self._thread

    def _load(self) -> None:
        try:
            # Imported here because the import takes the first second.
            from search.warmup import load_kernels

            load_kernels(on_step=self._on_step)
        except BaseException as error:  # raised again where somebody waits
            self._error = error

    def _on_step(self, index: int, count: int, name: str) -> None:
        self._step = f"{name} kernels ({index + 1} of {count})"


#: The loader of this process.
KERNELS: Final = KernelLoader()
