"""`secateur kernels`: compiles the kernels ahead of time into libraries, and lists these libraries."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from pathlib import Path

from engine.arguments import Parser, command
from engine.compiler.compiling import LIBRARY_SECONDS, span
from engine.compiler.levels import LEVELS, Level
from engine.compiler.library import (
    FOLDER_VARIABLE,
    REMEDY,
    Library,
    LibraryError,
    build_environment,
    choose,
    fitting_description,
    folder,
    library_path,
)
from engine.compiler.sources import PROJECT_ROOT, source_hash
from engine.extras import has_numba
from engine.progress import Line, say


@command("secateur kernels")
def main(arguments: list[str]) -> int:
    """Builds or lists the libraries. Returns the result of `_build` or `_list`, or 1 if a build lacks Numba."""
    parser = Parser(
        prog="secateur kernels",
        description="Compiles the kernels ahead of time into a library for each processor level. The engine then "
        f"starts at once and needs no Numba. The libraries are in {folder()} (set {FOLDER_VARIABLE} to change this).",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="compile the libraries; requires Numba and a C compiler")
    names = [level.name for level in LEVELS]
    build.add_argument("--level", nargs="+", choices=names, default=names, help="levels to build (default: all)")
    build.add_argument("--force", action="store_true", help="also rebuild libraries that are up to date")
    commands.add_parser("list", help="list the libraries")
    options = parser.parse_args(arguments)
    if options.command == "list":
        return _list()
    if not has_numba():
        print(f"secateur kernels: needs Numba: {REMEDY}", file=sys.stderr)
        return 1
    levels = [level for level in LEVELS if level.name in options.level]
    if not options.force:
        levels = [level for level in levels if not _is_up_to_date(level)]
    return _build(levels)


def _is_up_to_date(level: Level) -> bool:
    """Returns whether the installed Numba built the library of `level` from these sources. Prints a line if so."""
    path = library_path(level, folder())
    try:
        found = fitting_description(path, level, source_hash())
    except LibraryError:
        return False
    if found.compiler != f"Numba {metadata.version('numba')}":
        return False
    print(f"secateur: {level.name}: up to date in {path}", file=sys.stderr, flush=True)
    return True


def _build(levels: list[Level]) -> int:
    """Builds the libraries in child processes, at most one per core at a time. Returns 1 if a build failed, else 0."""
    if not levels:
        return 0
    start = time.perf_counter()
    jobs = min(os.cpu_count() or 1, len(levels))
    expected = LIBRARY_SECONDS * math.ceil(len(levels) / jobs)
    built: list[bool] = []
    children: list[subprocess.Popen[str]] = []

    def line() -> str:
        elapsed = time.perf_counter() - start
        return f"secateur: compiling, {len(built)} of {len(levels)} done: {span(elapsed, expected)}"

    with Line(line), ThreadPoolExecutor(jobs) as pool:
        try:
            for is_built, text in pool.map(partial(_build_one, children), levels):
                built.append(is_built)
                took = f" ({time.perf_counter() - start:.0f} s)"
                say(f"secateur: {text}{took}" if is_built else f"secateur kernels: {text}")
        except BaseException:  # such as Ctrl-C
            pool.shutdown(wait=False, cancel_futures=True)
            for child in children:
                child.terminate()
            raise
    return 0 if all(built) else 1


def _build_one(children: list[subprocess.Popen[str]], level: Level) -> tuple[bool, str]:
    """Builds the library of one level in a new child process. Returns whether the build succeeded, and a message."""
    path = library_path(level, folder())
    command = [sys.executable, "-m", "search.export", level.name, str(path)]
    environment = {**os.environ, **build_environment(level)}
    child = subprocess.Popen(command, cwd=PROJECT_ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    children.append(child)
    _, problem = child.communicate()
    if child.returncode:
        return False, f"{level.name} not built: {problem.strip()}"
    return True, f"{level.name}: {_size(path)} in {path}"


def _size(path: Path) -> str:
    return f"{path.stat().st_size / (1 << 20):.2f} MiB"


def _list() -> int:
    """Prints a line for each level, then remarks on libraries that are not used, then which kernels are in use.

    Returns 1 if a library is invalid, or if neither a library nor Numba can be used, else 0.
    """
    status = 0
    place, sources = folder(), source_hash()
    for level in LEVELS:
        path = library_path(level, place)
        if not path.exists():
            print(f"{level.name:<20} not built")
            continue
        try:
            library = Library(path, level, sources)
        except LibraryError as error:
            print(f"{level.name:<20} {error}")
            status = 1
            continue
        where = "" if library.runs_here() else ", does not run on this processor"
        print(f"{level.name:<20} {_size(path)}, {library.description.compiler}{where}")
    chosen, remarks = choose()
    for remark in remarks:
        print(remark)
    if chosen is not None:
        print(f"in use: {chosen.level.name}")
    elif has_numba():
        print("in use: Numba, which compiles the kernels on this machine")
    else:
        print(f"in use: none, as Numba is not installed either: {REMEDY}")
        return 1
    return status
