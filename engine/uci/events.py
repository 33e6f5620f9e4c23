"""What the session's queue holds: lines of the GUI, and what other threads have to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.uci.tasks import Task


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
    """A task has given its answer."""

    task: Task


Event = Line | EndOfInput | TaskDone
