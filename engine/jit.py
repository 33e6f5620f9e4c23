"""The one owner of every JIT option, of the kernel cache and of CPU features.

Everything compiled in Secateur is declared with one of these decorators:

`kernel`
    An entry point, called from Python. Releases the GIL and is kept in the kernel cache.
`subkernel`
    Called from kernels. Compiled into its callers, so it has no cache file of its own.
`inlined`
    A subkernel that LLVM must inline: for the few-instruction helpers of the hot loops.
`float_kernel`, `float_inlined`
    The same for arithmetic on floats, whose order may be changed.
`hook`
    What the tracing build does at some point of a kernel, and the playing build does not.
`machine_op`
    One or a few machine instructions with a plain-Python twin for the interpreted mode.

Why a cache of our own: Numba's looks only at the file that holds the cached function, so an edit to a callee in
another file leaves stale machine code running. Ours lives in a folder named by a hash over every kernel source
file, the versions of Python, Numba, llvmlite and NumPy, and the CPU's name and features, so whatever could change
the machine code changes the folder. It is also independent of where the project is installed.

`NUMBA_DISABLE_JIT=1` runs every kernel as plain Python, for a debugger or for coverage.

There are two builds of the kernels: the one that plays, and with `SECATEUR_TRACING=1` one whose search writes down its
tree for the explorer. A process has the one that was chosen when this module was first imported.

Machine code that depends on more than the project's own sources, such as somebody else's evaluation, is kept apart from
the rest (`keep_apart`).
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import pickle
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import caching, config, types
from numba.extending import intrinsic

#: Environment variable that overrides where compiled kernels are kept.
CACHE_VARIABLE: Final = "SECATEUR_CACHE_DIR"

#: Source folders whose files can reach machine code; everything in them is part of the cache key.
KERNEL_FOLDERS: Final = ("engine", "engine/board", "eval", "eval/network", "eval/terms", "search")

#: Cache folders of other builds are kept this long after their last use, and this many of them at most.
KEEP_SECONDS: Final = 14 * 24 * 3600
KEEP_FOLDERS: Final = 6

PROJECT_ROOT: Final = Path(__file__).resolve().parent.parent

INTERPRETED: Final = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]  # set when Numba reads the environment

CPU_NAME: Final[str] = llvm.get_host_cpu_name()
CPU_FEATURES: Final[dict[str, bool]] = dict(llvm.get_host_cpu_features())

# AMD before Zen 3 has BMI2 but runs PEXT in microcode, slower than a magic multiplication.
SLOW_PEXT_CPUS: Final = ("bdver4", "znver1", "znver2")

#: True when sliding attacks are indexed by PEXT, False for magic multiplication. `SECATEUR_PEXT=0` forces the latter.
USE_PEXT: Final[bool] = (
    CPU_FEATURES.get("bmi2", False) and CPU_NAME not in SLOW_PEXT_CPUS and os.environ.get("SECATEUR_PEXT", "1") != "0"
)


#: Environment variable that chooses the tracing build when it is "1". It is read when this module is imported.
TRACING_VARIABLE: Final = "SECATEUR_TRACING"

#: Whether the search writes down its tree (see `search.tracing`). A constant of the build, so that the playing build
#: holds no trace of it.
TRACING: Final[bool] = os.environ.get(TRACING_VARIABLE) == "1"


def _vector_bits() -> int:
    """The widest of the vector instructions that this CPU has and the environment allows."""
    wanted = os.environ.get("SECATEUR_VECTOR_BITS")
    limit = int(wanted) if wanted in ("0", "256") else 512
    present = {512: CPU_FEATURES.get("avx512bw", False), 256: CPU_FEATURES.get("avx2", False), 0: True}
    return max(bits for bits, is_present in present.items() if is_present and bits <= limit)


#: Width of the instructions that multiply int16 vectors: 512 (AVX-512) or 256 (AVX2); 0 for code that any CPU runs.
#: `SECATEUR_VECTOR_BITS` narrows it.
VECTOR_BITS: Final = _vector_bits()


# --------------------------------------------------------------------------------------------------------------
# The cache folder
# --------------------------------------------------------------------------------------------------------------


#: What the kernels that are declared now depend on besides the project's sources (see `keep_apart`).
_companion = ""


def kernel_sources() -> list[Path]:
    """The source files whose text can change machine code, sorted."""
    return sorted(path for folder in KERNEL_FOLDERS for path in (PROJECT_ROOT / folder).glob("*.py"))


def build_hash() -> str:
    """A 20-digit hexadecimal name for exactly this set of sources, versions and CPU."""
    digest = hashlib.sha256()
    features = ",".join(sorted(name for name, present in CPU_FEATURES.items() if present))
    for part in (
        sys.implementation.cache_tag,
        sys.version,
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        platform.machine(),
        CPU_NAME,
        features,
        f"pext={USE_PEXT}",
        f"vectors={VECTOR_BITS}",
        f"tracing={TRACING}",
    ):
        digest.update(str(part).encode() + b"\0")
    for path in kernel_sources():
        digest.update(path.relative_to(PROJECT_ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(_companion.encode())
    return digest.hexdigest()[:20]


def _cache_roots() -> Iterator[Path]:
    """Where to try to keep compiled kernels, best first."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        yield Path(named).expanduser().absolute()
    elif sys.platform == "win32":
        yield Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser() / "secateur" / "kernels"
    elif sys.platform == "darwin":
        yield Path("~/Library/Caches/secateur/kernels").expanduser()
    else:
        yield Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "secateur" / "kernels"
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    yield Path(tempfile.gettempdir()) / f"secateur-kernels-{user}"


