"""What may go into a library of kernels, and what is said of the rest."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.compiler.builder import check_place
from engine.compiler.levels import HERE, LEVELS, Level, levels_of
from engine.compiler.library import MARKER, BuiltKernel, Description, Export, Parameter, build_environment, library_path
from engine.compiler.linking import BuildError, bindings, link
from tests.kernels.conftest import build

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

DESCRIPTION = Description(
    "486",
    "i486",
    "0" * 20,
    'a "compiler"',
    {"a.b": Export("secateur_0", (Parameter("record", 8), Parameter("array", 4, 2), Parameter("int")), True)},
)

KERNEL = """
#include <stdint.h>
int32_t kernel_of_secateur_0(int64_t *result, void **exception, int64_t *record, void *owner, void *parent,
                             int64_t count, int64_t size, int32_t *items, int64_t rows, int64_t columns,
                             int64_t row, int64_t column, int64_t number) {
    if (owner || parent) return 1;
    *result = record[0] + count * 10 + size * 100 + items[columns + 1] * 1000 + rows * 10000 + columns * 100000
        + row * 1000000 + column * 100000000 + number;
    return 0;
}
"""


def object_code(source: str, folder: Path) -> bytes:
    """The bytes of an object file."""
    file, result = folder / "code.c", folder / "code.o"
    file.write_text(source, encoding="ascii")
    subprocess.run(["cc", "-c", "-fPIC", "-O1", "-o", str(result), str(file)], check=True)
    return result.read_bytes()


@needs_cc
def test_arguments_arrive_as_numba_passes_them(tmp_path: Path) -> None:
    level = levels_of("i486")[0]
    linked = link(object_code(KERNEL, tmp_path), bindings(DESCRIPTION, level), tmp_path, "linked")
    library = ctypes.CDLL(str(linked))
    assert library.secateur_runs_here() == 1
    kernel = BuiltKernel(DESCRIPTION.kernels["a.b"], library.secateur_0)
    record = np.zeros(1, [("value", np.int64)])[0]
    record["value"] = 3
    items = np.arange(6, dtype=np.int32).reshape(2, 3)
    # 6 items of 4 bytes; the second row's second is 4; 2 rows of 3 columns; strides of 12 and 4 bytes.
    assert kernel(record, items, -2) == 3 + 60 + 400 + 4000 + 20_000 + 300_000 + 12_000_000 + 400_000_000 - 2
    assert kernel(record, items, -(1 << 40)) < -(1 << 39)


@needs_cc
def test_code_that_needs_more_than_the_c_library_is_not_linked(tmp_path: Path) -> None:
    code = object_code("void NRT_incref(void); int kernel(void) { NRT_incref(); return 1; }", tmp_path)
    with pytest.raises(BuildError, match=r"(?s)cc failed: .*NRT_incref"):
        link(code, "", tmp_path, "linked")


def test_without_a_compiler_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    with pytest.raises(BuildError, match=r"needs a C compiler: 'no-such-compiler -O2' not found \(set CC\)"):
        link(b"", "", tmp_path, "linked")


def test_no_library_is_written_for_a_command_that_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_place(tmp_path / "kernels.so")
    monkeypatch.setattr("engine.compiler.builder._PARENT", 0)
    with pytest.raises(BuildError, match="the command that builds the kernels has ended"):
        check_place(tmp_path / "kernels.so")


def test_a_library_takes_the_place_of_a_library_only(tmp_path: Path) -> None:
    path = tmp_path / "kernels.so"
    check_place(path)
    library = b"\x7fELF\0" + MARKER + DESCRIPTION.encode().encode() + b"\0 and code"
    for content in (b"", library + hashlib.sha256(library).digest()):
        path.write_bytes(content)
        check_place(path)
    for content in (library, b"\x7fELF, but somebody else's", b"notes about " + MARKER):
        path.write_bytes(content)
        with pytest.raises(BuildError, match=r"damaged, or not a library of kernels; it is left unchanged"):
            check_place(path)
    with pytest.raises(BuildError, match="is a folder, not a file"):
        check_place(tmp_path)
    (tmp_path / "link.so").symlink_to(path)
    with pytest.raises(BuildError, match=r"link\.so: is a symbolic link; its target is left unchanged$"):
        check_place(tmp_path / "link.so")


UNFIT = """
import numpy as np
from engine.compiler.builder import write_libraries
from engine.compiler.jit import kernel
from engine.compiler.levels import ALL_LEVELS, HERE
from engine.compiler.linking import BuildError
from pathlib import Path
import sys

LARGE = np.zeros(200_000, np.int64)

@kernel
def takes_a_float(x):
    return 1

@kernel
def returns_a_float(x):
    return x / 2

@kernel
def has_a_large_table(x):
    return LARGE[x]

@kernel
def is_never_called(x):
    return x

takes_a_float(0.5)
for one in (returns_a_float, has_a_large_table):
    one(1)
for one in (takes_a_float, returns_a_float, has_a_large_table, is_never_called):
    try:
        list(write_libraries([one], ALL_LEVELS[sys.argv[1]], {HERE: Path(sys.argv[2])}, False))
    except BuildError as error:
        print(error)
"""


def test_kernels_that_do_not_fit_are_named(run_python: Callable[..., str], level: Level, tmp_path: Path) -> None:
    said = run_python(UNFIT, level.name, str(tmp_path / "x.so"), **build_environment(level)).splitlines()
    assert said[0].startswith("__main__.takes_a_float takes float64; ")
    assert said[1].startswith("__main__.returns_a_float returns float64; ")
    assert "has_a_large_table" in said[2]
    assert said[2].endswith("refers to an array that is too large to embed")
    assert said[3] == "__main__.is_never_called was never called, so its argument types are unknown"
    assert list(tmp_path.iterdir()) == []


def test_a_level_that_cannot_be_built_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    name = LEVELS[-1].name
    done = build(tmp_path, "--level", name)
    assert done.returncode == 1
    assert f"secateur kernels: {HERE.name} not built: needs a C compiler: 'no-such-compiler' not found" in done.stderr
    assert not library_path(LEVELS[-1], tmp_path).exists()
