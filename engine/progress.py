"""Reports the progress of long work on stderr, so that users see that it does not hang.

A terminal shows one line, or one picture, that is renewed in its place; any other stderr gets a line every second.
`python -m engine.progress TEXT COMMAND ...` reports on a silent command. This module imports little, because the engine
imports it before it answers `uci`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, ClassVar, Final, Self, TypeVar

T = TypeVar("T")

#: Seconds between two versions of a terminal's only line.
RENEWAL_SECONDS: Final = 0.5

#: Erases the renewed line.
_CLEAR: Final = "\r\x1b[K"

#: The active views of this process, the innermost last. Only the innermost writes.
_views: Final[list[Display]] = []
#: The views that have a line on the terminal now.
_renewing: Final[set[Display]] = set()


def duration(seconds: float) -> str:
    """Seconds as hours:minutes:seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def counted(items: Iterable[T], show: Callable[[str], None], what: str) -> Iterator[T]:
    """Yields the items, and calls `show` with the count after each, such as `shards read: 3`."""
    for number, item in enumerate(items, start=1):
        yield item
        show(f"{what}: {number}")


def say(text: str) -> None:
    """Prints a line on stderr, if stderr is writable."""
    _write(f"{_CLEAR if _renewing else ''}{text}\n")


def _write(text: str) -> None:
    stream, is_own = sys.stderr, sys.stderr is sys.__stderr__
    if stream is None:
        return
    with suppress(OSError, ValueError):
        if is_own:
            # Bypass Python's buffer: a thread that waits for a reader there would keep the program from ending.
            os.write(stream.fileno(), text.encode(errors="replace"))
        else:
            stream.write(text)
            stream.flush()


class Display:
    """Base of the views of long work. Use as a context manager, or with `start` and `stop`; `quiet` shows nothing.

    A subclass defines `line`, and `picture` if a terminal can show more. A thread calls them repeatedly.
    """

    #: Seconds between two lines where there is no terminal.
    line_seconds: ClassVar[float] = 1.0

    def __init__(self, quiet: bool = False, patience: float | None = None) -> None:
        """The first line comes after `patience` seconds (default: `line_seconds`)."""
        self.began = time.monotonic()
        self._quiet = quiet
        self._patience = self.line_seconds if patience is None else patience
        self._shown = self._last = ""
        self._live: Any = None
        self._renews = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def line(self) -> str:
        """The progress of the work, in one line."""
        raise NotImplementedError

    def picture(self) -> Any:
        """The progress of the work, as an object that rich can draw. Called only if a subclass overrides it."""
        raise NotImplementedError

    def start(self) -> None:
        """Begins. If the system gives no thread, the view shows almost nothing."""
        if self._quiet:
            return
        # A replacement of stderr, such as that of a rich picture, takes whole lines.
        self._renews = sys.stderr is sys.__stderr__ and sys.stderr is not None and sys.stderr.isatty()
        if self._renews and not _views and type(self).picture is not Display.picture:
            self._live = self._new_live()
        _views.append(self)
        if self._live is not None:
            self._live.start()
            return
        with suppress(RuntimeError):
            self._thread.start()

    def _new_live(self) -> Any:
        try:
            from rich.console import Console, Group
            from rich.live import Live
        except ImportError:
            return None

        def whole() -> Any:
            inner = _views[-1]
            return self.picture() if inner is self else Group(self.picture(), inner.line())

        # The picture has a clock that runs on between events, so rich calls for a new picture each time.
        console = Console(stderr=True, markup=False, emoji=False)
        return Live(get_renderable=whole, console=console, refresh_per_second=2, transient=True, redirect_stdout=False)

    def stop(self, last: str = "") -> None:
        """Ends the view, with the line `last` if a line was due before. A second call is harmless."""
        if self._live is not None:
            self._live.stop()
        if self in _views:
            _views.remove(self)
        self._last = last
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join(1.0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        """Shows the line repeatedly until the work has ended; pauses while an inner view is active."""
        pause = self._patience
        while not self._ended.wait(pause):
            pause = RENEWAL_SECONDS if self._renews else self.line_seconds
            if _views[-1:] != [self]:
                continue
            if self._renews:
                _renewing.add(self)
                self._shown = self.line()
                _write(f"{_CLEAR}{self._shown[: _columns() - 1]}")
            else:
                self.print_line()
        if self in _renewing:
            _write(_CLEAR)
            _renewing.discard(self)
        if self._last and time.monotonic() - self.began > self._patience:
            say(self._last)

    @property
    def shows_lines(self) -> bool:
        """Whether the view shows lines, and not a picture."""
        return self._live is None and not self._quiet

    def print_line(self) -> None:
        """Prints the progress line if the view shows lines and the line has changed."""
        line = self.line()
        if line != self._shown and self.shows_lines:
            self._shown = line
            say(line)

    def say(self, text: str) -> None:
        """Prints a separate line if the view shows lines."""
        if self.shows_lines:
            say(text)


def _columns() -> int:
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return 80


class Steps(Display):
    """Shows the current step and the elapsed time. `told` is the first step; `show` sets the next."""

    def __init__(self, told: str, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._told = told

    def show(self, text: str) -> None:
        """Sets the current step."""
        self._told = text

    def line(self) -> str:
        """The current step, and the time since the start."""
        return f"{self._told} ({duration(time.monotonic() - self.began)})"


class Line(Display):
    """Shows what a function returns."""

    def __init__(self, text: Callable[[], str], patience: float = 0.3) -> None:
        super().__init__(patience=patience)
        self._text = text

    def line(self) -> str:
        """The function's text."""
        return self._text()


def main(arguments: list[str]) -> int:
    """Runs a command and meanwhile shows TEXT with the elapsed time; returns the command's exit status."""
    if len(arguments) < 2:
        say("usage: python -m engine.progress TEXT COMMAND ...")
        return 2
    import subprocess

    text, *command = arguments
    start = time.monotonic()
    with Line(lambda: f"secateur: {text}: {time.monotonic() - start:.0f} s"):
        try:
            process = subprocess.Popen(command)
        except OSError as error:
            say(f"secateur: {command[0]}: {error.strerror or error}")
            return 1
        try:
            status = process.wait()
        except KeyboardInterrupt:  # the terminal has sent Ctrl-C to the command, too
            process.wait()
            return 130
        return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
