"""Deletes the files that `make` built: `python -m bench.clean EXECUTABLE`, run by `make clean`.

These are the executable, the kernel libraries, the stand-alone program and the static site. Other files stay, and so
do the folders that contain them.
"""

import sys
from contextlib import suppress
from pathlib import Path

from bench.site import MARKER_TEXT as SITE_TEXT
from bench.standalone import MARKER_TEXT
from engine.compiler.cache_folder import remove_listed
from engine.compiler.launcher import remove_launcher
from engine.compiler.levels import HERE, TARGETS
from engine.compiler.library import LibraryError, library_path, read_description
from engine.files import reason, shown


def main(executable: Path) -> None:
    """Deletes the files. Raises OSError, also if `executable` is not a launcher of Secateur."""
    remove_launcher(executable)
    programs, kernels = Path("dist"), Path("engine/kernels")
    # A link may lead to files that other copies of the project use.
    if not programs.is_symlink():
        remove_listed(programs / "secateur", MARKER_TEXT)
        remove_listed(programs / "site", SITE_TEXT)
    if not kernels.is_symlink():
        for path in {library_path(level, kernels, one) for one in (*TARGETS, HERE) for level in one.levels}:
            with suppress(LibraryError):
                if read_description(path) and not path.is_symlink():
                    path.unlink()
    for folder in (programs, kernels):
        with suppress(OSError):
            folder.rmdir()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except OSError as error:
        sys.exit(f"secateur: {shown(error.filename or 'clean')}: {reason(error)}")
