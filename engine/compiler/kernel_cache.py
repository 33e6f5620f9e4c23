"""Numba's function cache in our own folder, whose name depends on everything that could change the machine code.

Numba's own cache looks only at the file that holds the cached function, so an edit to a callee in another file leaves
stale machine code running.

Numba's own cache also runs whatever it reads: a flipped bit is a crash at every start. Here each file begins with a
checksum over its contents and its purpose. One compilation replaces a file that is damaged, cut short, of another
kernel or of another build.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

from numba.core import caching, event

from engine.compiler import compiling
from engine.compiler.cache_folder import CHECKSUM_BYTES, KERNEL_HEADER
from engine.compiler.indices import KernelCompiler
from engine.compiler.sources import KERNEL_FOLDERS, PROJECT_ROOT
from engine.files import read_bytes, replace_file

#: Length in bytes of the largest file that may be a kernel's.
_LARGEST: Final = 1 << 30

#: The errors from saving kernels, one line each.
save_errors: list[str] = []


@functools.cache
def _room_stamp(folder: Path) -> str:
    """A stamp for the version of the kernels in `folder`; empty if the cache folder's name covers them already.

    So tools may have their own kernels, which may call each other's and the engine's. A change to one of them does not
    invalidate the engine's cache.
    """
    if any(folder == PROJECT_ROOT / room for room in KERNEL_FOLDERS):
        return ""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return "-" + digest.hexdigest()[:12]


class _Locator(caching._CacheLocator):
    """Puts a kernel into the class's current `place`, wherever the project is installed."""

    place: ClassVar[Path]

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        # Numba's own code uses these two attributes in its warnings.
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._module = function.__module__
        self._place = self.place

    def get_cache_path(self) -> str:
        return str(self._place)

    def get_source_stamp(self) -> str:
        return "the folder's name is the stamp"

    def get_disambiguator(self) -> str:
        # Numba adds only the file's base name, and hashes no constants: two packages may hold files of the same name.
        return f"{self._module}-{self._lineno}{_room_stamp(Path(self._py_file).resolve().parent)}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _Locator:
        return cls(function, file)


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  # as Numba declares it


class _KernelFiles(caching.IndexDataCacheFile):
    """One file for each kernel and signature: a checksum, then Numba's pickled result. There is no index file."""

    def __init__(self, cache_path: str, filename_base: str, source_stamp: str) -> None:
        super().__init__(cache_path, filename_base, source_stamp)  # type: ignore[no-untyped-call]
        self._base = filename_base

    def flush(self) -> None:
        """Does nothing, because there is no index to clear: Numba calls this before it recompiles a kernel."""

    def _place(self, key: Any) -> tuple[Path, bytes]:
        """The file for a key of Numba's, and the bytes that the checksum covers besides its contents."""
        # Numba's types are equal if their names are, and their `repr` is their name.
        identity = repr(key).encode()
        path = Path(self._cache_path, f"{self._base}.{hashlib.blake2b(identity, digest_size=8).hexdigest()}.nbc")
        return path, f"{path.parent.name}/{path.name}".encode() + b"\0" + identity + b"\0"

    def save(self, key: Any, data: Any) -> None:
        """Saves `data`. Raises OSError."""
        path, identity = self._place(key)
        body: bytes = KERNEL_HEADER + self._dump(data)
        if path.is_symlink():
            raise OSError(errno.EEXIST, "is a symbolic link; it is left as it is", str(path))
        replace_file(path, _checksum(identity + body) + body)

    def load(self, key: Any) -> Any:
        """The saved data, None for a missing or damaged file. Raises OSError for an unreadable one."""
        path, identity = self._place(key)
        try:
            content = read_bytes(path, _LARGEST)
        except FileNotFoundError:
            return None
        body = content[CHECKSUM_BYTES:]
        if _checksum(identity + body) != content[:CHECKSUM_BYTES]:
            return None
        return pickle.loads(body)


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=CHECKSUM_BYTES).digest()


class KernelCache(caching.FunctionCache):
    """Numba's function cache in our folder; a damaged file or a full disk costs a compilation, never a crash."""

    _impl_class = _KernelCacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        locator = self._impl.locator
        self._cache_file = _KernelFiles(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The cached machine code for a signature, or None."""
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # such as an unreadable file, or a folder in its place
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Saves machine code for the next start; notes a failure in `save_errors`."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except Exception as error:
            save_errors.append(f"{type(error).__name__}: {error}")


def kernel_cache(function: Callable[..., Any], place: Path) -> KernelCache:
    """A cache for one kernel in the folder `place`, whose parent folder keeps the seconds of compilations."""
    # Numba makes the locator, and passes it no arguments of ours.
    _Locator.place = place
    compiling.remember_in(place.parent)
    return KernelCache(function)


class _Reporter(event.Listener):
    """Tells `engine.compiler.compiling` when Numba begins and ends to compile a kernel.

    Each process compiles its own kernels. Numba and LLVM let other threads run meanwhile, so a thread can report. No
    thread waited longer than half a second on a busy machine.
    """

    def __init__(self) -> None:
        # Depth of nested compilations. Numba's lock keeps other threads out meanwhile.
        self._depth = 0

    def on_start(self, event: Any) -> None:
        """Numba begins to compile a function, ours or another."""
        if _is_ours(event):
            if self._depth == 0:
                compiling.begin(_name(event))
            self._depth += 1

    def on_end(self, event: Any) -> None:
        """Numba has compiled the function, or failed to."""
        if _is_ours(event):
            self._depth -= 1
            if self._depth == 0:
                compiling.end(event.data["args"] in event.data["dispatcher"].overloads)


def _is_ours(event: Any) -> bool:
    compiler = getattr(event.data["dispatcher"], "_compiler", None)
    return getattr(compiler, "pipeline_class", None) is KernelCompiler


def _name(event: Any) -> str:
    function = event.data["dispatcher"].py_func
    return f"{function.__module__}.{function.__qualname__}"


event.register("numba:compile", _Reporter())
