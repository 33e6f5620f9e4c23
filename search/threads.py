"""Lazy SMP: several threads search the same root at once and help each other through the transposition table.

Nothing is shared out. Each helper runs the same iterative deepening as the main thread with a worker record of its
own; what it stores in the table before the main thread gets there makes that one's tree smaller, and differences in
timing and depth make their trees differ. (First described by Daniel Homan for his ExChess; see E. F. Oestensen, "A
Complete Chess Engine Parallelized Using Lazy SMP", University of Oslo, 2016, and chessprogramming.org, "Lazy SMP".)

  when     more than one thread, and time enough for help (`searcher.LEAST_TIME_FOR_HELP`)
  formula  the move that `vote` chooses among the threads' last iterations
  worth    two threads against one  +103.7 +- 33.5  [ledger: goal-threads]

What threads share, and why no lock is needed. The main thread is the one that searches and decides; threads that
control are the caller of `stop` and the alarm at the end of the time; the reporter is the thread that says what a long
search is at (`Searcher._report`). Every number is aligned and never torn.

    tt           written and read by all kernels; read by main and reporter for `hashfull`. A torn entry fails its check
                 and reads as a miss (see `search.kernels.transposition`)
    stop         written by those that control, and cleared before a search; read by its worker's kernel at every node.
                 A late look costs a node. One that comes before a helper's start is lost to that helper; the main
                 thread ends by its own, and `gather` tells the helpers again
    nodes        written by its worker's kernel; read by main and reporter for `info`. The count is some nodes old
    reports      of the main worker: set by the reporter, cleared before a search; read by the main kernel at a window
                 that fails. A late look leaves one such window untold
    root_depth, root_count, stack[0].tried and tried_count
                 of the main worker: written by its kernel, and between lines by the main thread; read by the reporter
                 for `currmove`. They may be of two moments: the report names a move that is over, or another depth's,
                 and the next one mends it. A move that is not there yet is not reported; no index leaves `tried`
    all else     belongs to one thread; records start at cache lines of their own, so that no thread's counters
                 invalidate another's
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any, Final

from search.deepening import Deepening, Iteration, Root, set_root
from search.kernels.score import MATE_BOUND
from search.kernels.worker import STOP_NOW, forget, new_worker, set_network

#: Depth of the helpers' first iterations, by turns: the shallow ones take longer in Python than in the kernel, and a
#: helper that is a ply ahead of the main thread has the table ready for it.
FIRST_DEPTHS: Final = (3, 2)


class Helper:
    """A worker with a thread of its own, which lives until `close` and waits for the next search in between.

    A thread that waits is woken within microseconds; starting one takes as long as a one-millisecond move may.
    """

    def __init__(self, number: int) -> None:
        """Raises MemoryError without memory for the worker, RuntimeError when the system gives no thread."""
        self.worker = new_worker()
        self._first = FIRST_DEPTHS[number % len(FIRST_DEPTHS)]
        # (tt, root), or None to end the thread. For each task one answer comes back.
        self._tasks: SimpleQueue[tuple[Any, Root] | None] = SimpleQueue()
        self._answers: SimpleQueue[Iteration | Exception | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._live, name=f"search helper {number}", daemon=True)
        self.thread.start()

    def start(self, main: Any, tt: Any, root: Root, node_limit: int) -> None:
        """Begins the search of the `main` worker's root with its tunables; `wait` must follow before the next start."""
        worker = self.worker
        worker["tune"] = main["tune"]
        worker["reductions"] = main["reductions"]
        worker["stack"][0]["position"] = main["stack"][0]["position"]
        set_root(worker, root, node_limit)
        worker["stop"] = 0
        self._tasks.put((tt, root))

    def stop(self) -> None:
        """Ends the search at its next node. May be called at any time, from any thread."""
        self.worker["stop"] = STOP_NOW

    def wait(self) -> Iteration | Exception | None:
        """Waits for the end of the search: its deepest iteration, what went wrong in it, or None."""
        return self._answers.get()

    def close(self) -> None:
        """Ends the thread."""
        self._tasks.put(None)

    def _live(self) -> None:
        while (task := self._tasks.get()) is not None:
            answer: Iteration | Exception | None = None
            try:
                answer = self._search(*task)
            except Exception as error:
                answer = error
            # A table that was replaced meanwhile must not be kept in memory by its last user.
            del task
            self._answers.put(answer)

    def _search(self, tt: Any, root: Root) -> Iteration | None:
        found: Iteration | None = None
        for iteration in Deepening(self.worker, tt, root).iterations(self._first):
            # Cut short in its first iteration it has no score to vote with.
            if iteration.complete or found is not None:
                found = iteration
        return found


