"""Chooses this process's library of kernels compiled ahead of time, and calls the kernels from Python.

`secateur kernels build` compiles the entry points in `search.warmup.EVERYTHING`, with the functions that they call, and
links one library for each processor level (`engine.compiler.levels`, `engine.compiler.builder`). A library contains

    kernels       Numba's machine code, which needs only the C library's memory functions
    bindings      a C function for each entry point, which takes pointers and integers and may return an integer
    description   JSON after MARKER: level, machine, hash of the kernels' sources, compiler, table of the functions
    checksum      at the end of the file, after the linker's output: SHA-256 of everything before it, 32 bytes

When `engine.compiler.jit` is imported, it loads the best library that is undamaged, usable on this processor, and built
from the installed sources (if any). The library's kernels take the same arguments and return the same results as
Numba's kernels, but Python cannot call `subkernel` functions. Without such a library, Numba compiles the kernels.

`SECATEUR_KERNELS` overrides the choice: `jit` for Numba, or the name of a level.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any, Final, NamedTuple

from engine.compiler.levels import HERE, LEVELS, Level, Target
from engine.compiler.sources import PROJECT_ROOT, source_hash
from engine.extras import remedy
from engine.files import read_bytes, reason, user_path

#: Environment variable that chooses the kernels: JIT or the name of a level. The builder sets BUILD in its processes.
KERNELS_VARIABLE: Final = "SECATEUR_KERNELS"
JIT: Final = "jit"
BUILD: Final = "build"
#: The variable with the level's name for a process that builds a library.
LEVEL_VARIABLE: Final = "SECATEUR_BUILD_LEVEL"

#: The environment variable that overrides the folder of libraries.
FOLDER_VARIABLE: Final = "SECATEUR_KERNELS_DIR"

#: Environment variables that select builds without libraries, each with a value that selects no such build.
OTHER_BUILDS: Final = {
    "NUMBA_DISABLE_JIT": "0",
    "SECATEUR_CHECKED": "0",
    "SECATEUR_EVALUATION": "",
    "SECATEUR_TRACING": "0",
}

#: Environment variables that restrict kernels: "0" forbids PEXT; "0" or "256" limits vectors to that many bits.
PEXT_VARIABLE: Final = "SECATEUR_PEXT"
VECTORS_VARIABLE: Final = "SECATEUR_VECTOR_BITS"

FORMAT: Final = 1
MARKER: Final = b"secateur-kernels "
CHECKSUM_BYTES: Final = 32
#: Libraries have less than this many bytes.
_MOST_BYTES: Final = 1 << 26

#: The C function that returns whether this processor can run the kernels.
RUNS_HERE: Final = "secateur_runs_here"

#: How to install Numba for this Python.
REMEDY: Final = remedy("jit")


class LibraryError(Exception):
    """Raised if a library is unusable; the message names the file and the reason."""


class KernelsMissingError(ImportError):
    """Raised if there is neither a usable library of kernels nor Numba; the message says what to install."""


class Parameter(NamedTuple):
    """A kernel's parameter: its kind ("record", "array" or "int"), bytes of a record or item, and array dimensions."""

    kind: str
    size: int = 0
    dimensions: int = 0


class Export(NamedTuple):
    """An entry point: the name of its C function, its parameters, and whether it returns an int64 or nothing."""

    symbol: str
    parameters: tuple[Parameter, ...]
    has_result: bool


@dataclass(frozen=True)
class Description:
    """A library's description: level, machine, hash of the sources, compiler, and a dict of entry points by name."""

    level: str
    machine: str
    sources: str
    compiler: str
    kernels: dict[str, Export]

    def encode(self) -> str:
        """Returns the description as JSON."""
        return json.dumps({**vars(self), "format": FORMAT})

    @staticmethod
    def decode(text: str) -> Description:
        """Returns the description that `encode` wrote as `text`. Raises ValueError if `text` has another format."""
        try:
            found = json.loads(text)
            if found.pop("format") != FORMAT:
                raise ValueError("has a description of an unknown format")
            for name, (symbol, parameters, has_result) in found["kernels"].items():
                found["kernels"][name] = Export(symbol, tuple(Parameter(*one) for one in parameters), has_result)
            return Description(**found)
        except (AttributeError, KeyError, TypeError):
            raise ValueError("has a malformed description") from None


