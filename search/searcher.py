"""The public interface of the search: `Searcher` searches positions, one at a time, within limits.

A `Searcher` owns the TT, the threads, the network and the solved endings, which outlive a search. `search.run` has the
state of one search.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from eval.custom import CUSTOM
from eval.network.format import Network
from search.endings import Endings
from search.game import Game
from search.info import Info, Progress, Result
from search.kernels.transposition import GENERATIONS, allocate_table
from search.kernels.worker import STOP, STOP_NOW, forget, new_worker, set_network, set_tunables
from search.limits import DEFAULT_HASH, DEFAULT_OVERHEAD, DEFAULT_THREADS, Limits
from search.run import Request, SearchRun
from search.strength import Level
from search.tablebase import Tables
from search.threads import Helpers, deepest
from search.timing import LAST_GRACE, Alarm

__all__ = ["Game", "Info", "Progress", "Result", "Searcher"]

#: A search reports its current root move and failed windows only after REPORT_AFTER seconds, because earlier reports
#: would come faster than a user can read. From then on, it checks every REPORT_EVERY seconds for a new root move.
REPORT_AFTER: Final = 3.0
REPORT_EVERY: Final = 0.1


class Searcher:
    """A TT, a worker for the calling thread, and helper threads. Together they search one position at a time.

    `search` blocks the calling thread, but kernels run without the GIL. Any thread may call `stop` and `ponder_hit`.
    """

    def __init__(
        self, hash_mebibytes: int = DEFAULT_HASH, threads: int = DEFAULT_THREADS, network: Network | None = None
    ) -> None:
        """Creates a searcher that evaluates with `network`, or with the classical evaluation (None).

        Raises MemoryError if there is too little memory, and RuntimeError if a thread cannot be started.
        """
        self._tt = allocate_table(hash_mebibytes)
        self._worker = new_worker()
        self._helpers = Helpers()
        self._generation = 0
        self._alarm = Alarm(self._time_is_up)
        self._reporter = Alarm(self._report)
        # The running search, and the time when `ponder_hit` was called. That call may come at any moment, even before
        # the search begins, so it holds the lock, as do the start and the end of a search.
        self._lock = threading.Lock()
        self._run: SearchRun | None = None
        self._hit_at: float | None = None
        self._network: Network | None = None
        self._with_policy = False
        self._tables: Tables | None = None
        self._endings = Endings()
        #: The generator of random choices at a limited strength; a seed makes them repeatable.
        self.rng = random.Random()
        self._level: Level | None = None
        self.set_network(network)
        self.resize_threads(threads)

    # -- control -----------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends the running search, or if none runs the next (see `arm`), once it has a move, or after LAST_GRACE ms."""
        self._stop_within(LAST_GRACE / 1000)

    def _stop_within(self, seconds: float) -> None:
        self._worker["stop"] = max(int(self._worker["stop"]), STOP)
        self._helpers.stop()
        # Without a thread for the alarm, the search ends after its first iteration.
        with suppress(RuntimeError):
            self._alarm.set(seconds)

    def _time_is_up(self) -> None:
        """Handles the alarm: begins the grace period at the hard limit, and ends the search when the period is over."""
        run = self._run
        if run is None:
            return  # `search` sets the alarm again
        if self._worker["stop"]:
            self._worker["stop"] = STOP_NOW
        else:
            self._stop_within(run.manager.grace() / 1000)

    def ponder_hit(self) -> None:
        """Handles ponderhit: the opponent played the expected move, so the clock of the pondering search now runs."""
        now = time.perf_counter()
        with self._lock:
            self._hit_at = now
            if self._run is not None:
                self._begin_clock(self._run, now)

    def _begin_clock(self, run: SearchRun, now: float) -> None:
        """Starts the clock of a pondering search; ends the search if its time is up. The caller holds the lock."""
        elapsed = 1000 * (now - run.request.start)
        run.manager.ponder_hit(elapsed)
        if run.manager.is_over(elapsed):
            self.stop()
        elif not self._worker["stop"]:
            self._set_alarm(run)

    def _set_alarm(self, run: SearchRun) -> None:
        deadline = run.manager.deadline()
        if deadline == math.inf:
            return
        try:
            self._alarm.set((deadline - run.elapsed()) / 1000)
        except RuntimeError:
            # Without an alarm nothing ends the search in time, so it ends after its first iteration.
            self._worker["stop"] = STOP

    def arm(self) -> None:
        """Forgets calls of `stop` and `ponder_hit` that came too late for the last search.

        Call it before `search` is started on another thread; later calls of `stop` and `ponder_hit` affect that search.
        """
        self._alarm.clear()
        self._worker["stop"] = 0
        self._hit_at = None

    # -- between searches --------------------------------------------------------------------------------------

    def resize(self, hash_mebibytes: int) -> None:
        """Replaces the TT with an empty one. If memory is short, raises MemoryError and keeps the old TT."""
        self._tt = allocate_table(hash_mebibytes)

    @property
    def threads(self) -> int:
        """The number of threads that search, including the caller's."""
        return 1 + len(self._helpers)

    def reserve_threads(self) -> None:
        """Starts the threads that time searches and report on them, which otherwise start when first needed.

        Call it before memory gets scarce. Raises RuntimeError if a thread cannot be started.
        """
        self._alarm.start()
        self._reporter.start()

    def resize_threads(self, threads: int) -> None:
        """Sets the number of threads that search, at least 1, including the caller's.

        Raises MemoryError or RuntimeError if a thread cannot be added; the threads that exist by then are kept.
        """
        self._helpers.resize(threads - 1)

    def new_game(self) -> None:
        """Clears the TT, the endings and what all threads have learnt: the next search uses no earlier results."""
        try:
            # New pages from the system are already zero; clearing gigabytes takes seconds.
            self._tt = allocate_table(self._tt.nbytes >> 20)
        except MemoryError:
            self._tt["word"] = 0
        forget(self._worker)
        self._helpers.forget()
        self._endings = Endings()
        self._generation = 0

    @property
    def network(self) -> Network | None:
        """The network that evaluates positions; None means the classical evaluation."""
        return self._network

    @property
    def with_policy(self) -> bool:
        """True if the network's policy rates quiet moves."""
        return self._with_policy

    def set_network(self, network: Network | None, with_policy: bool = False) -> None:
        """Sets the network; None means the classical evaluation. Its policy, if any, is used if `with_policy` is true.

        A custom evaluation replaces both. Calls `new_game` if anything changes.
        """
        with_policy = with_policy and network is not None and network.has_policy and CUSTOM is None
        if network is self._network and with_policy == self._with_policy:
            return
        record = None if network is None else network.record(with_policy)
        set_network(self._worker, record)
        self._helpers.set_network(record)
        self._network, self._with_policy = network, with_policy
        self.new_game()

    def set_tables(self, tables: Tables | None) -> None:
        """Sets the tablebase that searches probe at the root, or None. After a failed probe, it is no longer used."""
        self._tables = tables

    def set_tunable(self, name: str, value: int) -> None:
        """Sets a tunable without checking its range (see `search.tunables`). Raises KeyError if `name` is unknown."""
        set_tunables(self._worker, {name: value})

    def close(self) -> None:
        """Ends the searcher's own threads. The searcher can still search, on the calling thread."""
        self._helpers.resize(0)
        self._alarm.close()
        self._reporter.close()

    # -- searching ---------------------------------------------------------------------------------------------

    def search(
        self,
        game: Game,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        overhead: int = DEFAULT_OVERHEAD,
        ponders: bool = False,
        start: float | None = None,
        lines: int = 1,
        on_progress: Callable[[Progress], None] | None = None,
        level: Level | None = None,
    ) -> Result:
        """Searches until a limit is reached or `stop` is called; returns a Result, whose `best` is the move to play.

        `on_info` gets up to `lines` lines after every iteration, best first, one line a call. If `on_progress` is
        given, more reports begin after REPORT_AFTER seconds: `on_progress` gets the current root move, on another
        thread, and `on_info` also gets failed windows, unless the moves are ranked. `overhead` is the time in ms that
        each move keeps in reserve on the clock for the delay between engine and GUI. `ponders` says whether the engine
        may think on the opponent's time in this game. `start` is the time, by `time.perf_counter`, when the clock
        started; the default is now.

        With a `level`, the search plays at that level: on one thread, within the level's node limit. The tablebase is
        used as at full strength. If the last search had another level, or only one of the two had a level, `new_game`
        is called first.

        A search limited only by time, even an infinite one, also ends when it knows the mate in an ending of three or
        four men without pawns (see `search.endings`).

        If the line to play is a helper's, `on_info` gets it last. If probing the tablebase fails, later searches do not
        use it.
        """
        start = time.perf_counter() if start is None else start
        legal = list(game.board.legal_moves)
        if not legal:
            return Result(None, None, None, 0, time.perf_counter() - start)
        request = Request(game, limits, start, overhead, ponders, lines, level, on_info, on_progress, self.rng)
        if level != self._level:
            # A level must not use the results of a stronger one, and what it has overlooked is missing in its own.
            self.new_game()
        self._level = level
        self._generation = (self._generation + 1) % GENERATIONS
        run = SearchRun(request, self._worker, self._helpers, self._tt, self._generation, self._tables, self._endings)
        with self._lock:
            self._run = run
            if self._worker["stop"]:
                self._stop_within(LAST_GRACE / 1000)
            elif limits.ponder and self._hit_at is not None:
                self._begin_clock(run, self._hit_at)
            else:
                self._set_alarm(run)
        if on_progress is not None and run.manager.deadline() > 1000 * REPORT_AFTER:
            with suppress(RuntimeError):  # without a thread there are fewer reports
                self._reporter.set(REPORT_AFTER - run.elapsed() / 1000)
        try:
            found = run.search(legal)
        finally:
            self._reporter.clear()
            others, errors, helped = self._helpers.gather()
            with self._lock:
                self._run = None
            self.arm()
        if run.problems:
            self._tables = None  # probing them failed
        nodes = int(self._worker["nodes"]) + helped
        # With several lines, or if an ending is solved, the main thread's best line is played.
        best = found if found.others or run.is_solved else deepest([found, *others])
        if best is not found:
            run.tell(best, nodes)
        run.problems += [f"a search thread failed: {type(error).__name__}: {error}" for error in errors]
        return run.result(nodes)

    def _report(self) -> None:
        """If a search is running, makes it report its state and sets the alarm for the next report."""
        run = self._run
        if run is not None:
            run.report()
            self._reporter.set(REPORT_EVERY)