def _is_private(folder: Path) -> bool:
    """Whether nobody else could have put machine code there: cache files are code, and are run."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


def _open_cache() -> Path | None:
    """The writable folder for this build, or None when there is none and nothing can be cached."""
    for root in _cache_roots():
        folder = root / build_hash()
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            if not (_is_private(root) and _is_private(folder)):
                continue
            with tempfile.TemporaryFile(dir=folder):
                pass
            os.utime(folder)
        except (OSError, RuntimeError):  # RuntimeError: "~" without a home
            continue
        with suppress(OSError):  # another start may be sweeping the same folders
            _sweep(root, folder)
        return folder
    return None


def _sweep(root: Path, current: Path) -> None:
    """Removes the folders of builds that have not been used lately. Errors do not matter: the next start retries."""
    others = [path for path in root.iterdir() if path.is_dir() and path != current and len(path.name) == 20]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for rank, path in enumerate(others, start=1):
        unused = time.time() - path.stat().st_mtime
        # An hour of grace, because another version may be starting just now.
        if unused > KEEP_SECONDS or (rank > KEEP_FOLDERS and unused > 3600):
            shutil.rmtree(path, ignore_errors=True)


#: Where the kernels that are declared now are kept; None when no place could be written to.
CACHE_FOLDER: Path | None = None if INTERPRETED else _open_cache()


def keep_apart(fingerprint: str) -> None:
    """Keeps the kernels that are declared from now on in a cache folder of their own, which `fingerprint` names too.

    For machine code that depends on more than the project's sources; what that is has to be all in the fingerprint.
    """
    global CACHE_FOLDER, _companion
    _companion = fingerprint
    if not INTERPRETED:
        CACHE_FOLDER = _open_cache()


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
    """Puts every kernel of the project into `CACHE_FOLDER`, wherever the project itself lies."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        # Numba's own code names these two attributes in its warnings.
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._module = function.__module__

    def get_cache_path(self) -> str:
        return str(CACHE_FOLDER)

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
        """Keeps machine code for the next start; a failure is remembered for `cache_problem`."""
        try:
            try:
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]
            except (pickle.UnpicklingError, EOFError, ValueError, AttributeError, ImportError, IndexError, TypeError):
                # A damaged index cannot be added to: begin a new one.
                self.flush()
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except Exception as error:
            _save_errors.append(f"{type(error).__name__}: {error}")


_save_errors: list[str] = []


def cache_problem() -> str | None:
    """One line about why compiled kernels could not be kept, or None when all is well."""
    if INTERPRETED:
        return "kernels run interpreted (NUMBA_DISABLE_JIT)"
    if CACHE_FOLDER is None:
        return f"no writable cache folder: kernels are compiled at every start (set {CACHE_VARIABLE})"
    named = os.environ.get(CACHE_VARIABLE)
    if named and not CACHE_FOLDER.is_relative_to(Path(named).expanduser().absolute()):
        reason = "it cannot be written, or others may write to it"
        return f"{CACHE_VARIABLE}={named} is not used ({reason}): kernels are kept in {CACHE_FOLDER}"
    if _save_errors:
        return f"kernels not cached in {CACHE_FOLDER}: {_save_errors[0]}"
    return None


