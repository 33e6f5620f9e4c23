"""Builds a library of kernels: machine code for one processor level, linked with C bindings.

Numba compiles each entry point into an LLVM module with all functions that the entry point calls. The builder links
these modules into one, in which only the entry points are visible. LLVM compiles this module to a position-independent
object file. The C compiler links the object file with the bindings, a few lines of generated C for each entry point:

    int64_t secateur_0(void *a0, void *a1, int64_t a1_0, int64_t a2)    a record, a one-dimensional array, a number

Numba's functions return a status, take pointers to their result and to an exception, and take an array as seven or
more values. Kernels in a library raise no exceptions, so the status means success.

The environment must name the target processor before Numba is imported (`engine.compiler.library.build_environment`).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import llvmlite.binding as llvm
import numba
from numba import types

from engine.compiler import numba_hooks
from engine.compiler.jit import CPU_FEATURES, CPU_NAME, DeclaredKernel
from engine.compiler.levels import SLOW_PEXT_CPUS, Level
from engine.compiler.library import MARKER, RUNS_HERE, Description, Export, LibraryError, Parameter, read_description
from engine.compiler.sources import source_hash
from engine.files import open_regular, reason, replace_file, shown

#: The head of the generated C file.
_HEAD: Final = """\
#include <stdint.h>
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
"""


#: The process that started this one.
_PARENT: Final = os.getppid()


class BuildError(Exception):
    """Raised if a library cannot be built; the message says why."""


def write_library(kernels: Sequence[DeclaredKernel], level: Level, path: Path) -> None:
    """Compiles `kernels` to a library at `path`. Each one must have been called, so that its argument types are known.

    Atomically replaces an older library. Raises OSError, or BuildError if the build or `check_place` fails.
    """
    if level.cpu != CPU_NAME or not all(CPU_FEATURES.get(feature, False) for feature in level.features):
        raise BuildError(f"this process compiles for {CPU_NAME}, not for {level.name}")
    linker()
    exports, symbols, modules = {}, {}, []
    for number, kernel in enumerate(kernels):
        if kernel.types is None:
            raise BuildError(f"{kernel.name} was never called, so its argument types are unknown")
        try:
            signature, symbol, module = numba_hooks.compiled(kernel.dispatcher, kernel.types)
        except ValueError as error:
            raise BuildError(str(error)) from None
        exports[kernel.name] = export = _export(kernel.name, f"secateur_{number}", signature)
        symbols[symbol] = _kernel_symbol(export)
        modules.append(module)
    compiler = f"Numba {numba.__version__}"
    description = Description(level.name, platform.machine(), source_hash() or "", compiler, exports)
    code = _object_code(modules, symbols, level)
    with tempfile.TemporaryDirectory() as name:
        body = link(code, bindings(description, level), Path(name)).read_bytes()
    check_place(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, body + hashlib.sha256(body).digest())


def check_place(path: Path) -> None:
    """Raises BuildError if `path` is neither missing, empty nor an undamaged library, or if the parent has ended."""
    if os.getppid() != _PARENT:
        raise BuildError("the command that builds the kernels has ended")
    try:
        with open_regular(path) as file:
            is_empty = not file.read(1)
        if not is_empty:
            read_description(path)
    except FileNotFoundError:
        return
    except LibraryError as error:
        raise BuildError(f"{error}; it is left unchanged") from None
    except OSError as error:
        raise BuildError(f"{shown(path)}: {reason(error)}") from None


def _export(name: str, symbol: str, signature: Any) -> Export:
    unliteral: Any = types.unliteral
    returned = unliteral(signature.return_type)
    if returned not in (types.none, types.int64):
        raise BuildError(f"{name} returns {returned}; expected int64 or nothing")
    return Export(symbol, tuple(_parameter(name, one) for one in signature.args), returned != types.none)


def _parameter(name: str, found: Any) -> Parameter:
    if isinstance(found, types.Record):
        return Parameter("record", found.size)
    if isinstance(found, types.Array) and found.layout == "C":
        item = found.dtype
        return Parameter("array", item.size if isinstance(item, types.Record) else item.bitwidth // 8, found.ndim)
    if found == types.int64:
        return Parameter("int")
    raise BuildError(f"{name} takes {found}; expected a record, a C-contiguous array or int64")


def _object_code(modules: Sequence[Any], symbols: dict[str, str], level: Level) -> bytes:
    """Links and compiles LLVM modules; returns the object code. `symbols` maps entry points' names to new names."""
    if not modules:
        raise BuildError("there are no kernels to compile")
    module, *others = modules
    for other in others:
        module.link_in(other)
    for value in (*module.functions, *module.global_variables):
        if value.is_declaration or value.name.startswith("llvm."):
            continue
        if value.name in symbols:
            value.linkage, value.visibility, value.name = "external", "hidden", symbols[value.name]
        else:
            value.linkage = "internal"
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=level.cpu, features=level.signed_features, opt=3, reloc="pic", codemodel="default"
    )
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes = llvm.create_new_module_pass_manager()
    # Each module has its own copies of tables and functions: remove duplicates and unused ones.
    passes.add_global_opt_pass()
    passes.add_constant_merge_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    module.verify()
    return bytes(machine.emit_object(module))


