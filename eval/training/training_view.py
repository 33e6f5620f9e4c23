"""Shows the progress of training on stderr, and plots the loss curves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from engine.files import Output
from engine.progress import Display, duration
from eval.training.trainer import Entry, Moment

_TRAINING, _VALIDATION, _RATE = "#1f5f8b", "#b03a2e", "#9aa5ad"


class TrainingView(Display):
    """A display of progress, speed, losses and time left; `finished` is the number of superbatches trained earlier."""

    def __init__(self, superbatches: int, steps: int, finished: int = 0, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._superbatches, self._steps, self._finished = superbatches, steps, finished
        self._moment: Moment | None = None
        self._done = 0

    def step(self, moment: Moment) -> None:
        """Records a finished step for the progress line."""
        self._moment = moment
        self._done += 1

    def superbatch(self, entry: Entry) -> None:
        """Prints a line about a finished superbatch."""
        self._finished = entry.superbatch
        validation = "" if entry.validation is None else f", validation {entry.validation:.6f}"
        self.say(
            f"superbatch {entry.superbatch} of {self._superbatches}: error {entry.training:.6f}{validation}, rate "
            f"{entry.rate:.2e}, {entry.positions_per_second:,.0f} positions/s, {self._left()} left"
        )

    def _left(self) -> str:
        total = (self._superbatches - self._finished) * self._steps
        if self._moment is not None and self._moment.superbatch > self._finished:
            total -= self._moment.step
        return duration((time.monotonic() - self.began) * total / self._done) if self._done else "?"

    def line(self) -> str:
        """Returns one line about the current superbatch."""
        moment = self._moment
        if moment is None:
            return "starting (kernels may have to be compiled)"
        return (
            f"superbatch {moment.superbatch} of {self._superbatches}, step {moment.step} of {moment.steps}, training "
            f"error {moment.training:.6f}, {moment.positions_per_second:,.0f} positions/s, {self._left()} left"
        )


def plot_losses(log: Sequence[Entry], path: Path | Output, title: str, error: str = "mean squared error") -> None:
    """Plots the errors, whose kind is `error`, and the learning rate by superbatch.

    Raises PlotError if the picture cannot be drawn.
    """
    from bench.plots import check_path, new_figure, save_figure

    picture = check_path(path, "training")
    figure, (axes,) = new_figure(1, height=4.5)
    numbers = [entry.superbatch for entry in log]
    rates = axes.twinx()
    rates.plot(numbers, [entry.rate for entry in log], ":", color=_RATE)
    rates.set_ylabel("learning rate", color=_RATE)
    axes.plot(numbers, [entry.training for entry in log], color=_TRAINING, marker=".", label="training")
    checked = [(entry.superbatch, entry.validation) for entry in log if entry.validation is not None]
    if checked:
        axes.plot(*zip(*checked, strict=True), color=_VALIDATION, marker=".", label="validation")
    # On a linear scale, the large errors of the first superbatches would flatten the rest of the curve.
    axes.set(xlabel="superbatch", ylabel=error, title=title, yscale="log")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    save_figure(figure, picture, "training")
