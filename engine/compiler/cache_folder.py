"""Finds the user's cache folder for the kernels that Numba compiles, and removes old builds from it.

Secateur puts a marker file into each folder that it creates for a build or for a standing copy of the project
(`engine.compiler.launcher`), and deletes nothing in folders without a marker.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.files import open_regular, read_bytes, user_path

#: Environment variable that overrides the folder of compiled kernels.
CACHE_VARIABLE: Final = "SECATEUR_CACHE_DIR"

#: Of the folders of other builds, the KEEP_FOLDERS most recently used are kept for at least KEEP_SECONDS after their
#: last use. The rest are kept for at least one hour.
KEEP_SECONDS: Final = 14 * 24 * 3600
KEEP_FOLDERS: Final = 6

#: Patterns for the names of builds' folders (see `engine.compiler.jit.build_hash`) and of kernel files.
_NAME: Final = re.compile("[0-9a-f]{20}")
_KERNEL: Final = re.compile(r"[0-9a-f]{32}\.nbc")

#: The name and the maximum size in bytes of the marker, which may list the files that Secateur put into the folder.
MARKER: Final = "made-by-secateur"
_LONGEST_MARKER: Final = 1 << 26
_MARKER_TEXT: Final = "Secateur keeps compiled kernels here, and deletes them when it has not used them for a while.\n"

#: Size in bytes of the first part of a kernel file: a checksum of the code and of the names of the file and its folder.
_CHECKSUM_BYTES: Final = 32
#: Maximum size of a kernel file, in bytes.
LARGEST_KERNEL: Final = 1 << 30

#: Pattern for the temporary files that `replace_file` may leave behind, for example if the system crashes.
SCRATCH: Final = re.compile(r"\.secateur\.[a-z0-9_]{8}\.tmp")


def _cache_roots() -> Iterator[Path]:
    """Yields the folders to try for compiled kernels, best first. Raises ValueError as `open_cache` does."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        yield user_path(named).absolute()
    else:
        with suppress(RuntimeError):  # the user has no home folder
            yield _user_caches().expanduser() / "secateur" / "kernels"
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    yield Path(tempfile.gettempdir()) / f"secateur-kernels-{user}"


def _user_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local")
    if sys.platform == "darwin":
        return Path("~/Library/Caches")
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")


def _is_private(folder: Path, links: bool = False) -> bool:
    """Returns whether only this user can write to `folder`; True on Windows. If `links`, follows the user's symlink."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.lstat()
    if links and stat.S_ISLNK(status.st_mode) and status.st_uid == os.getuid():
        status = folder.stat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


def open_cache(build: str) -> Path | None:
    """Returns the cache folder of `build`, created if necessary; None if no folder is writable and private.

    Also removes folders of old builds. Raises ValueError if CACHE_VARIABLE names an unknown user's home.
    """
    for root in _cache_roots():
        folder = root / build
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Other users cannot change the contents of a private root.
            if not _is_private(root, links=True):
                continue
            folder.mkdir(mode=0o700, exist_ok=True)
            if not _is_private(folder):
                continue
            with tempfile.TemporaryFile(dir=folder):
                pass
            # Mark the folder only if it is empty: marked folders may be removed, and a user's files may be in this one.
            with suppress(OSError):
                if not any(folder.iterdir()):
                    mark(folder, _MARKER_TEXT)
            os.utime(folder)
        except OSError:
            continue
        with suppress(OSError):  # another process may be sweeping the same folders
            _sweep(root, folder)
        return folder
    return None


def mark(folder: Path, text: str, digests: Mapping[str, str] | None = None) -> None:
    """Writes a marker with `text` and `digests`, unless `folder` has one. Leaves no new marker if it raises OSError."""
    marker = folder / MARKER
    with suppress(FileExistsError), marker.open("x", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        try:
            file.write(text + "".join(f"{digest} {name}\n" for name, digest in (digests or {}).items()))
            file.flush()
        except BaseException:
            marker.unlink()
            raise


def digest_of(path: Path) -> str:
    """Returns the SHA-256 of a file's contents; for a symbolic link, of "link to " and its target. Raises OSError."""
    if path.is_symlink():
        return hashlib.sha256(b"link to " + os.fsencode(path.readlink())).hexdigest()
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def listed(folder: Path, text: str) -> dict[str, str] | None:
    """Returns the digests in the folder's marker, by file name; None if the marker is unusable or lacks `text`."""
    marker = folder / MARKER
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode) or not stat.S_ISREG(marker.lstat().st_mode):
            return None
        found = read_bytes(marker, _LONGEST_MARKER).decode("utf-8", "surrogateescape")
    except OSError:
        return None
    if not found.startswith(text):
        return None
    lines = (line.partition(" ") for line in found.removeprefix(text).split("\n") if line)
    return {os.path.normpath(name): digest for digest, _, name in lines}


