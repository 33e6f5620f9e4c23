"""Iterative deepening: one search thread searches depth after depth.

Python decides and kernels compute: this module calls `search_iteration` for each depth and line (MultiPV), and again if
the kernel returns because a window failed. It reads the results from the worker record.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from search.kernels.aspiration import search_iteration
from search.kernels.score import EXACT, NO_SCORE
from search.kernels.worker import GAME_KEYS, NO_CONTINUATION, STOP


@dataclass(frozen=True)
class Iteration:
    """The result of one iteration: depth in plies, score in centipawns, and the best line in the kernels' encoding.

    `complete` is False if the search stopped during the iteration. If it stopped in the first line, `line` begins with
    a new best move, but `score` is that of the previous iteration, or NO_SCORE in the first iteration. `others` are the
    other requested lines, best first; lines that the search did not complete come from the previous iteration. `bound`
    is LOWER or UPPER if the window failed, so that `score` is only a bound.
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
        """All lines, each as an iteration: this one first, then `others`."""
        return (self, *self.others)


@dataclass(frozen=True)
class Root:
    """The input that all threads of a search share, except for the position.

    `keys`: the Zobrist keys of the game, the root's key last. `moves`: the moves to search at the root, as the kernels
    encode them. `is_partial`: whether the root has other legal moves. `generation`: the generation of new TT entries.
    `deepest`: the greatest depth to search. `lines`: the number of lines wanted. `ranks` maps each move to its rank
    by the tablebase (larger is better): a move begins a line only if every move of better rank begins one. If one line
    is wanted, all moves have the same rank.
    """

    keys: list[np.uint64]
    moves: list[int]
    generation: int
    deepest: int
    lines: int = 1
    is_partial: bool = False
    ranks: Mapping[int, int] | None = None

    def rank(self, move: int) -> int:
        """Returns the tablebase's rank of a move, or 0 if there is no ranking."""
        return 0 if self.ranks is None else self.ranks[move]


def set_root(worker: Any, root: Root, node_limit: int) -> None:
    """Prepares `worker` for `root`. The first frame must contain the position. Mutates `worker`, but not its `stop`."""
    keys = root.keys[-GAME_KEYS:]
    worker["keys"][: len(keys)] = keys
    worker["root_index"] = len(keys) - 1
    set_root_moves(worker, root.moves, root.is_partial)
    worker["generation"] = root.generation
    worker["nodes"] = 0
    worker["node_limit"] = node_limit
    worker["reports"] = 0
    worker["failed"] = 0
    worker["overtaken"] = 0
    stack = worker["stack"]
    stack["move"] = 0
    stack["excluded"] = 0
    stack["continuation"] = NO_CONTINUATION
    # The reporter must not report a move of an earlier search.
    stack[0]["tried_count"] = 0
    stack[0]["tried"] = 0
    stack[0]["static_eval"] = NO_SCORE


def set_root_moves(worker: Any, moves: Sequence[int], is_partial: bool) -> None:
    """Sets the moves to search at the root, best first, and whether other moves are legal there. Mutates `worker`."""
    worker["root_moves"][: len(moves)] = moves
    worker["root_count"] = len(moves)
    worker["root_is_partial"] = int(is_partial)


class Completed(NamedTuple):
    """A complete iteration; the root's moves in the order for the next one; the best move's share of the nodes."""

    iteration: Iteration
    order: list[int]
    effort: float


class Team:
    """The threads of one search. When one completes an iteration, those that are not searching deeper go on from it."""

    def __init__(self, workers: Sequence[Any], deepest: Completed) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        #: The deepest iteration that any thread has completed.
        self.deepest = deepest

    def complete(self, completed: Completed) -> None:
        """Adds an iteration, which counts only if it is the deepest. Then the workers' shallower searches end."""
        depth = completed.iteration.depth
        with self._lock:
            if depth > self.deepest.iteration.depth:
                self.deepest = completed
                for worker in self._workers:
                    worker["overtaken"] = depth


