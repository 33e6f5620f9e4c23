"""Writes the executable that a GUI loads: `make` runs `python -m engine.compiler.launcher [--standing] PATH`.

Normally the executable starts the engine in the project's folder. OpenBench's client, however, unpacks the project into
a temporary folder, runs `make EXE=name`, moves the executable away and deletes the rest. For this client, `--standing`
first copies the sources and the environment to permanent folders, whose names contain a hash.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from engine.compiler.cache_folder import digest_of, is_listed, listed, mark, remove_listed, strangers
from engine.compiler.sources import PROJECT_ROOT, add_sources
from engine.files import HEAD_LENGTH, Output, open_regular, reason, shown, user_path
from engine.progress import say

ENTRY_POINT = PROJECT_ROOT / "uci_main.py"

#: Environment variable that overrides the folder of standing builds, which are the permanent copies.
STANDING_VARIABLE = "SECATEUR_STANDING_DIR"
#: Seconds for which a standing build is kept after its last use, by `make` or by a start of the engine.
KEEP_SECONDS = 90 * 24 * 3600
#: Files and folders of the project that a running engine needs.
_PARTS = ("engine", "search", "eval", "bench", "uci_main.py", "pyproject.toml", "LICENSE")
#: Pattern for the names of standing copies. A dot begins the name of an unfinished copy.
_COPY = re.compile(r"\.?(source|environment)-[0-9a-f]{20}(-[a-z0-9_]{8})?")
_MARKER_TEXT = "Secateur made this folder, and deletes it when nothing has used it for a while.\n"
_KIND = "Secateur launcher"


def launcher_text(python: str, entry_point: Path = ENTRY_POINT) -> str:
    """Returns a script that starts `entry_point` with `python` by `exec`, so that killing the script kills the engine.

    The script's name stays in the command line, as an option that Python ignores. Process lists show this name, and
    OpenBench's client uses it to find the engines that it must stop.
    """
    return f'#!/bin/sh\nexec {shlex.quote(python)} -X "launcher=$0" {shlex.quote(str(entry_point))} "$@"\n'


def is_launcher(head: bytes) -> bool:
    """Returns whether a file that begins with `head` is a script from `launcher_text`."""
    text = os.fsdecode(head)
    try:
        words = shlex.split(text.partition("\n")[2])
    except ValueError:  # a quotation mark is not closed
        return False
    return len(words) == 6 and text == launcher_text(words[1], Path(words[4]))


def write_launcher(path: Path, standing: bool = False) -> None:
    """Writes to `path` an executable script that starts Secateur or, if `standing`, a copy from `make_standing`.

    Makes missing folders. Raises OSError, for example if a symbolic link or another file is at `path`, and ValueError
    for a bad STANDING_VARIABLE.
    """
    _refuse_link(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    output = Output(path, is_launcher, _KIND)
    python, entry_point = make_standing(_standing_root()) if standing else (sys.executable, ENTRY_POINT)
    output.replace(os.fsencode(launcher_text(python, entry_point)))
    path.chmod(0o755)


def remove_launcher(path: Path) -> None:
    """Deletes the launcher at `path` if it exists. Raises OSError if `path` is not a launcher or is a symbolic link."""
    _refuse_link(path)
    if not path.exists():
        return
    with open_regular(path) as file:
        if not is_launcher(file.read(HEAD_LENGTH + 1)):
            raise FileExistsError(errno.EEXIST, f"is not a {_KIND}; it is left unchanged", str(path))
    path.unlink()


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise FileExistsError(errno.EEXIST, "is a symbolic link; it is left unchanged", str(path))


def make_standing(root: Path) -> tuple[str, Path]:
    """Copies the project and any virtual environment into `root`, unless copies exist; removes long-unused copies.

    Returns the paths of the interpreter and of the entry point with which a launcher starts the copy. Raises OSError.
    """
    _sweep(root)
    source_files = _source_files()
    digest = hashlib.sha256()
    add_sources(digest, source_files)
    sources = _copy_once(root / f"source-{digest.hexdigest()[:20]}", PROJECT_ROOT, source_files)
    prefix = Path(sys.prefix)
    if prefix == Path(sys.base_prefix):
        return sys.executable, sources / "uci_main.py"  # not a virtual environment, so the interpreter is permanent
    digest = hashlib.sha256(sys.version.encode() + (PROJECT_ROOT / "requirements" / "play.txt").read_bytes())
    # The copy runs this interpreter.
    digest.update(os.fsencode(os.path.realpath(sys.executable)))
    # Leave out the stamps of `make`, and the file that puts this folder on the import path.
    left_out = {*prefix.glob(".*"), *prefix.glob("lib/*/*/secateur.pth")}
    files = [path for path in _files_below(prefix) if path not in left_out]
    environment = _copy_once(root / f"environment-{digest.hexdigest()[:20]}", prefix, files, links=True)
    return str(environment / Path(sys.executable).relative_to(prefix)), sources / "uci_main.py"


def _sweep(root: Path) -> None:
    """Removes the copies in `root` that were not used for KEEP_SECONDS, and names them; keeps a user's own files."""
    if not root.is_dir():
        return
    for copy in root.iterdir():
        with suppress(OSError):
            unused = time.time() - copy.lstat().st_mtime
            if _COPY.fullmatch(copy.name) and unused > KEEP_SECONDS and listed(copy, _MARKER_TEXT):
                remove_listed(copy, _MARKER_TEXT)
                what = f"the engine in {shown(copy)}" if copy.exists() else shown(copy)
                say(f"secateur: removed {what}, which was not used for {unused / 86400:.0f} days")


