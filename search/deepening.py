"""Iterative deepening: one search thread's way through the depths.

Python decides, kernels compute: `search_iteration` is called once a depth, and what it leaves behind in the worker
record is read off here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from search.aspiration import search_iteration
from search.limits import MAX_PLY
from search.score import NO_SCORE
from search.worker import GAME_KEYS, NO_CONTINUATION, STOP

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
            score = int(search_iteration(worker, self._table, depth, NO_SCORE if last is None else last.score))
            line = self._line()
            if worker["aborted"]:
                # A move that had already beaten the last iteration's best still counts.
                if line and (last is None or line[0] != last.line[0]):
                    yield Iteration(depth, score if last is None else last.score, line, complete=False)
                return
            last = Iteration(depth, score, line)
            yield last

    def best_move_effort(self) -> float:
        """Share of the last iteration's nodes that its best move took, 0 to 1."""
        nodes = self._worker["root_nodes"][: self._worker["root_count"]]
        total = int(nodes.sum())
        # The kernel leaves the best move first.
        return int(nodes[0]) / total if total else 1.0

    def _line(self) -> tuple[int, ...]:
        """The best line that the last call of the kernel left, maybe empty."""
        frame = self._worker["frames"][0]
        return tuple(frame["pv"][: frame["pv_length"]].tolist())
