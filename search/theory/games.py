"""The interface of a game: its moves, their results, and the values of positions where the game or search ends."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, Protocol, TypeVar

Position = TypeVar("Position")
Move = TypeVar("Move")

#: Greater than every value of a game.
INFINITE: Final = 1 << 30


class Game(Protocol[Position, Move]):
    """A finite zero-sum game of two players who move in turn.

    Positions are immutable. Values are integers strictly between -INFINITE and INFINITE, from the point of view of the
    side to move in the valued position, so they change sign from ply to ply (negamax).
    """

    def moves(self, position: Position) -> Iterable[Move]:
        """Returns the moves to search, most promising first; there are none where the game or the search ends.

        The iterable may be lazy: after a cutoff, a search takes no further moves from it.
        """
        ...

    def apply(self, position: Position, move: Move) -> Position:
        """Returns the position after one of the moves of `position`."""
        ...

    def value(self, position: Position) -> int:
        """Returns the value, for the side to move, of a position without moves."""
        ...


class SearchGame(Game[Position, Move], Protocol[Position, Move]):
    """A game for depth-limited search and tables; its moves are hashable."""

    def key(self, position: Position) -> Hashable:
        """Returns the position's key in a transposition table.

        Two positions may share a key only if they have the same continuations and the same value for the side to move,
        whatever moves led to them.
        """
        ...

    def guess(self, position: Position) -> int:
        """Returns an estimate of the position's value for the side to move, without a search."""
        ...
