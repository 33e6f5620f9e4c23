"""Stack for deep recursion: the algorithms of this package recurse once a ply, and trees may be 2000 plies deep."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

Result = TypeVar("Result")

#: Plies that fit on any stack, besides the caller's calls.
_SHALLOW: Final = 200

#: The most Python calls a ply: the search itself and its calls without recursion.
_CALLS_PER_PLY: Final = 2

#: Bytes of stack; only touched pages take memory. Pure Python calls need none of it; calls through C do.
_STACK: Final = 256 << 20

_LOCK: Final = threading.Lock()
#: The recursion limits that are needed now, and the limit to restore.
_needed: list[int] = []
_usual = 0


def with_deep_stack(function: Callable[[], Result], plies: int) -> Result:
    """Calls `function`, which recurses to `plies` plies; returns its result or raises its exception. Thread-safe.

    Deep searches run in their own thread, with a large stack and a higher recursion limit. That limit applies to the
    whole process, so it stays raised while any call needs it, and is restored afterwards.
    """
    if plies <= _SHALLOW:
        return function()
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(function())
        except BaseException as error:  # raised again in the caller's thread
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
