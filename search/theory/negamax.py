"""Negamax: minimax as one function instead of two.

min(a, b) = -max(-a, -b): my value is the negative of the opponent's. If every value is from the view of the side to
move, both sides do the same, and the sign changes from each position to the next. The searches of this package, and
every engine, are written this way.
"""

from __future__ import annotations

from search.theory.games import Game, Move, Position
from search.theory.watch import UNWATCHED, Watcher


def negamax(game: Game[Position, Move], position: Position, watch: Watcher[Position, int] = UNWATCHED) -> int:
    """Minimax's value of `position` to the side to move; the watcher gets all values from the mover's view."""
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
