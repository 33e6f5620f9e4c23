"""Aspiration: begin with a narrow window around the value that is expected, and widen it if that was wrong.

The narrower the window, the more is cut. If the value turns out to lie outside, the fail-soft result says on which
side, and the search is done again with that side further open. (Marsland, "A review of game-tree pruning", ICCA Journal
9, 1986.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from search.theory.games import INFINITE, Position
from search.theory.watch import UNWATCHED, Watcher

#: By how much a side of the window that was too narrow is widened, each time.
WIDENING: Final = 4


def aspirate(
    search: Callable[[int, int], int],
    expected: int,
    width: int,
    position: Position,
    watch: Watcher[Position, int] = UNWATCHED,
) -> int:
    """The value that `search(alpha, beta)`, a search with `alpha_beta`'s contract, finds with the full window.

    The first window is `expected` - `width` to `expected` + `width`, with `width` at least 1. `position` is only what
    the watcher is told. Raises ValueError for a width below 1.
    """
    if width < 1:
        raise ValueError(f"the width of an aspiration window is at least 1, not {width}")
    below = above = width
    expected = min(max(expected, 1 - INFINITE), INFINITE - 1)
    alpha, beta = max(expected - below, -INFINITE), min(expected + above, INFINITE)
    while True:
        value = search(alpha, beta)
        if value <= alpha and alpha > -INFINITE:
            below *= WIDENING
            alpha = max(expected - below, -INFINITE)
            watch.window(position, alpha, beta, "fail-low")
        elif value >= beta and beta < INFINITE:
            above *= WIDENING
            beta = min(expected + above, INFINITE)
            watch.window(position, alpha, beta, "fail-high")
        else:
            return value
