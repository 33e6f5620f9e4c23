"""Jobs: the progress of long-running work, and a way to stop it early."""

from __future__ import annotations

import threading
from collections.abc import Callable


class StoppedError(Exception):
    """Raised if work checks its job after the job was stopped."""


class Job:
    """One piece of work. Other threads may read `progress` and call `stop` at any time.

    `progress` is a text that describes the current state of the work, at first "". `on_progress` gets every new text.
    """

    def __init__(self, on_progress: Callable[[str], None] | None = None) -> None:
        self.progress = ""
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._is_stopped = False
        self._on_stop: list[Callable[[], None]] = []

    def stop(self) -> None:
        """Asks the work to end, and runs the callbacks of `when_stopped`. Further calls have no effect."""
        with self._lock:
            waiting, self._on_stop = self._on_stop, []
            self._is_stopped = True
        for callback in waiting:
            callback()

    def when_stopped(self, callback: Callable[[], None]) -> None:
        """Registers `callback`, which `stop` calls once. If the job is already stopped, calls `callback` at once."""
        with self._lock:
            if not self._is_stopped:
                self._on_stop.append(callback)
                return
        callback()

    def check(self) -> None:
        """Raises `StoppedError` if the job was stopped."""
        if self._is_stopped:
            raise StoppedError

    def tell(self, progress: str) -> None:
        """Sets the progress and reports it to `on_progress`."""
        self.progress = progress
        if self._on_progress is not None:
            self._on_progress(progress)

    def go_on(self, progress: str) -> None:
        """Raises `StoppedError` if the job was stopped; otherwise sets the progress and reports it."""
        self.check()
        self.tell(progress)
