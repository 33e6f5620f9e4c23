"""Where the kernels that Numba compiles are kept: the user's cache folder, and what becomes of old builds in it."""

from __future__ import annotations

import os
import shutil
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

#: Length of a build's name (`engine.jit.build_hash`): what is called otherwise in the folder is nobody's old build.
NAME_LENGTH: Final = 20


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


def _is_private(folder: Path) -> bool:
    """Whether nobody else could have put machine code there: cache files are code, and are run."""
    if not hasattr(os, "getuid"):
        return True
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
            folder.mkdir(mode=0o700, exist_ok=True)
            if not (_is_private(root) and _is_private(folder)):
                continue
            with tempfile.TemporaryFile(dir=folder):
                pass
            os.utime(folder)
        except OSError:
            continue
        with suppress(OSError):  # another start may be sweeping the same folders
            _sweep(root, folder)
        return folder
    return None


def _sweep(root: Path, current: Path) -> None:
    """Removes the folders of builds that have not been used lately. Errors do not matter: the next start retries."""
    others = [path for path in root.iterdir() if path.is_dir() and path != current and len(path.name) == NAME_LENGTH]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for rank, path in enumerate(others, start=1):
        unused = time.time() - path.stat().st_mtime
        # An hour of grace, because another version may be starting just now.
        if unused > KEEP_SECONDS or (rank > KEEP_FOLDERS and unused > 3600):
            shutil.rmtree(path, ignore_errors=True)
