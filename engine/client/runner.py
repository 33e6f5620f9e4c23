"""The thread on which an engine searches, so that a waiting caller can be interrupted and can stop the search."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

from chess.engine import BestMove, EngineTerminatedError

from engine.client.analysis import Analysis

if TYPE_CHECKING:
    from search.searcher import Searcher

#: A function that searches, reports to the analysis, and returns the best move and the expected reply.
Search = Callable[[], BestMove]


class Runner:
    """A thread that runs searches in turn. It has no reference to the engine, so an unused engine can be freed."""

    def __init__(self, searcher: Searcher, close: Callable[[], None]) -> None:
        """Starts the thread. When the runner is closed, it calls `close` after the last search."""
        self._searcher = searcher
        self._close = close
        self._searches: SimpleQueue[tuple[Analysis, Search] | None] = SimpleQueue()
        self._lock = threading.Lock()
        # Protected by the lock: the search that runs or is about to run.
        self._current: Analysis | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._live, name="secateur", daemon=True)
        self._thread.start()

    def begin(self, analysis: Analysis, search: Search) -> None:
        """Queues a search; the previous one must be over. Raises EngineTerminatedError if the runner is closed."""
        with self._lock:
            if self._is_closed:
                raise EngineTerminatedError("the engine was closed")
            self._searcher.arm()
            self._searches.put((analysis, search))
            self._current = analysis

    def stop(self, analysis: Analysis) -> None:
        """Ends the search of `analysis` soon if that search is the current one."""
        with self._lock:
            if self._current is analysis:
                self._searcher.stop()

    def end(self) -> None:
        """Stops the current search and waits for its end; ignores its result and its error."""
        with self._lock:
            current = self._current
            if current is not None:
                self._searcher.stop()
        if current is not None:
            current.join()

    def close(self) -> None:
        """Stops the current search and ends the thread; later calls do nothing."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._current is not None:
                self._searcher.stop()
        self._searches.put(None)
        # A search may have held the last reference to the engine; then this code runs on the search's thread.
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._close()

    def _live(self) -> None:
        while (task := self._searches.get()) is not None:
            self._run(*task)
            # The loop variable must not keep a finished search, and its memory, alive until the next one comes.
            del task

    def _run(self, analysis: Analysis, search: Search) -> None:
        with self._lock:
            # An interrupt may have stopped `begin` before it set `_current`.
            self._current = analysis
        best = BestMove(None, None)
        error: Exception | None = None
        try:
            best = search()
        except Exception as problem:
            error = problem
        with self._lock:
            self._current = None
        analysis.finish(best, error)
