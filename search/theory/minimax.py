"""Minimax: the definition of a position's value, visiting everything."""

from __future__ import annotations

from search.theory.games import Game, Move, Position
from search.theory.watch import UNWATCHED, Watcher


def minimax(game: Game[Position, Move], position: Position, watch: Watcher[Position, int] = UNWATCHED) -> int:
    """The value of `position` to the side to move when both sides play their best.

    That side is MAX, the other one MIN, and every value here is what MAX gets; the watcher is told so, too.
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
    """What MAX gets where it is MIN's turn."""
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
