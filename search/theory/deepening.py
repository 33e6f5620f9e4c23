"""Iterative deepening: search to depth 1, then 2, and so on, each search guided by the one before.

The searches before the last cost little, because each is many times smaller than the next. What they leave behind, the
best moves in the table, killers and histories, and a value to aspire to, lets the last one cut more than it could have
alone. And whenever time is up there is an answer. (Slate and Atkin, "Chess 4.5", 1977.)
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
    """The values of `position` for depths 1, 2, ... `depth`, each that of `enhanced`, as they are found.

    With `width`, searches from the third on aspire to what was found two plies earlier: at the horizon it is then the
    same side's turn, which guesses tend to favour.
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
