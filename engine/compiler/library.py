"""Kernels compiled ahead of time: chooses the library for this process, and calls into it from Python.

`secateur kernels build` compiles every entry point, with all that it calls, for each level of processor
(`engine.compiler.levels`) and links one library for each level (`engine.compiler.builder`). A library holds

    kernels       the machine code, as Numba makes it; it needs only the C library's memory functions
    bindings      for each entry point a C function that takes pointers and whole numbers, and returns one
    description   JSON after MARKER: level, machine, hash of the kernels' sources, and the table of its functions
    checksum      at the end of the file, after the linker's output: SHA-256 of all before it, 32 bytes

On its import, `engine.compiler.jit` loads the best library that is undamaged, built from exactly these sources, and fit
for this processor. Its kernels take the same arguments as those that Numba compiles, and give the same results. Python
cannot then call functions that only kernels call. Without such a library Numba compiles the kernels.

`SECATEUR_KERNELS` overrides the choice: `jit` for Numba, or the name of a level.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any, Final, NamedTuple

from engine.compiler.levels import LEVELS, Level
from engine.compiler.sources import PROJECT_ROOT, source_hash
from engine.extras import remedy
from engine.files import user_path

#: Environment variable that chooses the kernels: JIT, or the name of a level. BUILD is for the builder's own processes.
KERNELS_VARIABLE: Final = "SECATEUR_KERNELS"
JIT: Final = "jit"
BUILD: Final = "build"

#: Environment variable that overrides the folder of libraries, and the default folder.
FOLDER_VARIABLE: Final = "SECATEUR_KERNELS_DIR"
DEFAULT_FOLDER: Final = PROJECT_ROOT / "engine" / "kernels"

#: Variables that ask for kernels that no library has, with the values that do not.
OTHER_BUILDS: Final = {
    "NUMBA_DISABLE_JIT": "0",
    "SECATEUR_CHECKED": "0",
    "SECATEUR_EVALUATION": "",
    "SECATEUR_TRACING": "0",
}

#: Variables that restrict what kernels use: "0" forbids PEXT; "0" or "256" limits the vectors to that many bits.
PEXT_VARIABLE: Final = "SECATEUR_PEXT"
VECTORS_VARIABLE: Final = "SECATEUR_VECTOR_BITS"

SUFFIX: Final = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

FORMAT: Final = 1
MARKER: Final = b"secateur-kernels "
CHECKSUM_BYTES: Final = 32

#: The C function that returns whether this processor can run the kernels.
RUNS_HERE: Final = "secateur_runs_here"

#: How to install the compiler of kernels for this Python.
REMEDY: Final = remedy("jit")


class LibraryError(Exception):
    """An unusable library; the message names the file and the reason."""


class KernelsMissingError(ImportError):
    """There is neither a library of kernels nor a compiler; the message says what to install."""


class Parameter(NamedTuple):
    """A parameter of a kernel: a record, an array or an int; `size` is that of the record or an item, in bytes."""

    kind: str
    size: int = 0
    dimensions: int = 0


class Export(NamedTuple):
    """An entry point: the C function's name, its parameters, and whether it returns a number (int64) or nothing."""

    symbol: str
    parameters: tuple[Parameter, ...]
    has_result: bool


@dataclass(frozen=True)
class Description:
    """A library's description: its level, machine, hash of its sources, compiler, and entry points by name."""

    level: str
    machine: str
    sources: str
    compiler: str
    kernels: dict[str, Export]

    def encode(self) -> str:
        """The description as JSON."""
        return json.dumps({**vars(self), "format": FORMAT})

    @staticmethod
    def decode(text: str) -> Description:
        """The inverse of `encode`. Raises ValueError for another format."""
        found = json.loads(text)
        if found.pop("format") != FORMAT:
            raise ValueError("has no description that is understood here")
        for name, (symbol, parameters, has_result) in found["kernels"].items():
            found["kernels"][name] = Export(symbol, tuple(Parameter(*one) for one in parameters), has_result)
        return Description(**found)


