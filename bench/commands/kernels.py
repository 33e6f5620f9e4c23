"""`secateur kernels`: compiles the kernels ahead of time into libraries, and lists these libraries."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from bench.openings import DAMAGED
from engine.arguments import Parser, command
from engine.compiler.compiling import LIBRARY_SECONDS, span
from engine.compiler.levels import ALL_LEVELS, HERE, LEVELS, TARGETS, Level, Target
from engine.compiler.library import (
    FOLDER_VARIABLE,
    REMEDY,
    Library,
    LibraryError,
    build_environment,
    check_place,
    choose,
    fitting_description,
    folder,
    library_path,
)
from engine.compiler.linking import BuildError, linker
from engine.compiler.sources import PROJECT_ROOT, source_hash
from engine.extras import has_numba
from engine.files import open_regular, reason, replace_file, shown
from engine.progress import Line, say


@command("secateur kernels")
def main(arguments: list[str]) -> int:
    """Builds, takes or lists the libraries. Returns 1 if that fails, even in part, else 0."""
    parser = Parser(
        prog="secateur kernels",
        description="Compiles the kernels ahead of time into a library for each processor level. The engine then "
        f"starts at once and needs no Numba. The libraries are in {folder()} (set {FOLDER_VARIABLE} to change this).",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="compile the libraries; requires Numba, and a C compiler or Zig")
    build.add_argument(
        "--target",
        nargs="+",
        choices=["all", *(target.name for target in TARGETS)],
        help="platforms to build for, with Zig (default: this machine's, with its C compiler if there is one)",
    )
    names = list(ALL_LEVELS)
    build.add_argument("--level", nargs="+", choices=names, default=names, help="levels to build (default: all)")
    build.add_argument("--force", action="store_true", help="also rebuild libraries that are up to date")
    take = commands.add_parser("take", help="copy the libraries of a release that was built from these sources")
    take.add_argument("wheel", nargs="+", type=Path, help="wheels, for any platform")
    commands.add_parser("list", help="list the libraries")
    options = parser.parse_args(arguments)
    if options.command == "list":
        return _list()
    if options.command == "take":
        return _take(options.wheel)
    if not has_numba():
        print(f"secateur kernels: needs Numba: {REMEDY}", file=sys.stderr)
        return 1
    targets, with_zig = _targets(options.target)
    status, wanted = 0, []
    for target in targets:
        try:
            linker(target, with_zig)
        except BuildError as error:
            say(f"secateur kernels: {target.name} not built: {error}")
            status = 1
            continue
        wanted += [(target, level) for level in target.levels if level.name in options.level]
    if not options.force:
        wanted = [(target, level) for target, level in wanted if not _is_up_to_date(target, level)]
    return max(status, _build(wanted, with_zig))


def _targets(names: list[str] | None) -> tuple[list[Target], bool]:
    """Returns the platforms to build for, and whether Zig links. If `names` is None, this machine's."""
    if names is not None:
        return [target for target in TARGETS if target.name in names or "all" in names], True
    try:
        linker()
    except BuildError:
        return [HERE], "CC" not in os.environ and HERE.zig != "" and find_spec("ziglang") is not None
    return [HERE], False


def _is_up_to_date(target: Target, level: Level) -> bool:
    """Returns whether the installed Numba built the library from these sources. Prints a line if so."""
    path = library_path(level, folder(), target)
    try:
        found = fitting_description(path, level, source_hash(), target)
    except LibraryError:
        return False
    if found.compiler != f"Numba {metadata.version('numba')}":
        return False
    print(f"secateur: {_shown(target, level)}: up to date in {path}", file=sys.stderr, flush=True)
    return True


def _shown(target: Target, level: Level) -> str:
    """Returns the name of a library: its level's, after its platform's if that is not this machine's."""
    return level.name if target == HERE else f"{target.name} {level.name}"