# --------------------------------------------------------------------------------------------------------------
# The decorators
# --------------------------------------------------------------------------------------------------------------

# error_model "numpy": a division by zero gives a value, so kernels hold no path that raises.
# _nrt: kernels create no arrays, so nothing has to count references to those they are given. The counts are atomic and
# cost a search 4 % of its time.
_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "boundscheck": False, "nogil": True, "_nrt": False}
# What `float_kernel` may do; infinities and NaNs keep their meaning, so that a calculation gone wrong is noticed.
_REORDER: Final = {"reassoc", "nsz", "arcp", "contract", "afn"}

# Numba's stubs do not know all of its own options.
_njit: Final[Any] = numba.njit
_unliteral: Final[Any] = types.unliteral


def _compile_once(dispatcher: Any) -> Any:
    """Makes calls with literal arguments share the one specialisation for their type.

    Numba would compile `f(position, 2)` apart from `f(position, kinds)`, which multiplies compile time and, for a
    recursive function first called with a literal, leaves a symbol that a cached kernel cannot resolve.
    """
    if INTERPRETED:
        return dispatcher
    original = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return original(tuple(map(_unliteral, args)), {name: _unliteral(ty) for name, ty in kws.items()})

    dispatcher.get_call_template = get_call_template
    return dispatcher


def _entry_point(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher = _compile_once(_njit(**_OPTIONS, **options)(function))
    if CACHE_FOLDER is not None:
        dispatcher._cache = KernelCache(function)
    return dispatcher


def kernel(function: Callable[..., Any]) -> Any:
    """Compiles an entry point that Python calls: cached, and run without the GIL."""
    return _entry_point(function)


def float_kernel(function: Callable[..., Any]) -> Any:
    """As `kernel`, but sums of floats may be reordered, so that they use whole vectors."""
    return _entry_point(function, fastmath=_REORDER)


def subkernel(function: Callable[..., Any]) -> Any:
    """Compiles a function that only kernels call."""
    return _compile_once(_njit(**_OPTIONS, no_cfunc_wrapper=True)(function))


def inlined(function: Callable[..., Any]) -> Any:
    """Compiles a small function that LLVM must inline into its callers."""
    return _compile_once(_njit(**_OPTIONS, forceinline=True, no_cfunc_wrapper=True)(function))


def float_inlined(function: Callable[..., Any]) -> Any:
    """As `inlined`, for `float_kernel`s: the licence to reorder holds for a function's own arithmetic only."""
    return _compile_once(_njit(**_OPTIONS, forceinline=True, no_cfunc_wrapper=True, fastmath=_REORDER)(function))


def _last(*arguments: Any) -> Any:
    """Its last argument."""
    return arguments[-1]


def _handing_on(function: Callable[..., Any]) -> Any:
    """The same for kernels, with the parameters of `function`: no instruction, and no call to look through."""

    def codegen(typing_context: Any, *arguments: Any) -> Any:
        return arguments[-1](*arguments), lambda context, builder, signature, values: values[-1]

    signature = inspect.signature(function)
    context = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    # Numba sorts arguments by the signature, and would make a tuple of the starred ones.
    codegen.__signature__ = signature.replace(parameters=[context, *signature.parameters.values()])  # type: ignore[attr-defined]
    return intrinsic(codegen)


def hook(function: Callable[..., Any]) -> Any:
    """Declares what kernels call in the tracing build. It returns its last argument, or its value is not used.

    In the playing build a call is that argument; what else it was given is computed for nobody, and so dropped.
    """
    if TRACING:
        return subkernel(function)
    return _last if INTERPRETED else _handing_on(function)


def machine_op(twin: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Declares a Numba intrinsic together with the plain-Python `twin` that the interpreted mode runs instead."""

    def declare(codegen: Callable[..., Any]) -> Any:
        return twin if INTERPRETED else intrinsic(codegen)

    return declare
