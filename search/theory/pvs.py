"""Principal variation search: assume that the first move is best, and only test whether another move beats it.

To test whether a move beats alpha, the null window (alpha, alpha + 1) suffices. It tends to cause more cutoffs than a
wider window, because no integer lies inside it. A move is searched again for its exact value only if its value in the
test is between alpha and beta. The value in the test is then the new alpha, because the test has proved it as a lower
bound. With good ordering, searching again is rare. (The idea of testing a move before searching it is
from Pearl's SCOUT, "Asymptotic properties of minimax trees and game-searching procedures", Artificial Intelligence 14,
1980. This form, Fishburn's minimal window search, is from Marsland and Campbell, "Parallel search of strongly ordered
game trees", Computing Surveys 14, 1982.)
"""

from __future__ import annotations

from search.theory.games import INFINITE, Game, Move, Position
from search.theory.watch import UNWATCHED, Watcher


def principal_variation_search(
    game: Game[Position, Move],
    position: Position,
    alpha: int = -INFINITE,
    beta: int = INFINITE,
    watch: Watcher[Position, int] = UNWATCHED,
) -> int:
    """Returns the minimax value of `position` or a bound on it, with the contract of `alpha_beta`."""
    watch.enter(position, alpha, beta)
    best: int | None = None
    floor = alpha
    for move in game.moves(position):
        child = game.apply(position, move)
        if best is None or floor + 1 == beta:
            value = -principal_variation_search(game, child, -beta, -floor, watch)
        else:
            watch.window(child, -floor - 1, -floor, "null-window")
            value = -principal_variation_search(game, child, -floor - 1, -floor, watch)
            if floor < value < beta:
                watch.window(child, -beta, -value, "re-search")
                value = -principal_variation_search(game, child, -beta, -value, watch)
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
