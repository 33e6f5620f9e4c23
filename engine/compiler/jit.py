"""Sets the JIT options of all compiled functions, and decides whether a library or Numba provides their machine code.

Its decorators declare the compiled functions. `kernel` declares an entry point that Python calls; `subkernel` and
`inlined` declare functions that kernels call. `float_kernel` and `float_inlined` do the same for functions that
calculate with floats. `machine_op` declares an operation of a few machine instructions, and `hook` declares a function
that only the tracing build calls.

Compiled code does not test indices: an index must be within its array and not negative. With `SECATEUR_CHECKED=1`,
compiled code tests indices and raises IndexError if an index is invalid.

If this process uses a library of kernels compiled ahead of time (`engine.compiler.library`), `kernel` and
`float_kernel` return entry points in the library, the other decorators return substitutes, and Numba is not imported.
Otherwise Numba compiles the kernels.

The name of the cache folder is a hash of the kernels' sources, any custom evaluation, the versions of Python, Numba,
llvmlite and NumPy, the CPU's name and features, the limits on these features, and the build. The normal build is the
playing build. The search of the tracing build (`SECATEUR_TRACING=1`) records its tree for the explorer, and the checked
build tests indices. The first import of this module fixes the build for the process.

`NUMBA_DISABLE_JIT=1` runs every kernel as plain Python, for a debugger or for coverage.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from engine.compiler import compiling, library
from engine.compiler.cache_folder import CACHE_VARIABLE, open_cache, renew
from engine.compiler.levels import AARCH64, ALL_LEVELS, HERE, SLOW_PEXT_CPUS, widest_vectors
from engine.compiler.library import (
    BUILD,
    KERNELS_VARIABLE,
    LEVEL_VARIABLE,
    PEXT_VARIABLE,
    VECTORS_VARIABLE,
    KernelsMissingError,
)
from engine.compiler.sources import PROJECT_ROOT, add_sources, kernel_sources

# This may be a standing copy of the project, which is removed a while after its last use (`engine.compiler.launcher`).
renew(PROJECT_ROOT, Path(sys.prefix))

# The library in use, if any, and why other libraries are not used.
_LIBRARY, _REMARKS = library.choose()

#: True if kernels were compiled ahead of time; this process then compiles nothing.
AHEAD_OF_TIME: Final = _LIBRARY is not None

if _LIBRARY is None:
    try:
        with compiling.loading():
            import llvmlite
            import numba
            from numba.extending import intrinsic
    except ModuleNotFoundError as error:
        if error.name not in ("numba", "llvmlite"):
            raise
        reasons = "; ".join(_REMARKS) or "the requested kernels are not compiled ahead of time"
        raise KernelsMissingError(f"{reasons}; to compile them here, {library.REMEDY}") from None

    from engine.compiler import numba_hooks
    from engine.compiler.kernel_cache import KernelCache, save_errors

#: True if this process builds a library: entry points are compiled for their argument types, but not called.
BUILDING: Final = os.environ.get(KERNELS_VARIABLE) == BUILD

#: True if kernels run as plain Python.
INTERPRETED: Final = not AHEAD_OF_TIME and numba_hooks.is_interpreted()

#: LLVM's name for the target processor, and a dict that says which CPU features are present, by LLVM's names.
CPU_NAME: str
CPU_FEATURES: dict[str, bool]
#: Whether PEXT, instead of magic multiplication, indexes the tables of sliding attacks. `SECATEUR_PEXT=0` forbids it.
USE_PEXT: bool
_LEVEL = ALL_LEVELS.get(os.environ.get(LEVEL_VARIABLE, "")) if BUILDING else None
if _LIBRARY is not None:
    _LEVEL = _LIBRARY.level
if _LEVEL is not None:
    CPU_NAME, CPU_FEATURES, USE_PEXT = _LEVEL.cpu, dict.fromkeys(_LEVEL.features, True), _LEVEL.pext
else:
    CPU_NAME, CPU_FEATURES = numba_hooks.processor()
    if HERE.machine in AARCH64:
        CPU_FEATURES["neon"] = True  # LLVM does not report it on every system
    has_fast_pext = CPU_FEATURES.get("bmi2", False) and CPU_NAME not in SLOW_PEXT_CPUS
    USE_PEXT = has_fast_pext and os.environ.get(PEXT_VARIABLE, "1") != "0"

#: Environment variables that select the tracing and the checked build if set to "1".
TRACING_VARIABLE: Final = "SECATEUR_TRACING"
CHECKED_VARIABLE: Final = "SECATEUR_CHECKED"

#: True if the search records its tree (see `search.kernels.tracing`). It is a compile-time constant, so the playing
#: build contains no code for tracing.
TRACING: Final[bool] = os.environ.get(TRACING_VARIABLE) == "1"

#: True if an index outside its array raises IndexError.
CHECKED: Final[bool] = os.environ.get(CHECKED_VARIABLE) == "1"


def _vector_bits() -> int:
    """Returns the largest vector width in bits that the target CPU has and the environment allows."""
    present = widest_vectors(tuple(name for name, is_present in CPU_FEATURES.items() if is_present))
    wanted = os.environ.get(VECTORS_VARIABLE)
    return min(present, int(wanted)) if wanted in ("0", "256") else present


#: Width in bits of the instructions that multiply int16 vectors: 512 (AVX-512), 256 (AVX2), 128 (NEON), or 0 for code
#: that runs on any CPU. `SECATEUR_VECTOR_BITS` limits this width.
VECTOR_BITS: Final = _vector_bits()


#: The fingerprint that `keep_apart` has set, or "". The name of the cache folder depends on this fingerprint.
_companion = ""


def build_hash() -> str:
    """Returns the cache folder's name: the first 20 hexadecimal digits of a hash (see this module's docstring)."""
    digest = hashlib.sha256()
    features = ",".join(sorted(name for name, present in CPU_FEATURES.items() if present))
    versions = (sys.implementation.cache_tag, sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    options = (f"pext={USE_PEXT}", f"vectors={VECTOR_BITS}", f"tracing={TRACING}", f"checked={CHECKED}")
    for part in (*versions, HERE.machine, CPU_NAME, features, *options, *numba_hooks.code_settings()):
        digest.update(str(part).encode() + b"\0")
    add_sources(digest, kernel_sources())
    digest.update(_companion.encode())
    return digest.hexdigest()[:20]


#: The cache folder for kernels declared from now on; None if no folder is writable or this process caches no kernels.
CACHE_FOLDER: Path | None = None if AHEAD_OF_TIME or INTERPRETED or BUILDING else open_cache(build_hash())


def keep_apart(fingerprint: str) -> None:
    """Gives the kernels declared from now on their own cache folder, whose name also depends on `fingerprint`.

    The fingerprint must cover everything outside the project's sources that can change these kernels' machine code.
    """
    global CACHE_FOLDER, _companion
    _companion = fingerprint
    if CACHE_FOLDER is not None:
        CACHE_FOLDER = open_cache(build_hash())


def cache_problem() -> str | None:
    """Returns a line that says why kernels are not cached in the chosen folder; None if they are, or need no cache."""
    if AHEAD_OF_TIME or BUILDING:
        return None
    if INTERPRETED:
        return "kernels run as plain Python (NUMBA_DISABLE_JIT)"
    if CACHE_FOLDER is None:
        return f"no writable cache folder: kernels are compiled at every start (set {CACHE_VARIABLE})"
    named = os.environ.get(CACHE_VARIABLE)
    if named and not CACHE_FOLDER.is_relative_to(Path(named).expanduser().absolute()):
        reason = "the folder is not writable, or other users can write to it"
        return f"{CACHE_VARIABLE}={named} is not used ({reason}): kernels are cached in {CACHE_FOLDER}"
    if save_errors:
        return f"cannot cache kernels in {CACHE_FOLDER}: {save_errors[0]}"
    return None


def remarks() -> list[str]:
    """Returns a list of one-line remarks on problems with libraries of kernels and with the cache."""
    said = list(_REMARKS)
    if said and not AHEAD_OF_TIME:
        said.append("Numba compiles the kernels here")
    problem = cache_problem()
    return said if problem is None else [*said, problem]


def compiler_report() -> str:
    """Returns one line that names the kernels' compiler and target processor."""
    if _LIBRARY is not None:
        return f"Compiled ahead of time by {_LIBRARY.description.compiler} for {_LIBRARY.level.name}"
    return f"Compiled by Numba {numba.__version__} (llvmlite {llvmlite.__version__}) for {CPU_NAME}"