def _copy_once(target: Path, origin: Path, files: list[Path], links: bool = False) -> Path:
    """Copies `files` of `origin` to `target` unless a copy exists; returns the copy. If `links`, keeps symbolic links.

    If files of an existing copy are missing or changed, makes another copy, with eight random characters in its name.
    """
    for copy in sorted(target.parent.glob(f"{target.name}*")):
        names = listed(copy, _MARKER_TEXT)
        if names and all(is_listed(copy / name, copy, names) for name in names):
            os.utime(copy)  # marks the copy as used
            return copy
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Write the marker with all names first: if this build is killed, a later build can remove the copied files.
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    if os.path.lexists(target):
        target = target.with_name(fresh.name[1:])
    try:
        digests = {file.relative_to(origin).as_posix(): digest_of(file if links else file.resolve()) for file in files}
        mark(fresh, _MARKER_TEXT, digests)
        for name in digests:
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin / name, fresh / name, follow_symlinks=not links)
        fresh.rename(target)
    except OSError:
        if not target.is_dir():  # otherwise another build has made the copy
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def _source_files() -> list[Path]:
    paths = [PROJECT_ROOT / part for part in _PARTS]
    files = (file for path in paths for file in ([path] if path.is_file() else _files_below(path)))
    return sorted(file for file in files if file.is_file())


def _files_below(root: Path) -> list[Path]:
    """Returns all files and symbolic links below `root`, sorted, except Python's bytecode and the marker of `root`."""
    return [path for path in strangers(root, {}) if "__pycache__" not in path.parts and path.suffix != ".pyc"]


def _standing_root() -> Path:
    named = os.environ.get(STANDING_VARIABLE)
    if named:
        return user_path(named).absolute()
    data = "~/Library/Application Support" if sys.platform == "darwin" else os.environ.get("XDG_DATA_HOME")
    return Path(data or "~/.local/share").expanduser() / "secateur" / "standing"


if __name__ == "__main__":
    *flags, name = sys.argv[1:] or [""]
    if not name or flags not in ([], ["--standing"]):
        sys.exit("usage: python -m engine.compiler.launcher [--standing] PATH")
    try:
        write_launcher(Path(name), standing=bool(flags))
    except OSError as error:
        sys.exit(f"secateur: {shown(error.filename or name)}: {reason(error)}")
    except ValueError as error:
        sys.exit(f"secateur: {error}")
