"""What a game is: moves, what they lead to, and what a position is worth where the game, or the search, ends."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

Position = TypeVar("Position")
Move = TypeVar("Move")

#: Beyond every value of a game.
INFINITE: Final = 1 << 30


class Game(Protocol[Position, Move]):
    """A finite game of two players who move in turn, and what one gains the other loses.

    Positions are never changed. Values are whole numbers from the view of the side to move in the position that is
    valued, so a value changes its sign from ply to ply (negamax), and lie strictly between -INFINITE and INFINITE.
    """

    def moves(self, position: Position) -> Iterable[Move]:
        """The moves that are to be looked at, best guess first; none where the game or the search ends.

        They may be made while they are asked for: a search that has seen enough asks for no more.
        """
        ...

    def apply(self, position: Position, move: Move) -> Position:
        """The position after one of its moves."""
        ...

    def value(self, position: Position) -> int:
        """What a position without moves is worth to the side to move."""
        ...


@dataclass(frozen=True)
class Rules(Generic[Position, Move]):
    """A `Game` of three functions. Nim, where one takes 1 to 3 matches and who takes the last one wins:

    >>> nim = Rules(lambda left: range(1, min(left, 3) + 1), lambda left, taken: left - taken, lambda left: -1)
    """

    moves: Callable[[Position], Iterable[Move]]
    apply: Callable[[Position, Move], Position]
    value: Callable[[Position], int]


class SearchGame(Game[Position, Move], Protocol[Position, Move]):
    """A game that can also be searched to a depth and remembered; its moves are hashable."""

    def key(self, position: Position) -> Hashable:
        """What a table files the position under.

        Two positions may share a key only if everything that can be played from them, and what it is worth to the side
        to move, is the same, whatever was played before.
        """
        ...

    def guess(self, position: Position) -> int:
        """What the position seems to be worth to the side to move, without looking further."""
        ...
