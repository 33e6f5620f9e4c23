"""Where the kernels that Numba compiles are kept: the user's cache folder, and what becomes of old builds in it."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.files import user_path

#: Environment variable that overrides where compiled kernels are kept.
CACHE_VARIABLE: Final = "SECATEUR_CACHE_DIR"

#: Folders of other builds are kept this long after their last use, and this many of them at most.
KEEP_SECONDS: Final = 14 * 24 * 3600
KEEP_FOLDERS: Final = 6

#: What `engine.jit.build_hash` calls a build.
_NAME: Final = re.compile("[0-9a-f]{20}")

#: The file that says that Secateur made a folder. Without it nothing in a folder is ever deleted.
MARKER: Final = "made-by-secateur"
_MARKER_TEXT: Final = "Secateur keeps compiled kernels here, and deletes them when it has not used them for a while.\n"

#: The files that kernels are kept in, and what `replace_file` leaves of one when the system goes down.
_KERNEL_FILE: Final = re.compile(r".*\.nbc|\..*\.[a-z0-9_]{8}\.tmp")


def _cache_roots() -> Iterator[Path]:
    """Where to try to keep compiled kernels, best first. Raises ValueError as `open_cache` does."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        yield user_path(named).absolute()
    else:
        with suppress(RuntimeError):  # a user without a home
            yield _user_caches().expanduser() / "secateur" / "kernels"
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    yield Path(tempfile.gettempdir()) / f"secateur-kernels-{user}"


def _user_caches() -> Path:
    """Where the system has a user's caches, `~` not yet expanded."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")
    if sys.platform == "darwin":
        return Path("~/Library/Caches")
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")


def _is_private(folder: Path, links: bool = False) -> bool:
    """Whether nobody else could have put machine code there: cache files are code, and are run.

    A symbolic link is no folder, unless `links` are allowed and it was made by this user.
    """
    if not hasattr(os, "getuid"):
        return True
    status = folder.lstat()
    if links and stat.S_ISLNK(status.st_mode) and status.st_uid == os.getuid():
        status = folder.stat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


def open_cache(build: str) -> Path | None:
    """The writable folder for the `build` of that name, or None when there is none and nothing can be cached.

    Raises ValueError where CACHE_VARIABLE names the folder of a user that there is not.
    """
    for root in _cache_roots():
        folder = root / build
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Once the root is known to be private, nobody else can change what lies in it.
            if not _is_private(root, links=True):
                continue
            folder.mkdir(mode=0o700, exist_ok=True)
            if not _is_private(folder):
                continue
            with tempfile.TemporaryFile(dir=folder):
                pass
            # On a full disk there is no marker, and the folder is never swept.
            with suppress(OSError):
                mark(folder, _MARKER_TEXT)
            os.utime(folder)
        except OSError:
            continue
        with suppress(OSError):  # another start may be sweeping the same folders
            _sweep(root, folder)
        return folder
    return None


def mark(folder: Path, text: str) -> None:
    """Puts the marker, which tells a user what the folder is, into a folder that has none. Raises OSError."""
    with suppress(FileExistsError), (folder / MARKER).open("x", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def is_marked(folder: Path) -> bool:
    """Whether Secateur made that folder: it is a folder itself, no link to one, and has the marker. Raises OSError."""
    if not stat.S_ISDIR(folder.lstat().st_mode):
        return False
    try:
        return stat.S_ISREG((folder / MARKER).lstat().st_mode)
    except FileNotFoundError:
        return False


def _sweep(root: Path, current: Path) -> None:
    """Removes the kernels of builds that have not been used lately. Errors do not matter: the next start retries.

    Everything else stays: folders without the marker, those of earlier versions among them, and in folders with the
    marker the files that hold no kernels.
    """
    others = [
        (path.lstat().st_mtime, path)
        for path in root.iterdir()
        if path != current and _NAME.fullmatch(path.name) and is_marked(path)
    ]
    for rank, (used, path) in enumerate(sorted(others, reverse=True), start=1):
        unused = time.time() - used
        # An hour of grace, because another version may be starting just now.
        if unused > KEEP_SECONDS or (rank > KEEP_FOLDERS and unused > 3600):
            with suppress(OSError):
                _remove(path)


def _remove(folder: Path) -> None:
    """Deletes a build's kernels, then its marker, then the folder unless a user keeps something in it."""
    for path in list(folder.iterdir()):
        if _KERNEL_FILE.fullmatch(path.name) and not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
    (folder / MARKER).unlink()
    folder.rmdir()
