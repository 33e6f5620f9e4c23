"""Iterative deepening with aspiration windows: one search thread's way through the depths.

Python decides, kernels compute: `search_root` is called once an iteration and window, and what it leaves behind in the
worker record is read off here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from search.alphabeta import search_root
from search.limits import MAX_PLY
from search.score import INFINITE, MATE_BOUND
from search.worker import GAME_KEYS, NO_CONTINUATION, STOP

#: From this depth on the first window is this wide on either side of the last score; it grows by the factor.
ASPIRATION_DEPTH: Final = 4
ASPIRATION_WINDOW: Final = 20
ASPIRATION_GROWTH: Final = 2

MAX_DEPTH: Final = MAX_PLY - 1
NO_NODE_LIMIT: Final = 1 << 62


@dataclass(frozen=True)
class Iteration:
    """What one iteration found: depth in plies, score, and the best line as the kernels' moves.

    `complete` is False when the search was cut short after another move had beaten the last iteration's best: the
    line is this iteration's then, the score the last one's.
    """

    depth: int
    score: int
    line: tuple[int, ...]
    complete: bool = True


@dataclass(frozen=True)
class Root:
    """What all threads of a search begin with, beside the position.

    `keys` are the game's Zobrist keys, the root's last; `moves` the kernels' root moves; `generation` the table's;
    `deepest` the depth of the last iteration.
    """

    keys: list[np.uint64]
    moves: list[int]
    generation: int
    deepest: int


def set_root(worker: Any, root: Root, node_limit: int) -> None:
    """Readies a worker whose first frame holds the root position. Mutates `worker`, except for its `stop`."""
    keys = root.keys[-GAME_KEYS:]
    worker["keys"][: len(keys)] = keys
    worker["root_index"] = len(keys) - 1
    worker["root_moves"][: len(root.moves)] = root.moves
    worker["root_count"] = len(root.moves)
    worker["generation"] = root.generation
    worker["nodes"] = 0
    worker["node_limit"] = node_limit
    frames = worker["frames"]
    frames["killers"] = 0
    frames["move"] = 0
    frames["excluded"] = 0
    frames["continuation"] = NO_CONTINUATION


class Deepening:
    """The iterations of one worker over a table, from a root that `set_root` has set."""

    def __init__(self, worker: Any, table: Any) -> None:
        self._worker = worker
        self._table = table
        self._candidate: tuple[int, ...] = ()

    def iterations(self, deepest: int, first: int = 1) -> Iterator[Iteration]:
        """Searches one depth after the other, `first` to `deepest`, and yields what each found.

        Ends when the worker is told to stop or reaches its node limit; what was found meanwhile comes last, if it
        changes the move to play.
        """
        worker = self._worker
        last: Iteration | None = None
        for depth in range(first, deepest + 1):
            worker["selective_depth"] = 0
            # The first iteration takes microseconds as a rule and owes its caller a move.
            worker["patience"] = STOP if depth == 1 else 0
            score = self._search_window(depth, last)
            line = self._line()
            if worker["aborted"]:
                # A move that had already beaten the last iteration's best still counts.
                line = line or self._candidate
                if line and (last is None or line[0] != last.line[0]):
                    yield Iteration(depth, score if last is None else last.score, line, complete=False)
                return
            last = Iteration(depth, score, line)
            yield last
            self._order_root_moves()

    def best_move_effort(self) -> float:
        """Share of the last iteration's nodes that its best move took, 0 to 1."""
        searched, nodes = self._root_effort()
        total = int(nodes.sum())
        best = self._worker["frames"][0]["pv"][0]
        return int(nodes[searched == best].sum()) / total if total else 1.0

    def _search_window(self, depth: int, last: Iteration | None) -> int:
        """Searches one depth, widening the window around the last score until the value lies inside it."""
        worker = self._worker
        worker["aborted"] = 0
        self._candidate = ()
        width = ASPIRATION_WINDOW
        if last is None or depth < ASPIRATION_DEPTH or abs(last.score) >= MATE_BOUND:
            alpha, beta = -INFINITE, INFINITE
        else:
            alpha, beta = max(last.score - width, -INFINITE), min(last.score + width, INFINITE)
        while True:
            worker["frames"][0]["pv_length"] = 0
            score = int(search_root(worker, self._table, depth, alpha, beta))
            if worker["aborted"]:
                return score
            width *= ASPIRATION_GROWTH
            if score <= alpha:
                # Pull beta in as well: the true value is below, and a narrow window is quicker.
                beta = (alpha + beta) // 2
                # A move that had beaten an earlier window has not held.
                self._candidate = ()
                alpha = max(score - width, -INFINITE)
            elif score >= beta:
                # What beat the window is the move to play unless the wider one finds a better, and is looked at first.
                self._candidate = self._line()
                self._order_root_moves()
                beta = min(score + width, INFINITE)
            else:
                return score

    def _line(self) -> tuple[int, ...]:
        """The best line that the last call of the kernel left, maybe empty."""
        frame = self._worker["frames"][0]
        return tuple(frame["pv"][: frame["pv_length"]].tolist())

    def _root_effort(self) -> tuple[Any, Any]:
        """The root moves in the order searched, and the nodes that each took in the last window: int64 arrays."""
        worker = self._worker
        count = int(worker["root_count"])
        # A root move that a fail high left unsearched has no nodes, and keeps its place among its like.
        return worker["root_moves"][:count].copy(), worker["root_nodes"][:count].copy()

    def _order_root_moves(self) -> None:
        """Best move first, then by the nodes each took: what was hard to refute is looked at early."""
        worker = self._worker
        searched, nodes = self._root_effort()
        nodes[searched == worker["frames"][0]["pv"][0]] = NO_NODE_LIMIT
        worker["root_moves"][: searched.size] = searched[np.argsort(-nodes, kind="stable")]
