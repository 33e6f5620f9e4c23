"""Move ordering: if good moves are searched first, alpha-beta can skip more nodes.

An ordering never changes the minimax value. It ranks moves, and may learn from the moves that cause cutoffs.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from search.theory.games import Move, Position, SearchGame

#: The types of an ordering's arguments. They are contravariant, because no method returns them.
PositionIn = TypeVar("PositionIn", contravariant=True)
MoveIn = TypeVar("MoveIn", contravariant=True)

#: The number of killers per ply.
KILLERS: Final = 2


class Ordering(Protocol[PositionIn, MoveIn]):
    """An interface for objects that rank moves by how good they are likely to be."""

    def rank(self, position: PositionIn, move: MoveIn, ply: int) -> int:
        """Returns the rank of `move`; moves with higher ranks are searched first. `ply` counts from the root."""
        ...

    def learn(self, position: PositionIn, move: MoveIn, ply: int, depth: int) -> None:
        """Learns that `move` caused a cutoff in a search of `position` to `depth` plies. `ply` counts from the root."""
        ...


def arrange(
    orderings: Sequence[Ordering[Position, Move]],
    position: Position,
    moves: Iterable[Move],
    ply: int,
    first: Move | None = None,
) -> list[Move]:
    """Returns a list of `moves`, sorted by `orderings`, with the move `first` in front if `moves` contains it.

    Each ordering breaks the ties of the previous ones. Moves with equal ranks in all orderings keep their order.
    """
    return sorted(
        moves,
        key=lambda move: (move == first, *(ordering.rank(position, move, ply) for ordering in orderings)),
        reverse=True,
    )


class ByGuess(Generic[Position, Move]):
    """An ordering by the game's guess for the position after each move."""

    def __init__(self, game: SearchGame[Position, Move]) -> None:
        self._game = game

    def rank(self, position: Position, move: Move, ply: int) -> int:
        """Returns the guess for the position after `move`, from the point of view of the side to move in `position`."""
        return -self._game.guess(self._game.apply(position, move))

    def learn(self, position: Position, move: Move, ply: int, depth: int) -> None:
        """Does nothing: guesses do not depend on cutoffs."""


class Shuffled(Generic[Position, Move]):
    """An ordering at random, for comparison; `seed` determines the order."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def rank(self, position: Position, move: Move, ply: int) -> int:
        """Returns a random number."""
        return self._random.getrandbits(32)

    def learn(self, position: Position, move: Move, ply: int, depth: int) -> None:
        """Does nothing: the order stays random."""


class Killers(Generic[Position, Move]):
    """An ordering that prefers moves that caused cutoffs in positions at the same ply. (Akl and Newborn, 1977.)"""

    def __init__(self) -> None:
        self._killers: dict[int, list[Move]] = {}

    def rank(self, position: Position, move: Move, ply: int) -> int:
        """Returns 2 for the latest killer of the ply, 1 for the earlier one, and 0 for other moves."""
        killers = self._killers.get(ply, [])
        return KILLERS - killers.index(move) if move in killers else 0

    def learn(self, position: Position, move: Move, ply: int, depth: int) -> None:
        """Makes `move` the latest killer of `ply`."""
        killers = [killer for killer in self._killers.get(ply, []) if killer != move]
        self._killers[ply] = [move, *killers][:KILLERS]


class History(Generic[Position, Move]):
    """An ordering that prefers moves that often caused cutoffs in the tree. (Schaeffer, ICCA Journal 6, 1983.)

    Each move of each side has a score. A cutoff adds the square of the search depth to the score of the move,
    because a cutoff in a deeper search usually saves more.
    """

    def __init__(self) -> None:
        self._scores: dict[tuple[int, Hashable], int] = {}

    def rank(self, position: Position, move: Move, ply: int) -> int:
        """Returns the score of the move for the side to move at this ply."""
        return self._scores.get((ply % 2, move), 0)

    def learn(self, position: Position, move: Move, ply: int, depth: int) -> None:
        """Adds the square of `depth` to the score of `move` for the side to move at this ply."""
        self._scores[ply % 2, move] = self._scores.get((ply % 2, move), 0) + depth * depth
