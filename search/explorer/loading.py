"""Loading of the recording kernels, which takes a second from the cache and about a minute where they must be compiled.

It happens in a thread of its own, so that who waits can be told how far it is, and need not wait to its end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

#: Seconds of loading that are nobody's concern: from the cache it takes no longer.
_SILENCE: Final = 1.5

#: Seconds between two looks at the thread.
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
        """Starts loading, unless that has been done, and waits until it is over.

        `tell(text)` is called from the waiting thread, after a second and a half and then `every` so many seconds; what
        it raises ends the waiting, while the loading goes on. Raises what loading raised.
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
            # Imported here, because this is what takes the first second.
            from search.warmup import load_kernels

            load_kernels(on_step=self._on_step)
        except BaseException as error:  # raised again where somebody waits
            self._error = error

    def _on_step(self, index: int, count: int, name: str) -> None:
        self._step = f"{name} kernels ({index + 1} of {count})"


#: The process's own.
KERNELS: Final = KernelLoader()