def bindings(description: Description, level: Level) -> str:
    """Returns the C source of the bindings: description, processor check, and a function for each entry point."""
    text = json.dumps(MARKER.decode() + description.encode())
    parts = [_HEAD, f"EXPORT const char secateur_kernels[] = {text};", _runs_here(level)]
    parts += [_binding(export) for export in description.kernels.values()]
    return "\n".join(parts) + "\n"


def _runs_here(level: Level) -> str:
    """Returns the code of a C function that tests for the level's features, and for fast PEXT if this is needed."""
    if not level.asked:
        return f"EXPORT int {RUNS_HERE}(void) {{ return 1; }}"
    terms = [f'__builtin_cpu_supports("{feature}")' for feature in level.asked]
    if level.pext:
        terms += [f'!__builtin_cpu_is("{cpu}")' for cpu in SLOW_PEXT_CPUS]
    return f"EXPORT int {RUNS_HERE}(void) {{\n    __builtin_cpu_init();\n    return {' && '.join(terms)};\n}}"


def _kernel_symbol(export: Export) -> str:
    return f"kernel_of_{export.symbol}"


def _binding(export: Export) -> str:
    """Returns the code of the C function that calls a kernel with Numba's calling convention."""
    taken, passed, declared = [], [], []
    for number, parameter in enumerate(export.parameters):
        argument = f"a{number}"
        if parameter.kind == "int":
            taken.append(f"int64_t {argument}")
            passed.append(argument)
            declared.append("int64_t")
            continue
        taken.append(f"void *{argument}")
        if parameter.kind == "record":
            passed.append(argument)
            declared.append("void *")
            continue
        # Numba passes an array as two nulls (the array does not own its memory), the number of items, the item size,
        # the address, the extents, and the strides in bytes.
        extents = [f"{argument}_{axis}" for axis in range(parameter.dimensions)]
        taken += [f"int64_t {extent}" for extent in extents]
        strides = [" * ".join([str(parameter.size), *extents[axis + 1 :]]) for axis in range(parameter.dimensions)]
        passed += ["0", "0", " * ".join(extents), str(parameter.size), argument, *extents, *strides]
        declared += ["void *", "void *", "int64_t", "int64_t", "void *", *["int64_t"] * (2 * parameter.dimensions)]
    kernel = _kernel_symbol(export)
    result, last = ("int64_t", "return result;") if export.has_result else ("void", "")
    return f"""
extern int32_t {kernel}({", ".join(["int64_t *", "void **", *declared])});
EXPORT {result} {export.symbol}({", ".join(taken)}) {{
    int64_t result = 0;
    void *exception = 0;
    {kernel}({", ".join(["&result", "&exception", *passed])});
    {last}
}}"""


def linker() -> list[str]:
    """Returns the C compiler's command, from CC or else `cc`, as words. Raises BuildError if there is no compiler."""
    command = shlex.split(os.environ.get("CC", "cc"))
    if not command or shutil.which(command[0]) is None:
        raise BuildError(f"needs a C compiler: '{' '.join(command)}' not found (set CC)")
    return command


def link(code: bytes, source: str, folder: Path) -> Path:
    """Links object code with C source into a shared library in `folder`; returns the library's path.

    Raises BuildError if the compiler is missing or fails, for example because the code needs other libraries.
    """
    compiler = linker()
    kernels, stub, linked = folder / "kernels.o", folder / "bindings.c", folder / "linked"
    kernels.write_bytes(code)
    stub.write_text(source, encoding="ascii")
    options = ["-shared", "-O2", "-fvisibility=hidden"]
    if os.name == "posix":
        options.append("-fPIC")
    if sys.platform == "linux":
        options += ["-Wl,--no-undefined", "-Wl,--strip-all", "-Wl,-z,noexecstack"]
    command = [*compiler, *options, "-o", str(linked), str(stub), str(kernels)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{command[0]} failed: {done.stderr.strip() or done.returncode}")
    return linked
