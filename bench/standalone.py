"""Builds the stand-alone program: `python -m bench.standalone FOLDER`, run by `make standalone`.

The result is the folder `FOLDER/secateur`. It contains the program `secateur`, Python, NumPy, python-chess, kernels
compiled ahead of time, and the network. PyInstaller builds it in an environment without Numba.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

from engine.compiler.cache_folder import digest_of, listed, mark, remove_listed, strangers
from engine.compiler.levels import LEVELS
from engine.compiler.library import LibraryError, fitting_description, folder, library_path
from engine.compiler.linking import BuildError, linker
from engine.compiler.sources import PROJECT_ROOT, source_hash
from engine.files import reason, shown
from engine.progress import say

#: The packages that go into the program.
PACKAGES = ("engine", "search", "eval", "bench")

#: The first line of a program's marker file, which lists the program's files.
MARKER_TEXT = "Secateur made this folder, and puts the next program that it makes in its place.\n"

#: Large modules that Secateur does not use. Without OpenSSL, Python computes checksums itself.
LEFT_OUT = "_hashlib _ssl _tkinter lib2to3 numpy.distutils numpy.f2py pkg_resources pydoc_data readline".split()
LEFT_OUT += "setuptools sqlite3 ssl tkinter".split()

#: Files whose debug symbols (half of Python's size) are stripped. Stripping kernels would invalidate their checksums.
WITH_SYMBOLS = ("libpython*.so*", "python3*/lib-dynload/*.so")


def modules() -> list[str]:
    """Returns the names of all modules to include. PyInstaller does not detect modules that are imported by name."""
    names = []
    for package in PACKAGES:
        for path in sorted((PROJECT_ROOT / package).rglob("*.py")):
            parts = path.relative_to(PROJECT_ROOT).with_suffix("").parts
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return [name for name in names if not name.startswith(("bench.packaging", "engine.checkout"))]


def stale() -> list[str]:
    """Returns the reasons why kernel libraries cannot be included, at most one line for each CPU level."""
    problems = []
    sources = source_hash()
    for level in LEVELS:
        try:
            fitting_description(library_path(level, folder()), level, sources)
        except LibraryError as error:
            problems.append(str(error))
    return problems


def data() -> list[tuple[Path, str]]:
    """Returns the files that are copied unchanged, each with its folder in the program."""
    kernels = [(library_path(level, folder()), "engine/kernels") for level in LEVELS]
    networks = [(path, "eval/network") for path in sorted((PROJECT_ROOT / "eval" / "network").glob("*.snet"))]
    policies = (PROJECT_ROOT / "search" / "theory" / "policies.json", "search/theory")
    return [(PROJECT_ROOT / "pyproject.toml", "."), (PROJECT_ROOT / "LICENSE", "."), policies, *kernels, *networks]


def main(target: Path) -> str | None:
    """Builds `target/secateur`. Returns None, or why it failed and where any new program is."""
    problems = stale()
    if problems:
        return f"the program needs up-to-date kernels (run 'make kernels'): {'; '.join(problems)}"
    return put(target / "secateur", MARKER_TEXT, _make, "program")


def put(folder: Path, text: str, make: Callable[[Path], Path], what: str) -> str | None:
    """Replaces a folder that this function made before by a new one. Returns None, or why it failed.

    `make` gets an empty folder, builds the new folder in it and returns the new folder. A marker that begins with
    `text` lists the folder's files. If the old folder contains other or changed files, they stay, and the new folder
    gets another name. `what` names the result in messages.
    """
    if problem := obstacle(folder, text):
        return problem
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".secateur.", dir=folder.parent) as work:
            fresh = make(Path(work))
            # Without a marker, every file in the folder is a stranger.
            files = strangers(fresh, {})
            mark(fresh, text, {path.relative_to(fresh).as_posix(): digest_of(path) for path in files})
            try:
                if not (problem := obstacle(folder, text)):
                    remove_listed(folder, text)
                    fresh.rename(folder)
            except OSError as error:
                problem = f"{shown(folder)}: {reason(error)}"
            if problem:  # a user has meanwhile added or changed a file
                names = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
                folder = fresh.rename(next(name for name in names if not os.path.lexists(name)))
                return f"{problem}; the new {what} is in {shown(folder)}"
    except OSError as error:
        return f"{shown(error.filename or folder)}: {reason(error)}"
    say(f"secateur: the {what} is in {shown(folder)}")
    return None


def obstacle(folder: Path, text: str) -> str | None:
    """Returns why `folder` must not be replaced, or None if it is missing or contains only what `put` made."""
    if not os.path.lexists(folder):
        return None
    names = listed(folder, text)
    if not names:
        return f"{shown(folder)} already exists and was not built by this command; move it elsewhere"
    others = strangers(folder, names)
    return f"{shown(others[0])} was not built by this command, or has changed; move it elsewhere" if others else None


def _make(work: Path) -> Path:
    """Builds the program in the empty folder `work`; returns the program's folder."""
    # PyInstaller uses a new cache, because the user's cache may contain files of other programs.
    os.environ["PYINSTALLER_CONFIG_DIR"] = str(work / "cache")
    from PyInstaller.__main__ import run

    arguments = ["--name", "secateur", "--onedir", "--console", "--log-level", "WARN", "--paths", str(PROJECT_ROOT)]
    arguments += ["--distpath", str(work), "--workpath", str(work / "work"), "--specpath", str(work / "work")]
    for path, place in data():
        arguments += ["--add-data", f"{path}{os.pathsep}{place}"]
    for name in modules():
        arguments += ["--hidden-import", name]
    for name in LEFT_OUT:
        arguments += ["--exclude-module", name]
    run([*arguments, str(PROJECT_ROOT / "uci_main.py")])
    program = work / "secateur"
    # PyInstaller copies what an earlier build has left, and lists that depend on the environment's path.
    shutil.rmtree(program / "_internal" / "secateur.egg-info", ignore_errors=True)
    for path in (program / "_internal").glob("*.dist-info/RECORD"):
        path.unlink()
    _strip(program / "_internal")
    _leave_out_blas(program / "_internal", work)
    return program


