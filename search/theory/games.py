"""The interface of a game: the moves of a position, the position after a move, and the value of a final position."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, Protocol, TypeVar

Position = TypeVar("Position")
Move = TypeVar("Move")

#: Greater than every value of a game.
INFINITE: Final = 1 << 30


class Game(Protocol[Position, Move]):
    """A finite zero-sum game of two players who move in turn.

    No method changes a position. Values are integers strictly between -INFINITE and INFINITE. The value of a position
    is from the point of view of the side to move in this position, so values change sign from ply to ply (negamax).
    """

    def moves(self, position: Position) -> Iterable[Move]:
        """Returns the moves in the order in which to search them; there are none if the game or the search ends here.

        The iterable may be lazy: after a cutoff, a search takes no further moves from it.
        """
        ...

    def apply(self, position: Position, move: Move) -> Position:
        """Returns the position after `move`, which must be one of the moves of `position`."""
        ...

    def value(self, position: Position) -> int:
        """Returns the value of `position` for the side to move; `position` must have no moves."""
        ...


class SearchGame(Game[Position, Move], Protocol[Position, Move]):
    """A game that also supports depth-limited search and transposition tables; its moves are hashable."""

    def key(self, position: Position) -> Hashable:
        """Returns the position's key in a transposition table.

        Two positions may share a key only if they have the same continuations and the same value for the side to move,
        whatever moves led to them.
        """
        ...

    def guess(self, position: Position) -> int:
        """Returns an estimate of the position's value for the side to move, without a search."""
        ...
