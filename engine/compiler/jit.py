"""The one owner of every JIT option, of where kernels come from, and of CPU features.

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

Nothing in compiled code tests an index: it must be within its array, and is never negative (`engine.compiler.indices`).

Where a library of kernels that were compiled ahead of time fits (`engine.compiler.library`), `kernel` gives the entry
point in it, the other decorators a substitute, and Numba is not imported. Otherwise Numba compiles.

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

import hashlib
import inspect
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from engine.compiler import compiling, library
from engine.compiler.cache_folder import CACHE_VARIABLE, open_cache
from engine.compiler.levels import SLOW_PEXT_CPUS
from engine.compiler.library import (
    BUILD,
    KERNELS_VARIABLE,
    PEXT_VARIABLE,
    REMEDY,
    VECTORS_VARIABLE,
    KernelsMissingError,
)
from engine.compiler.sources import add_sources, kernel_sources

# The library that has the kernels, if there is one, and why others have not.
_LIBRARY, _REMARKS = library.choose()

#: Whether kernels were compiled ahead of time, and nothing is compiled here.
AHEAD_OF_TIME: Final = _LIBRARY is not None

if _LIBRARY is None:
    try:
        with compiling.loading():
            import llvmlite
            import llvmlite.binding as llvm
            import numba
            from numba.core import config, types
            from numba.extending import intrinsic
    except ModuleNotFoundError as error:
        if error.name not in ("numba", "llvmlite"):
            raise
        reasons = "; ".join(_REMARKS) or "the kernels that were asked for are not compiled ahead of time"
        raise KernelsMissingError(f"{reasons}; to compile them here, {REMEDY}") from None

    from engine.compiler.indices import KernelCompiler
    from engine.compiler.kernel_cache import kernel_cache, save_errors

#: Whether this process builds a library: entry points are compiled for their arguments, but not called.
BUILDING: Final = os.environ.get(KERNELS_VARIABLE) == BUILD

#: Whether kernels run as plain Python.
INTERPRETED: Final = not AHEAD_OF_TIME and bool(config.DISABLE_JIT)  # type: ignore[attr-defined]  # set at import


def _processor() -> tuple[str, dict[str, bool]]:
    """LLVM's name of the processor that kernels are compiled for, and its features by LLVM's names.

    That is this machine's, unless Numba's environment variables name another.
    """
    if _LIBRARY is not None:
        return _LIBRARY.level.cpu, dict.fromkeys(_LIBRARY.level.features, True)
    name, features = config.CPU_NAME, config.CPU_FEATURES  # type: ignore[attr-defined]
    if features is None:
        return name or llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features())
    signed = [feature for feature in features.split(",") if feature]
    return name or llvm.get_host_cpu_name(), {feature[1:]: feature[0] == "+" for feature in signed}


_PROCESSOR = _processor()
CPU_NAME: Final = _PROCESSOR[0]
CPU_FEATURES: Final = _PROCESSOR[1]

#: True when sliding attacks are indexed by PEXT, False for magic multiplication. `SECATEUR_PEXT=0` forces the latter.
USE_PEXT: Final[bool] = (
    _LIBRARY.level.pext
    if _LIBRARY is not None
    else CPU_FEATURES.get("bmi2", False)
    and CPU_NAME not in SLOW_PEXT_CPUS
    and os.environ.get(PEXT_VARIABLE, "1") != "0"
)


#: Environment variable that chooses the tracing build when it is "1". It is read when this module is imported.
TRACING_VARIABLE: Final = "SECATEUR_TRACING"

#: Whether the search writes down its tree (see `search.kernels.tracing`). A constant of the build, so that the playing
#: build holds no trace of it.
TRACING: Final[bool] = os.environ.get(TRACING_VARIABLE) == "1"


def _vector_bits() -> int:
    """The widest of the vector instructions that this CPU has and the environment allows."""
    wanted = os.environ.get(VECTORS_VARIABLE)
    limit = int(wanted) if wanted in ("0", "256") else 512
    present = {512: CPU_FEATURES.get("avx512bw", False), 256: CPU_FEATURES.get("avx2", False), 0: True}
    return max(bits for bits, is_present in present.items() if is_present and bits <= limit)


#: Width of the instructions that multiply int16 vectors: 512 (AVX-512) or 256 (AVX2); 0 for code that any CPU runs.
#: `SECATEUR_VECTOR_BITS` narrows it.
VECTOR_BITS: Final = _vector_bits()


# --------------------------------------------------------------------------------------------------------------
# Where kernels come from
# --------------------------------------------------------------------------------------------------------------


#: What the kernels that are declared now depend on besides the project's sources (see `keep_apart`).
_companion = ""


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
    add_sources(digest, kernel_sources())
    digest.update(_companion.encode())
    return digest.hexdigest()[:20]


#: Where the kernels that are declared now are kept, if Numba compiles them; None when no place could be written to, or
#: nothing is to be kept.
CACHE_FOLDER: Path | None = None if AHEAD_OF_TIME or INTERPRETED or BUILDING else open_cache(build_hash())


def keep_apart(fingerprint: str) -> None:
    """Keeps the kernels that are declared from now on in a cache folder of their own, which `fingerprint` names too.

    For machine code that depends on more than the project's sources; what that is has to be all in the fingerprint.
    """
    global CACHE_FOLDER, _companion
    _companion = fingerprint
    if CACHE_FOLDER is not None:
        CACHE_FOLDER = open_cache(build_hash())


def cache_problem() -> str | None:
    """One line about why compiled kernels could not be kept, or None when all is well."""
    if AHEAD_OF_TIME:
        return None
    if INTERPRETED:
        return "kernels run interpreted (NUMBA_DISABLE_JIT)"
    if CACHE_FOLDER is None:
        return f"no writable cache folder: kernels are compiled at every start (set {CACHE_VARIABLE})"
    named = os.environ.get(CACHE_VARIABLE)
    if named and not CACHE_FOLDER.is_relative_to(Path(named).expanduser().absolute()):
        reason = "it cannot be written, or others may write to it"
        return f"{CACHE_VARIABLE}={named} is not used ({reason}): kernels are kept in {CACHE_FOLDER}"
    if save_errors:
        return f"kernels not cached in {CACHE_FOLDER}: {save_errors[0]}"
    return None


def remarks() -> list[str]:
    """What is to be said of where kernels come from, a line each; nothing when all is well."""
    said = list(_REMARKS)
    if said and not AHEAD_OF_TIME:
        said.append("kernels are compiled here, by Numba")
    problem = cache_problem()
    return said if problem is None else [*said, problem]


def compiler_report() -> str:
    """One line that says by what and for which processor the kernels are compiled."""
    if _LIBRARY is not None:
        return f"Compiled ahead of time by {_LIBRARY.description.compiler} for {_LIBRARY.level.name}"
    return f"Compiled by Numba {numba.__version__} (llvmlite {llvmlite.__version__}) for {CPU_NAME}"


# --------------------------------------------------------------------------------------------------------------
# The decorators
# --------------------------------------------------------------------------------------------------------------

# error_model "numpy": a division by zero gives a value, so kernels hold no path that raises.
# _nrt: kernels create no arrays, so nothing has to count references to those they are given. The counts are atomic and
# cost a search 4 % of its time.
_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "boundscheck": False, "nogil": True, "_nrt": False}
# What `float_kernel` may do; infinities and NaNs keep their meaning, so that a calculation gone wrong is noticed.
_REORDER: Final = {"reassoc", "nsz", "arcp", "contract", "afn"}


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    """The function as Numba compiles it, whose calls with literal arguments share one specialisation for their type.

    Numba would compile `f(position, 2)` apart from `f(position, kinds)`, which multiplies compile time and, for a
    recursive function first called with a literal, leaves a symbol that a cached kernel cannot resolve.
    """
    if AHEAD_OF_TIME:
        return library.not_built(function)
    # Numba's stubs know neither all of its options nor all of its functions.
    njit: Any = numba.njit
    unliteral: Any = types.unliteral
    dispatcher = njit(pipeline_class=KernelCompiler, **_OPTIONS, **options)(function)
    if INTERPRETED:
        return dispatcher
    original = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return original(tuple(map(unliteral, args)), {name: unliteral(ty) for name, ty in kws.items()})

    dispatcher.get_call_template = get_call_template
    return dispatcher


class DeclaredKernel:
    """An entry point in a process that builds a library: a call notes the types of its arguments, and does no more."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = library.kernel_name(function)
        # Python will call it through the library: without Numba's own wrappers nothing refers to Python's functions.
        self.dispatcher = _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)
        self.types: tuple[Any, ...] | None = None

    def __call__(self, *arguments: Any) -> int:
        """Notes the types."""
        self.types = tuple(numba.typeof(argument) for argument in arguments)
        return 0


