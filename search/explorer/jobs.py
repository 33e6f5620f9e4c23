"""Work that takes a while, as those see it who wait for it: how far it is, and how to end it early."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final


class StoppedError(Exception):
    """Work that nobody wants any more; raised by the work itself, where it looks."""


class Job:
    """One piece of work. Threads other than its own may read `progress` and call `stop` at any time."""

    def __init__(self) -> None:
        #: How far the work is, in words; "" for nothing to say.
        self.progress = ""
        self._lock = threading.Lock()
        self._is_stopped = False
        self._on_stop: list[Callable[[], None]] = []

    @property
    def is_stopped(self) -> bool:
        """Whether the work should end."""
        return self._is_stopped

    def stop(self) -> None:
        """Asks the work to end as soon as it can. More than once is no more than once."""
        with self._lock:
            waiting, self._on_stop = self._on_stop, []
            self._is_stopped = True
        for callback in waiting:
            callback()

    def when_stopped(self, callback: Callable[[], None]) -> None:
        """Has `callback` called when the work is stopped, from the thread that stops it; at once if it is already."""
        with self._lock:
            if not self._is_stopped:
                self._on_stop.append(callback)
                return
        callback()

    def check(self) -> None:
        """Raises `StoppedError` if the work should end."""
        if self._is_stopped:
            raise StoppedError

    def tell(self, progress: str) -> None:
        """Says how far the work is."""
        self.progress = progress

    def go_on(self, progress: str) -> None:
        """Says how far the work is, if it should go on; otherwise raises `StoppedError`."""
        self.check()
        self.tell(progress)


#: What nobody looks at, and nobody stops.
UNWATCHED: Final = Job()
