"""A search that is under way, as `chess.engine.SimpleAnalysisResult` shows it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final

from chess.engine import INFO_ALL, INFO_PV, INFO_SCORE, AnalysisComplete, BestMove, InfoDict
from chess.engine import Info as Selector

#: Seconds that a thread waits without a look at signals: on Windows nothing else lets Ctrl-C through.
PATIENCE: Final = 0.1


#: Entries of an InfoDict that are there only when a selector asks for them.
_SELECTED: Final = {
    "score": INFO_SCORE,
    "lowerbound": INFO_SCORE,
    "upperbound": INFO_SCORE,
    "wdl": INFO_SCORE,
    "pv": INFO_PV,
}


def selected(info: InfoDict, selector: Selector) -> InfoDict:
    """The entries that a selector of `chess.engine` asks for."""
    if not selector:
        return {}
    return {name: value for name, value in info.items() if selector & _SELECTED.get(name, selector)}  # type: ignore[return-value]


class Analysis:
    """What a search has found so far, and will find: iterate over it, or look at `info` and `multipv` now and then.

    Used in a `with`, it is stopped at the end. Any thread may call any of its methods.
    """

    def __init__(self, stop: Callable[[Analysis], None], selector: Selector = INFO_ALL, owner: object = None) -> None:
        """Shows what `selector` asks for; `stop` ends this search, whose `owner` is kept in being until it is over."""
        self._stop = stop
        self._selector = selector
        self._owner = owner
        self._changed = threading.Condition()
        # Under this condition: what nobody has read yet, the newest of each line, and the end.
        self._unread: deque[InfoDict] = deque()
        self._lines: list[InfoDict] = [{}]
        self._is_over = False
        self._best = BestMove(None, None)
        self._error: BaseException | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} ({'finished' if self._is_over else 'running'}, info={self.info})>"

    # -- for the thread that searches --------------------------------------------------------------------------

    def post(self, info: InfoDict) -> None:
        """Takes what the search reports."""
        info = selected(info, self._selector)
        if not info:
            return
        with self._changed:
            number = info.get("multipv", 1)
            while len(self._lines) < number:
                self._lines.append({})
            line = self._lines[number - 1]
            if "score" in info:
                # A bound says something of the score that it came with, and of no later one.
                for bound in ("lowerbound", "upperbound"):
                    line.pop(bound, None)  # type: ignore[misc]
            line.update(info)
            self._unread.append(info)
            self._changed.notify_all()

    def finish(self, best: BestMove, error: BaseException | None) -> None:
        """The search is over, with its best move, or because of an error."""
        with self._changed:
            self._best, self._error, self._is_over = best, error, True
            self._owner = None
            self._changed.notify_all()

    # -- for those who wait ------------------------------------------------------------------------------------

    @property
    def info(self) -> InfoDict:
        """What is known of the best line: the newest of everything that was reported."""
        return self.multipv[0]

    @property
    def multipv(self) -> list[InfoDict]:
        """The same for each line, best first."""
        with self._changed:
            return [line.copy() for line in self._lines]

    def stop(self) -> None:
        """Ends the search as soon as it has a move; not so one that has been begun since."""
        self._stop(self)

    def join(self) -> None:
        """Waits for the end of the search, however it ends."""
        with self._changed:
            while not self._is_over:
                self._changed.wait(PATIENCE)

    def wait(self) -> BestMove:
        """Waits for the end of the search: the best move and the reply expected, None for either that is not there.

        Raises what went wrong in the search.
        """
        self.join()
        if self._error is not None:
            raise self._error
        return self._best

    def get(self) -> InfoDict:
        """Waits for what is reported next. Raises `chess.engine.AnalysisComplete` when there is no more to come."""
        with self._changed:
            while not self._unread and not self._is_over:
                self._changed.wait(PATIENCE)
            if self._unread:
                return self._unread.popleft()
        self.wait()
        raise AnalysisComplete

    def next(self) -> InfoDict | None:
        """As `get`, but None at the end."""
        try:
            return self.get()
        except AnalysisComplete:
            return None

    def would_block(self) -> bool:
        """Whether `get` would have to wait."""
        with self._changed:
            return not self._unread and not self._is_over

    def empty(self) -> bool:
        """Whether everything that was reported so far has been read."""
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

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
