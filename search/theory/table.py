"""The transposition table: results of searched positions, for reuse when other moves lead to the same position.

Alpha-beta often learns only a bound, so an entry says what kind of bound its value is. A bound helps only if it decides
the current window, and a value only if its depth is the depth of the current search. Even an entry that does not help
may have a best move, which is a good first guess. (Slate and Atkin, "Chess 4.5", 1977; Marsland, 1986.)
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Generic

from search.theory.games import Move


class Bound(Enum):
    """The relation between minimax's value t and a returned value."""

    EXACT = "table-exact"
    """t == value"""
    LOWER = "table-lower"
    """t >= value"""
    UPPER = "table-upper"
    """t <= value"""


def bound_of(value: int, alpha: int, beta: int) -> Bound:
    """Returns the bound that a value found with this window represents, by `alpha_beta`'s contract."""
    if value <= alpha:
        return Bound.UPPER
    return Bound.LOWER if value >= beta else Bound.EXACT


@dataclass(frozen=True, slots=True)
class Entry(Generic[Move]):
    """The result of one search of a position: depth, value, bound, and the best move (None if unknown)."""

    depth: int
    value: int
    bound: Bound
    move: Move | None

    def answers(self, depth: int, alpha: int, beta: int) -> bool:
        """Returns whether a search to exactly `depth` may return this value for the window `alpha` < `beta`.

        Engines accept deeper entries, too. Their values may be better, but they no longer equal minimax's at the
        requested depth, as this package requires.
        """
        if depth != self.depth:
            return False
        if self.bound is Bound.LOWER:
            return self.value >= beta
        return self.bound is Bound.EXACT or self.value <= alpha


class Table(Generic[Move]):
    """An unbounded transposition table: one entry for each position, from its latest search.

    An entry is written when the search of its position ends. So a position that recurs within its own search (a
    depth-limited game may repeat positions) finds no entry, or one from an earlier search.
    """

    def __init__(self) -> None:
        self._entries: dict[Hashable, Entry[Move]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def probe(self, key: Hashable) -> Entry[Move] | None:
        """Returns the entry of a position, or None if there is none."""
        return self._entries.get(key)

    def store(self, key: Hashable, entry: Entry[Move]) -> None:
        """Replaces the entry, but keeps the move of the old one if the new one has none."""
        earlier = self._entries.get(key)
        if entry.move is None and earlier is not None and earlier.move is not None:
            entry = Entry(entry.depth, entry.value, entry.bound, earlier.move)
        self._entries[key] = entry
