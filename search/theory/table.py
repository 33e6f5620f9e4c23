"""The transposition table: what was found out about a position, for when it comes up again by another way.

Alpha-beta often learns no more than a bound, so an entry says which kind its value is of. A bound is of use only if it
decides the question at hand, and a value only if it was searched as deep as is asked for now. Even where it is of no
use, the move that was best then is a good first guess. (Slate and Atkin, "Chess 4.5", 1977; Marsland, 1986.)
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Generic

from search.theory.games import Move


class Bound(Enum):
    """What a value says of minimax's value t."""

    EXACT = "table-exact"
    """t == value"""
    LOWER = "table-lower"
    """t >= value"""
    UPPER = "table-upper"
    """t <= value"""


def bound_of(value: int, alpha: int, beta: int) -> Bound:
    """What `alpha_beta`'s contract says of a value that it returned for this window."""
    if value <= alpha:
        return Bound.UPPER
    return Bound.LOWER if value >= beta else Bound.EXACT


@dataclass(frozen=True, slots=True)
class Entry(Generic[Move]):
    """The outcome of one search of a position: its depth, its value, and the move that was best, None for none."""

    depth: int
    value: int
    bound: Bound
    move: Move | None

    def answers(self, depth: int, alpha: int, beta: int) -> bool:
        """Whether a search to exactly `depth` may return this value for the window `alpha` < `beta`.

        An engine takes deeper entries, too. Then its values are better than those of the depth that was asked for, and
        no longer minimax's of that depth: here they have to be.
        """
        if depth != self.depth:
            return False
        if self.bound is Bound.LOWER:
            return self.value >= beta
        return self.bound is Bound.EXACT or self.value <= alpha


class Table(Generic[Move]):
    """A transposition table that never forgets: one entry a position, the latest search of it.

    Since an entry is only written when a search of the position ends, a position that comes up again within its own
    search (a game may move in circles as long as the depth is limited) finds nothing or what an earlier search found.
    """

    def __init__(self) -> None:
        self._entries: dict[Hashable, Entry[Move]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def probe(self, key: Hashable) -> Entry[Move] | None:
        """The entry of a position, if there is one."""
        return self._entries.get(key)

    def store(self, key: Hashable, entry: Entry[Move]) -> None:
        """Replaces what was known. A best move outlives a search that found none."""
        earlier = self._entries.get(key)
        if entry.move is None and earlier is not None and earlier.move is not None:
            entry = Entry(entry.depth, entry.value, entry.bound, earlier.move)
        self._entries[key] = entry
