"""What a run of self-play looks like: a bar on a terminal, a line now and then elsewhere; all on stderr."""

from __future__ import annotations

import sys
import time
from collections import deque
from types import TracebackType
from typing import Any, Final, Self

from eval.training.generation import Progress

#: Seconds between two lines where there is no terminal.
LINE_SECONDS: Final = 60.0
#: The pace is that of so many blocks at most.
PACE_BLOCKS: Final = 200


class ProgressView:
    """Shows games, positions, positions a second and the time left. Use as a context manager and call `update`."""

    def __init__(self, games: int | None, positions: int | None) -> None:
        self._wanted = positions if games is None else games
        self._by_games = games is not None
        self._pace: deque[tuple[float, int, int]] = deque(maxlen=PACE_BLOCKS)
        self._last_line = 0.0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.progress import BarColumn, Progress, TextColumn
            except ImportError:  # the lines do as well
                return self
            self._bar = Progress(
                BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True
            )
            self._task = self._bar.add_task("starting", total=self._wanted)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, progress: Progress) -> None:
        """Takes the state of the run after another block."""
        done = progress.games if self._by_games else progress.positions
        self._pace.append((time.monotonic(), progress.positions, done))
        text = self._text(progress)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=text)
        elif time.monotonic() - self._last_line >= LINE_SECONDS:
            self._last_line = time.monotonic()
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    def _text(self, progress: Progress) -> str:
        text = f"{progress.games} games, {progress.positions} positions"
        (began, first_positions, first_done), (now, last_positions, last_done) = self._pace[0], self._pace[-1]
        if last_done > first_done and now > began:
            text += f", {(last_positions - first_positions) / (now - began):.0f} positions/s"
            if self._wanted is not None:
                left = max(self._wanted - last_done, 0) * (now - began) / (last_done - first_done)
                text += f", {_duration(left)} left"
            return text
        # Until the first block is done, kernels may have to be compiled.
        return text + ", starting"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
