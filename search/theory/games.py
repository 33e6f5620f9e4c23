"""The definition of a game: its moves, their results, and the value of a position where game or search ends."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, Protocol, TypeVar

Position = TypeVar("Position")
Move = TypeVar("Move")

#: Beyond every value of a game.
INFINITE: Final = 1 << 30


class Game(Protocol[Position, Move]):
    """A finite zero-sum game of two players who move in turn.

    Positions never change. Values are whole numbers strictly between -INFINITE and INFINITE, from the view of the side
    to move in the valued position, so a value changes its sign from ply to ply (negamax).
    """

    def moves(self, position: Position) -> Iterable[Move]:
        """The moves to search, best guess first; none where the game or the search ends.

        The iterable may be lazy: after a cutoff a search takes no further moves.
        """
        ...

    def apply(self, position: Position, move: Move) -> Position:
        """The position after one of its moves."""
        ...

    def value(self, position: Position) -> int:
        """The value of a position without moves to the side to move."""
        ...


class SearchGame(Game[Position, Move], Protocol[Position, Move]):
    """A game for depth-limited search and tables; its moves are hashable."""

    def key(self, position: Position) -> Hashable:
        """The position's key in a table.

        Two positions may share a key only if all play from them, and its value to the side to move, is the same,
        whatever moves led to them.
        """
        ...

    def guess(self, position: Position) -> int:
        """An estimate of the position's value to the side to move, without search."""
        ...
