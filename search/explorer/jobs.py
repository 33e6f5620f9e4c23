"""Long-running work from the view of its waiting callers: its progress, and a way to end it early."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final


class StoppedError(Exception):
    """The work was stopped; the work itself raises this at its next check."""


class Job:
    """One piece of work. Threads other than its own may read `progress` and call `stop` at any time."""

    def __init__(self) -> None:
        #: The progress in words; "" for none.
        self.progress = ""
        self._lock = threading.Lock()
        self._is_stopped = False
        self._on_stop: list[Callable[[], None]] = []

    @property
    def is_stopped(self) -> bool:
        """Whether the work should end."""
        return self._is_stopped

    def stop(self) -> None:
        """Asks the work to end as soon as it can. Further calls have no effect."""
        with self._lock:
            waiting, self._on_stop = self._on_stop, []
            self._is_stopped = True
        for callback in waiting:
            callback()

    def when_stopped(self, callback: Callable[[], None]) -> None:
        """Calls `callback` when the work is stopped, on the thread that stops it; at once if it is already stopped."""
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
        """Sets the progress."""
        self.progress = progress

    def go_on(self, progress: str) -> None:
        """Sets the progress if the work should go on; otherwise raises `StoppedError`."""
        self.check()
        self.tell(progress)


#: A job without an observer: its progress is not read, and it is not stopped.
UNWATCHED: Final = Job()
