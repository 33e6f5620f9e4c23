"""Writes down what a search of a tree does, as events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from search.theory.events import Event
from search.theory.trees import Children, Tree, TreeError
from search.theory.watch import Watcher

#: Whose view an algorithm tells its values from: of the side to move, of the side to move at the root, or of MAX.
View = Literal["mover", "root", "max"]

#: Events between two calls of `check`: some rules take milliseconds for one event.
_LOOKS: Final = 32


@dataclass(slots=True)
class _Visit:
    """A node on the path from the root to where the search is."""

    node: int
    #: The window at the beginning, and as it is now.
    low: Any
    high: Any
    alpha: Any
    beta: Any
    #: Whether this visit only asks a yes-or-no question.
    is_scout: bool
    #: What is certain so far, by the children of this visit.
    value: Any = None
    done: int = 0
    #: The node's own value, as soon as that is known whatever the window is.
    exact: Any = None
    #: Whether anything below was cut.
    was_cut: bool = False
    #: The child from which the value comes, -1 for none.
    best: int = -1


class Recorder(Watcher[int, Any]):
    """Collects the events of one search of `tree`, whose positions are the tree's nodes.

    `children` is the order in which the search meets them; `in_lattice` tells that values are no numbers. A search that
    makes more than `most_events` is ended by `TreeError`. `check` is called every few events, and what it raises ends
    the search, too.
    """

    def __init__(
        self,
        tree: Tree,
        children: Children,
        view: View,
        *,
        in_lattice: bool = False,
        most_events: int = 1 << 62,
        check: Callable[[], None] | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.table_hits = 0
        self._tree = tree
        self._children = children
        self._view = view
        self._in_lattice = in_lattice
        self._most_events = most_events
        self._check = check
        self._path: list[_Visit] = []
        self._best = [-1] * len(tree)
        self._returned: list[Any] = [None] * len(tree)
        self._scouted = -1

    def enter(self, position: int, alpha: Any = None, beta: Any = None) -> None:
        """See `Watcher`, here and below."""
        alpha, beta = self._window(position, alpha, beta)
        is_scout = self._scouted == position or (bool(self._path) and self._path[-1].is_scout)
        self._scouted = -1
        self._path.append(_Visit(position, alpha, beta, alpha, beta, is_scout))
        self._emit("enter", position)

    def leaf(self, position: int, value: Any) -> None:
        """A leaf's value is exact, in whatever window."""
        self._path[-1].exact = self._from_max(position, value)
        self._emit("leaf", position, self._path[-1].exact)

    def back(self, position: int, child: int, best: Any, alpha: Any = None, beta: Any = None) -> None:
        """An update if the value so far is another, or if nothing was certain so far."""
        visit = self._path[-1]
        visit.alpha, visit.beta = self._window(position, alpha, beta)
        visit.done += 1
        value = None if best is None else self._from_max(position, best)
        changed = value != visit.value
        if changed:
            visit.value, visit.best = value, child
        self._emit("update" if changed else "keep", position, value, other=child)

    def cut(self, position: int, reason: str = "", ancestor: int | None = None) -> None:
        """Only if a child is left to be cut."""
        visit = self._path[-1]
        if visit.done == len(self._children[position]):
            return
        visit.was_cut = True
        if not reason:
            reason, ancestor = self._why(visit)
        self._emit("cut", position, visit.value, reason, -1 if ancestor is None else ancestor)

    def table(self, position: int, reason: str, value: Any) -> None:
        """Bounds change their sides where values change their sign."""
        if self._sign(position) < 0 and reason != "table-exact" and reason != "table-move":
            reason = "table-upper" if reason == "table-lower" else "table-lower"
        value = self._from_max(position, value)
        if reason != "table-move":
            self.table_hits += 1
        if reason == "table-exact":
            self._path[-1].exact = value
        self._emit("table", position, value, reason)

    def leave(self, position: int, value: Any) -> None:
        """What the value means follows from the window that was asked for."""
        visit = self._path[-1]
        value = self._from_max(position, value)
        self._returned[position] = value
        self._best[position] = self._main_child(visit, value)
        self._emit("leave", position, value, self._meaning(visit, value))
        self._path.pop()
        if self._path:
            self._path[-1].was_cut |= visit.was_cut

    def iteration(self, position: int, depth: int) -> None:
        """The one event whose value is a depth."""
        self.events.append(Event("iteration", position, value=depth))

    def window(self, position: int, alpha: Any, beta: Any, reason: str) -> None:
        """Remembers that the next visit is a scout's, if so; what is low for MIN is high for MAX."""
        if reason == "null-window":
            self._scouted = position
        elif self._sign(position) < 0:
            reason = {"fail-low": "fail-high", "fail-high": "fail-low"}.get(reason, reason)
        self.events.append(Event("window", position, *self._window(position, alpha, beta), reason=reason))

    def line(self) -> list[int]:
        """The nodes of the principal variation, after the search, as far as it is known.

        It ends where the table answered. In a lattice it follows the children that are worth what their parent is, and
        ends where several together make up the value.
        """
        line, node = [0], self._best[0]
        while node >= 0:
            line.append(node)
            node = self._best[node]
        return line

    def _emit(self, kind: str, node: int, value: Any = None, reason: str = "", other: int = -1) -> None:
        visit = self._path[-1]
        if self._check is not None and not len(self.events) % _LOOKS:
            self._check()
        if len(self.events) >= self._most_events:
            raise TreeError(f"this search takes more than {self._most_events:,} steps: choose a smaller tree")
        self.events.append(Event(kind, node, visit.alpha, visit.beta, value, reason, other))

    def _sign(self, node: int) -> int:
        """-1 if the algorithm's view of this node is MIN's."""
        if self._view == "max":
            return 1
        is_max = self._tree.is_max(node) if self._view == "mover" else self._tree.root_is_max
        return 1 if is_max else -1

    def _from_max(self, node: int, value: Any) -> Any:
        return -value if self._sign(node) < 0 else value

    def _window(self, node: int, alpha: Any, beta: Any) -> tuple[Any, Any]:
        if alpha is None or self._sign(node) > 0:
            return alpha, beta
        return -beta, -alpha

    def _why(self, visit: _Visit) -> tuple[str, int | None]:
        """The reason of a cut among numbers, and whose value it is that the node cannot beat.

        That is the nearest node of the other side whose value so far is the bound; if there is none, the bound is that
        of the question.
        """
        is_max = self._tree.is_max(visit.node)
        name, bound = ("beta", visit.beta) if is_max else ("alpha", visit.alpha)
        for up, above in enumerate(reversed(self._path[:-1])):
            if above.value == bound and self._tree.is_max(above.node) != is_max:
                return f"{name}-{'deep' if up else 'shallow'}", above.node
        return f"{name}-{'scout' if visit.is_scout else 'window'}", None

    def _meaning(self, visit: _Visit, value: Any) -> str:
        if self._in_lattice:
            # What is cut can change values on the way, but not that of the root.
            return "sufficient" if visit.was_cut and len(self._path) > 1 else "exact"
        if visit.low is None or value == visit.exact:
            return "exact"
        if value <= visit.low:
            return "upper"
        return "lower" if value >= visit.high else "exact"

    def _main_child(self, visit: _Visit, value: Any) -> int:
        if not self._in_lattice:
            return visit.best
        visited = self._children[visit.node][: visit.done]
        return next((child for child in visited if self._returned[child] == value), -1)
