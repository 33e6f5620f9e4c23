"""Removes what the Makefile's targets make in the project's folder: `python -m bench.clean STAMP...`, for `make clean`.

Each STAMP is a file in a folder, and empty if `make` made the folder: then the whole folder goes. From the other
targets' folders only the targets' own files go; what else lies there stays and is reported.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from pathlib import Path

from bench.standalone import MARKER_TEXT
from engine.arguments import complain_about
from engine.compiler.cache_folder import SCRATCH, remove_listed
from engine.compiler.levels import LEVELS
from engine.compiler.library import library_path
from engine.compiler.sources import PROJECT_ROOT
from engine.files import reason, shown


def main(stamps: list[Path]) -> None:
    """Removes the files and reports what stays. Raises OSError."""
    stays = [path for stamp in stamps if stamp.parent.exists() for path in _remove_folder(stamp)]
    dist, kernels = PROJECT_ROOT / "dist", PROJECT_ROOT / "engine" / "kernels"
    remove_listed(dist / "secateur", MARKER_TEXT)
    files = [*dist.glob("secateur-*-py3-none-*.whl"), *(library_path(level, kernels) for level in LEVELS)]
    files += [path for path in kernels.glob(".*") if SCRATCH.fullmatch(path.name)]
    for path in files:
        if path.is_file() and not path.is_symlink():
            path.unlink()
    for folder in (dist, kernels):
        stays += sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
        with suppress(OSError):
            folder.rmdir()
    complain_about("make clean", [f"{shown(path)}: was not made by make, and stays" for path in stays])


def _remove_folder(stamp: Path) -> list[Path]:
    """Removes the folder of a stamp, if `make` made it; returns what stays."""
    folder = stamp.parent
    if folder.is_symlink() or not stamp.is_file() or stamp.stat().st_size:
        return [folder]
    shutil.rmtree(folder)
    return []


if __name__ == "__main__":
    try:
        main([Path(name) for name in sys.argv[1:]])
    except OSError as error:
        sys.exit(f"secateur: {shown(error.filename or 'clean')}: {reason(error)}")
