"""Which source files machine code is made of, and the hash that names their text."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

PROJECT_ROOT: Final = Path(__file__).resolve().parent.parent

#: Source folders whose files can reach machine code; everything in them counts.
KERNEL_FOLDERS: Final = ("engine", "engine/board", "eval", "eval/network", "eval/terms", "search")


def kernel_sources() -> list[Path]:
    """The source files whose text can change machine code, sorted; none in a program that comes without its sources."""
    return sorted(path for folder in KERNEL_FOLDERS for path in (PROJECT_ROOT / folder).glob("*.py"))


def source_hash() -> str | None:
    """A 20-digit hexadecimal name for the text of the kernels' sources; None where they are not on the disk."""
    paths = kernel_sources()
    if not paths:
        return None
    digest = hashlib.sha256()
    add_sources(digest, paths)
    return digest.hexdigest()[:20]


def add_sources(digest: hashlib._Hash, paths: list[Path]) -> None:
    """Adds names and texts of source files of the project to a digest."""
    for path in paths:
        digest.update(path.relative_to(PROJECT_ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
