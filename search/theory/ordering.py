"""Move ordering: the earlier the good moves come, the more alpha-beta cuts.

No ordering changes a value. Each ranks moves, and may learn from the moves that cut.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from search.theory.games import Move, Position, SearchGame

#: Types that an ordering only takes as arguments.
PositionIn = TypeVar("PositionIn", contravariant=True)
MoveIn = TypeVar("MoveIn", contravariant=True)

#: How many killers each ply has.
KILLERS: Final = 2


class Ordering(Protocol[PositionIn, MoveIn]):
    """One way to guess how good moves are."""

    def rank(self, position: PositionIn, move: MoveIn, ply: int) -> int:
        """The rank of a move: higher ranks are searched earlier. `ply` counts from the root."""
        ...

    def learn(self, position: PositionIn, move: MoveIn, ply: int, depth: int) -> None:
        """Learns that the move caused a cutoff in a search of `position` to `depth`."""
        ...


def arrange(
    orderings: Sequence[Ordering[Position, Move]],
    position: Position,
    moves: Iterable[Move],
    ply: int,
    first: Move | None = None,
) -> list[Move]:
    """The moves with `first` in front. The orderings rank the rest; each breaks the ties of those before it.

    Moves of equal rank keep the game's order.
    """
    return sorted(
        moves,
        key=lambda move: (move == first, *(ordering.rank(position, move, ply) for ordering in orderings)),
        reverse=True,
    )


class ByGuess(Generic[Position, Move]):
    """By the guess for the position after the move, from the mover's view."""

    def __init__(self, game: SearchGame[Position, Move]) -> None:
        self._game = game

    def rank(self, position: Position, move: Move, ply: int) -> int:
        """The guess, from the mover's view."""
        return -self._game.guess(self._game.apply(position, move))

    def learn(self, position: Position, move: Move, ply: int, depth: int) -> None:
        """Nothing to learn."""


class Killers(Generic[Position, Move]):
    """A move that refuted a sibling is likely to refute this position, too. (Akl and Newborn, 1977.)"""

    def __init__(self) -> None:
        self._killers: dict[int, list[Move]] = {}

    def rank(self, position: Position, move: Move, ply: int) -> int:
        """The latest killer of the ply first, then the earlier one."""
        killers = self._killers.get(ply, [])
        return KILLERS - killers.index(move) if move in killers else 0

    def learn(self, position: Position, move: Move, ply: int, depth: int) -> None:
        """Makes the move the latest killer of its ply."""
        killers = [killer for killer in self._killers.get(ply, []) if killer != move]
        self._killers[ply] = [move, *killers][:KILLERS]


class History(Generic[Position, Move]):
    """A move that often cut, anywhere in the tree, is likely to cut again. (Schaeffer, ICCA Journal 6, 1983.)

    Each side has a score for each of its moves; a cut adds the square of its depth, because deep cuts save more.
    """

    def __init__(self) -> None:
        self._scores: dict[tuple[int, Hashable], int] = {}

    def rank(self, position: Position, move: Move, ply: int) -> int:
        """The score of the move for the side that moves at this ply."""
        return self._scores.get((ply % 2, move), 0)

    def learn(self, position: Position, move: Move, ply: int, depth: int) -> None:
        """Adds to the move's score."""
        self._scores[ply % 2, move] = self._scores.get((ply % 2, move), 0) + depth * depth
