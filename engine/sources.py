"""Which source files machine code is made of, and the hash that names their text."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

PROJECT_ROOT: Final = Path(__file__).resolve().parent.parent

#: Source folders whose files can reach machine code; everything in them counts, but for UNCOMPILED.
KERNEL_FOLDERS: Final = ("engine", "engine/board", "eval", "eval/network", "eval/terms", "search", "search/kernels")

#: Files of those folders that no machine code is made of: they hold no kernel, and no kernel's module takes a value
#: from them. An edit to one keeps the kernel cache.
UNCOMPILED: Final = frozenset(
    (
        "engine/arguments.py",
        "engine/builder.py",
        "engine/cache_folder.py",
        "engine/compiling.py",
        "engine/errors.py",
        "engine/extras.py",
        "engine/files.py",
        "engine/kernel_cache.py",
        "engine/launcher.py",
        "engine/progress.py",
        "engine/version.py",
        "engine/board/convert.py",
        "eval/build.py",
        "eval/report.py",
        "eval/network/evaluator.py",
        "eval/network/format.py",
        "eval/network/reference.py",
        "search/benchmark.py",
        "search/deepening.py",
        "search/export.py",
        "search/game.py",
        "search/info.py",
        "search/outcome.py",
        "search/perft.py",
        "search/searcher.py",
        "search/strength.py",
        "search/tablebase.py",
        "search/techniques.py",
        "search/threads.py",
        "search/timing.py",
        "search/warmup.py",
    )
)


def kernel_sources() -> list[Path]:
    """The source files whose text can change machine code, sorted; none in a program that comes without its sources."""
    paths = (path for folder in KERNEL_FOLDERS for path in (PROJECT_ROOT / folder).glob("*.py"))
    return sorted(path for path in paths if path.relative_to(PROJECT_ROOT).as_posix() not in UNCOMPILED)


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
