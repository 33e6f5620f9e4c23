"""Deletes the files that `make` built: `python -m bench.clean EXECUTABLE`, run by `make clean`.

These are the executable, the kernel libraries and the stand-alone program. Other files stay, and so do the folders that
contain them.
"""

import sys
from contextlib import suppress
from pathlib import Path

from bench.standalone import MARKER_TEXT
from engine.compiler.cache_folder import remove_listed
from engine.compiler.launcher import remove_launcher
from engine.compiler.levels import LEVELS
from engine.compiler.library import LibraryError, library_path, read_description
from engine.files import reason, shown

if __name__ == "__main__":
    try:
        remove_launcher(Path(sys.argv[1]))
        # A link may lead to files that other copies of the project use.
        for folder in (one for one in (Path("dist"), Path("engine/kernels")) if one.is_dir() and not one.is_symlink()):
            remove_listed(folder / "secateur", MARKER_TEXT)
            for path in (library_path(level, folder) for level in LEVELS):
                with suppress(LibraryError):
                    if read_description(path) and not path.is_symlink():
                        path.unlink()
            with suppress(OSError):
                folder.rmdir()
    except OSError as error:
        sys.exit(f"secateur: {shown(error.filename or 'clean')}: {reason(error)}")
