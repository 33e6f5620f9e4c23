"""What long work says on stderr while it runs, so that nobody has to wonder whether it hangs.

A terminal shows one line, or one picture, that is renewed in its place; everything else gets a line every second.
stdout is kept for results. `python -m engine.progress TEXT COMMAND ...` reports on a command. The Makefile does so with
silent ones. Hardly anything is imported here, because `uci` is answered after it.
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

#: Takes the renewed line away.
_CLEAR: Final = "\r\x1b[K"

#: The views of what this process does, the innermost last. Only that one speaks.
_views: Final[list[Display]] = []
#: The views that have a line on the terminal at the moment.
_renewing: Final[set[Display]] = set()


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


def say(text: str) -> None:
    """Prints a line on stderr, if that can be written to."""
    _write(f"{_CLEAR if _renewing else ''}{text}\n")


def _write(text: str) -> None:
    stream, is_own = sys.stderr, sys.stderr is sys.__stderr__
    if stream is None:
        return
    with suppress(OSError, ValueError):
        if is_own:
            # Past Python's buffer: a thread that waits for a reader there would keep the program from ending.
            os.write(stream.fileno(), text.encode(errors="replace"))
        else:
            stream.write(text)
            stream.flush()


class Display:
    """Base of the views of long work. Use as a context manager, or with `start` and `stop`; `quiet` shows nothing.

    A subclass gives `line`, and `picture` if a terminal has more to show. A thread asks for them again and again, so
    that work that is silent itself is not silent. A reader of stderr that does not read holds up nothing but that.
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
        """Where the work stands, in one line."""
        raise NotImplementedError

    def picture(self) -> Any:
        """Where the work stands, as something that rich can draw. Not asked for unless a subclass has its own."""
        raise NotImplementedError

    def start(self) -> None:
        """Begins. Where there is no thread to be had, hardly anything is shown."""
        if self._quiet:
            return
        # What replaces stderr, such as a picture of rich's, takes whole lines.
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
        """What rich renews; None without rich, where a line does as well."""
        try:
            from rich.console import Console, Group
            from rich.live import Live
        except ImportError:
            return None

        def whole() -> Any:
            inner = _views[-1]
            return self.picture() if inner is self else Group(self.picture(), inner.line())

        # The clock runs on between events, so the picture is asked for anew instead of being handed over.
        console = Console(stderr=True, markup=False, emoji=False)
        return Live(get_renderable=whole, console=console, refresh_per_second=2, transient=True, redirect_stdout=False)

    def stop(self, last: str = "") -> None:
        """Ends with the line `last`, which is not said where nothing was said before. It may have ended already."""
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
        """Shows the line again and again, until the work has ended or while an inner view does."""
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
        """Whether lines are what is shown, and not a picture."""
        return self._live is None and not self._quiet

    def print_line(self) -> None:
        """Prints where the work stands, where lines are what is shown and the last one was another."""
        line = self.line()
        if line != self._shown and self.shows_lines:
            self._shown = line
            say(line)

    def say(self, text: str) -> None:
        """Prints a line of its own, where lines are what is shown."""
        if self.shows_lines:
            say(text)


def _columns() -> int:
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return 80


class Steps(Display):
    """Shows what is being done, and for how long: for work whose end is not known, or that has few steps.

    `told` says what is done first; `show` what is done next.
    """

    def __init__(self, told: str, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._told = told

    def show(self, text: str) -> None:
        """Takes what is done from now on."""
        self._told = text

    def line(self) -> str:
        """What is done, and the time since the start."""
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
    """Runs a command and says TEXT with the elapsed time meanwhile; returns the command's exit status."""
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
            problem = error.strerror or str(error)
        else:
            try:
                status = process.wait()
            except KeyboardInterrupt:  # which the terminal has sent to the command, too
                process.wait()
                return 130
            return status if status >= 0 else 128 - status
    say(f"secateur: {command[0]}: {problem}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
