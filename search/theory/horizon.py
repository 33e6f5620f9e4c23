"""Wrappers for games: one stops a game at a depth, the other counts the nodes of a search."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, cast

from search.theory.games import Game, Move, Position, SearchGame


@dataclass(frozen=True, slots=True)
class Limited(Generic[Position]):
    """A position with the number of plies that may still be played from it."""

    position: Position
    depth: int


class DepthLimited(Generic[Position, Move]):
    """A version of `game` that ends after a given number of plies. If `game` is not over then, its guess is the value.

    With this class, minimax and the pruning algorithms without a table can search games of any length.
    """

    def __init__(self, game: SearchGame[Position, Move]) -> None:
        self._game = game

    def moves(self, limited: Limited[Position]) -> Iterable[Move]:
        """Returns the game's moves, or none if no more plies may be played."""
        return self._game.moves(limited.position) if limited.depth > 0 else ()

    def apply(self, limited: Limited[Position], move: Move) -> Limited[Position]:
        """Returns the position after the move, with one ply fewer to play."""
        return Limited(self._game.apply(limited.position, move), limited.depth - 1)

    def value(self, limited: Limited[Position]) -> int:
        """Returns the game's value if the game is over, otherwise its guess."""
        for _ in self._game.moves(limited.position):
            return self._game.guess(limited.position)
        return self._game.value(limited.position)


class Counted(Generic[Position, Move]):
    """A version of `game` that counts the positions that a search reaches (`nodes`) and evaluates (`leaves`).

    Each call of `value` or `guess` counts as a leaf. `key` and `guess` work only if the counted game is a `SearchGame`.
    """

    def __init__(self, game: Game[Position, Move]) -> None:
        self._game: Any = game
        #: The count includes the root, although no move leads to it.
        self.nodes = 1
        self.leaves = 0
        self.moves: Callable[[Position], Iterable[Move]] = game.moves

    def apply(self, position: Position, move: Move) -> Position:
        """Returns the position after the move and counts a node."""
        self.nodes += 1
        return cast("Position", self._game.apply(position, move))

    def value(self, position: Position) -> int:
        """Returns the game's value and counts a leaf."""
        self.leaves += 1
        return int(self._game.value(position))

    def key(self, position: Position) -> Hashable:
        """Returns the game's key."""
        return cast("Hashable", self._game.key(position))

    def guess(self, position: Position) -> int:
        """Returns the game's guess and counts a leaf."""
        self.leaves += 1
        return int(self._game.guess(position))
