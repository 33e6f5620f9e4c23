"""Numba's function cache in a folder of ours, which is named by all that could change the machine code.

Numba's own looks only at the file that holds the cached function, so an edit to a callee in another file leaves stale
machine code running.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from numba.core import caching

from engine.sources import KERNEL_FOLDERS, PROJECT_ROOT

#: What went wrong when kernels were to be kept, one line each.
save_errors: list[str] = []


@functools.cache
def _room_stamp(folder: Path) -> str:
    """What names a version of the kernels in `folder`, where the cache folder's name does not do that already.

    So tools may have kernels of their own, which may call each other's and the engine's: a change to one of them does
    not cost the engine its cache.
    """
    if any(folder == PROJECT_ROOT / room for room in KERNEL_FOLDERS):
        return ""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return "-" + digest.hexdigest()[:12]


class _Locator(caching._CacheLocator):
    """Puts a kernel into the `place` of the moment when it is made, wherever the project itself lies."""

    place: ClassVar[Path]

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        # Numba's own code names these two attributes in its warnings.
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._module = function.__module__
        self._place = self.place

    def get_cache_path(self) -> str:
        return str(self._place)

    def get_source_stamp(self) -> str:
        return "the folder's name is the stamp"

    def get_disambiguator(self) -> str:
        # Numba adds the file's base name only, and hashes no constants: two rooms may hold files of one name.
        return f"{self._module}-{self._lineno}{_room_stamp(Path(self._py_file).resolve().parent)}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator:
        return cls(function, file)


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  # as Numba declares it


class KernelCache(caching.FunctionCache):
    """Numba's function cache in our folder; a damaged file or a full disk costs a compilation, never a crash."""

    _impl_class = _KernelCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The cached machine code for a signature, or None."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # anything at all can come out of unpickling a damaged file
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps machine code for the next start; a failure is remembered in `save_errors`."""
        try:
            try:
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]
            except (pickle.UnpicklingError, EOFError, ValueError, AttributeError, ImportError, IndexError, TypeError):
                # A damaged index cannot be added to: begin a new one.
                self.flush()
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except Exception as error:
            save_errors.append(f"{type(error).__name__}: {error}")


def kernel_cache(function: Callable[..., Any], place: Path) -> KernelCache:
    """A cache for one kernel in the folder `place`."""
    # Numba makes the locator, and hands nothing on to it.
    _Locator.place = place
    return KernelCache(function)
