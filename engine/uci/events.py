"""The events in the session's queue: lines of the GUI, and reports of other threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.uci.tasks import Task


@dataclass(frozen=True)
class Line:
    """One line from stdin, and when it was read, by `time.perf_counter`; the clock of a `go` runs from then on."""

    text: str
    received: float


@dataclass(frozen=True)
class EndOfInput:
    """stdin was closed."""


@dataclass(frozen=True)
class TaskDone:
    """A task is done."""

    task: Task


Event = Line | EndOfInput | TaskDone
