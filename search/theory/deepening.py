"""Iterative deepening: search to depth 1, then 2, and so on; each search guides the next.

The earlier searches cost little, because a search is usually several times larger than the one before. They provide
killers, histories, best moves in the table, and a value for the aspiration window. So the last search usually has more
cutoffs than it would alone. The latest result is available when time runs out. (Slate and Atkin, "Chess 4.5", 1977.)
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
    """Yields the value that `enhanced` finds for `position` at each depth from 1 to `depth`; updates `memory`.

    If `width` is given, searches from depth 3 on use an aspiration window from `width` below to `width` above the value
    found two plies shallower. Static evaluations tend to favour the side to move. At the horizons of both depths, the
    same side is to move, so this bias is the same.
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