def read_description(path: Path) -> Description:
    """Returns a library's description without loading the library. Raises LibraryError if the file is unusable."""
    try:
        data = read_bytes(path, _MOST_BYTES)
    except OSError as error:
        raise LibraryError(f"{path}: {reason(error)}") from None
    body, checksum = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
    if hashlib.sha256(body).digest() != checksum:
        raise LibraryError(f"{path}: damaged, or not a library of kernels")
    _, _, behind = body.partition(MARKER)
    try:
        return Description.decode(behind.partition(b"\0")[0].decode("ascii", "replace"))
    except ValueError as error:
        raise LibraryError(f"{path}: {error}") from None


def check_place(path: Path) -> None:
    """Raises LibraryError if `path` is a link, or neither missing, empty nor an undamaged library. Raises OSError."""
    if path.is_symlink():
        raise LibraryError(f"{path}: is a symbolic link; its target is left unchanged")
    if path.exists() and (path.stat().st_size or not path.is_file()):
        try:
            read_description(path)
        except LibraryError as error:
            raise LibraryError(f"{error}; it is left unchanged") from None


def fitting_description(path: Path, level: Level, sources: str | None, target: Target = HERE) -> Description:
    """Returns a library's description. Raises LibraryError if the file is unusable or does not fit.

    The library must be for `level` and the machines of `target`, and built from sources with the hash `sources` (None
    for any).
    """
    found = read_description(path)
    if (found.level, found.machine) != (level.name, target.machine):
        wanted = f"{level.name} on {target.machine}"
        raise LibraryError(f"{path}: built for {found.level} on {found.machine}, not for {wanted}")
    if sources is not None and found.sources != sources:
        raise LibraryError(f"{path}: built from different sources")
    return found


def _address_of_record(record: Any) -> tuple[int, ...]:
    # Importing NumPy takes a tenth of a second, which `--version` must not spend.
    import numpy as np

    return (np.frombuffer(record, np.uint8).ctypes.data,)


_PACKERS: Final[dict[str, Callable[[Any], tuple[int, ...]]]] = {
    "record": _address_of_record,
    "array": lambda array: (array.ctypes.data, *array.shape),
    "int": lambda number: (index(number),),
}


class BuiltKernel:
    """An entry point in a library, called like a kernel that Numba compiles. It runs without the GIL."""

    def __init__(self, export: Export, function: Any) -> None:
        self._parameters = export.parameters
        self._function = function
        types: list[Any] = []
        for parameter in export.parameters:
            types += [ctypes.c_int64] if parameter.kind == "int" else [ctypes.c_void_p]
            types += [ctypes.c_int64] * parameter.dimensions
        function.argtypes = types
        function.restype = ctypes.c_int64 if export.has_result else None

    def __call__(self, *arguments: Any) -> Any:
        """Calls the kernel and returns its result. An argument of the wrong type may crash the process."""
        values: list[int] = []
        for argument, parameter in zip(arguments, self._parameters, strict=True):
            values += _PACKERS[parameter.kind](argument)
        return self._function(*values)


class Library:
    """A loaded library of kernels."""

    def __init__(self, path: Path, level: Level, sources: str | None) -> None:
        """Checks the library as `fitting_description` does, and loads it. Raises LibraryError if either fails."""
        self.path = path
        self.level = level
        self.description = fitting_description(path, level, sources)
        try:
            self._code = ctypes.CDLL(str(path))
            self._runs_here = self._code[RUNS_HERE]
            self._kernels = {
                name: BuiltKernel(export, self._code[export.symbol])
                for name, export in self.description.kernels.items()
            }
        except (OSError, AttributeError, KeyError, TypeError) as error:
            raise LibraryError(f"{path}: cannot be loaded: {error}") from None

    def runs_here(self) -> bool:
        """Returns whether this processor has the instructions that the kernels use, and fast PEXT if they use PEXT."""
        return bool(self._runs_here())

    def kernel(self, function: Callable[..., Any]) -> Any:
        """Returns the entry point that `function` declares, or `not_built(function)` if the library lacks it."""
        found = self._kernels.get(kernel_name(function))
        return not_built(function) if found is None else functools.update_wrapper(found, function)


