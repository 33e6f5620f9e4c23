"""Removes what the Makefile's targets make in the project's folder: `python -m bench.clean STAMP...`, for `make clean`.

Each STAMP is a file in an environment, and empty if `make` made the environment. Other files in the targets' folders
stay and are reported. This needs no installed package.
"""

from __future__ import annotations

import re
import shutil
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

from bench.standalone import MARKER_TEXT
from engine.arguments import complain_about
from engine.compiler.cache_folder import SCRATCH, remove_listed
from engine.compiler.levels import LEVELS
from engine.compiler.library import LibraryError, library_path, read_description
from engine.compiler.sources import PROJECT_ROOT
from engine.files import reason, shown

_WHEEL = re.compile(r"secateur-[0-9.]+-py3-none-\w+\.whl")


def main(stamps: list[Path]) -> None:
    """Removes the files and reports what stays. Raises OSError."""
    stays = [stamp.parent for stamp in stamps if stamp.parent.exists() and not _remove_environment(stamp)]
    dist, kernels = PROJECT_ROOT / "dist", PROJECT_ROOT / "engine" / "kernels"
    remove_listed(dist / "secateur", MARKER_TEXT)
    for path in [*dist.glob("*.whl"), *(library_path(level, kernels) for level in LEVELS), *kernels.glob(".*")]:
        if path.is_file() and not path.is_symlink() and _is_own(path):
            path.unlink()
    for folder in (dist, kernels):
        stays += sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
        with suppress(OSError):
            folder.rmdir()
    complain_about("make clean", [f"{shown(path)}: was not made by make, and stays" for path in stays])


def _remove_environment(stamp: Path) -> bool:
    """Removes the environment of a stamp if `make` made it; returns whether it did."""
    is_own = not stamp.parent.is_symlink() and stamp.is_file() and not stamp.stat().st_size
    if is_own:
        shutil.rmtree(stamp.parent)
    return is_own


def _is_own(path: Path) -> bool:
    """Whether a file is a wheel of Secateur, a kernel library, or the unfinished file of one."""
    with suppress(LibraryError, zipfile.BadZipFile):
        if path.suffix == ".whl":
            return bool(_WHEEL.fullmatch(path.name)) and "secateur/__main__.py" in zipfile.ZipFile(path).namelist()
        read_description(path)
        return True
    return SCRATCH.fullmatch(path.name) is not None


if __name__ == "__main__":
    try:
        main([Path(name) for name in sys.argv[1:]])
    except OSError as error:
        sys.exit(f"secateur: {shown(error.filename or 'clean')}: {reason(error)}")
