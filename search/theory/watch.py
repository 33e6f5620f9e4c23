"""The interface for watching a search: the search calls a watcher at each step."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

Position = TypeVar("Position")
Value = TypeVar("Value")


class Watcher(Generic[Position, Value]):
    """A watcher that ignores all calls; `search.theory.recorder.Recorder` records them.

    An algorithm uses one view for all values: negamax-like ones that of the side to move in `position`, the others that
    of the side to move at the root, or of MAX. The watcher has to know which.
    """

    def enter(self, position: Position, alpha: Value | None = None, beta: Value | None = None) -> None:
        """The visit of a position begins, with this window if there is one."""

    def leaf(self, position: Position, value: Value) -> None:
        """The position is not searched further: its value is `value`."""

    def back(
        self,
        position: Position,
        child: Position,
        best: Value | None,
        alpha: Value | None = None,
        beta: Value | None = None,
    ) -> None:
        """`child` is finished. `best` is now certain at `position` (None: nothing); the next child gets this window."""

    def cut(self, position: Position, reason: str = "", ancestor: Position | None = None) -> None:
        """The other children are not visited. The caller gives the reason if it knows it; else the watcher finds it."""

    def table(self, position: Position, reason: str, value: Value) -> None:
        """The transposition table has the position: a reason of `search.theory.events`, and the stored value."""

    def leave(self, position: Position, value: Value) -> None:
        """The visit ends with this value."""

    def iteration(self, position: Position, depth: int) -> None:
        """Iterative deepening starts again from the root `position`, now to `depth` plies."""

    def window(self, position: Position, alpha: Value, beta: Value, reason: str) -> None:
        """The next visit of `position` is a separate search with this window; `reason` as in `table`."""


#: Ignores all calls.
UNWATCHED: Final[Watcher[Any, Any]] = Watcher()
