"""What a running match looks like: a table that renews itself on a terminal, lines with the same figures elsewhere.

Everything goes to stderr; stdout is kept for the result.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from types import TracebackType
from typing import Any, Self

from bench.results import GameResult
from bench.stats import Sprt, Tally, estimate, with_error

#: Seconds between two lines where there is no terminal. Faults are always shown.
LINE_SECONDS = 5.0
#: The time left is reckoned from the pace of this many games: those of a resumed match come all at once.
PACE_GAMES = 64


class LiveView:
    """Shows games, score, Elo, LLR and the time left. Use as a context manager, and `add` every finished game.

    `engines` are the names in the order of the description, `planned` the games of the whole match.
    """

    def __init__(self, engines: tuple[str, ...], planned: int, sprt: Sprt | None = None, quiet: bool = False) -> None:
        self._engines = engines
        self._planned = planned
        self._sprt = sprt
        self._quiet = quiet
        self._games: list[GameResult] = []
        self._faults: list[str] = []
        self._began = time.monotonic()
        self._last_line = 0.0
        self._finished: deque[float] = deque([self._began], maxlen=PACE_GAMES)
        self._live: Any = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.live import Live
            except ImportError:  # the lines do as well
                return self
            # The clock runs on between games, so the table is asked for anew instead of being handed over.
            self._live = Live(
                get_renderable=self._table, console=Console(stderr=True), refresh_per_second=2, transient=True
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        elif not self._quiet and self._games:
            self._print_line()

    def add(self, game: GameResult) -> None:
        """Takes a finished game."""
        self._games.append(game)
        self._finished.append(time.monotonic())
        if game.fault is not None:
            self._fault(game.fault)
        if self._live is None and not self._quiet and time.monotonic() - self._last_line >= LINE_SECONDS:
            self._print_line()

    def _fault(self, line: str) -> None:
        self._faults.append(line)
        if self._live is None and not self._quiet:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    def figures(self) -> dict[str, str]:
        """What there is to show, as label and text."""
        done = len(self._games)
        figures = {"games": f"{done} of {self._planned}"}
        for name in self._engines if len(self._engines) > 2 else self._engines[:1]:
            tally = Tally.of(self._games, name)
            figures[name] = f"{tally.wins} - {tally.losses} - {tally.draws}  (won, lost, drawn)"
            found = estimate(tally)
            if found is not None:
                figures[name] += f"  Elo {with_error(found.elo, found.elo_error)}"
        if self._sprt is not None:
            llr = self._sprt.llr(Tally.of(self._games, self._engines[0]))
            figures["LLR"] = f"{llr:+.2f} [{self._sprt.lower:.2f}, {self._sprt.upper:.2f}]"
        figures["time"] = _duration(time.monotonic() - self._began)
        left = self._seconds_left()
        if left is not None:
            figures["time left"] = _duration(left) + (" at most" if self._sprt is not None else "")
        if self._faults:
            figures["faults"] = str(len(self._faults))
        return figures

    def _seconds_left(self) -> float | None:
        done = len(self._games)
        if not done or done >= self._planned:
            return None
        pace = (time.monotonic() - self._finished[0]) / (len(self._finished) - 1)
        return pace * (self._planned - done)

    def _print_line(self) -> None:
        self._last_line = time.monotonic()
        sys.stderr.write("; ".join(f"{label} {text}" for label, text in self.figures().items()) + "\n")
        sys.stderr.flush()

    def _table(self) -> Any:
        from rich.table import Table

        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(style="bold")
        table.add_column()
        for label, text in self.figures().items():
            table.add_row(label, text)
        if self._faults:
            table.add_row("last fault", self._faults[-1])
        return table


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
