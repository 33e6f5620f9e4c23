"""The display of a self-play run on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Final

from engine.progress import Display, duration
from eval.training.generation import Progress

#: The pace is measured over at most this many blocks.
PACE_BLOCKS: Final = 200


class ProgressView(Display):
    """Shows games, positions, positions a second and the time left; `update` it with every finished block."""

    def __init__(self, games: int | None, positions: int | None, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._wanted = positions if games is None else games
        self._by_games = games is not None
        self._pace: deque[tuple[float, int, int]] = deque(maxlen=PACE_BLOCKS)
        self._state: Progress | None = None

    def update(self, progress: Progress) -> None:
        """Shows the state of the run after another block."""
        self._state = progress
        self._pace.append((time.monotonic(), progress.positions, self._done(progress)))

    def _done(self, progress: Progress) -> int:
        return progress.games if self._by_games else progress.positions

    def picture(self) -> Any:
        """A bar with the line beside it."""
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        bar = Bar(BarColumn(), TextColumn("{task.description}"))
        done = 0 if self._state is None else self._done(self._state)
        bar.add_task(self.line(), total=self._wanted, completed=done)
        return bar

    def line(self) -> str:
        """Games, positions, pace and time left."""
        elapsed = duration(time.monotonic() - self.began)
        if self._state is None:
            return f"reading what is there ({elapsed})"
        text = f"{self._state.games} games, {self._state.positions} positions"
        (began, first_positions, first_done), (now, last_positions, last_done) = self._pace[0], self._pace[-1]
        if last_done > first_done and now > began:
            text += f" in {elapsed}, {(last_positions - first_positions) / (now - began):.0f} positions/s"
            if self._wanted is not None:
                left = max(self._wanted - last_done, 0) * (now - began) / (last_done - first_done)
                text += f", {duration(left)} left"
            return text
        return f"{text}, playing the first of this run ({elapsed})"
