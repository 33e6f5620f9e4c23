"""`secateur kernels`: compiles the kernels ahead of time, and shows what was compiled."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
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
    """Builds or lists; exit status 1 when a library cannot be built or used."""
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
    return _Build(levels, options.jobs).run()


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


class _Build:
    """Libraries that are built, some at once, in processes of their own; what is under way is said all the time."""

    def __init__(self, levels: list[Level], jobs: int) -> None:
        self._levels, self._jobs = levels, min(jobs, len(levels))
        self._start = time.perf_counter()
        self._lock = threading.Lock()
        self._begun: dict[str, float] = {}
        self._took: list[float] = []

    def run(self) -> int:
        """Builds them; the exit status."""
        if not self._levels:
            return 0
        with Line(self._line), ThreadPoolExecutor(self._jobs) as pool:
            succeeded = list(pool.map(self._one, self._levels))
        return 0 if all(succeeded) else 1

    def _one(self, level: Level) -> bool:
        """Builds the library of one level, with a line on stderr at the end; whether it worked."""
        began = time.perf_counter()
        with self._lock:
            self._begun[level.name] = began
        is_built, text = _build_one(level)
        with self._lock:
            del self._begun[level.name]
            self._took.append(time.perf_counter() - began)
        took = f" ({time.perf_counter() - self._start:.0f} s)"
        say(f"secateur: {text}{took}" if is_built else f"secateur kernels: {text}")
        return is_built

    def _line(self) -> str:
        with self._lock:
            names, took = list(self._begun), list(self._took)
        each = sum(took) / len(took) if took else LIBRARY_SECONDS
        elapsed = time.perf_counter() - self._start
        expected = each * math.ceil(len(self._levels) / self._jobs)
        done = f", {len(took)} of {len(self._levels)} libraries done" if len(self._levels) > 1 else ""
        return f"secateur: compiling for {', '.join(names)}{done}: {span(elapsed, expected)}"


def _build_one(level: Level) -> tuple[bool, str]:
    """Builds the library of one level; whether it worked, and what is to be said."""
    path = library_path(level, folder())
    done = subprocess.run(
        [sys.executable, "-m", "search.export", level.name, str(path)],
        cwd=PROJECT_ROOT,
        env={**os.environ, **build_environment(level)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return False, f"{level.name} not built: {done.stderr.strip()}"
    return True, f"{level.name}: {_size(path)} in {path}"


def _size(path: Path) -> str:
    return f"{path.stat().st_size / (1 << 20):.2f} MiB"


def _list() -> int:
    """A line for each library that could be there, then which kernels this machine uses, and why not others.

    Returns 1 for a library that cannot be used, and where there are no kernels at all.
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
        where = "" if library.runs_here() else ", not for this processor"
        print(f"{level.name:<20} {_size(path)}, {library.description.compiler}{where}")
    chosen, remarks = choose()
    for remark in remarks:
        print(remark)
    if chosen is not None:
        print(f"in use: {chosen.level.name}")
    elif has_numba():
        print("in use: Numba, which compiles the kernels here")
    else:
        print(f"in use: none, for there is no Numba either: {REMEDY}")
        return 1
    return status
