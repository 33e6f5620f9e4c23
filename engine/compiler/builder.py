"""Builds libraries of kernels: machine code for one processor level, linked with C bindings, for one or more platforms.

Numba compiles each entry point into an LLVM module with all functions that the entry point calls. The builder links
these modules into one, in which only the entry points are visible. For each platform, LLVM compiles this module to a
position-independent object file. The C compiler of this machine, or Zig for any platform, links the object file with
the bindings, a few lines of generated C for each entry point:

    int64_t secateur_0(void *a0, void *a1, int64_t a1_0, int64_t a2)    a record, a one-dimensional array, a number

Numba's functions return a status, take pointers to their result and to an exception, and take an array as seven or
more values. Kernels in a library raise no exceptions, so the status means success.

The environment must name the target processor before Numba is imported (`engine.compiler.library.build_environment`).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import llvmlite.binding as llvm
import numba
from numba import types

from engine.compiler import library, numba_hooks
from engine.compiler.jit import CPU_FEATURES, CPU_NAME, DeclaredKernel
from engine.compiler.levels import LEVELS, Level, Target
from engine.compiler.library import Description, Export, LibraryError, Parameter
from engine.compiler.linking import BuildError, bindings, kernel_symbol, link, linker
from engine.compiler.sources import source_hash
from engine.files import reason, replace_file, shown

#: The process that started this one.
_PARENT: Final = os.getppid()


def write_libraries(
    kernels: Sequence[DeclaredKernel], level: Level, paths: Mapping[Target, Path], with_zig: bool
) -> Iterator[tuple[Target, str]]:
    """Compiles `kernels` to a library for each platform in `paths`. Each kernel must have been called, so that its
    argument types are known. Links with Zig if `with_zig`, else with this machine's C compiler.

    Yields each platform with "", or with the reason why its library was not written. Atomically replaces older
    libraries. Raises BuildError if no library can be built.
    """
    if level.cpu != CPU_NAME or not all(CPU_FEATURES.get(feature, False) for feature in level.features):
        raise BuildError(f"this process compiles for {CPU_NAME}, not for {level.name}")
    exports, symbols, modules = {}, {}, []
    # Numba optimises for the processors of this machine only.
    machine = None if level in LEVELS else _machine(level, next(iter(paths)))
    for number, kernel in enumerate(kernels):
        if kernel.types is None:
            raise BuildError(f"{kernel.name} was never called, so its argument types are unknown")
        try:
            signature, symbol, module = numba_hooks.compiled(kernel.dispatcher, kernel.types, machine)
        except ValueError as error:
            raise BuildError(str(error)) from None
        exports[kernel.name] = export = _export(kernel.name, f"secateur_{number}", signature)
        symbols[symbol] = kernel_symbol(export)
        modules.append(module)
    if not modules:
        raise BuildError("there are no kernels to compile")
    module = _joined(modules, symbols)
    for target, path in paths.items():
        try:
            linker(target, with_zig)
            description = Description(
                level.name, target.machine, source_hash() or "", f"Numba {numba.__version__}", exports
            )
            code = _object_code(module, level, target)
            with tempfile.TemporaryDirectory() as name:
                source = bindings(description, level, target, with_zig)
                body = link(code, source, Path(name), path.name, target, with_zig).read_bytes()
            check_place(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, body + hashlib.sha256(body).digest())
        except BuildError as error:
            yield target, str(error)
        except OSError as error:
            yield target, f"{shown(error.filename or path)}: {reason(error)}"
        else:
            yield target, ""


def check_parent() -> None:
    """Raises BuildError if the process that started this one has ended."""
    if os.getppid() != _PARENT:
        raise BuildError("the command that builds the kernels has ended")


def check_place(path: Path) -> None:
    """Raises BuildError if `library.check_place` refuses `path`, or if the parent has ended."""
    check_parent()
    try:
        library.check_place(path)
    except (LibraryError, OSError) as error:
        raise BuildError(str(error)) from None


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


def _joined(modules: Sequence[Any], symbols: dict[str, str]) -> bytes:
    """Links LLVM modules; returns the bitcode. `symbols` maps entry points' names to new names."""
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
    return bytes(module.as_bitcode())


def _machine(level: Level, target: Target) -> Any:
    """Returns LLVM's target machine for a level of a platform."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target.triple or llvm.get_process_triple()).create_target_machine(
        cpu=level.cpu, features=level.signed_features, opt=3, reloc="pic", codemodel="default"
    )


def _object_code(bitcode: bytes, level: Level, target: Target) -> bytes:
    """Compiles a module of LLVM to the object code for a level of a platform."""
    machine = _machine(level, target)
    module = llvm.parse_bitcode(bitcode)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes = llvm.create_new_module_pass_manager()
    # Each module has its own copies of tables and functions: remove duplicates and unused ones.
    passes.add_global_opt_pass()
    passes.add_constant_merge_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, builder)
    module.verify()
    return bytes(machine.emit_object(module))
