"""Room for recursion: the algorithms of this room call themselves once a ply, and trees may be 2000 plies deep."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

Result = TypeVar("Result")

#: Calls that fit on any stack, beside those of the caller.
_SHALLOW: Final = 200

#: Python's calls a ply, at most: the search itself and what it calls without recursion.
_CALLS_PER_PLY: Final = 2

#: Bytes of stack; only what is touched takes memory. Python's own calls need none of it, those through C would.
_STACK: Final = 256 << 20

_LOCK: Final = threading.Lock()
#: Recursion limits that are needed right now, and the one to return to.
_needed: list[int] = []
_usual = 0


def with_deep_stack(function: Callable[[], Result], plies: int) -> Result:
    """What `function` returns, or raises, when it recurses to `plies` plies; safe to use from several threads at once.

    Deep searches run in a thread of their own, with a large stack and a higher recursion limit. That limit is the whole
    process's, so it is raised for as long as anyone needs it and put back afterwards.
    """
    if plies <= _SHALLOW:
        return function()
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(function())
        except BaseException as error:  # it is raised again where the caller waits
            failure.append(error)

    limit = _CALLS_PER_PLY * plies + 1000
    _raise_limit(limit)
    try:
        with _LOCK:
            stack = threading.stack_size(_STACK)
            try:
                thread = threading.Thread(target=work, name="deep search", daemon=True)
                thread.start()
            finally:
                threading.stack_size(stack)
        thread.join()
    finally:
        _lower_limit(limit)
    if failure:
        raise failure[0]
    return outcome[0]


def _raise_limit(limit: int) -> None:
    global _usual
    with _LOCK:
        if not _needed:
            _usual = sys.getrecursionlimit()
        _needed.append(limit)
        sys.setrecursionlimit(max(_usual, *_needed))


def _lower_limit(limit: int) -> None:
    with _LOCK:
        _needed.remove(limit)
        sys.setrecursionlimit(max([_usual, *_needed]))
