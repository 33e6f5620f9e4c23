"""Minimax: the definition of a position's value, visiting everything."""

from __future__ import annotations

from search.theory.games import Game, Move, Position
from search.theory.watch import UNWATCHED, Watcher


def minimax(game: Game[Position, Move], position: Position, watch: Watcher[Position, int] = UNWATCHED) -> int:
    """The value of `position` to the side to move when both sides play their best.

    That side is MAX, the other MIN. Every value here, also for the watcher, is from MAX's view.
    """
    watch.enter(position)
    best: int | None = None
    for move in game.moves(position):
        child = game.apply(position, move)
        value = _minimum(game, child, watch)
        if best is None or value > best:
            best = value
        watch.back(position, child, best)
    if best is None:
        best = game.value(position)
        watch.leaf(position, best)
    watch.leave(position, best)
    return best


def _minimum(game: Game[Position, Move], position: Position, watch: Watcher[Position, int]) -> int:
    """The value to MAX of a position with MIN to move."""
    watch.enter(position)
    best: int | None = None
    for move in game.moves(position):
        child = game.apply(position, move)
        value = minimax(game, child, watch)
        if best is None or value < best:
            best = value
        watch.back(position, child, best)
    if best is None:
        best = -game.value(position)
        watch.leaf(position, best)
    watch.leave(position, best)
    return best
