"""Writes the C bindings of a library of kernels, and links them with the kernels' machine code.

The C compiler of this machine links for this machine. Zig, which contains the linkers of all platforms, links for any.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Final

from engine.compiler.levels import HERE, SLOW_PEXT_FAMILIES, Level, Target
from engine.compiler.library import MARKER, RUNS_HERE, Description, Export

#: The head of the generated C file.
_HEAD: Final = """\
#include <stddef.h>
#include <stdint.h>
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
"""

#: By feature, the leaf and the bit of CPUID that report it: in ECX of leaf 1, in EBX of leaf 7. A processor with all of
#: a level's features that are listed here also has the level's other features.
_CPUID: Final = {
    "fma": (1, 12),
    "sse4.2": (1, 20),
    "popcnt": (1, 23),
    "bmi": (7, 3),
    "avx2": (7, 5),
    "bmi2": (7, 8),
    "avx512f": (7, 16),
    "avx512dq": (7, 17),
    "avx512cd": (7, 28),
    "avx512bw": (7, 30),
    "avx512vl": (7, 31),
}

#: C functions that test an x86-64 processor. The operating system must save the registers in the mask `state` of XCR0.
_PROCESSOR: Final = """\
static void cpuid(uint32_t leaf, uint32_t found[4]) {
    __asm__ volatile("cpuid" : "=a"(found[0]), "=b"(found[1]), "=c"(found[2]), "=d"(found[3]) : "a"(leaf), "c"(0));
}
static int has(uint32_t first, uint32_t second, uint32_t state) {
    uint32_t zero[4], one[4], seven[4] = {0, 0, 0, 0}, low, high;
    cpuid(0, zero);
    cpuid(1, one);
    if (zero[0] >= 7) cpuid(7, seven);
    if ((one[2] & first) != first || (seven[1] & second) != second) return 0;
    if (!state) return 1;
    if (!(one[2] >> 27 & 1)) return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & state) == state;
}
static inline int is_amd_of(uint32_t family) {
    uint32_t zero[4], one[4];
    cpuid(0, zero);
    cpuid(1, one);
    int is_amd = zero[1] == 0x68747541 && zero[3] == 0x69746e65 && zero[2] == 0x444d4163;
    return is_amd && (one[0] >> 8 & 15) + (one[0] >> 20 & 255) == family;
}"""

#: The memory functions that the kernels call, for libraries without a C library.
_MEMORY: Final = """
typedef uint64_t wide __attribute__((vector_size(16), aligned(1), may_alias));
void *memcpy(void *restrict to, const void *restrict from, size_t count) {
    char *target = to;
    const char *source = from;
    for (; count >= 16; count -= 16, target += 16, source += 16) *(wide *)target = *(const wide *)source;
    while (count--) *target++ = *source++;
    return to;
}
void *memset(void *to, int value, size_t count) {
    char *target = to;
    uint64_t word = 0x0101010101010101u * (uint8_t)value;
    wide words = {word, word};
    for (; count >= 16; count -= 16, target += 16) *(wide *)target = words;
    while (count--) *target++ = (char)value;
    return to;
}"""

#: What a Windows library needs instead of the C library: the function that Windows calls when it loads the library, and
#: the function that touches each page of a large stack frame (of RAX bytes), so that Windows extends the stack.
_WINDOWS: Final = """
int DllMainCRTStartup(void *library, uint32_t why, void *reserved) { return 1; }
__asm__(
    ".globl ___chkstk_ms\\n"
    "___chkstk_ms:\\n"
    "  push %rax\\n"
    "  push %rcx\\n"
    "  lea 24(%rsp), %rcx\\n"
    "1: cmp $4096, %rax\\n"
    "  jb 2f\\n"
    "  sub $4096, %rcx\\n"
    "  orl $0, (%rcx)\\n"
    "  sub $4096, %rax\\n"
    "  jmp 1b\\n"
    "2: sub %rax, %rcx\\n"
    "  orl $0, (%rcx)\\n"
    "  pop %rcx\\n"
    "  pop %rax\\n"
    "  ret\\n");"""


class BuildError(Exception):
    """Raised if a library cannot be built; the message says why."""


def bindings(description: Description, level: Level, target: Target = HERE, with_zig: bool = False) -> str:
    """Returns the C source of the bindings: description, processor check, and a function for each entry point.

    A library that Zig links for Linux or Windows needs no C library: the source contains the memory functions, too.
    """
    text = json.dumps(MARKER.decode() + description.encode())
    parts = [_HEAD, f"EXPORT const char secateur_kernels[] = {text};", _runs_here(level)]
    if with_zig and target.system != "darwin":
        parts.append(_MEMORY)
    if with_zig and target.system == "win32":
        parts.append(_WINDOWS)
    parts += [_binding(export) for export in description.kernels.values()]
    return "\n".join(parts) + "\n"


def _runs_here(level: Level) -> str:
    """Returns the code of a C function that tests for the level's features, and for fast PEXT if this is needed."""
    tested = {name: place for name, place in _CPUID.items() if name in level.features}
    if not tested:
        return f"EXPORT int {RUNS_HERE}(void) {{ return 1; }}"
    masks = {leaf: sum(1 << bit for at, bit in tested.values() if at == leaf) for leaf in (1, 7)}
    state = 0xE6 if "avx512f" in tested else 0x06 if "avx2" in tested else 0
    slow = " || ".join(f"is_amd_of({family})" for family in SLOW_PEXT_FAMILIES) if level.pext else "0"
    test = f"has({masks[1]}u, {masks[7]}u, {state}u) && !({slow})"
    return f"{_PROCESSOR}\nEXPORT int {RUNS_HERE}(void) {{ return {test}; }}"


