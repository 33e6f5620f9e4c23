"""Aspiration: start with a narrow window around the expected value. If the value lies outside, widen the window.

A narrower window can cause more cutoffs. If the value lies outside the window, the result shows on which side, and the
search is repeated with a lower alpha or higher beta. (Marsland, "A review of game-tree pruning", ICCA Journal 9, 1986.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from search.theory.games import INFINITE, Position
from search.theory.watch import UNWATCHED, Watcher

#: The factor by which each failure multiplies the distance from the expected value to the bound that failed.
WIDENING: Final = 4


def aspirate(
    search: Callable[[int, int], int],
    expected: int,
    width: int,
    position: Position,
    watch: Watcher[Position, int] = UNWATCHED,
) -> int:
    """Returns the value that `search(alpha, beta)` would return for the full window.

    `search` must obey the contract of `alpha_beta`. The first window is `expected` - `width` to `expected` + `width`,
    within the full window. `position` is only passed to `watch`. Raises ValueError if `width` is less than 1.
    """
    if width < 1:
        raise ValueError(f"the width of an aspiration window must be at least 1 (got {width})")
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
