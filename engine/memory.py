"""Memory for the data of kernels: records and tables."""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Any, Final

import numpy as np

from engine.compiler.jit import INTERPRETED

#: Size in bytes of a cache line on most processors.
CACHE_LINE: Final = 64

#: Size in bytes of a huge page on most processors.
HUGE_PAGE: Final = 2 << 20


def allocate(dtype: np.dtype[Any], count: int) -> Any:
    """Returns a new array of `count` zeroed records of `dtype`, in the form that `readable` returns.

    The array shares no cache line with other data. Raises MemoryError if there is not enough memory.
    """
    size = count * dtype.itemsize
    raw = _huge_pages(size) if size >= HUGE_PAGE else np.zeros(size + 2 * CACHE_LINE, np.uint8)
    alignment = HUGE_PAGE if size >= HUGE_PAGE else CACHE_LINE
    start = -raw.ctypes.data % alignment
    return readable(raw[start : start + size].view(dtype))


def _huge_pages(size: int) -> Any:
    """Returns zeroed memory, uint8[size + HUGE_PAGE]. Uses huge pages if possible: they make random reads faster."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(size + HUGE_PAGE, np.uint8)
    try:
        memory = mmap.mmap(-1, size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise MemoryError(f"cannot allocate {size >> 20} MiB") from error
    with suppress(OSError):  # without huge pages, the search works but is slower
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)


def readable(array: Any) -> Any:
    """Returns `array` itself; in interpreted mode, returns a view whose records have their fields as attributes."""
    return array.view(_record_dtype(array.dtype)) if INTERPRETED else array


def _record_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns a dtype with the same layout whose records, including nested ones, have their fields as attributes."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.dtype((_record_dtype(base), shape))
    if dtype.fields is None:
        return dtype
    names = list(dtype.names or ())
    layout = {
        "names": names,
        "formats": [_record_dtype(dtype.fields[name][0]) for name in names],
        "offsets": [dtype.fields[name][1] for name in names],
        "itemsize": dtype.itemsize,
    }
    return np.dtype((np.record, layout))