def _build(wanted: list[tuple[Target, Level]], with_zig: bool) -> int:
    """Builds the libraries in child processes, at most one per core at a time. Returns 1 if a build failed, else 0.

    A child builds the libraries of one level for all platforms.
    """
    if not wanted:
        return 0
    start = time.perf_counter()
    targets: dict[Level, list[Target]] = {}
    for target, level in wanted:
        targets.setdefault(level, []).append(target)
    levels = list(targets)
    jobs = min(os.cpu_count() or 1, len(levels))
    expected = LIBRARY_SECONDS * math.ceil(len(levels) / jobs)
    results: list[bool] = []
    children: list[subprocess.Popen[str]] = []

    def line() -> str:
        elapsed = time.perf_counter() - start
        return f"secateur: compiling, {len(results)} of {len(wanted)} done: {span(elapsed, expected)}"

    def build(level: Level) -> None:
        for target, problem in _build_level(children, level, targets[level], with_zig):
            results.append(not problem)
            name, path = _shown(target, level), library_path(level, folder(), target)
            took = f" ({time.perf_counter() - start:.0f} s)"
            say(
                f"secateur kernels: {name} not built: {problem}"
                if problem
                else f"secateur: {name}: {_size(path)} in {path}{took}"
            )

    with Line(line), ThreadPoolExecutor(jobs) as pool:
        try:
            list(pool.map(build, levels))
        except BaseException:  # such as Ctrl-C
            pool.shutdown(wait=False, cancel_futures=True)
            for child in children:
                child.terminate()
            raise
    return 0 if all(results) else 1


def _build_level(
    children: list[subprocess.Popen[str]], level: Level, targets: list[Target], with_zig: bool
) -> Iterator[tuple[Target, str]]:
    """Builds the libraries of one level in a new child process.

    Yields each platform with "", or with the reason why it has no library.
    """
    left = {target.name: target for target in targets}
    places = [f"{target.name}={library_path(level, folder(), target)}" for target in targets]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "search.export", "zig" if with_zig else "cc", level.name, *places],
            cwd=PROJECT_ROOT,
            env={**os.environ, **build_environment(level)},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as child,
    ):
        children.append(child)
        assert child.stdout is not None
        for text in child.stdout:
            name, problem = json.loads(text)
            yield left.pop(name), problem
        child.wait()
        errors.seek(0)
        why = errors.read().strip() or f"the compiler ended with status {child.returncode}"
        yield from ((target, why) for target in left.values())


def _size(path: Path) -> str:
    return f"{path.stat().st_size / (1 << 20):.2f} MiB"


def _take(wheels: list[Path]) -> int:
    """Copies the libraries for this machine from wheels, if they fit these sources. Returns 1 if there are none.

    Libraries in the folder that fit are kept.
    """
    sources, taken = source_hash(), 0
    problems: dict[Path, str] = {}
    for level in LEVELS:
        path = library_path(level, folder())
        with suppress(LibraryError):
            fitting_description(path, level, sources)
            taken += 1
            continue
        for wheel in wheels:
            try:
                with open_regular(wheel) as file, zipfile.ZipFile(file) as archive:
                    data = archive.read(f"secateur/engine/kernels/{path.name}")
                with tempfile.TemporaryDirectory() as name:
                    fresh = Path(name, path.name)
                    fresh.write_bytes(data)
                    fitting_description(fresh, level, sources)
                check_place(path)
            except KeyError:  # a wheel for another platform
                continue
            except LibraryError as error:
                problems.setdefault(wheel, str(error).removeprefix(f"{fresh}: "))
                continue
            except DAMAGED as error:
                problems.setdefault(wheel, shown(reason(error)))
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)
            say(f"secateur: {level.name}: {_size(path)} in {path}, from {shown(wheel)}")
            taken += 1
            break
    for wheel, problem in problems.items():
        say(f"secateur kernels: kernels in {shown(wheel)} not taken: {problem}")
    if not taken and not problems:
        say("secateur kernels: these wheels have no kernels for this machine")
    return 0 if taken and not problems else 1


def _list() -> int:
    """Prints a line for each level, for each library for other platforms, and for each remark on libraries that are not
    used, then which kernels are in use.

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
    others = [(target, level) for target in TARGETS if target != HERE for level in target.levels]
    for target, level in others:
        path = library_path(level, place, target)
        if path.exists():
            try:
                found = fitting_description(path, level, sources, target)
            except LibraryError as error:
                print(f"{_shown(target, level)}: {error}")
                status = 1
                continue
            print(f"{_shown(target, level)}: {_size(path)}, {found.compiler}")
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
