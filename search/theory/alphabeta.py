"""Alpha-beta: computes the minimax value without visiting nodes that cannot change it.

`smallest_depth` derives alpha-beta step by step. A search has a window from alpha to beta. If the root has the full
window, alpha is the value that the side to move is already sure of, and beta is the value to which the opponent can
limit that side elsewhere. If a move is worth at least beta, the opponent can avoid the position, and its search stops.

`maximum` and `minimum` are alpha-beta with one function for each side. The other two versions merge them into one, and
differ in what they return if the value lies outside the window.
"""

from __future__ import annotations

from search.theory.games import INFINITE, Game, Move, Position
from search.theory.watch import UNWATCHED, Watcher

__all__ = ["INFINITE", "alpha_beta", "fail_hard", "maximum", "minimum"]


def maximum(
    game: Game[Position, Move],
    position: Position,
    alpha: int = -INFINITE,
    beta: int = INFINITE,
    watch: Watcher[Position, int] = UNWATCHED,
) -> int:
    """Returns the minimax value of `position`, with MAX to move, or a bound on it, as `alpha_beta` does.

    All values, including those passed to `watch`, are from MAX's point of view.
    """
    watch.enter(position, alpha, beta)
    best, is_leaf = -INFINITE, True
    for move in game.moves(position):
        is_leaf = False
        child = game.apply(position, move)
        value = minimum(game, child, alpha, beta, watch)
        best = max(best, value)
        alpha = max(alpha, best)
        watch.back(position, child, best, alpha, beta)
        if best >= beta:
            watch.cut(position)
            break
    if is_leaf:
        best = game.value(position)
        watch.leaf(position, best)
    watch.leave(position, best)
    return best


def minimum(
    game: Game[Position, Move],
    position: Position,
    alpha: int = -INFINITE,
    beta: int = INFINITE,
    watch: Watcher[Position, int] = UNWATCHED,
) -> int:
    """Returns the minimax value of `position`, with MIN to move, or a bound on it; all values are from MAX's view."""
    watch.enter(position, alpha, beta)
    best, is_leaf = INFINITE, True
    for move in game.moves(position):
        is_leaf = False
        child = game.apply(position, move)
        value = maximum(game, child, alpha, beta, watch)
        best = min(best, value)
        beta = min(beta, best)
        watch.back(position, child, best, alpha, beta)
        if best <= alpha:
            watch.cut(position)
            break
    if is_leaf:
        # The game's value is from the view of MIN, who would be to move.
        best = -game.value(position)
        watch.leaf(position, best)
    watch.leave(position, best)
    return best


def fail_hard(
    game: Game[Position, Move],
    position: Position,
    alpha: int = -INFINITE,
    beta: int = INFINITE,
    watch: Watcher[Position, int] = UNWATCHED,
) -> int:
    """Returns the minimax value of `position`, clamped to the range from `alpha` to `beta` (`alpha` < `beta`).

    Apart from the final clamping, this is the function F2 that Knuth and Moore proved correct ("An analysis of
    alpha-beta pruning", Artificial Intelligence 6, 1975).
    """
    watch.enter(position, alpha, beta)
    certain, is_leaf = alpha, True
    for move in game.moves(position):
        is_leaf = False
        child = game.apply(position, move)
        value = -fail_hard(game, child, -beta, -certain, watch)
        certain = max(certain, value)
        # A clamped value that is not above alpha says only that no move so far beats alpha, so None is reported.
        watch.back(position, child, certain if certain > alpha else None, certain, beta)
        if certain >= beta:
            watch.cut(position)
            break
    if is_leaf:
        certain = game.value(position)
        watch.leaf(position, certain)
    value = min(max(certain, alpha), beta)
    watch.leave(position, value)
    return value


def alpha_beta(
    game: Game[Position, Move],
    position: Position,
    alpha: int = -INFINITE,
    beta: int = INFINITE,
    watch: Watcher[Position, int] = UNWATCHED,
) -> int:
    """Returns the minimax value of `position` if it lies between `alpha` and `beta`, otherwise a bound (fail-soft).

    Let t be the minimax value and v the returned value: v <= alpha implies t <= v, alpha < v < beta implies t == v, and
    v >= beta implies t >= v. (Knuth and Moore, "An analysis of alpha-beta pruning", Artificial Intelligence 6,
    1975. Bounds outside the window are from Fishburn, "Another optimization of alpha-beta search", SIGART 84, 1983.)
    The search visits the same nodes as `fail_hard`, but the bounds can be tighter. `alpha` must be less than `beta`.
    """
    watch.enter(position, alpha, beta)
    best: int | None = None
    # The alpha of the remaining moves: the larger of `alpha` and the best value so far.
    floor = alpha
    for move in game.moves(position):
        child = game.apply(position, move)
        value = -alpha_beta(game, child, -beta, -floor, watch)
        if best is None or value > best:
            best = value
            floor = max(floor, best)
        watch.back(position, child, best, floor, beta)
        if best >= beta:
            watch.cut(position)
            break
    if best is None:
        best = game.value(position)
        watch.leaf(position, best)
    watch.leave(position, best)
    return best
