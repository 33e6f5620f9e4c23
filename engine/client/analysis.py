"""A running search, with the interface of `chess.engine.SimpleAnalysisResult`."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from chess.engine import INFO_ALL, INFO_PV, INFO_SCORE, AnalysisComplete, BestMove, InfoDict
from chess.engine import Info as Selector

#: Seconds that a thread waits before it checks for signals: on Windows, Ctrl-C has no effect during a wait.
PATIENCE: Final = 0.1

#: The selectors that include these entries of an InfoDict. Every selector but INFO_NONE includes all other entries.
_SELECTED: Final = {
    "score": INFO_SCORE,
    "lowerbound": INFO_SCORE,
    "upperbound": INFO_SCORE,
    "wdl": INFO_SCORE,
    "pv": INFO_PV,
}


def selected(info: InfoDict, selector: Selector) -> InfoDict:
    """Returns the entries of `info` that `selector` includes; an empty dictionary for INFO_NONE."""
    if not selector:
        return {}
    return {name: value for name, value in info.items() if selector & _SELECTED.get(name, selector)}  # type: ignore[return-value]


class Analysis:
    """A running search. Iterate over it to get its reports as they come, or read `info` and `multipv` at any time.

    The search is stopped at the end of a `with` block. Any thread may call any method.
    """

    def __init__(self, stop: Callable[[Analysis], None], selector: Selector = INFO_ALL, owner: object = None) -> None:
        """Collects the entries in `selector`. `stop(self)` ends the search. Keeps `owner` alive during the search."""
        self._stop = stop
        self._selector = selector
        self._owner = owner
        self._changed = threading.Condition()
        # Protected by `_changed`: the unread reports, the newest entries of each line, and the end of the search.
        self._unread: deque[InfoDict] = deque()
        self._lines: list[InfoDict] = [{}]
        self._is_over = False
        self._best = BestMove(None, None)
        self._error: BaseException | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} ({'finished' if self._is_over else 'running'}, info={self.info})>"

    # -- for the thread that searches --------------------------------------------------------------------------

    def post(self, info: InfoDict) -> None:
        """Adds a report of the search, unless the selector includes none of its entries."""
        info = selected(info, self._selector)
        if not info:
            return
        with self._changed:
            number = info.get("multipv", 1)
            while len(self._lines) < number:
                self._lines.append({})
            line = self._lines[number - 1]
            if "score" in info:
                # A bound belongs only to the score that it came with.
                for bound in ("lowerbound", "upperbound"):
                    line.pop(bound, None)  # type: ignore[misc]
            line.update(info)
            self._unread.append(info)
            self._changed.notify_all()

    def finish(self, best: BestMove, error: BaseException | None) -> None:
        """Records the end of the search, with its best move or the error that it raised."""
        with self._changed:
            self._best, self._error, self._is_over = best, error, True
            self._owner = None
            self._changed.notify_all()

    # -- for waiting callers -----------------------------------------------------------------------------------

    @property
    def info(self) -> InfoDict:
        """The newest value of every reported entry for the best line."""
        return self.multipv[0]

    @property
    def multipv(self) -> list[InfoDict]:
        """The newest value of every reported entry for each line, best first."""
        with self._changed:
            return [line.copy() for line in self._lines]

    def stop(self) -> None:
        """Makes this search end as soon as it has a move; does not wait, and does not affect a later search."""
        self._stop(self)

    def join(self) -> None:
        """Waits for the end of the search; ignores its error."""
        with self._changed:
            while not self._is_over:
                self._changed.wait(PATIENCE)

    def wait(self) -> BestMove:
        """Waits for the end of the search. Returns its best move and the expected reply, or raises its error."""
        self.join()
        if self._error is not None:
            raise self._error
        return self._best

    def get(self) -> InfoDict:
        """Waits for and returns the next report. After the last one, raises AnalysisComplete or the search's error."""
        with self._changed:
            while not self._unread and not self._is_over:
                self._changed.wait(PATIENCE)
            if self._unread:
                return self._unread.popleft()
        self.wait()
        raise AnalysisComplete

    def next(self) -> InfoDict | None:
        """Returns the next report as `get` does, but None after the last report."""
        try:
            return self.get()
        except AnalysisComplete:
            return None

    def would_block(self) -> bool:
        """Returns whether `get` would have to wait for a report."""
        with self._changed:
            return not self._unread and not self._is_over

    def empty(self) -> bool:
        """Returns whether all reports so far have been read."""
        with self._changed:
            return not self._unread

    def __iter__(self) -> Iterator[InfoDict]:
        return self

    def __next__(self) -> InfoDict:
        info = self.next()
        if info is None:
            raise StopIteration
        return info

    def __enter__(self) -> Analysis:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