class Deepening:
    """Iterative deepening by one worker, from a root that `set_root` has set, with one line or several.

    If `team` is set, its threads search together: after each iteration, this one goes on from the team's deepest one
    and searches `ahead` plies deeper, if the root allows that.

    While the worker's `reports` is set, `on_fail(failed, number)` is called after each window that fails, if there is
    a line to show. `failed` is an Iteration whose score is the bound; `number` is the number of the line, from 1.
    """

    def __init__(
        self,
        worker: Any,
        tt: Any,
        root: Root,
        on_fail: Callable[[Iteration, int], None] | None = None,
        team: Team | None = None,
        ahead: int = 1,
    ) -> None:
        self._worker = worker
        self._tt = tt
        self._root = root
        self._on_fail = on_fail
        # Looking up a field of a record takes longer than reading it.
        self._frame = worker["stack"][0]
        self._pv_moves = self._frame["pv"]
        self._root_nodes = worker["root_nodes"][: len(root.moves)]
        # The root's moves, best first. If one line is wanted, the kernel alone keeps them in order.
        self._order = sorted(root.moves, key=root.rank, reverse=True)
        #: The threads that search together, this one included; may be set between iterations.
        self.team = team
        self._ahead = ahead
        #: The best move's share of the nodes in the first line's last window, 0 to 1.
        self.effort = 1.0

    def iterations(self) -> Iterator[Iteration]:
        """Searches one depth after another and yields the results, the best line first.

        In a team, a result may be another thread's, and depths may be left out. Ends after the root's deepest
        iteration, or soon after the worker's `stop` is set or its node limit is reached. An iteration that stops early
        is yielded only if it found a new best move or completed a line, and only if no other thread has completed
        an iteration meanwhile, which is then yielded instead.
        """
        last = None if self.team is None else self._go_on_from(self.team.deepest)
        while last is None or last.depth < self._root.deepest:
            depth = 1 if last is None else min(last.depth + self._ahead, self._root.deepest)
            found = self._iteration(depth, last)
            if self.team is not None:
                found = self._with_team(self.team, last, found)
            if found is None:
                return
            yield found
            if not found.complete:
                return
            last = found

    def completed(self, iteration: Iteration) -> Completed:
        """Returns `iteration`, which this thread has just completed, with what the next one needs."""
        is_one = self._root.lines == 1
        order = self._worker["root_moves"][: len(self._root.moves)].tolist() if is_one else list(self._order)
        return Completed(iteration, order, self.effort)

    def _with_team(self, team: Team, last: Iteration | None, found: Iteration | None) -> Iteration | None:
        """Tells the team of `found`, the result of the search that followed `last`, if it is complete.

        Returns `found` if no thread has completed a deeper iteration than `last` meanwhile, and otherwise the team's
        deepest: a move that is better than the best of `last` need not be better than its best.
        """
        if found is not None and found.complete:
            team.complete(self.completed(found))
        deepest = team.deepest
        if deepest.iteration is found or deepest.iteration is last:
            return found
        return self._go_on_from(deepest)

    def _go_on_from(self, completed: Completed) -> Iteration:
        """Makes the next iteration follow `completed`, which may be another thread's; returns its iteration."""
        self._order[:] = completed.order
        set_root_moves(self._worker, completed.order, self._root.is_partial)
        self.effort = completed.effort
        return completed.iteration

    def _iteration(self, depth: int, last: Iteration | None) -> Iteration | None:
        """Searches the wanted lines to `depth` plies, each without the first moves of earlier lines.

        Returns the iteration, or None if the search stopped before it found a new best move or completed a line.
        """
        worker, root, order = self._worker, self._root, self._order
        if root.lines == 1:
            one = self._line(depth, last, 1)
            self._measure_effort(self._root_nodes)
            return one
        earlier = () if last is None else last.lines
        found: list[Iteration] = []
        for number in range(1, min(root.lines, len(order)) + 1):
            left = self._candidates([one.line[0] for one in found])
            set_root_moves(worker, left, root.is_partial or len(left) < len(root.moves))
            # The previous iteration may have had this line in another place.
            expected = next((one for one in earlier if one.line[0] in left), None)
            one = self._line(depth, expected, number)
            searched = worker["root_moves"][: len(left)].tolist()
            if number == 1:
                self._measure_effort(self._root_nodes[: len(left)])
            if one is None or not one.complete:
                # An unfinished line counts only if it is the first.
                fresh = found if found else [one] if one is not None else []
                return self._cut_short(fresh, earlier)
            found.append(one)
            order[:] = _in_new_order(order, searched)
        if len(found) > 1:
            found = _sorted(found, root)
            firsts = [one.line[0] for one in found]
            order[:] = firsts + [move for move in order if move not in firsts]
            return replace(found[0], others=tuple(found[1:]))
        return found[0]

    def _measure_effort(self, root_nodes: Any) -> None:
        """Sets `effort` from the nodes of each root move, int64[n], the best move first, as the kernel leaves them."""
        nodes = root_nodes.tolist()
        total = sum(nodes)
        self.effort = nodes[0] / total if total else 1.0

    def _candidates(self, taken: list[int]) -> list[int]:
        """Returns the root's moves that are not in `taken`, best first; if they have ranks, only those of best rank."""
        left = [move for move in self._order if move not in taken] if taken else self._order
        if self._root.ranks is None:
            return left
        best_rank = max(map(self._root.rank, left))
        return [move for move in left if self._root.rank(move) == best_rank]

    def _line(self, depth: int, last: Iteration | None, number: int) -> Iteration | None:
        """Searches line `number` to `depth` plies; `last` is the line that the previous iteration expects, or None.

        Returns None if the search stopped before it found a new best move.
        """
        worker = self._worker
        worker["selective_depth"] = 0
        # STOP does not end the first iteration, which must find a move to play and usually takes microseconds.
        worker["stop_threshold"] = STOP if depth == 1 else 0
        guess = NO_SCORE if last is None else last.score
        while True:
            score = int(search_iteration(worker, self._tt, depth, guess))
            line = self._pv()
            selective_depth = int(worker["selective_depth"])
            if not worker["failed"]:
                break
            # A window that failed low has no line, so the report shows the line of the previous iteration.
            shown = line or (() if last is None else last.line)
            if self._on_fail is not None and shown:
                bound = int(worker["failed"])
                failed = Iteration(depth, score, shown, selective_depth=selective_depth, bound=bound)
                self._on_fail(failed, number)
        if not worker["aborted"]:
            return Iteration(depth, score, line, selective_depth=selective_depth)
        # A move that has already beaten the best move of the previous iteration still counts.
        if line and (last is None or line[0] != last.line[0]):
            return Iteration(depth, NO_SCORE if last is None else last.score, line, False, selective_depth)
        return None

    def _cut_short(self, fresh: list[Iteration], earlier: tuple[Iteration, ...]) -> Iteration | None:
        """Returns an incomplete iteration: `fresh`, then other lines of `earlier`. Returns None if `fresh` is empty."""
        if not fresh:
            return None
        best, *others = _sorted(fresh, self._root)
        taken = {one.line[0] for one in fresh}
        rest = [one for one in earlier if one.line[0] not in taken]
        others = [*others, *_sorted(rest, self._root)][: max(len(earlier), len(fresh)) - 1]
        return replace(best, complete=False, others=tuple(others))

    def _pv(self) -> tuple[int, ...]:
        """Returns the best line that the last kernel call found, or () if it found none."""
        return tuple(self._pv_moves[: self._frame["pv_length"]].tolist())


def _sorted(lines: list[Iteration], root: Root) -> list[Iteration]:
    """Returns the lines sorted by tablebase rank, then by score, best first; equal lines keep their order."""
    return sorted(lines, key=lambda one: (root.rank(one.line[0]), one.score), reverse=True)


def _in_new_order(order: list[int], searched: list[int]) -> list[int]:
    """Returns `order` with its moves from `searched` sorted as in `searched`; the other moves keep their places."""
    if len(searched) == len(order):
        return searched
    places = iter(searched)
    among = set(searched)
    return [next(places) if move in among else move for move in order]