def _entry_point(function: Callable[..., Any], **options: Any) -> Any:
    if _LIBRARY is not None:
        return _LIBRARY.kernel(function)
    if BUILDING:
        return DeclaredKernel(function)
    dispatcher = _compiled(function, **options)
    if CACHE_FOLDER is not None:
        dispatcher._cache = kernel_cache(function, CACHE_FOLDER)
    return dispatcher


def kernel(function: Callable[..., Any]) -> Any:
    """Compiles an entry point that Python calls: cached, and run without the GIL."""
    return _entry_point(function)


def float_kernel(function: Callable[..., Any]) -> Any:
    """As `kernel`, but sums of floats may be reordered, so that they use whole vectors."""
    return _entry_point(function, fastmath=_REORDER)


def subkernel(function: Callable[..., Any]) -> Any:
    """Compiles a function that only kernels call."""
    return _compiled(function, no_cfunc_wrapper=True)


def inlined(function: Callable[..., Any]) -> Any:
    """Compiles a small function that LLVM must inline into its callers."""
    return _compiled(function, forceinline=True, no_cfunc_wrapper=True)


def float_inlined(function: Callable[..., Any]) -> Any:
    """As `inlined`, for `float_kernel`s: the licence to reorder holds for a function's own arithmetic only."""
    return _compiled(function, forceinline=True, no_cfunc_wrapper=True, fastmath=_REORDER)


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
    return _last if INTERPRETED or AHEAD_OF_TIME else _handing_on(function)


def machine_op(twin: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Declares a Numba intrinsic together with the plain-Python `twin` that the interpreted mode runs instead."""

    def declare(codegen: Callable[..., Any]) -> Any:
        return twin if INTERPRETED or AHEAD_OF_TIME else intrinsic(codegen)

    return declare
