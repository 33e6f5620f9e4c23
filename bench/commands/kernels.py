"""`secateur kernels`: compiles the kernels ahead of time, and shows what was compiled."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from pathlib import Path

from engine.arguments import Parser, command
from engine.extras import has_numba
from engine.levels import LEVELS, Level
from engine.library import (
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
from engine.sources import PROJECT_ROOT, source_hash


@command("secateur kernels")
def main(arguments: list[str]) -> int:
    """Builds or lists; exit status 1 when a library cannot be built, or this machine uses none."""
    parser = Parser(
        prog="secateur kernels",
        description="Compiles the kernels ahead of time: a library for each level of processor, with which the engine "
        f"starts at once and needs no Numba. They lie in {folder()} ({FOLDER_VARIABLE} puts them elsewhere).",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="compile and link; takes Numba and a C compiler")
    names = [level.name for level in LEVELS]
    build.add_argument("--level", nargs="+", choices=names, default=names, help="which levels (default: all)")
    build.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="how many at once (default: one a processor)"
    )
    build.add_argument("--force", action="store_true", help="also those that are up to date")
    commands.add_parser("list", help="show the libraries that are there")
    options = parser.parse_args(arguments)
    if options.command == "list":
        return _list()
    if options.jobs < 1:
        parser.error(f"--jobs is at least 1, not {options.jobs}")
    if not has_numba():
        print(f"secateur kernels: needs Numba: {REMEDY}", file=sys.stderr)
        return 1
    levels = [level for level in LEVELS if level.name in options.level]
    if not options.force:
        levels = [level for level in levels if not _is_up_to_date(level)]
    return _build(levels, options.jobs)


def _is_up_to_date(level: Level) -> bool:
    """Whether the library of a level is whole, of these sources and by this Numba; a line on stderr says so."""
    path = library_path(level, folder())
    try:
        found = fitting_description(path, level, source_hash())
    except LibraryError:
        return False
    if found.compiler != f"Numba {metadata.version('numba')}":
        return False
    print(f"secateur: {level.name}: up to date in {path}", file=sys.stderr, flush=True)
    return True


def _build(levels: list[Level], jobs: int) -> int:
    """Builds the libraries of several levels, some at once, in processes of their own."""
    start = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        succeeded = list(pool.map(partial(_build_one, start), levels))
    return 0 if all(succeeded) else 1


def _build_one(start: float, level: Level) -> bool:
    """Builds the library of one level, with a line on stderr before and after; whether it worked."""
    path = library_path(level, folder())
    _say(f"{level.name}: compiling", start)
    done = subprocess.run(
        [sys.executable, "-m", "search.export", level.name, str(path)],
        cwd=PROJECT_ROOT,
        env={**os.environ, **build_environment(level)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"secateur kernels: {level.name} not built: {done.stderr.strip()}", file=sys.stderr, flush=True)
        return False
    _say(f"{level.name}: {_size(path)} in {path}", start)
    return True


def _say(text: str, start: float) -> None:
    print(f"secateur: {text} ({time.perf_counter() - start:.0f} s)", file=sys.stderr, flush=True)


def _size(path: Path) -> str:
    return f"{path.stat().st_size / (1 << 20):.2f} MiB"


def _list() -> int:
    """A line for each library that could be there, then which kernels this machine uses, and why not others."""
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
            continue
        where = "" if library.runs_here() else ", not for this processor"
        print(f"{level.name:<20} {_size(path)}, {library.description.compiler}{where}")
    chosen, remarks = choose()
    for remark in remarks:
        print(remark)
    if chosen is not None:
        print(f"in use: {chosen.level.name}")
        return 0
    print("in use: Numba" if has_numba() else f"in use: none, for there is no Numba either: {REMEDY}")
    return 1
