"""The interface for watching a search: the search calls a watcher at each step."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

Position = TypeVar("Position")
Value = TypeVar("Value")


class Watcher(Generic[Position, Value]):
    """The base class of watchers. It ignores all calls; its subclass `search.theory.recorder.Recorder` records them.

    Each algorithm uses one point of view for all values: the side to move in `position` (negamax and its variants), the
    side to move at the root, or MAX. The watcher must know the algorithm's point of view.
    """

    def enter(self, position: Position, alpha: Value | None = None, beta: Value | None = None) -> None:
        """Handles the start of a visit to `position`. `alpha` and `beta` are None if the search has no window."""

    def leaf(self, position: Position, value: Value) -> None:
        """Handles the value of a position that is not searched further."""

    def back(
        self,
        position: Position,
        child: Position,
        best: Value | None,
        alpha: Value | None = None,
        beta: Value | None = None,
    ) -> None:
        """Handles the end of the search of `child`.

        `best` is the value that is now certain for `position`, or None if no value is. `alpha` and `beta` are the
        window at `position` for the remaining children.
        """

    def cut(self, position: Position, reason: str = "", ancestor: Position | None = None) -> None:
        """Handles a cut of the remaining children. If `reason` is "", the watcher finds `reason` and `ancestor`."""

    def table(self, position: Position, reason: str, value: Value) -> None:
        """Handles the use of a table entry with this value; `reason` is a key of `search.theory.events.REASONS`."""

    def leave(self, position: Position, value: Value) -> None:
        """Handles the end of a visit to `position`, and the value that the visit returns."""

    def iteration(self, position: Position, depth: int) -> None:
        """Handles a new iteration of iterative deepening, from the root `position` to `depth` plies."""

    def window(self, position: Position, alpha: Value, beta: Value, reason: str) -> None:
        """Handles the window of the next search of `position`; `reason` is a key of `search.theory.events.REASONS`."""


#: A watcher that ignores all calls.
UNWATCHED: Final[Watcher[Any, Any]] = Watcher()