def kernel_symbol(export: Export) -> str:
    """Returns the name of an entry point's machine code."""
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
    kernel = kernel_symbol(export)
    result, last = ("int64_t", "return result;") if export.has_result else ("void", "")
    return f"""
extern int32_t {kernel}({", ".join(["int64_t *", "void **", *declared])});
EXPORT {result} {export.symbol}({", ".join(taken)}) {{
    int64_t result = 0;
    void *exception = 0;
    {kernel}({", ".join(["&result", "&exception", *passed])});
    {last}
}}"""


def linker(target: Target = HERE, with_zig: bool = False) -> list[str]:
    """Returns the command that links for a platform, as words: Zig, or this machine's C compiler from CC or else `cc`.

    Raises BuildError if it is missing; the message says what to install.
    """
    if with_zig:
        if not target.zig:
            raise BuildError(f"Zig cannot link for {target.name}")
        if util.find_spec("ziglang") is None:
            raise BuildError(f"needs the package ziglang to link: run '{sys.executable} -m pip install ziglang'")
        return [sys.executable, "-m", "ziglang", "cc", "-target", target.zig]
    command = shlex.split(os.environ.get("CC", "cc"))
    if not command or shutil.which(command[0]) is None:
        raise BuildError(f"needs a C compiler: '{' '.join(command)}' not found (set CC)")
    return command


def link(code: bytes, source: str, folder: Path, name: str, target: Target = HERE, with_zig: bool = False) -> Path:
    """Links object code with C source into the shared library `name` in `folder`; returns the library's path.

    Raises BuildError if the compiler is missing or fails, for example because the code needs other libraries.
    """
    compiler = linker(target, with_zig)
    (folder / "kernels.o").write_bytes(code)
    (folder / "bindings.c").write_text(source, encoding="ascii")
    options = ["-shared", "-O2", "-fvisibility=hidden"]
    if target.system != "win32":
        options.append("-fPIC")
    if target.system == "linux":
        options += ["-Wl,--no-undefined", "-Wl,--strip-all", "-Wl,-z,noexecstack"]
    elif with_zig:
        options.append("-s")
    if with_zig and target.system != "darwin":
        options += ["-nostdlib", "-fno-builtin"]
    if with_zig and target.system == "darwin":
        options.append(f"-Wl,-install_name,@rpath/{name}")
    # Only relative paths: a linker may write them into the library.
    command = [*compiler, *options, "-o", name, "bindings.c", "kernels.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(compiler)} failed: {done.stderr.strip() or done.returncode}")
    return folder / name
