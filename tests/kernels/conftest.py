"""A library of kernels, built once for all tests of this room."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.compiler import jit
from engine.compiler.levels import LEVELS, SLOW_PEXT_CPUS, Level
from engine.compiler.library import FOLDER_VARIABLE, KERNELS_VARIABLE, library_path
from tests.conftest import PROJECT

#: What a script begins with that is to find no Numba, as where it is not installed.
WITHOUT_NUMBA = "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None\n"


def best_level() -> Level:
    """The level that this machine should take, by what LLVM says of its processor."""
    has_pext = jit.CPU_NAME not in SLOW_PEXT_CPUS
    return next(
        level
        for level in LEVELS
        if all(jit.CPU_FEATURES.get(name, False) for name in level.features) and (has_pext or not level.pext)
    )


def build(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`secateur kernels build` into a folder."""
    return subprocess.run(
        [sys.executable, str(PROJECT / "uci_main.py"), "kernels", "build", *arguments],
        env={**os.environ, FOLDER_VARIABLE: str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="session")
def level() -> Level:
    return best_level()


@pytest.fixture(scope="session")
def built(level: Level, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library of this machine's level; not to be changed.

    It is kept beside the kernels that Numba has compiled, in a folder that is named by all that could change it.
    """
    if shutil.which("cc") is None:
        pytest.skip("building kernels takes a C compiler")
    folder = tmp_path_factory.mktemp("kernels") if jit.CACHE_FOLDER is None else jit.CACHE_FOLDER / "built"
    if not library_path(level, folder).exists():
        done = build(folder, "--level", level.name)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def copied(built: Path, level: Level, tmp_path: Path) -> Path:
    """The library in a folder of its own, to be damaged."""
    return Path(shutil.copy(library_path(level, built), tmp_path))


@pytest.fixture
def run_built(built: Path, run_python: Callable[..., str]) -> Callable[..., str]:
    """Runs a script like `run_python` with the built kernels, and checks that Numba was not imported."""

    def run(script: str, *arguments: str, folder: Path = built) -> str:
        check = "\nimport sys\nassert not {'numba', 'llvmlite'} & set(sys.modules), 'Numba was imported'\n"
        environment = {KERNELS_VARIABLE: None, FOLDER_VARIABLE: str(folder)}
        return run_python(script + check, *arguments, **environment)

    return run
