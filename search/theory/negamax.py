"""Negamax: minimax as one function instead of two.

min(a, b) = -max(-a, -b), and one side's value is the negative of the other's. So if every value is from the point of
view of the side to move, one function serves both sides, and the sign changes at each ply. The later searches of
numbers in this package have this form, and so do the searches of most engines.
"""

from __future__ import annotations

from search.theory.games import Game, Move, Position
from search.theory.watch import UNWATCHED, Watcher


def negamax(game: Game[Position, Move], position: Position, watch: Watcher[Position, int] = UNWATCHED) -> int:
    """Returns the minimax value of `position`. The value of each position is from the view of its side to move."""
    watch.enter(position)
    best: int | None = None
    for move in game.moves(position):
        child = game.apply(position, move)
        value = -negamax(game, child, watch)
        if best is None or value > best:
            best = value
        watch.back(position, child, best)
    if best is None:
        best = game.value(position)
        watch.leaf(position, best)
    watch.leave(position, best)
    return best
