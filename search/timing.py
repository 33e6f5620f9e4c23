"""How long to think, and the alarm that ends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from search.limits import Limits

#: Share of the time left that a move may plan for without moves-to-go, and of the increment.
SHARE_OF_TIME: Final = 1 / 25
SHARE_OF_INCREMENT: Final = 0.75
#: How far beyond the plan an iteration may run, and the most of the whole clock that one move may cost.
OVERRUN: Final = 3.0
MOST_OF_CLOCK: Final = 0.4
#: A new iteration is not begun after this share of the plan: it would most likely not end in time.
LAST_START: Final = 0.6


@dataclass(frozen=True)
class Budget:
    """Milliseconds from the start of the search. None: no such bound.

    `soft`: no new iteration is begun after it. `hard`: the search is stopped at it.
    """

    soft: float | None
    hard: float | None


def budget_for(limits: Limits, overhead: int) -> Budget:
    """The time budget under `limits`; `overhead` (ms) is kept back each move for what lies between engine and clock."""
    if limits.infinite:
        return Budget(None, None)
    hard: float | None = None
    soft: float | None = None
    if limits.move_time is not None:
        hard = max(1.0, limits.move_time - overhead) if limits.move_time > overhead else limits.move_time / 2
    if limits.clock is not None:
        clock = limits.clock
        available = max(clock.time_left - overhead, clock.time_left / 8, 1.0)
        increment = min(clock.increment, available)
        if clock.moves_to_go:
            # Overheads of the moves to come are paid from the same clock.
            moves = min(clock.moves_to_go, 50)
            available = max(available - overhead * (moves - 1), available / 4)
            plan = available / moves + SHARE_OF_INCREMENT * increment
            most = available * (0.9 if moves == 1 else MOST_OF_CLOCK + 0.4 / moves)
        else:
            plan = available * SHARE_OF_TIME + SHARE_OF_INCREMENT * increment
            most = available * MOST_OF_CLOCK
        soft = min(plan * LAST_START, most)
        by_clock = min(plan * OVERRUN, most)
        hard = by_clock if hard is None else min(hard, by_clock)
    return Budget(soft, hard)


class Alarm:
    """Calls `ring` once when a deadline passes, from a thread of its own that lives as long as this object's use.

    One thread for all searches: starting one costs more than a one-millisecond move can spare.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._condition = threading.Condition()
        self._deadline: float | None = None
        self._thread: threading.Thread | None = None

    def set(self, seconds: float) -> None:
        """Rings `seconds` from now unless cleared or set anew before."""
        with self._condition:
            self._deadline = time.perf_counter() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="search alarm", daemon=True)
                self._thread.start()
            self._condition.notify()

    def clear(self) -> None:
        """Forgets the deadline."""
        with self._condition:
            self._deadline = None

    def _watch(self) -> None:
        with self._condition:
            while True:
                if self._deadline is None:
                    self._condition.wait()
                    continue
                remaining = self._deadline - time.perf_counter()
                if remaining > 0:
                    self._condition.wait(remaining)
                    continue
                self._deadline = None
                self._ring()
