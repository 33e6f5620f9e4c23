"""Reports the progress of long work on stderr, so that users see that the program does not hang.

On a terminal, one line is updated in place. Otherwise, a changed line is printed about once a second.
`python -m engine.progress TEXT COMMAND ...` runs a command and shows TEXT and the elapsed time. This module imports
little, because the answer to `uci` must not wait for imports.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import ClassVar, Final, Self, TypeVar

from engine.windows import has_escapes

T = TypeVar("T")

#: Seconds between updates of the line on a terminal.
RENEWAL_SECONDS: Final = 0.5

#: Erases the progress line on a terminal.
_CLEAR: Final = "\r\x1b[K"

#: The active views of this process, innermost last. Only the innermost view updates its line.
_views: Final[list[Display]] = []
#: The views that now have a line on the terminal.
_renewing: Final[set[Display]] = set()


def duration(seconds: float) -> str:
    """Formats a number of seconds as hours, minutes and seconds, such as `0:01:05`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def counted(items: Iterable[T], show: Callable[[str], None], what: str) -> Iterator[T]:
    """Yields the items. After each item, calls `show` with `what` and the number so far, such as `shards read: 3`."""
    for number, item in enumerate(items, start=1):
        yield item
        show(f"{what}: {number}")


def say(text: str) -> None:
    """Prints `text` as a line on stderr, in place of any progress line. Does nothing if stderr is not writable."""
    _write(f"{_CLEAR if _renewing else ''}{text}\n")


def _write(text: str) -> None:
    stream, is_own = sys.stderr, sys.stderr is sys.__stderr__
    if stream is None:
        return
    with suppress(OSError, ValueError):
        if is_own and sys.platform != "win32":  # only Python's stream writes every letter to a Windows console
            # Bypass Python's buffer: a thread blocked on it would keep the program from exiting.
            os.write(stream.fileno(), text.encode(errors="replace"))
        else:
            stream.write(text)
            stream.flush()


class Display:
    """A view of the progress of long work, used as a context manager or with `start` and `stop`.

    If `quiet`, nothing is shown. A subclass defines `line`, which another thread calls repeatedly.
    """

    #: Seconds between lines if stderr is not a terminal.
    line_seconds: ClassVar[float] = 1.0

    def __init__(self, quiet: bool = False, patience: float | None = None) -> None:
        """Prepares a view that shows its first line `patience` seconds after the start (default: `line_seconds`)."""
        self.began = time.monotonic()
        self._quiet = quiet
        self._patience = self.line_seconds if patience is None else patience
        self._shown = self._last = ""
        self._renews = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def line(self) -> str:
        """Returns the progress of the work in one line."""
        raise NotImplementedError

    def start(self) -> None:
        """Starts the view. If no thread can be started, only `print_line` and `say` show anything."""
        if self._quiet:
            return
        # A replacement for stderr, such as rich's, expects whole lines.
        self._renews = sys.stderr is sys.__stderr__ and sys.stderr is not None and sys.stderr.isatty() and has_escapes()
        _views.append(self)
        with suppress(RuntimeError):
            self._thread.start()

    def stop(self, last: str = "") -> None:
        """Ends the view. Prints the line `last` if the view shows lines and is older than `patience` seconds."""
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
        """Updates the line until the view ends, except while an inner view is active; then may print `stop`'s text."""
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
        """Whether the view shows lines: it is not quiet."""
        return not self._quiet

    def print_line(self) -> None:
        """Prints the progress line if it has changed and the view shows lines."""
        line = self.line()
        if line != self._shown and self.shows_lines:
            self._shown = line
            say(line)

    def say(self, text: str) -> None:
        """Prints `text` as a separate line if the view shows lines."""
        if self.shows_lines:
            say(text)


def _columns() -> int:
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return 80


class Steps(Display):
    """A view that shows the elapsed time and a text for the current step. `told` is the first of these texts."""

    def __init__(self, told: str, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._told = told

    def show(self, text: str) -> None:
        """Sets the text for the current step."""
        self._told = text

    def line(self) -> str:
        """Returns the text for the current step, and the elapsed time."""
        return f"{self._told} ({duration(time.monotonic() - self.began)})"


class Line(Display):
    """A view that shows a text, which it gets from a function at each update."""

    def __init__(self, text: Callable[[], str], patience: float = 0.3) -> None:
        super().__init__(patience=patience)
        self._text = text

    def line(self) -> str:
        """Calls the function and returns its text."""
        return self._text()


def main(arguments: list[str]) -> int:
    """Runs the command `arguments[1:]`, and meanwhile shows `arguments[0]` and the elapsed time.

    Returns the command's exit status, or 128 + N if signal N ended the command, 130 after Ctrl-C, 1 if the command
    cannot start, and 2 for wrong usage.
    """
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
        except KeyboardInterrupt:  # the command has received Ctrl-C from the terminal, too
            process.wait()
            return 130
        return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
