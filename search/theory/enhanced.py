"""Depth-limited alpha-beta with two additions that engines use: a transposition table and move ordering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from search.theory.games import INFINITE, Move, Position, SearchGame
from search.theory.ordering import Ordering, arrange
from search.theory.table import Entry, Table, bound_of
from search.theory.watch import UNWATCHED, Watcher


@dataclass(frozen=True)
class Memory(Generic[Position, Move]):
    """The memory that the nodes of a search share with each other and with later searches of the same game."""

    #: The transposition table, or None to search without one.
    table: Table[Move] | None = None
    #: The orderings of moves. Each breaks the ties of the previous ones. Remaining ties keep the game's order.
    orderings: Sequence[Ordering[Position, Move]] = ()


def enhanced(
    game: SearchGame[Position, Move],
    position: Position,
    depth: int,
    memory: Memory[Position, Move],
    alpha: int = -INFINITE,
    beta: int = INFINITE,
    watch: Watcher[Position, int] = UNWATCHED,
    ply: int = 0,
) -> int:
    """Returns the minimax value of `position` at `depth` plies, or a bound on this value; updates `memory`.

    The minimax value is that of a `DepthLimited` game. The result obeys the contract of `alpha_beta` if everything in
    `memory` comes from searches of the same game. `ply` is the distance of `position` from the root.
    """
    watch.enter(position, alpha, beta)
    entry = memory.table.probe(game.key(position)) if memory.table is not None else None
    if entry is not None:
        if entry.answers(depth, alpha, beta):
            watch.table(position, entry.bound.value, entry.value)
            watch.leave(position, entry.value)
            return entry.value
        if entry.move is not None and depth > 0:
            watch.table(position, "table-move", entry.value)

    best: int | None = None
    best_move: Move | None = None
    floor = alpha
    moves = list(game.moves(position))
    if depth > 0:
        first = entry.move if entry is not None else None
        for move in arrange(memory.orderings, position, moves, ply, first):
            child = game.apply(position, move)
            value = -enhanced(game, child, depth - 1, memory, -beta, -floor, watch, ply + 1)
            if best is None or value > best:
                best = value
                floor = max(floor, best)
                # After a fail low, every move has only an upper bound, which does not show which move is best.
                best_move = move if best > alpha else None
            watch.back(position, child, best, floor, beta)
            if best >= beta:
                watch.cut(position)
                for ordering in memory.orderings:
                    ordering.learn(position, move, ply, depth)
                break

    if best is None:
        best = game.guess(position) if moves else game.value(position)
        watch.leaf(position, best)
        bound = bound_of(best, -INFINITE, INFINITE)
    else:
        bound = bound_of(best, alpha, beta)
    if memory.table is not None:
        memory.table.store(game.key(position), Entry(depth, best, bound, best_move))
    watch.leave(position, best)
    return best
