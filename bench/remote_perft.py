"""Perft split by root moves over local processes or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import chess

from bench.cluster import map_unordered


@dataclass(frozen=True, slots=True)
class Subtree:
    """The moves to count below one root move: a position that can travel, and how many plies are left below it."""

    root: str
    fen: str
    chess960: bool
    depth: int


def count_subtree(subtree: Subtree) -> int:
    """Counts on this machine. Kernels are compiled or loaded by the first call in a process."""
    if subtree.depth == 0:
        return 1
    from search.perft import count_by_move

    board = chess.Board(subtree.fen, chess960=subtree.chess960)
    return sum(count_by_move(board, subtree.depth).values())


def count_by_move_on(
    board: chess.Board,
    depth: int,
    cluster: str | None,
    workers: int = 1,
    on_progress: Callable[[float], None] | None = None,
) -> dict[chess.Move, int]:
    """Perft to `depth` plies (1 or more) by root move, on a cluster or on `workers` local processes.

    Raises `ClusterError` when the cluster cannot be used and `WorkError` when a subtree was given up.
    """
    subtrees = []
    for move in board.legal_moves:
        below = board.copy(stack=False)
        below.push(move)
        subtrees.append(Subtree(move.uci(), below.fen(en_passant="fen"), board.chess960, depth - 1))
    counts: dict[str, int] = {}
    with closing(map_unordered(count_subtree, subtrees, cluster, workers=workers)) as outcomes:
        for outcome in outcomes:
            counts[outcome.item.root] = outcome.unwrap()
            if on_progress is not None:
                on_progress(len(counts) / len(subtrees))
    return {chess.Move.from_uci(subtree.root): counts[subtree.root] for subtree in subtrees}
