"""The interface for watching a search: the search calls a watcher at each step."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

Position = TypeVar("Position")
Value = TypeVar("Value")


class Watcher(Generic[Position, Value]):
    """A watcher that ignores all calls; `search.theory.recorder.Recorder` records them.

    Each algorithm uses one point of view for all values: the side to move in `position` (negamax and its variants), the
    side to move at the root, or MAX. The watcher must know which one.
    """

    def enter(self, position: Position, alpha: Value | None = None, beta: Value | None = None) -> None:
        """Handles the start of a visit to `position`, with this window if there is one."""

    def leaf(self, position: Position, value: Value) -> None:
        """Handles a position that is not searched further, and its value."""

    def back(
        self,
        position: Position,
        child: Position,
        best: Value | None,
        alpha: Value | None = None,
        beta: Value | None = None,
    ) -> None:
        """Handles a finished `child`: `best` (if any) is certain at `position`; the next child gets this window."""

    def cut(self, position: Position, reason: str = "", ancestor: Position | None = None) -> None:
        """Handles a cut of the other children; the watcher finds the reason unless the caller passes it."""

    def table(self, position: Position, reason: str, value: Value) -> None:
        """Handles a table hit: `reason` is a key of `search.theory.events.REASONS`, and `value` is the stored value."""

    def leave(self, position: Position, value: Value) -> None:
        """Handles the end of a visit, and its value."""

    def iteration(self, position: Position, depth: int) -> None:
        """Handles a new iteration of iterative deepening, from the root `position` to `depth` plies."""

    def window(self, position: Position, alpha: Value, beta: Value, reason: str) -> None:
        """Handles the window of a separate search, the next visit to `position`; `reason` is as in `table`."""


#: A watcher that ignores all calls.
UNWATCHED: Final[Watcher[Any, Any]] = Watcher()
