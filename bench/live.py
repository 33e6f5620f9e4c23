"""The progress line of a running match. On a terminal, the line is updated in place."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from bench.results import GameResult
from bench.stats import Sprt, Tally, elo_text, estimate
from engine.progress import Display, duration, say

#: The time left is estimated from this many recent games, because a resumed match reads its earlier games at once.
PACE_GAMES = 64


class LiveView(Display):
    """A display of games, score, Elo, LLR and the time left. Pass every finished game to `add`.

    `engines` contains the names in the order of the description; `planned` is the number of games of the whole match.
    """

    def __init__(self, engines: tuple[str, ...], planned: int, sprt: Sprt | None = None, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._engines = engines
        self._planned = planned
        self._sprt = sprt
        self._games: list[GameResult] = []
        self._faults: list[str] = []
        #: The problems that have been printed on stderr, one line each.
        self.told: list[str] = []
        self._finished: deque[float] = deque([self.began], maxlen=PACE_GAMES)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._games:
            self.print_line()

    def add(self, game: GameResult) -> None:
        """Adds a finished game and, if the game was lost by a fault, a line about the fault."""
        self._games.append(game)
        self._finished.append(time.monotonic())
        if game.fault is not None:
            self.add_problem(game.fault, self.shows_lines)

    def add_problem(self, text: str, at_once: bool = True) -> None:
        """Adds the line `text` about a problem. If `at_once`, also prints it, even if the display is quiet."""
        self._faults.append(text)
        if at_once:
            say(text)
            self.told.append(text)

    def line(self) -> str:
        """Returns the figures in one line."""
        done = len(self._games)
        figures = {"games": f"{done} of {self._planned} finished"}
        for name in self._engines if len(self._engines) > 2 else self._engines[:1]:
            tally = Tally.of(self._games, name)
            figures[name] = f"{tally.wins} - {tally.losses} - {tally.draws}  (won, lost, drawn)"
            found = estimate(tally)
            if found is not None:
                figures[name] += f"  Elo {elo_text(found)}"
        if self._sprt is not None:
            llr = self._sprt.llr(Tally.of(self._games, self._engines[0]))
            figures["LLR"] = f"{llr:+.2f} [{self._sprt.lower:.2f}, {self._sprt.upper:.2f}]"
        now = time.monotonic()
        figures["time"] = duration(now - self.began)
        if 0 < done < self._planned:
            pace = (now - self._finished[0]) / (len(self._finished) - 1)
            figures["time left"] = duration(pace * (self._planned - done)) + " at most" * (self._sprt is not None)
        if self._faults:
            figures["faults"] = str(len(self._faults))
        return "; ".join(f"{label} {text}" for label, text in figures.items())
