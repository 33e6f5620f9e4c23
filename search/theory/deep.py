"""Deep recursion: the algorithms of this package recurse once a ply, and trees may be 2000 plies deep."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

#: Plies that Python's usual recursion limit allows, besides the caller's calls.
_SHALLOW: Final = 200

_LOCK: Final = threading.Lock()
#: The recursion limits that are needed now, and the limit to restore.
_needed: list[int] = []
_usual = 0


@contextmanager
def deep_recursion(plies: int) -> Iterator[None]:
    """Allows a recursion of `plies` plies in Python code, which takes none of the thread's stack. Thread-safe.

    The recursion limit applies to the whole process, so it stays raised while any thread needs it.
    """
    if plies <= _SHALLOW:
        yield
        return
    limit = plies + 1000
    _change(_needed.append, limit)
    try:
        yield
    finally:
        _change(_needed.remove, limit)


def _change(change: Callable[[int], None], limit: int) -> None:
    global _usual
    with _LOCK:
        if not _needed:
            _usual = sys.getrecursionlimit()
        change(limit)
        sys.setrecursionlimit(max(_usual, *_needed, 0))
