"""Builds the library of kernels for one processor level: `python -m search.export LEVEL FILE`.

`secateur kernels build` runs this module once for each level that it builds, with the environment that
`engine.compiler.library.build_environment` returns. The kernels are those of `search.warmup.EVERYTHING`, compiled for
the argument types of the calls there.
"""

from __future__ import annotations

import sys
from pathlib import Path

from engine.compiler import compiling
from engine.compiler.builder import BuildError, check_place, write_library
from engine.compiler.levels import LEVELS
from engine.files import reason, shown
from search.warmup import EVERYTHING


def main(name: str, path: str) -> str | None:
    """Builds the library of the level `name` in the file `path`; returns an error message, or None on success."""
    level = next((level for level in LEVELS if level.name == name), None)
    if level is None:
        return f"unknown level '{name}'; the levels are {', '.join(level.name for level in LEVELS)}"
    # Only the reason for a failure goes to stderr: the parent process reports progress.
    compiling.silence()
    try:
        for _, _, call in EVERYTHING:
            check_place(Path(path))
            call()
        write_library([kernel for _, kernel, _ in EVERYTHING], level, Path(path))
    except BuildError as error:
        return str(error)
    except OSError as error:
        return f"{shown(error.filename or path)}: {reason(error)}"
    return None


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m search.export LEVEL FILE")
    sys.exit(main(*sys.argv[1:]))
