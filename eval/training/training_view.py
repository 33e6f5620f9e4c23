"""The display of training: live on a terminal, lines elsewhere (both on stderr), and a plot of the loss curves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.display import figures_table
from engine.files import Output
from engine.progress import Display, duration
from eval.training.trainer import Entry, Moment

#: The table shows the figures of this many superbatches.
_ROWS: Final = 10
_WIDTH: Final = 60
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_TRAINING, _VALIDATION, _RATE = "#1f5f8b", "#b03a2e", "#9aa5ad"


def sparkline(values: Sequence[float], width: int = _WIDTH) -> str:
    """A curve in one line of text: the last values are exact, earlier ones are thinned out to fit."""
    if not values:
        return ""
    step = -(-len(values) // width)
    shown = list(values)[::-1][::step][::-1]
    low, high = min(shown), max(shown)
    if high == low:
        return _LEVELS[0] * len(shown)
    return "".join(_LEVELS[min(int((value - low) / (high - low) * len(_LEVELS)), len(_LEVELS) - 1)] for value in shown)


class TrainingView(Display):
    """Shows progress, speed, losses and the time left. `log` is the log of a resumed run."""

    def __init__(self, superbatches: int, steps: int, log: Sequence[Entry] = (), quiet: bool = False) -> None:
        super().__init__(quiet)
        self._superbatches, self._steps = superbatches, steps
        self._log = list(log)
        self._moment: Moment | None = None
        self._done = 0

    def step(self, moment: Moment) -> None:
        """Shows a finished step."""
        self._moment = moment
        self._done += 1

    def superbatch(self, entry: Entry) -> None:
        """Shows a finished superbatch."""
        self._log.append(entry)
        self.say(f"superbatch {entry.superbatch} of {self._superbatches}: {_losses(entry)}, {self._left()} left")

    def line(self) -> str:
        """The figures in one line."""
        return ", ".join(" ".join(pair) for pair in self.figures().items())

    def _left(self) -> str:
        total = (self._superbatches - len(self._log)) * self._steps
        if self._moment is not None and self._moment.superbatch > len(self._log):
            total -= self._moment.step
        return duration((time.monotonic() - self.began) * total / self._done) if self._done else "?"

    def figures(self) -> dict[str, str]:
        """The current figures, as label and text."""
        moment = self._moment
        if moment is None:
            return {"starting": "(kernels may have to be compiled)"}
        return {
            "superbatch": f"{moment.superbatch} of {self._superbatches}, step {moment.step} of {moment.steps}",
            "training error": f"{moment.training:.6f}",
            "positions/s": f"{moment.positions_per_second:,.0f}",
            "time left": self._left(),
        }

    def picture(self) -> Any:
        """The figures, the curves of the losses and the last superbatches as a table."""
        checked = [entry.validation for entry in self._log if entry.validation is not None]
        curves = {"training": sparkline([entry.training for entry in self._log]), "validation": sparkline(checked)}
        last = {f"superbatch {entry.superbatch}": _losses(entry) for entry in self._log[-_ROWS:]}
        return figures_table(self.figures() | curves | last)


def _losses(entry: Entry) -> str:
    validation = "" if entry.validation is None else f", validation {entry.validation:.6f}"
    return (
        f"error {entry.training:.6f}{validation}, rate {entry.rate:.2e}, {entry.positions_per_second:,.0f} positions/s"
    )


def plot_losses(log: Sequence[Entry], path: Path | Output, title: str) -> None:
    """Draws errors and learning rate over the superbatches. Raises `bench.plots.PlotError` when that fails."""
    from bench.plots import PlotError, check_path, new_figure, save_figure

    picture = check_path(path)
    if not log:
        raise PlotError(f"{picture.path}: not drawn, no superbatch is finished yet")
    figure, (axes,) = new_figure(1, height=4.5)
    numbers = [entry.superbatch for entry in log]
    rates = axes.twinx()
    rates.plot(numbers, [entry.rate for entry in log], ":", color=_RATE)
    rates.set_ylabel("learning rate", color=_RATE)
    axes.plot(numbers, [entry.training for entry in log], color=_TRAINING, marker=".", label="training")
    checked = [(entry.superbatch, entry.validation) for entry in log if entry.validation is not None]
    if checked:
        axes.plot(*zip(*checked, strict=True), color=_VALIDATION, marker=".", label="validation")
    # The large errors of the first superbatches would flatten the rest of the curve.
    axes.set(xlabel="superbatch", ylabel="mean squared error", title=title, yscale="log")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    save_figure(figure, picture)
