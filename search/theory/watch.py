"""How to look over the shoulder of a search: it tells a watcher what it does, in the words of the mover."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

Position = TypeVar("Position")
Value = TypeVar("Value")


class Watcher(Generic[Position, Value]):
    """One who is told. This one does not listen; `search.theory.recorder.Recorder` writes everything down.

    An algorithm says everything from one and the same view: negamax-like ones from that of the side to move in
    `position`, the others from that of the side to move at the root, or of MAX. Who listens has to know which.
    """

    def enter(self, position: Position, alpha: Value | None = None, beta: Value | None = None) -> None:
        """The visit of a position begins, with this window if there is one."""

    def leaf(self, position: Position, value: Value) -> None:
        """The position is not searched further: it is worth `value`."""

    def back(
        self,
        position: Position,
        child: Position,
        best: Value | None,
        alpha: Value | None = None,
        beta: Value | None = None,
    ) -> None:
        """`child` is done. `best` is now certain at `position`, None for nothing; the next child gets this window."""

    def cut(self, position: Position, reason: str = "", ancestor: Position | None = None) -> None:
        """The other children are not visited. Who knows why says it; otherwise the watcher finds out."""

    def table(self, position: Position, reason: str, value: Value) -> None:
        """The transposition table knows the position: a reason of `search.theory.events`, and the value it gives."""

    def leave(self, position: Position, value: Value) -> None:
        """The visit ends with this value."""

    def iteration(self, position: Position, depth: int) -> None:
        """Iterative deepening starts again from the root `position`, now to `depth` plies."""

    def window(self, position: Position, alpha: Value, beta: Value, reason: str) -> None:
        """The next visit of `position` is a question of its own, with this window; `reason` as in `table`."""


#: Listens to nothing.
UNWATCHED: Final[Watcher[Any, Any]] = Watcher()