#: The options of all compiled functions. A division by zero gives a value, so only checked kernels can raise errors.
_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "boundscheck": CHECKED, "nogil": True}
#: The optimisations that float kernels allow. Infinities and NaNs keep their meaning, so that they reveal bugs.
_REORDER: Final[dict[str, Any]] = {"fastmath": {"reassoc", "nsz", "arcp", "contract", "afn"}}
_INLINE: Final[dict[str, Any]] = {} if AHEAD_OF_TIME or CHECKED else numba_hooks.FORCE_INLINE


class DeclaredKernel:
    """An entry point in a process that builds a library: a call only records the types of its arguments."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.name = library.kernel_name(function)
        # The code needs no wrappers, because Python calls it through the library. Wrappers would call Python's C API.
        self.dispatcher = numba_hooks.linked(function, _OPTIONS | options)
        self.types: tuple[Any, ...] | None = None

    def __call__(self, *arguments: Any) -> int:
        """Records the types of the arguments; returns 0."""
        self.types = tuple(numba.typeof(argument) for argument in arguments)
        return 0


def _entry_point(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    if _LIBRARY is not None:
        return _LIBRARY.kernel(function)
    if INTERPRETED:
        return function
    if BUILDING:
        return DeclaredKernel(function, options)
    cache = None if CACHE_FOLDER is None else KernelCache(function, CACHE_FOLDER)
    return numba_hooks.entry_point(function, _OPTIONS | options, cache)


def _inner(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    if AHEAD_OF_TIME:
        return library.not_built(function)
    return function if INTERPRETED else numba_hooks.Linked(function, _OPTIONS | options)


def kernel(function: Callable[..., Any]) -> Any:
    """Declares an entry point, which Python calls. Its machine code is cached if possible, and runs without the GIL."""
    return _entry_point(function, {})


def float_kernel(function: Callable[..., Any]) -> Any:
    """Declares an entry point as `kernel` does, but lets the compiler reorder and approximate float arithmetic."""
    return _entry_point(function, _REORDER)


def subkernel(function: Callable[..., Any]) -> Any:
    """Declares a function that kernels call."""
    return _inner(function, {})


def inlined(function: Callable[..., Any]) -> Any:
    """Declares a small function that LLVM must inline into its callers, except in the checked build."""
    return _inner(function, _INLINE)


def float_inlined(function: Callable[..., Any]) -> Any:
    """Declares a function as `inlined` does, with the float options of `float_kernel`, not of its callers."""
    return _inner(function, _INLINE | _REORDER)


def hook(function: Callable[..., Any]) -> Any:
    """Declares a function that kernels call in the tracing build.

    The function must return its last argument, or a value that callers ignore. In other builds, the last argument
    replaces the call, and unused arguments are eliminated.
    """
    if TRACING:
        return subkernel(function)
    return (lambda *given: given[-1]) if INTERPRETED or AHEAD_OF_TIME else numba_hooks.handing_on(function)


def machine_op(twin: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Returns a decorator that declares a Numba intrinsic. If Numba is not used, the decorator returns `twin`."""

    def declare(codegen: Callable[..., Any]) -> Any:
        return twin if INTERPRETED or AHEAD_OF_TIME else intrinsic(codegen)

    return declare
