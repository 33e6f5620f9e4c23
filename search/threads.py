"""Several threads search the same root at once and help each other through the TT and complete iterations.

The threads do not split the work. Each runs iterative deepening with its own worker record, and the results that it
stores in the TT make the trees of the others smaller. (Lazy SMP, first described by Daniel Homan for his ExChess; see
E. F. Oestensen, "A Complete Chess Engine Parallelized Using Lazy SMP", University of Oslo, 2016, and
chessprogramming.org, "Lazy SMP".) But no thread searches what another has completed: a complete iteration counts for
all threads and ends the shallower ones (`search.deepening.Team`). The main thread continues one ply deeper than the
deepest complete iteration, and the helpers alternately two plies and one ply. A helper that is a ply ahead does work
that the main thread needs next, rather than the same work.

  when     more than one thread, and enough time for help (`search.run.LEAST_TIME_FOR_HELP`)
  formula  the move of the thread that `deepest` chooses
  worth    two threads against one  +81.4 +- 18.5  [ledger: goal-threads]

The threads need no lock for the fields below. The main thread searches and decides. The control threads are the
alarm and all threads that call `Searcher.stop`. The reporter reports the state of a long search (`Searcher._report`).
Every number is aligned, so a reader never sees half of an old number and half of a new one.

    tt           all kernels write and read it; main and reporter read it for `hashfull`. A torn entry fails its check
                 and reads as a miss (see `search.kernels.transposition`)
    stop         the control threads write it, and it is cleared before a search; its worker's kernel reads it at every
                 node. A late read costs a node. A helper misses a stop that comes before `prepare`, but the main thread
                 ends by its own flag, and `gather` stops the helpers again
    overtaken    a thread that completes an iteration writes it in all workers, under the team's lock, and it is cleared
                 before a search; its worker's kernel reads it at every node. A late read costs a node
    Team.deepest is written under the team's lock, before `overtaken`, and read without it. It is one reference to a
                 tuple that never changes
    nodes        its worker's kernel writes it; main and reporter read it for `info`. The count lags by some nodes
    reports      of the main worker: the reporter sets it, and it is cleared before a search; the main kernel reads it
                 at a window that fails. A late read leaves one such window unreported
    root_depth, root_count, stack[0].tried and tried_count
                 of the main worker: its kernel writes them, and between lines the main thread does; the reporter reads
                 them for `currmove`. They may be from two moments: then the report names a finished move or one of
                 another depth, and the next report corrects it. A move that is not yet written is not reported. No
                 index into `tried` exceeds its size
    the rest     is used by one thread at a time. Each record starts on its own cache line, so no thread's writes
                 invalidate the cached counters of another
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Any, Final

from search.deepening import Completed, Deepening, Iteration, Root, Team, set_root
from search.kernels.score import MATE_BOUND
from search.kernels.worker import STOP_NOW, forget, new_worker, set_network

#: How many plies deeper than the deepest complete iteration the helpers search, assigned in turn.
AHEAD: Final = (2, 1)


class Helper:
    """A worker with its own thread, which lives until `close` and waits between searches.

    A waiting thread wakes within microseconds; starting a thread takes as long as a whole one-millisecond move.
    """

    def __init__(self, number: int) -> None:
        """Starts the thread. Raises MemoryError if the worker gets no memory, RuntimeError if no thread can start."""
        self.worker = new_worker()
        self._ahead = AHEAD[number % len(AHEAD)]
        # Each task is (tt, root, team), which gets one answer, or None, which ends the thread.
        self._tasks: SimpleQueue[tuple[Any, Root, Team] | None] = SimpleQueue()
        self._answers: SimpleQueue[Iteration | Exception | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._live, name=f"search helper {number}", daemon=True)
        self.thread.start()

    def prepare(self, main: Any, root: Root, node_limit: int) -> None:
        """Prepares a search of `root` with the position and tunables of `main`."""
        worker = self.worker
        worker["tune"] = main["tune"]
        worker["reductions"] = main["reductions"]
        worker["stack"][0]["position"] = main["stack"][0]["position"]
        set_root(worker, root, node_limit)
        worker["stop"] = 0

    def start(self, tt: Any, root: Root, team: Team) -> None:
        """Starts the prepared search. Call `wait` before the next search."""
        self._tasks.put((tt, root, team))

    def stop(self) -> None:
        """Makes the running search end at its next node. Any thread may call this at any time."""
        self.worker["stop"] = STOP_NOW

    def wait(self) -> Iteration | Exception | None:
        """Waits for the search; returns its last iteration, its exception, or None if no iteration was completed."""
        return self._answers.get()

    def close(self) -> None:
        """Makes the thread end when it is idle. Does not wait for that."""
        self._tasks.put(None)

    def _live(self) -> None:
        while (task := self._tasks.get()) is not None:
            answer: Iteration | Exception | None = None
            try:
                answer = self._search(*task)
            except Exception as error:
                answer = error
            # A waiting helper must not keep a replaced TT in memory.
            del task
            self._answers.put(answer)

    def _search(self, tt: Any, root: Root, team: Team) -> Iteration | None:
        found: Iteration | None = None
        for iteration in Deepening(self.worker, tt, root, team=team, ahead=self._ahead).iterations():
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
        """Sets the number of helpers; none may be searching. If `Helper` raises, earlier helpers are kept."""
        while len(self._helpers) > count:
            self._helpers.pop().close()
        while len(self._helpers) < count:
            helper = Helper(len(self._helpers))
            set_network(helper.worker, self._network)
            self._helpers.append(helper)

    def set_network(self, network: Any) -> None:
        """Sets the NETWORK record (or None) of all present and future helpers; none may be searching."""
        self._network = network
        for helper in self._helpers:
            set_network(helper.worker, network)

    def forget(self) -> None:
        """Clears what the helpers have learnt; none may be searching."""
        for helper in self._helpers:
            forget(helper.worker)

    def start(self, main: Any, tt: Any, root: Root, node_limit: int, first: Completed) -> Team:
        """Starts a search of `root` by every helper, up to `node_limit` nodes each; returns their team with `main`.

        `first` is an iteration that the main thread has completed. The caller must call `gather`.
        """
        team = Team([main, *(helper.worker for helper in self._helpers)], first)
        for helper in self._helpers:
            helper.prepare(main, root, node_limit)
        for helper in self._helpers:
            helper.start(tt, root, team)
            self._busy.append(helper)
        return team

    def nodes(self) -> int:
        """Returns the number of nodes that the busy helpers have searched so far."""
        return sum(int(helper.worker["nodes"]) for helper in self._busy)

    def stop(self) -> None:
        """Makes the searches of all helpers end at their next node. Any thread may call this at any time."""
        for helper in tuple(self._helpers):
            helper.stop()

    def gather(self) -> tuple[list[Iteration], list[Exception], int]:
        """Stops the busy helpers and waits for them; returns their iterations, exceptions and total node count."""
        for helper in self._busy:
            helper.stop()
        answers = [helper.wait() for helper in self._busy]
        nodes = self.nodes()
        self._busy.clear()
        found = [answer for answer in answers if isinstance(answer, Iteration)]
        return found, [answer for answer in answers if isinstance(answer, Exception)], nodes


def deepest(found: Sequence[Iteration]) -> Iteration:
    """Returns the deepest of the threads' last iterations; a complete one and then the first in `found` win ties.

    The first is the main thread's. If it is complete and a mate for the side to move, it is returned, because a deeper
    search may prune the mate. All threads continue from the same complete iterations. So another thread's is deeper
    only if it stopped early after it had found a better move, or was completed after the main thread's last look.
    """
    mine = found[0]
    if mine.complete and mine.score >= MATE_BOUND:
        return mine
    return max(found, key=lambda iteration: (iteration.depth, iteration.complete))