def read_description(path: Path) -> Description:
    """Reads the description in a library file, without loading the library. Raises LibraryError for a damaged file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LibraryError(f"{path}: {error.strerror or error}") from None
    body, checksum = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
    if hashlib.sha256(body).digest() != checksum:
        raise LibraryError(f"{path}: is damaged, or no library of kernels")
    _, _, behind = body.partition(MARKER)
    try:
        return Description.decode(behind.partition(b"\0")[0].decode("ascii", "replace"))
    except ValueError as error:
        raise LibraryError(f"{path}: {error}") from None


def fitting_description(path: Path, level: Level, sources: str | None) -> Description:
    """`read_description` of a library for `level` on this kind of machine, with that hash of its sources (None: any).

    Raises LibraryError for any other library.
    """
    found = read_description(path)
    if (found.level, found.machine) != (level.name, platform.machine()):
        raise LibraryError(f"{path}: is for {found.level} on {found.machine}")
    if sources is not None and found.sources != sources:
        raise LibraryError(f"{path}: is of other sources than these")
    return found


def _address_of_record(record: Any) -> tuple[int, ...]:
    # The import of NumPy takes a tenth of a second, which `--version` can avoid.
    import numpy as np

    return (np.frombuffer(record, np.uint8).ctypes.data,)


_PACKERS: Final[dict[str, Callable[[Any], tuple[int, ...]]]] = {
    "record": _address_of_record,
    "array": lambda array: (array.ctypes.data, *array.shape),
    "int": lambda number: (index(number),),
}


class BuiltKernel:
    """An entry point in a library, called like the kernel that Numba would compile; it runs without the GIL."""

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
        """Calls the kernel. The caller passes arguments of the right types: a wrong one may crash the process."""
        values: list[int] = []
        for argument, parameter in zip(arguments, self._parameters, strict=True):
            values += _PACKERS[parameter.kind](argument)
        return self._function(*values)


class Library:
    """A loaded library."""

    def __init__(self, path: Path, level: Level, sources: str | None) -> None:
        """As `fitting_description`, and loads the library."""
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
        except (OSError, AttributeError, KeyError) as error:
            raise LibraryError(f"{path}: cannot be loaded: {error}") from None

    def runs_here(self) -> bool:
        """Whether this processor has the instructions that the kernels use."""
        return bool(self._runs_here())

    def kernel(self, function: Callable[..., Any]) -> Any:
        """The entry point that `function` declares; if the library lacks it, a substitute that raises when called."""
        found = self._kernels.get(kernel_name(function))
        return not_built(function) if found is None else functools.update_wrapper(found, function)


def kernel_name(function: Callable[..., Any]) -> str:
    """The name of an entry point in a library: its full name in the checkout, without an installation's prefix."""
    return f"{function.__module__.removeprefix('secateur.')}.{function.__qualname__}"


def not_built(function: Callable[..., Any]) -> Any:
    """A substitute for a function that the library inlined into its kernels or lacks; a call raises RuntimeError."""

    @functools.wraps(function)
    def substitute(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError(
            f"{kernel_name(function)} cannot be called from Python where kernels were compiled ahead of time: "
            f"set {KERNELS_VARIABLE}={JIT} and have Numba ({REMEDY})"
        )

    return substitute


def folder() -> Path:
    """The folder of libraries. Raises ValueError if FOLDER_VARIABLE names the folder of an unknown user."""
    named = os.environ.get(FOLDER_VARIABLE)
    return user_path(named).absolute() if named else DEFAULT_FOLDER


def build_environment(level: Level) -> dict[str, str]:
    """The environment variables of a process that builds the library of a level."""
    return {
        KERNELS_VARIABLE: BUILD,
        "NUMBA_CPU_NAME": level.cpu,
        "NUMBA_CPU_FEATURES": level.signed_features,
        PEXT_VARIABLE: str(int(level.pext)),
        VECTORS_VARIABLE: "",
        **OTHER_BUILDS,
    }


def library_path(level: Level, within: Path) -> Path:
    """The file of a level's library in the folder `within`."""
    return within / f"{level.name}{SUFFIX}"


def is_any_built() -> bool:
    """Whether the folder of libraries has one of any level, usable or not."""
    return any(library_path(level, folder()).exists() for level in LEVELS)


def _is_allowed(level: Level, wanted: str) -> bool:
    """Whether the environment allows the instructions that the kernels of a level use."""
    if (wanted and level.name != wanted) or (level.pext and os.environ.get(PEXT_VARIABLE) == "0"):
        return False
    widest = os.environ.get(VECTORS_VARIABLE)
    return widest not in ("0", "256") or level.vector_bits <= int(widest)


def compile_here() -> None:
    """Makes this process, and those that it starts, compile their kernels. Raises RuntimeError when it is too late."""
    jit = sys.modules.get("engine.compiler.jit")
    if jit is not None and jit.AHEAD_OF_TIME:
        raise RuntimeError(
            "this process has kernels that were compiled ahead of time, which evaluate in their own way: name the "
            f"evaluation, or import secateur.eval.api, before the first Engine is made, or set {KERNELS_VARIABLE}={JIT}"
        )
    os.environ[KERNELS_VARIABLE] = JIT


def choose() -> tuple[Library | None, tuple[str, ...]]:
    """The library for this process, None when Numba is to compile; and remarks about unusable or missing libraries."""
    wanted = os.environ.get(KERNELS_VARIABLE, "")
    if wanted in (JIT, BUILD) or any(os.environ.get(name, "0") not in ("", "0") for name in OTHER_BUILDS):
        return None, ()
    names = [level.name for level in LEVELS]
    if wanted and wanted not in names:
        return None, (f"{KERNELS_VARIABLE}={wanted}: there is {', '.join((JIT, *names))}",)
    place = folder()
    allowed = [(level, library_path(level, place)) for level in LEVELS if _is_allowed(level, wanted)]
    present = [(level, path) for level, path in allowed if path.exists()]
    # Reading all sources is worth it only if there is a library to compare them with.
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
        remarks.append(f"{asked}no kernels that were compiled ahead of time for this processor in {place}")
    return None, tuple(remarks)