def strangers(folder: Path, names: Mapping[str, str]) -> list[Path]:
    """Returns the files in a marked folder, sorted, except the unchanged files that `names` lists with their digests.

    Also omits the marker, and the bytecode of modules in `names`.
    """
    paths = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path for path in paths if path != folder / MARKER and not is_listed(path, folder, names))


def is_listed(path: Path, folder: Path, names: Mapping[str, str]) -> bool:
    """Returns whether `path` in `folder` is in `names` and unchanged, or is the bytecode of a module in `names`."""
    place = path.relative_to(folder)
    module = str(place.parent.parent / f"{place.name.partition('.')[0]}.py")
    if place.parent.name == "__pycache__" and place.suffix == ".pyc" and module in names:
        return True
    with suppress(OSError):  # the file is missing or cannot be read
        return str(place) in names and names[str(place)] == digest_of(path)
    return False


def remove_listed(folder: Path, text: str) -> None:
    """Deletes the unchanged files that the marker lists, the bytecode of listed modules, and their empty folders.

    Does nothing unless the marker begins with `text` and lists files. Skips undeletable files; raises other OSErrors.
    """
    names = listed(folder, text)
    if not names:
        return
    made = {parent for name in names for parent in (*Path(name).parents, Path(name).parent / "__pycache__")}
    for place, folders, files in os.walk(folder, topdown=False):
        for path in (Path(place, name) for name in (*files, *folders)):
            with suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    if path.relative_to(folder) in made:
                        path.rmdir()
                elif is_listed(path, folder, names):
                    path.unlink()
    _remove_marked(folder)


def _remove_marked(folder: Path) -> None:
    """Deletes a folder if it contains only its marker. Raises OSError."""
    if [path.name for path in folder.iterdir()] == [MARKER]:
        (folder / MARKER).unlink()
        folder.rmdir()


def renew(*folders: Path) -> None:
    """Records, if possible, that each of `folders` with a marker was used now, so that the folder is kept."""
    for folder in folders:
        with suppress(OSError):
            if (folder / MARKER).is_file():
                os.utime(folder)


def _sweep(root: Path, current: Path) -> None:
    """Removes the builds in `root`, except `current`, that were not used recently; keeps all other files."""
    others = [
        (path.lstat().st_mtime, path)
        for path in root.iterdir()
        if path != current and _NAME.fullmatch(path.name) and listed(path, _MARKER_TEXT) == {}
    ]
    for rank, (used, path) in enumerate(sorted(others, reverse=True), start=1):
        unused = time.time() - used
        # Keep folders used within the last hour, because another version may be starting.
        if unused > KEEP_SECONDS or (rank > KEEP_FOLDERS and unused > 3600):
            with suppress(OSError):
                for file in list(path.iterdir()):
                    if _KERNEL.fullmatch(file.name) or SCRATCH.fullmatch(file.name):
                        file.unlink()
                _remove_marked(path)


def sealed(path: Path, body: bytes) -> bytes:
    """Returns the contents of the kernel file at `path`: a checksum, then `body`."""
    return _checksum(path, body) + body


def unsealed(path: Path, content: bytes) -> bytes | None:
    """Returns the body of a kernel file from its `content`; None if that is damaged or written for another `path`."""
    body = content[_CHECKSUM_BYTES:]
    return body if content == sealed(path, body) else None


def _checksum(path: Path, body: bytes) -> bytes:
    purpose = f"Secateur kernel {path.parent.name}/{path.name}\n".encode()
    return hashlib.blake2b(purpose + body, digest_size=_CHECKSUM_BYTES).digest()