def _leave_out_blas(internal: Path, work: Path) -> None:
    """Replaces NumPy's BLAS, which is larger than the rest of NumPy, by the library that `blas_source` describes.

    The program's own commands multiply no float matrices; those of the lab need SciPy, which it does not contain. Does
    nothing without Linux, a C compiler and the tool `nm`.
    """
    blas = next((internal / "numpy.libs").glob("libscipy_openblas*.so"), None)
    nm = shutil.which("nm")
    if sys.platform != "linux" or nm is None or blas is None:
        return
    try:
        compiler = linker()
    except BuildError:
        return
    names: set[str] = set()
    for path in (internal / "numpy").rglob("*.so"):
        found = subprocess.run([nm, "-D", "--undefined-only", str(path)], capture_output=True, text=True, check=True)
        names.update(re.findall(r" U (scipy_\w+)", found.stdout))
    source = work / "blas.c"
    source.write_text(blas_source(sorted(names)), encoding="ascii")
    options = ["-shared", "-fPIC", "-O2", "-w", "-Wl,--strip-all", f"-Wl,-soname,{blas.name}"]
    subprocess.run([*compiler, *options, "-o", str(blas), str(source)], check=True)
    for pattern in ("libgfortran*", "libquadmath*"):  # only the BLAS needs these
        for path in (*internal.glob(pattern), *(internal / "numpy.libs").glob(pattern)):
            path.unlink()


def blas_source(names: list[str]) -> str:
    """Returns the C source of a library with the functions `names`, which end the process with a message.

    The products of two vectors work, because NumPy computes one when it is imported.
    """
    lines = ["#include <stdint.h>", "#include <stdio.h>", "#include <unistd.h>"]
    for name in names:
        product = re.fullmatch(r"scipy_cblas_([sd])dot64_", name)
        if product is None:
            text = f"secateur: this program does not contain {name} of NumPy's linear algebra\\n"
            lines.append(f'void {name}(void) {{ fputs("{text}", stderr); _exit(1); }}')
            continue
        real = {"s": "float", "d": "double"}[product[1]]
        lines.append(f"""{real} {name}(int64_t n, const {real} *x, int64_t dx, const {real} *y, int64_t dy) {{
    {real} sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i * dx] * y[i * dy];
    return sum;
}}""")
    return "\n".join(lines) + "\n"


def _strip(internal: Path) -> None:
    """Strips debug symbols from the files WITH_SYMBOLS in a folder. Does nothing without Linux and the tool `strip`."""
    tool = shutil.which("strip")
    if tool is None or sys.platform != "linux":
        return
    for pattern in WITH_SYMBOLS:
        for path in internal.glob(pattern):
            subprocess.run([tool, "--strip-unneeded", str(path)], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m bench.standalone FOLDER")
    problem = main(Path(sys.argv[1]))
    sys.exit(problem and f"secateur: {problem}")