class Helpers:
    """The helpers of one searcher."""

    def __init__(self) -> None:
        self._helpers: list[Helper] = []
        self._busy: list[Helper] = []
        self._network: Any = None

    def __len__(self) -> int:
        return len(self._helpers)

    def resize(self, count: int) -> None:
        """Makes them `count`, while none is searching. Keeps those it got when it raises MemoryError, RuntimeError."""
        while len(self._helpers) > count:
            self._helpers.pop().close()
        while len(self._helpers) < count:
            helper = Helper(len(self._helpers))
            set_network(helper.worker, self._network)
            self._helpers.append(helper)

    def set_network(self, network: Any) -> None:
        """Makes them, and those to come, evaluate with a NETWORK record or classically (None); none is searching."""
        self._network = network
        for helper in self._helpers:
            set_network(helper.worker, network)

    def forget(self) -> None:
        """Clears what they have learnt, while none is searching."""
        for helper in self._helpers:
            forget(helper.worker)

    def start(self, main: Any, tt: Any, root: Root, node_limit: int) -> None:
        """Begins the search of the `main` worker's root with `node_limit` nodes each; `gather` must follow."""
        for helper in self._helpers:
            helper.start(main, tt, root, node_limit)
            self._busy.append(helper)

    def nodes(self) -> int:
        """Nodes searched by the helpers that are busy, up to this moment."""
        return sum(int(helper.worker["nodes"]) for helper in self._busy)

    def stop(self) -> None:
        """Lets them end at once; may be called at any time, from any thread."""
        for helper in tuple(self._helpers):
            helper.stop()

    def gather(self) -> tuple[list[Iteration], list[Exception], int]:
        """Stops those that are busy and waits for them: what they found, what went wrong, their nodes."""
        for helper in self._busy:
            helper.stop()
        answers = [helper.wait() for helper in self._busy]
        nodes = self.nodes()
        self._busy.clear()
        found = [answer for answer in answers if isinstance(answer, Iteration)]
        return found, [answer for answer in answers if isinstance(answer, Exception)], nodes


def vote(found: Sequence[Iteration], vote_base: int) -> Iteration:
    """The iteration whose move is to be played; the first of `found` is the main thread's, and wins ties.

    A proven mate is the best there is, and the shortest is best of all. Otherwise every thread votes for its move:

        weight = (score - lowest score of all + vote_base) * depth

    because a deeper search is worth more and a better score is a reason; vote_base, in centipawns, is how little a
    difference in score counts against a majority. Of the threads that found the winning move, that of most weight
    speaks. (Voting by score and depth: Stockfish, pull request 1721, 2018.)
    """
    mates = max(found, key=lambda iteration: iteration.score)
    if mates.score >= MATE_BOUND:
        return mates
    lowest = min(iteration.score for iteration in found)

    def weight(iteration: Iteration) -> int:
        return (iteration.score - lowest + vote_base) * iteration.depth

    votes: dict[int, int] = {}
    for iteration in found:
        votes[iteration.line[0]] = votes.get(iteration.line[0], 0) + weight(iteration)
    winner = max(votes, key=lambda move: votes[move])
    return max((iteration for iteration in found if iteration.line[0] == winner), key=weight)
