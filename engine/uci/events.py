"""What the session's queue holds: lines of the GUI, and what other threads have to say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One line from stdin, and when it was read (as of `time.perf_counter`): a clock in it runs from then on."""

    text: str
    received: float


@dataclass(frozen=True)
class EndOfInput:
    """stdin was closed."""


@dataclass(frozen=True)
class TaskDone:
    """The task that was running has given its answer."""


Event = Line | EndOfInput | TaskDone
