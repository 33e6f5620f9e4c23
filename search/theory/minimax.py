"""Minimax: the definition of a position's value, computed by visiting every node."""

from __future__ import annotations

from search.theory.games import Game, Move, Position
from search.theory.watch import UNWATCHED, Watcher


def minimax(game: Game[Position, Move], position: Position, watch: Watcher[Position, int] = UNWATCHED) -> int:
    """Returns the value of `position` for the side to move if both sides play the best moves.

    The side to move is MAX, the other is MIN. All values, including those passed to `watch`, are from MAX's view.
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
    """Returns the value of `position`, with MIN to move, from MAX's point of view."""
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
