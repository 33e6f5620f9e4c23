"""A watcher that records the search of a tree as events."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final, Literal

from search.theory.events import Event
from search.theory.trees import Children, Tree, TreeError
from search.theory.watch import Watcher

#: The point of view of an algorithm's values: the side to move, the side to move at the root, or MAX.
View = Literal["mover", "root", "max"]

#: The approximate number of events between calls of `check`. It is small, because an event can take milliseconds.
_LOOKS: Final = 32


@dataclass(slots=True)
class _Visit:
    """A visit to a node on the path from the root to the current node."""

    node: int
    #: The window at the start of the visit (`low` to `high`), and the current window (`alpha` to `beta`).
    low: Any
    high: Any
    alpha: Any
    beta: Any
    #: Whether this visit has a null window.
    is_scout: bool
    #: The value that the children searched so far in this visit make certain for the node, or None.
    value: Any = None
    #: The number of children whose searches have ended.
    done: int = 0
    #: The node's exact value if it is known independently of the window, otherwise None.
    exact: Any = None
    #: Whether a child of this node or of a node below it was skipped.
    was_cut: bool = False
    #: The child from which `value` comes, or -1 if there is none.
    best: int = -1


class Recorder(Watcher[int, Any]):
    """A watcher that collects the events of one search of `tree`; the positions of the search are the tree's nodes.

    `children` is the order of the children before move ordering. `view` must be "max" for a search in a lattice
    (`in_lattice`; `in_chain` if the lattice is a chain). Raises `TreeError` if there are more than `most_events`
    events. `check` is called every few events; it may raise an error.

    `places[i]` is the place in the code from which event number i comes: an index into the keys of `lines`, which are
    pairs of a function's code and a line of its file.
    """

    def __init__(
        self,
        tree: Tree,
        children: Children,
        view: View,
        *,
        in_lattice: bool = False,
        in_chain: bool = False,
        most_events: int = 1 << 62,
        check: Callable[[], None] | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.places: list[int] = []
        self.lines: dict[tuple[CodeType, int], int] = {}
        self.table_hits = 0
        self._tree = tree
        self._children = children
        self._view = view
        self.in_lattice = in_lattice
        self._in_chain = in_chain
        self._most_events = most_events
        self._check = check
        self._path: list[_Visit] = []
        self._best = [-1] * len(tree)
        #: In a lattice, the value of each node whose visit has ended, or None if it is not certain.
        self._sure: list[Any] = [None] * len(tree)
        self._scouted = -1

    def enter(self, position: int, alpha: Any = None, beta: Any = None) -> None:
        """Records the start of a visit and its window."""
        alpha, beta = self._window(position, alpha, beta)
        is_scout = self._scouted == position or (bool(self._path) and self._path[-1].is_scout)
        self._scouted = -1
        self._path.append(_Visit(position, alpha, beta, alpha, beta, is_scout))
        self._emit("enter", position)

    def leaf(self, position: int, value: Any) -> None:
        """Records the end of the visit of a leaf, or of an inner node that the search only estimates."""
        self._path[-1].exact = self._from_max(position, value)
        self._emit("leaf", position, self._path[-1].exact, "estimate" if self._tree.leaf[position] is None else "")

    def back(self, position: int, child: int, best: Any, alpha: Any = None, beta: Any = None) -> None:
        """Records an `update` event if the value of `position` changes, otherwise a `keep` event."""
        visit = self._path[-1]
        visit.alpha, visit.beta = self._window(position, alpha, beta)
        visit.done += 1
        value = None if best is None else self._from_max(position, best)
        changed = value != visit.value
        if changed:
            visit.value, visit.best = value, child
        self._emit("update" if changed else "keep", position, value, other=child)

    def cut(self, position: int, reason: str = "", ancestor: int | None = None) -> None:
        """Records a cut, unless all children have already been searched."""
        visit = self._path[-1]
        if visit.done == len(self._children[position]):
            return
        visit.was_cut = True
        if not reason:
            reason, ancestor = self._why(visit)
        self._emit("cut", position, visit.value, reason, -1 if ancestor is None else ancestor)

    def table(self, position: int, reason: str, value: Any) -> None:
        """Records the use of a table entry; a lower bound for MIN becomes an upper bound for MAX, and vice versa."""
        if self._sign(position) < 0 and reason != "table-exact" and reason != "table-move":
            reason = "table-upper" if reason == "table-lower" else "table-lower"
        value = self._from_max(position, value)
        if reason != "table-move":
            self.table_hits += 1
        if reason == "table-exact":
            self._path[-1].exact = value
        self._emit("table", position, value, reason)

    def leave(self, position: int, value: Any) -> None:
        """Records the end of a visit, and whether `value` is exact or a bound; not again after a leaf's event."""
        visit = self._path[-1]
        value = self._from_max(position, value)
        # Except in a chain, a node below which something was cut may be worth less than it returned.
        self._sure[position] = value if self._in_chain or not visit.was_cut else None
        # A visit that fails low says nothing about the best move, so an earlier visit's answer stays.
        if self._best[position] < 0 or not self._failed_low(visit, value):
            self._best[position] = self._main_child(visit, value)
        last = self.events[-1]
        if (last.kind, last.node, last.value) != ("leaf", position, value):
            self._emit("leave", position, value, self._meaning(visit, value))
        self._path.pop()
        if self._path:
            self._path[-1].was_cut |= visit.was_cut

    def iteration(self, position: int, depth: int) -> None:
        """Records the start of an iteration. No other event has a depth as its value."""
        self._add(Event("iteration", position, value=depth))

    def window(self, position: int, alpha: Any, beta: Any, reason: str) -> None:
        """Records the window of the next search of `position`; a fail low for MIN becomes a fail high for MAX."""
        if reason == "null-window":
            self._scouted = position
        elif self._sign(position) < 0:
            reason = {"fail-low": "fail-high", "fail-high": "fail-low"}.get(reason, reason)
        self._add(Event("window", position, *self._window(position, alpha, beta), reason=reason))

    def line(self) -> list[int]:
        """Returns the nodes of the principal variation from the root, as far as the search found them.

        The variation ends at a leaf or earlier, for example at a node whose value came from the table. In a lattice, it
        follows children with the same value as their parent, and ends at a node without such a child. Unless the
        lattice is a chain, children below which something was cut do not count.
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
        self._add(Event(kind, node, visit.alpha, visit.beta, value, reason, other), 3)

    def _add(self, event: Event, up: int = 2) -> None:
        """Adds an event. The search is `up` calls above this one."""
        frame = sys._getframe(up)
        self.events.append(event)
        self.places.append(self.lines.setdefault((frame.f_code, frame.f_lineno), len(self.lines)))

    def _sign(self, node: int) -> int:
        """Returns -1 if the algorithm values this node from MIN's point of view, else 1."""
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
        """Returns the reason for a cut in a search of numbers, and the node above that causes the cut.

        The node is the nearest opposing node whose value so far equals the bound and is better for its side than its
        own window requires. (Otherwise the bound comes from further up.) It is None if there is no such node, because
        the bound is then an end of the search's window or of a null window.
        """
        is_max = self._tree.is_max(visit.node)
        name, bound = ("beta", visit.beta) if is_max else ("alpha", visit.alpha)
        for up, above in enumerate(reversed(self._path[:-1])):
            is_raised = above.value == bound and (above.value > above.low if not is_max else above.value < above.high)
            if is_raised and self._tree.is_max(above.node) != is_max:
                return f"{name}-{'deep' if up else 'shallow'}", above.node
        return f"{name}-{'scout' if visit.is_scout else 'window'}", None

    def _meaning(self, visit: _Visit, value: Any) -> str:
        if self.in_lattice:
            # A cut can change values on the path, but not the root's value.
            return "sufficient" if visit.was_cut and len(self._path) > 1 else "exact"
        if visit.low is None or value == visit.exact:
            return "exact"
        if value <= visit.low:
            return "upper"
        return "lower" if value >= visit.high else "exact"

    def _failed_low(self, visit: _Visit, value: Any) -> bool:
        """Returns whether no child of a visited node was better for the side to move than its window allows."""
        if self.in_lattice or visit.low is None:
            return False
        return bool(value <= visit.low if self._tree.is_max(visit.node) else value >= visit.high)

    def _main_child(self, visit: _Visit, value: Any) -> int:
        if not self.in_lattice:
            return visit.best
        visited = self._children[visit.node][: visit.done]
        return next((child for child in visited if self._sure[child] == value), -1)
