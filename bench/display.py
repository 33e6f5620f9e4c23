"""What a long run looks like: something that renews itself on a terminal, a line now and then elsewhere.

All of that goes to stderr; stdout is kept for the result.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, ClassVar, Self


def duration(seconds: float) -> str:
    """Seconds as hours:minutes:seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def figures_table(figures: dict[str, str]) -> Any:
    """Labels and texts as a rich table of two columns."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for label, text in figures.items():
        table.add_row(label, text)
    return table


def result_console() -> Any:
    """What prints a result with rich, to stdout."""
    from rich.console import Console

    # Names of engines and players are not markup.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:  # a file has no width
        console.width = 140
    return console


class Display:
    """Base of the views of long runs. Use as a context manager; `quiet` shows nothing.

    A subclass gives `line` and `picture`, and calls `tick` whenever something has happened.
    """

    #: Seconds between two lines where there is no terminal.
    line_seconds: ClassVar[float] = 5.0

    def __init__(self, quiet: bool = False) -> None:
        self.began = time.monotonic()
        self._quiet = quiet
        self._last_line = self.began - self.line_seconds
        self._shown = ""
        self._live: Any = None

    def line(self) -> str:
        """Where the run stands, in one line."""
        raise NotImplementedError

    def picture(self) -> Any:
        """Where the run stands, as something that rich can draw."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.live import Live
            except ImportError:  # the lines do as well
                return self
            # The clock runs on between events, so the picture is asked for anew instead of being handed over.
            self._live = Live(
                get_renderable=self.picture,
                console=Console(stderr=True, markup=False, emoji=False),
                refresh_per_second=2,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

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
        self._last_line = time.monotonic()
        line = self.line()
        if line != self._shown:
            self._shown = line
            self.say(line)

    def say(self, text: str) -> None:
        """Prints a line of its own, where lines are what is shown."""
        if self.shows_lines:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
