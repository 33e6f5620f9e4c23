"""The thread on which an engine searches, so that whoever waits for it can be interrupted, and can stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

from chess.engine import BestMove, EngineTerminatedError

from engine.client.analysis import Analysis

if TYPE_CHECKING:
    from search.searcher import Searcher

#: Searches, reports to the analysis, and returns the move.
Search = Callable[[], BestMove]


class Runner:
    """Runs one search after the other. It does not know the engine, which may go when nobody needs it any more."""

    def __init__(self, searcher: Searcher, close: Callable[[], None]) -> None:
        """`close` is called when the last search has ended."""
        self._searcher = searcher
        self._close = close
        self._searches: SimpleQueue[tuple[Analysis, Search] | None] = SimpleQueue()
        self._lock = threading.Lock()
        # Under the lock: what is searched, or is about to be.
        self._current: Analysis | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._live, name="secateur", daemon=True)
        self._thread.start()

    def begin(self, analysis: Analysis, search: Search) -> None:
        """Begins a search; the one before must be over. Raises EngineTerminatedError when closed."""
        with self._lock:
            if self._is_closed:
                raise EngineTerminatedError("the engine was closed")
            self._searcher.arm()
            self._searches.put((analysis, search))
            self._current = analysis

    def stop(self, analysis: Analysis) -> None:
        """Ends that search soon, if it is the one under way."""
        with self._lock:
            if self._current is analysis:
                self._searcher.stop()

    def end(self) -> None:
        """Stops what is searched and waits for its end, whatever comes out."""
        with self._lock:
            current = self._current
            if current is not None:
                self._searcher.stop()
        if current is not None:
            current.join()

    def close(self) -> None:
        """Stops what is searched and ends the thread; later calls do nothing."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            if self._current is not None:
                self._searcher.stop()
        self._searches.put(None)
        # The last reference to an engine may be one that a search held.
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._close()

    def _live(self) -> None:
        while (task := self._searches.get()) is not None:
            self._run(*task)
            # What it holds must not outlive it until the next one.
            del task

    def _run(self, analysis: Analysis, search: Search) -> None:
        with self._lock:
            # Said once more: whoever began it may have been interrupted before saying so.
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