def kernel_name(function: Callable[..., Any]) -> str:
    """Returns an entry point's name in a library: its full name in the checkout, without an installation's prefix."""
    return f"{function.__module__.removeprefix('secateur.')}.{function.__qualname__}"


def not_built(function: Callable[..., Any]) -> Any:
    """Returns a substitute for a function that is not in the library; a call of the substitute raises RuntimeError."""

    @functools.wraps(function)
    def substitute(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError(
            f"the library of kernels has no entry point {kernel_name(function)}: to call this function from Python, "
            f"set {KERNELS_VARIABLE}={JIT} and install Numba ({REMEDY})"
        )

    return substitute


def folder() -> Path:
    """Returns the folder of libraries. Raises ValueError if FOLDER_VARIABLE names an unknown user's home."""
    named = os.environ.get(FOLDER_VARIABLE)
    return user_path(named).absolute() if named else PROJECT_ROOT / "engine" / "kernels"


def build_environment(level: Level) -> dict[str, str]:
    """Returns the environment variables for a process that builds the library of a level."""
    return {
        KERNELS_VARIABLE: BUILD,
        LEVEL_VARIABLE: level.name,
        # For another kind of processor, Numba compiles only to LLVM's intermediate code.
        "NUMBA_CPU_NAME": level.cpu if level in LEVELS else "generic",
        "NUMBA_CPU_FEATURES": level.signed_features if level in LEVELS else "",
        PEXT_VARIABLE: "",
        VECTORS_VARIABLE: "",
        **OTHER_BUILDS,
    }


def library_path(level: Level, within: Path, target: Target = HERE) -> Path:
    """Returns the path of the library for a level of a platform in the folder `within`."""
    return within / f"{level.name}{target.suffix}"


def is_any_built() -> bool:
    """Returns whether the folder of libraries contains a library for any level, usable or not."""
    return any(library_path(level, folder()).exists() for level in LEVELS)


def _is_allowed(level: Level, wanted: str) -> bool:
    """Returns whether `wanted` is this level's name or empty, and the environment allows the level's instructions."""
    if (wanted and level.name != wanted) or (level.pext and os.environ.get(PEXT_VARIABLE) == "0"):
        return False
    widest = os.environ.get(VECTORS_VARIABLE)
    return widest not in ("0", "256") or level.vector_bits <= int(widest)


def compile_here() -> None:
    """Makes Numba compile the kernels of this process and its children. Raises RuntimeError if a library is in use."""
    jit = sys.modules.get("engine.compiler.jit")
    if jit is not None and jit.AHEAD_OF_TIME:
        raise RuntimeError(
            "this process already uses kernels compiled ahead of time, with the built-in evaluation: choose "
            "your own evaluation or import secateur.eval.api before you create the first Engine, or set "
            f"{KERNELS_VARIABLE}={JIT}"
        )
    os.environ[KERNELS_VARIABLE] = JIT


def choose() -> tuple[Library | None, tuple[str, ...]]:
    """Returns the best usable library or None, and remarks on any problems. Raises ValueError as `folder` does."""
    wanted = os.environ.get(KERNELS_VARIABLE, "")
    if wanted in (JIT, BUILD) or any(os.environ.get(name, "0") not in ("", "0") for name in OTHER_BUILDS):
        return None, ()
    names = [level.name for level in LEVELS]
    if wanted and wanted not in names:
        return None, (f"{KERNELS_VARIABLE}={wanted}: unknown; choose from {', '.join((JIT, *names))}",)
    place = folder()
    allowed = [(level, library_path(level, place)) for level in LEVELS if _is_allowed(level, wanted)]
    present = [(level, path) for level, path in allowed if path.exists()]
    # Reading all sources takes time, so do it only if there is a library to compare them with.
    sources = source_hash() if present else None
    remarks: list[str] = []
    for level, path in present:
        try:
            library = Library(path, level, sources)
        except LibraryError as error:
            remarks.append(f"kernels not used: {error}")
            continue
        if library.runs_here():
            return library, tuple(remarks)
    if not remarks:
        asked = f"{KERNELS_VARIABLE}={wanted}: " if wanted else ""
        remarks.append(f"{asked}no kernels compiled ahead of time for this processor in {place}")
    return None, tuple(remarks)
