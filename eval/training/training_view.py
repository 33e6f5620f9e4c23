"""What training looks like: live on a terminal, lines elsewhere (both on stderr), and the loss curves as a picture."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from eval.training.trainer import Entry, Moment

#: Seconds between two lines where there is no terminal.
LINE_SECONDS: Final = 30.0
#: Superbatches whose figures stay in sight.
_ROWS: Final = 10
_WIDTH: Final = 60
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_TRAINING, _VALIDATION, _RATE = "#1f5f8b", "#b03a2e", "#9aa5ad"


def sparkline(values: Sequence[float], width: int = _WIDTH) -> str:
    """A curve in one line of text: the last values are exact, earlier ones thinned out to fit."""
    if not values:
        return ""
    step = -(-len(values) // width)
    shown = list(values)[::-1][::step][::-1]
    low, high = min(shown), max(shown)
    if high == low:
        return _LEVELS[0] * len(shown)
    return "".join(_LEVELS[min(int((value - low) / (high - low) * len(_LEVELS)), len(_LEVELS) - 1)] for value in shown)


class TrainingView:
    """Shows progress, speed, losses and the time left. Use as a context manager; `log` is what a resumed run has."""

    def __init__(self, superbatches: int, steps: int, log: Sequence[Entry] = (), quiet: bool = False) -> None:
        self._superbatches, self._steps, self._quiet = superbatches, steps, quiet
        self._log = list(log)
        self._moment: Moment | None = None
        self._done = 0
        self._began = self._last_line = time.monotonic()
        self._live: Any = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.live import Live
            except ImportError:  # the lines do as well
                return self
            console = Console(stderr=True)
            self._live = Live(get_renderable=self._table, console=console, refresh_per_second=2, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def step(self, moment: Moment) -> None:
        """Takes a finished step."""
        self._moment = moment
        self._done += 1
        if self._live is None and not self._quiet and time.monotonic() - self._last_line >= LINE_SECONDS:
            self._say(f"superbatch {moment.superbatch}: " + "; ".join(" ".join(pair) for pair in self.figures()))

    def superbatch(self, entry: Entry) -> None:
        """Takes a finished superbatch."""
        self._log.append(entry)
        if self._live is None and not self._quiet:
            self._say(f"superbatch {entry.superbatch} of {self._superbatches}: {_losses(entry)}, {self._left()} left")

    def _say(self, text: str) -> None:
        self._last_line = time.monotonic()
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def _left(self) -> str:
        total = (self._superbatches - len(self._log)) * self._steps
        if self._moment is not None and self._moment.superbatch > len(self._log):
            total -= self._moment.step
        return _duration((time.monotonic() - self._began) * total / self._done) if self._done else "?"

    def figures(self) -> list[tuple[str, str]]:
        """What there is to show of the moment, as label and text."""
        moment = self._moment
        if moment is None:
            return [("starting", "(kernels may have to be compiled)")]
        return [
            ("superbatch", f"{moment.superbatch} of {self._superbatches}, step {moment.step} of {moment.steps}"),
            ("training error", f"{moment.training:.6f}"),
            ("positions/s", f"{moment.positions_per_second:,.0f}"),
            ("time left", self._left()),
        ]

    def _table(self) -> Any:
        from rich.table import Table

        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        for label, text in self.figures():
            table.add_row(label, text)
        table.add_row("training", sparkline([entry.training for entry in self._log]))
        table.add_row(
            "validation", sparkline([entry.validation for entry in self._log if entry.validation is not None])
        )
        for entry in self._log[-_ROWS:]:
            table.add_row(f"superbatch {entry.superbatch}", _losses(entry))
        return table


def _losses(entry: Entry) -> str:
    validation = "" if entry.validation is None else f", validation {entry.validation:.6f}"
    return (
        f"error {entry.training:.6f}{validation}, rate {entry.rate:.2e}, {entry.positions_per_second:,.0f} positions/s"
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def plot_losses(log: Sequence[Entry], path: Path, title: str) -> None:
    """Draws errors and learning rate over the superbatches. Raises `bench.plots.PlotError` when that cannot be done."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from bench.plots import PlotError, check_path

    path = check_path(path)
    if not log:
        raise PlotError(f"{path}: not drawn, no superbatch is finished yet")
    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots()
    numbers = [entry.superbatch for entry in log]
    rates = axes.twinx()
    rates.plot(numbers, [entry.rate for entry in log], ":", color=_RATE)
    rates.set_ylabel("learning rate", color=_RATE)
    axes.plot(numbers, [entry.training for entry in log], color=_TRAINING, marker=".", label="training")
    checked = [(entry.superbatch, entry.validation) for entry in log if entry.validation is not None]
    if checked:
        axes.plot(*zip(*checked, strict=True), color=_VALIDATION, marker=".", label="validation")
    # The first superbatches would flatten all the rest.
    axes.set(xlabel="superbatch", ylabel="mean squared error", title=title, yscale="log")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    try:
        figure.savefig(path, dpi=130)
    except OSError as error:
        raise PlotError(f"{path}: cannot be written: {error.strerror or error}") from None
