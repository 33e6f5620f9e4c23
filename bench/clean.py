"""Removes the files that the Makefile's targets create: `python -m bench.clean STAMP...`, run by `make clean`.

Each STAMP is a file that `make` wrote into a folder. The file is empty if `make` also created the folder. In a virtual
environment, the files of `venv`, `make` and pip are removed. `docs/_build` is removed as a whole, and so are built
programs, wheels and kernel libraries. Other files are reported and left in place.
"""

from __future__ import annotations

import csv
import shutil
import sys
from contextlib import suppress
from os.path import normpath
from pathlib import Path

from bench.standalone import MARKER_TEXT
from engine.arguments import complain_about
from engine.compiler.cache_folder import MARKER, SCRATCH, mark, remove_listed, strangers
from engine.compiler.levels import LEVELS
from engine.compiler.library import library_path
from engine.compiler.sources import PROJECT_ROOT
from engine.files import reason, shown

#: Patterns of the files that `venv` and `make` create in an environment. pip lists its files in files named RECORD.
_PARTS = ("pyvenv.cfg", ".gitignore", "lib64", "bin/python*", "bin/[Aa]ctivate*", "lib/*/site-packages/secateur.pth")
_STAMPS = (".play", ".warm", ".dev", ".lab", ".explore", ".docs", ".ready")

_CLEANED_TEXT = "make clean removes the files of this list.\n"


def main(stamps: list[Path]) -> None:
    """Removes the files that `make` created. Reports other files, which stay in place, on stderr. Raises OSError."""
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
    complain_about("make clean", [f"{shown(path)}: was not made by make and is left in place" for path in stays])


def _remove_folder(stamp: Path) -> list[Path]:
    """Removes the files of `make` in a stamp's folder if `make` created that folder. Returns the paths not removed."""
    folder = stamp.parent
    if folder.is_symlink() or not stamp.is_file() or stamp.stat().st_size:
        return [folder]
    if folder.name == "_build":  # made by Sphinx
        shutil.rmtree(folder)
        return []
    names = {*_STAMPS, *(path.relative_to(folder).as_posix() for part in _PARTS for path in folder.glob(part))}
    for record in folder.glob("lib/*/site-packages/*.dist-info/RECORD"):
        packages = record.parent.parent.relative_to(folder)
        with record.open(encoding="utf-8", newline="") as file:
            names |= {normpath(packages / row[0]) for row in csv.reader(file) if row}
    mark(folder, _CLEANED_TEXT, sorted(names))
    remove_listed(folder, _CLEANED_TEXT)
    (folder / MARKER).unlink(missing_ok=True)
    return strangers(folder, frozenset())


if __name__ == "__main__":
    try:
        main([Path(name) for name in sys.argv[1:]])
    except OSError as error:
        sys.exit(f"secateur: {shown(error.filename or 'clean')}: {reason(error)}")
