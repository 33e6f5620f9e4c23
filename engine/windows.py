"""Calls Windows functions that Python does not wrap. On other systems every function here does nothing.

This module imports little, because the answer to `uci` must not wait for imports.
"""

from __future__ import annotations

import functools
import signal
import sys
from typing import Any, Final

#: The number of stderr for GetStdHandle, and the console mode in which escape sequences work.
_STDERR: Final = -12
_ESCAPES: Final = 4


def _library(name: str) -> Any:
    """Returns a system library, whose functions return int; None on other systems than Windows."""
    if sys.platform != "win32":
        return None
    import ctypes

    return getattr(ctypes.windll, name)


@functools.cache
def tick_every_millisecond() -> None:
    """Makes waits that have a time limit end up to 1 ms late in this process; Windows' default is 16 ms."""
    library = _library("winmm")
    if library is not None:
        library.timeBeginPeriod(1)


def memory_bytes() -> int | None:
    """Returns the machine's memory in bytes; None if unknown or on other systems."""
    library = _library("kernel32")
    if library is None:
        return None
    import ctypes

    class Status(ctypes.Structure):
        """The structure MEMORYSTATUSEX: its size, the load in percent, total physical memory, six more sizes."""

        _fields_ = (("size", ctypes.c_uint32), ("load", ctypes.c_uint32), ("sizes", ctypes.c_uint64 * 7))

    status = Status(ctypes.sizeof(Status))
    return int(status.sizes[0]) if library.GlobalMemoryStatusEx(ctypes.byref(status)) else None


def has_escapes() -> bool:
    """Returns whether the terminal on stderr understands escape sequences; tells a Windows console to do so."""
    library = _library("kernel32")
    if library is None:
        return True
    import ctypes

    mode = ctypes.c_uint32()
    library.GetStdHandle.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(library.GetStdHandle(_STDERR))
    if not library.GetConsoleMode(handle, ctypes.byref(mode)):
        return False
    return bool(library.SetConsoleMode(handle, mode.value | _ESCAPES))


def end_at_ctrl_c() -> None:
    """Makes Ctrl-C end this process at once, because a main thread that waits for a queue does not notice Ctrl-C."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def decoded(data: bytes, ansi: str = "mbcs") -> str:
    """Decodes a line from a GUI: UTF-8, or else on Windows the user's code page `ansi`, which older GUIs use."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        if sys.platform == "win32":
            return data.decode(ansi, "replace")
        return data.decode(errors="surrogateescape")
