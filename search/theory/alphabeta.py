"""Alpha-beta: minimax's value without visiting what cannot change it."""

from __future__ import annotations

from typing import Final

from search.theory.games import Game, Move, Position

#: Beyond every value of a game.
INFINITE: Final = 1 << 30


def alpha_beta(game: Game[Position, Move], position: Position, alpha: int = -INFINITE, beta: int = INFINITE) -> int:
    """The fail-soft value of `position` for the window `alpha` < `beta`.

    With t for minimax's value and v for the one returned: v <= alpha implies t <= v, alpha < v < beta implies t == v,
    and v >= beta implies t >= v. (Knuth and Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6,
    1975; bounds outside the window as in Fishburn, "Another optimization of alpha-beta search", SIGART 84, 1983.)
    """
    best: int | None = None
    for move in game.moves(position):
        child = game.apply(position, move)
        # What is certain so far, by an earlier sibling here or at an ancestor, need not be reached again.
        floor = alpha if best is None else max(alpha, best)
        value = -alpha_beta(game, child, -beta, -floor)
        if best is None or value > best:
            best = value
            if best >= beta:
                break
    return game.value(position) if best is None else best
