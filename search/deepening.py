"""Iterative deepening: one search thread's way through the depths.

Python decides, kernels compute: `search_iteration` is called once for each depth and line (MultiPV), and this module
reads its results from the worker record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from search.kernels.aspiration import search_iteration
from search.kernels.score import EXACT, NO_SCORE
from search.kernels.worker import GAME_KEYS, NO_CONTINUATION, STOP
from search.limits import MAX_PLY

MAX_DEPTH: Final = MAX_PLY - 1
NO_NODE_LIMIT: Final = 1 << 62


@dataclass(frozen=True)
class Iteration:
    """What one iteration found: depth in plies, score, and the best line as the kernels' moves.

    `complete` is False when the search was cut short after another move had beaten the last iteration's best: the
    line is this iteration's then, the score the last one's. `others` are the lines beside it that were asked for, best
    first; where an iteration was cut short between lines, those it did not get to are the last one's. `bound` is LOWER
    or UPPER for a window that has failed.
    """

    depth: int
    score: int
    line: tuple[int, ...]
    complete: bool = True
    selective_depth: int = 0
    others: tuple[Iteration, ...] = ()
    bound: int = EXACT

    @property
    def lines(self) -> tuple[Iteration, ...]:
        """All lines, this one first."""
        return (self, *self.others)

    def led_by(self, index: int) -> Iteration:
        """The same lines with the one at `index` first; the rest keep their order."""
        if index == 0:
            return self
        lines = [replace(line, others=()) for line in self.lines]
        first = lines.pop(index)
        return replace(first, others=tuple(lines))


@dataclass(frozen=True)
class Root:
    """What all threads of a search begin with, beside the position.

    `keys` are the game's Zobrist keys, the root's last; `moves` the kernels' root moves; `generation` the table's;
    `deepest` the depth of the last iteration. `lines` is how many lines are wanted. `is_partial`: other moves are
    legal, too. `ranks` says of each move how good endgame tables know it to be, larger being better: no line begins
    with a worse move than one that is left.
    """

    keys: list[np.uint64]
    moves: list[int]
    generation: int
    deepest: int
    lines: int = 1
    is_partial: bool = False
    ranks: Mapping[int, int] | None = None

    def rank(self, move: int) -> int:
        """How good endgame tables know a move to be; the same for all when they know nothing."""
        return 0 if self.ranks is None else self.ranks[move]


def set_root(worker: Any, root: Root, node_limit: int) -> None:
    """Readies a worker whose first frame holds the root position. Mutates `worker`, except for its `stop`."""
    keys = root.keys[-GAME_KEYS:]
    worker["keys"][: len(keys)] = keys
    worker["root_index"] = len(keys) - 1
    set_root_moves(worker, root.moves, root.is_partial)
    worker["generation"] = root.generation
    worker["nodes"] = 0
    worker["node_limit"] = node_limit
    worker["reports"] = 0
    worker["failed"] = 0
    stack = worker["stack"]
    stack["killers"] = 0
    stack["move"] = 0
    stack["excluded"] = 0
    stack["continuation"] = NO_CONTINUATION
    # Who reports a running search must not take an earlier one's move for this one's.
    stack[0]["tried_count"] = 0
    stack[0]["tried"] = 0
    stack[0]["static_eval"] = NO_SCORE


def set_root_moves(worker: Any, moves: Sequence[int], is_partial: bool) -> None:
    """Gives the worker the moves to search at the root, best first, and whether there are others. Mutates `worker`."""
    worker["root_moves"][: len(moves)] = moves
    worker["root_count"] = len(moves)
    worker["root_is_partial"] = int(is_partial)


class Deepening:
    """The iterations of one worker from a root that `set_root` has set. One line and several take the same path.

    `on_fail(line, number)` gets windows that failed while the line of that number, from 1, was searched; but only once
    the worker's `reports` is set.
    """

    def __init__(
        self, worker: Any, tt: Any, root: Root, on_fail: Callable[[Iteration, int], None] | None = None
    ) -> None:
        self._worker = worker
        self._tt = tt
        self._root = root
        self._on_fail = on_fail
        # The root's moves, best first.
        self._order = sorted(root.moves, key=root.rank, reverse=True)
        self._effort = 1.0

    def iterations(self, first: int = 1) -> Iterator[Iteration]:
        """Searches one depth after the other from `first` on, and yields what each found, the best line first.

        Ends when the worker is told to stop or reaches its node limit. An iteration that is cut short comes last, if it
        changes the move to play.
        """
        last: Iteration | None = None
        for depth in range(first, self._root.deepest + 1):
            found = self._iteration(depth, last)
            if found is None:
                return
            yield found
            if not found.complete:
                return
            last = found

    def best_move_effort(self) -> float:
        """Share of the nodes that the best move took in the first line's last window, 0 to 1."""
        return self._effort

    def _iteration(self, depth: int, last: Iteration | None) -> Iteration | None:
        """One line after the other, each without the moves of those before.

        None when the search was cut short before it found anything new.
        """
        worker, root, order = self._worker, self._root, self._order
        earlier = () if last is None else last.lines
        found: list[Iteration] = []
        for number in range(1, min(root.lines, len(order)) + 1):
            taken = {one.line[0] for one in found}
            left = [move for move in order if move not in taken]
            best_rank = max(root.rank(move) for move in left)
            left = [move for move in left if root.rank(move) == best_rank]
            set_root_moves(worker, left, root.is_partial or len(left) < len(root.moves))
            one = self._line(depth, earlier[number - 1] if number <= len(earlier) else None, number)
            searched = worker["root_moves"][: worker["root_count"]].tolist()
            if number == 1:
                nodes = worker["root_nodes"][: len(searched)]
                total = int(nodes.sum())
                # The kernel leaves the best move first.
                self._effort = int(nodes[0]) / total if total else 1.0
            if one is None or not one.complete:
                # Half a line that is not the first is of no use.
                fresh = found if found else [one] if one is not None else []
                return self._cut_short(fresh, earlier)
            found.append(one)
            order[:] = _in_new_order(order, searched)
        found = _sorted(found, root)
        firsts = [one.line[0] for one in found]
        order[:] = firsts + [move for move in order if move not in firsts]
        return replace(found[0], others=tuple(found[1:]))

    def _line(self, depth: int, last: Iteration | None, number: int) -> Iteration | None:
        """The line of that `number`, or None when the search was cut short before that could change the move to play.

        `last` is the last iteration's line of that number.
        """
        worker = self._worker
        worker["selective_depth"] = 0
        # The first iteration takes microseconds as a rule and owes its caller a move.
        worker["stop_threshold"] = STOP if depth == 1 else 0
        guess = NO_SCORE if last is None else last.score
        while True:
            score = int(search_iteration(worker, self._tt, depth, guess))
            if not worker["failed"]:
                break
            self._report_failure(Iteration(depth, score, self._pv(), bound=int(worker["failed"])), last, number)
        line = self._pv()
        selective_depth = int(worker["selective_depth"])
        if not worker["aborted"]:
            return Iteration(depth, score, line, selective_depth=selective_depth)
        # A move that had already beaten the last iteration's best still counts.
        if line and (last is None or line[0] != last.line[0]):
            return Iteration(depth, score if last is None else last.score, line, False, selective_depth)
        return None

    def _report_failure(self, failed: Iteration, last: Iteration | None, number: int) -> None:
        """Reports a window that failed. One that failed low has no line: the last iteration's is in doubt then."""
        line = failed.line or (() if last is None else last.line)
        if self._on_fail is not None and line:
            depth = int(self._worker["selective_depth"])
            self._on_fail(replace(failed, line=line, selective_depth=depth), number)

    def _cut_short(self, fresh: list[Iteration], earlier: tuple[Iteration, ...]) -> Iteration | None:
        """The lines that an unfinished iteration found, the last one's behind them; None if it found none."""
        if not fresh:
            return None
        best, *others = _sorted(fresh, self._root)
        taken = {one.line[0] for one in fresh}
        rest = [one for one in earlier if one.line[0] not in taken]
        others = [*others, *_sorted(rest, self._root)][: max(len(earlier), len(fresh)) - 1]
        return replace(best, complete=False, others=tuple(others))

    def _pv(self) -> tuple[int, ...]:
        """The best line that the last call of the kernel left, maybe empty."""
        frame = self._worker["stack"][0]
        return tuple(frame["pv"][: frame["pv_length"]].tolist())


def _sorted(lines: list[Iteration], root: Root) -> list[Iteration]:
    """Lines by what endgame tables know of their moves, then by score; equal ones keep their order."""
    return sorted(lines, key=lambda one: (root.rank(one.line[0]), one.score), reverse=True)


def _in_new_order(order: list[int], searched: list[int]) -> list[int]:
    """`order` with the moves that were `searched` in their new order, in the places that they had together."""
    places = iter(searched)
    among = set(searched)
    return [next(places) if move in among else move for move in order]
