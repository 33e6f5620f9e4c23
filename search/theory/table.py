"""The transposition table: it stores the results of searches, for reuse if other moves lead to the same position.

Alpha-beta often learns only a bound, so an entry says what kind of bound its value is. An entry answers a search only
if both have the same depth, and the value is exact, a lower bound >= beta, or an upper bound <= alpha. Any other entry
may still contain a best move, which is good to search first. (Slate and Atkin, "Chess 4.5", 1977; Marsland, 1986.)
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Generic

from search.theory.games import Move


class Bound(Enum):
    """The relation between the minimax value t of a position and the value that a search returned for it."""

    EXACT = "table-exact"
    """t == value"""
    LOWER = "table-lower"
    """t >= value"""
    UPPER = "table-upper"
    """t <= value"""


def bound_of(value: int, alpha: int, beta: int) -> Bound:
    """Returns the kind of bound that `value` is if a search with this window returned it (see `alpha_beta`)."""
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

        Engines also accept deeper entries. The values of deeper entries may be better, but they can differ from the
        minimax value at the requested depth, which this package requires.
        """
        if depth != self.depth:
            return False
        if self.bound is Bound.LOWER:
            return self.value >= beta
        return self.bound is Bound.EXACT or self.value <= alpha


class Table(Generic[Move]):
    """A transposition table of unlimited size. It has one entry per position, with the value of the latest search.

    An entry is written when the search of its position ends. A depth-limited game may repeat a position within the
    search of that position. The inner search then finds no entry, or an entry from an earlier search.
    """

    def __init__(self) -> None:
        self._entries: dict[Hashable, Entry[Move]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def probe(self, key: Hashable) -> Entry[Move] | None:
        """Returns the entry for `key`, or None if there is none."""
        return self._entries.get(key)

    def store(self, key: Hashable, entry: Entry[Move]) -> None:
        """Stores `entry` for `key` in place of any old entry, but keeps the old entry's move if `entry` has no move."""
        earlier = self._entries.get(key)
        if entry.move is None and earlier is not None and earlier.move is not None:
            entry = Entry(entry.depth, entry.value, entry.bound, earlier.move)
        self._entries[key] = entry
