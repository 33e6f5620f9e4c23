"""Lists and hashes the source files on which the kernels' machine code depends."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

PROJECT_ROOT: Final = Path(__file__).resolve().parent.parent.parent

#: Folders of kernels. Machine code may depend on every Python file directly in them, but not on files in subfolders.
KERNEL_FOLDERS: Final = ("engine/board", "engine/compiler", "eval", "eval/kernels", "eval/terms", "search/kernels")

#: Other files with constants that kernels use.
KERNEL_FILES: Final = ("engine/memory.py", "eval/network/layout.py", "search/limits.py", "search/tunables.py")


def kernel_sources() -> list[Path]:
    """Returns the sorted source files whose text can change machine code; [] if the sources are not installed."""
    paths = [path for folder in KERNEL_FOLDERS for path in (PROJECT_ROOT / folder).glob("*.py")]
    paths += [path for name in KERNEL_FILES if (path := PROJECT_ROOT / name).is_file()]
    return sorted(paths)


def source_hash() -> str | None:
    """Returns a 20-digit hexadecimal hash of the kernels' sources; None if they are not installed."""
    paths = kernel_sources()
    if not paths:
        return None
    digest = hashlib.sha256()
    add_sources(digest, paths)
    return digest.hexdigest()[:20]


def add_sources(digest: hashlib._Hash, paths: list[Path]) -> None:
    """Adds the names and texts of the project source files `paths` to `digest`, which is mutated.

    Leaves out the prefix `secateur.` that an installation adds, so that the digest is the same as in the checkout.
    """
    for path in paths:
        text = path.read_bytes().replace(b"secateur.", b"")
        digest.update(os.fsencode(path.relative_to(PROJECT_ROOT).as_posix()) + b"\0" + text + b"\0")
