"""Iterative deepening: search to depth 1, then 2, and so on; each search guides the next.

The searches before the last cost little, because each is many times smaller than the next. They leave best moves in the
table, killers, histories, and a value for the aspiration window, so the last search cuts more than it would alone. And
there is an answer whenever time is up. (Slate and Atkin, "Chess 4.5", 1977.)
"""

from __future__ import annotations

from collections.abc import Iterator

from search.theory.aspiration import aspirate
from search.theory.enhanced import Memory, enhanced
from search.theory.games import INFINITE, Move, Position, SearchGame
from search.theory.watch import UNWATCHED, Watcher


def deepen(
    game: SearchGame[Position, Move],
    position: Position,
    depth: int,
    memory: Memory[Position, Move],
    width: int | None = None,
    watch: Watcher[Position, int] = UNWATCHED,
) -> Iterator[int]:
    """Yields the values of `position` for depths 1, 2, ... `depth`, each that of `enhanced`, as they are found.

    With `width`, searches from the third on use an aspiration window around the value of two depths earlier: then the
    same side is to move at the horizon, and guesses tend to favour that side.
    """
    found: list[int] = []
    for now in range(1, depth + 1):
        watch.iteration(position, now)

        def search(alpha: int, beta: int, now: int = now) -> int:
            return enhanced(game, position, now, memory, alpha, beta, watch)

        if width is not None and len(found) >= 2:
            value = aspirate(search, found[-2], width, position, watch)
        else:
            value = search(-INFINITE, INFINITE)
        found.append(value)
        yield value
