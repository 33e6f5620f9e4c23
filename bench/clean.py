"""Removes the files that the Makefile's targets create: `python -m bench.clean FOLDER...`, run by `make clean`.

`python -m bench.clean --list FOLDER COMMAND...` runs a command that installs or builds, and lists the files that it
wrote in FOLDER, with their digests. `make clean` removes listed files that are unchanged, empty stamps, and kernel
libraries and built programs, which identify themselves. It reports other files and leaves them in place.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from bench.standalone import MARKER_TEXT
from engine.arguments import complain_about
from engine.compiler.cache_folder import MARKER, digest_of, listed, mark, remove_listed, strangers
from engine.compiler.levels import LEVELS
from engine.compiler.library import LibraryError, library_path, read_description
from engine.files import reason, shown

#: The empty files by which `make` knows what it has done.
_STAMPS = (".play", ".warm", ".dev", ".lab", ".explore", ".docs", ".ready")

_TEXT = "make clean removes the unchanged files of this list.\n"


def run_listed(folder: Path, command: list[str]) -> int:
    """Runs `command` and lists, in `folder`, the files that it wrote there; returns its exit status. Raises OSError."""
    before = _states(folder)
    try:
        return subprocess.run(command).returncode
    finally:
        written = [name for name, state in _states(folder).items() if before.get(name) != state]
        digests = {name: digest_of(folder / name) for name in written}
        earlier = listed(folder, _TEXT)
        if earlier is not None:
            (folder / MARKER).unlink()
        if digests or earlier:
            mark(folder, _TEXT, (earlier or {}) | digests)


def _states(folder: Path) -> dict[str, tuple[int, ...]]:
    """Returns numbers that change if a file is written, by the name of the file, for all files below `folder`."""
    statuses = {path.relative_to(folder).as_posix(): path.lstat() for path in strangers(folder, {})}
    return {name: (it.st_ino, it.st_size, it.st_mtime_ns, it.st_ctime_ns) for name, it in statuses.items()}


def main(folders: list[Path]) -> None:
    """Removes the files that `make` created, and reports on stderr the files that are left in place. Raises OSError."""
    stays = [path for folder in folders if os.path.lexists(folder) for path in _remove_from(folder)]
    complain_about("make clean", [f"{shown(path)}: was not made by make and is left in place" for path in stays])


def _remove_from(folder: Path) -> list[Path]:
    """Removes the files of `make` in `folder`, unless a link leads there or it has no list; returns the other paths."""
    is_mixed = folder.name in ("dist", "kernels")  # other commands write there, too, without a list
    if folder.resolve() != Path.cwd().resolve() / folder or not (is_mixed or listed(folder, _TEXT)):
        return [folder]
    remove_listed(folder / "secateur", MARKER_TEXT)
    for path in (library_path(level, folder) for level in LEVELS if folder.name == "kernels"):
        with suppress(LibraryError):
            if read_description(path) and not path.is_symlink():
                path.unlink()
    for path in (folder / name for name in _STAMPS):
        if path.is_file() and not path.stat().st_size:
            path.unlink()
    remove_listed(folder, _TEXT)
    with suppress(OSError):
        folder.rmdir()
    return strangers(folder, {})


if __name__ == "__main__":
    try:
        if sys.argv[1] == "--list":
            signal.signal(signal.SIGINT, lambda *_: None)  # the command ends, and its files are listed
            sys.exit(run_listed(Path(sys.argv[2]), sys.argv[3:]))
        main([Path(name) for name in sys.argv[1:]])
    except OSError as error:
        sys.exit(f"secateur: {shown(error.filename or 'clean')}: {reason(error)}")
