"""Builds the libraries of kernels for one processor level: `python -m search.export LINKER LEVEL TARGET=FILE ...`.

`secateur kernels build` runs this module once for each level that it builds, with the environment that
`engine.compiler.library.build_environment` returns. The kernels are those of `search.warmup.EVERYTHING`, compiled for
the argument types of the calls there. LINKER is `zig` or `cc`. For each platform TARGET that is done, the module prints
a line on stdout: in JSON, the name of the platform, and the reason why its library was not written or "".
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from engine.compiler import compiling
from engine.compiler.builder import check_parent, check_place, write_libraries
from engine.compiler.levels import ALL_LEVELS, HERE, TARGETS, Target
from engine.compiler.linking import BuildError
from search.warmup import EVERYTHING


def main(linker: str, name: str, *places: str) -> str | None:
    """Builds the libraries of the level `name`; returns an error message, or None if it has reported all platforms."""
    targets = {target.name: target for target in (*TARGETS, HERE)}
    pairs = (place.partition("=") for place in places)
    paths = {targets[target]: Path(path) for target, _, path in pairs}
    # Only the reason for a failure goes to stderr: the parent process reports progress.
    compiling.silence()
    for target, path in list(paths.items()):
        try:
            check_place(path)
        except BuildError as error:
            _report(target, str(error))
            del paths[target]
    if not paths:
        return None
    try:
        for _, _, call in EVERYTHING:
            check_parent()
            call()
        kernels = [kernel for _, kernel, _ in EVERYTHING]
        for target, problem in write_libraries(kernels, ALL_LEVELS[name], paths, linker == "zig"):
            _report(target, problem)
    except BuildError as error:
        return str(error)
    return None


def _report(target: Target, problem: str) -> None:
    sys.stdout.write(json.dumps([target.name, problem]) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
