"""What a long run looks like: something that renews itself on a terminal, a line now and then elsewhere.

All of that goes to stderr; stdout is kept for the result.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, ClassVar, Final, Self, TypeVar

T = TypeVar("T")

#: Seconds between two looks at whether a line is due: what is silent itself does not make the run silent.
_LOOK_SECONDS: Final = 0.4


def duration(seconds: float) -> str:
    """Seconds as hours:minutes:seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def counted(items: Iterable[T], show: Callable[[str], None], what: str) -> Iterator[T]:
    """The items, while `show` is told how many were taken: `3 shards`, `what` being `shards`."""
    for number, item in enumerate(items, start=1):
        yield item
        show(f"{number} {what}")


class Display:
    """Base of the views of long runs. Use as a context manager; `quiet` shows nothing.

    A subclass gives `line` and `picture`, and calls `tick` whenever something has happened. Where nothing happens, a
    thread of the view's own calls them, so that a run never goes silent.
    """

    #: Seconds between two lines where there is no terminal: with the look of the thread, two at most.
    line_seconds: ClassVar[float] = 1.5

    def __init__(self, quiet: bool = False) -> None:
        self.began = time.monotonic()
        self._quiet = quiet
        self._last_line = self.began - self.line_seconds
        self._shown = ""
        self._live: Any = None
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def line(self) -> str:
        """Where the run stands, in one line."""
        raise NotImplementedError

    def picture(self) -> Any:
        """Where the run stands, as something that rich can draw."""
        return self.line()

    def __enter__(self) -> Self:
        if self._quiet:
            return self
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.live import Live
            except ImportError:  # the lines do as well
                pass
            else:
                # The clock runs on between events, so the picture is asked for anew instead of being handed over.
                self._live = Live(
                    get_renderable=self.picture,
                    console=Console(stderr=True),
                    refresh_per_second=2,
                    transient=True,
                    redirect_stdout=False,
                )
                self._live.start()
                return self
        self._thread = threading.Thread(target=self._look, name="progress", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self._live is not None:
            self._live.stop()

    def _look(self) -> None:
        """Prints a line whenever one is due, until the run has ended."""
        while not self._ended.wait(_LOOK_SECONDS):
            if time.monotonic() - self.began >= self.line_seconds:
                self.tick()

    @property
    def shows_lines(self) -> bool:
        """Whether lines are what is shown."""
        return self._live is None and not self._quiet

    def tick(self) -> None:
        """Something has happened: prints a line when the last one was long ago."""
        if self.shows_lines and time.monotonic() - self._last_line >= self.line_seconds:
            self.print_line()

    def print_line(self) -> None:
        """Prints where the run stands, where lines are what is shown and the last one was another."""
        with self._lock:
            self._last_line = time.monotonic()
            line = self.line()
            if line != self._shown:
                self._shown = line
                self.say(line)

    def say(self, text: str) -> None:
        """Prints a line of its own, where lines are what is shown."""
        if self.shows_lines:
            with self._lock:
                sys.stderr.write(text + "\n")
                sys.stderr.flush()


class Steps(Display):
    """Shows what is being done, and for how long: for work whose end is not known, or that has few steps.

    `told` says what is done first; `show` what is done next.
    """

    def __init__(self, told: str, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._told = told

    def __enter__(self) -> Self:
        self._last_line = self.began  # what takes no time is not told
        return super().__enter__()

    def show(self, text: str) -> None:
        """Takes what is done from now on."""
        self._told = text
        self.tick()

    def told(self, text: str) -> None:
        """The same, where a line about it has just been printed."""
        self._told, self._last_line = text, time.monotonic()

    def line(self) -> str:
        """What is done, and the time since the start."""
        return f"{self._told} ({duration(time.monotonic() - self.began)})"
