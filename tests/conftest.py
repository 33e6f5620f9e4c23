"""What the test rooms share: gathered data beside the project, fresh Python processes, Hypothesis' settings."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parent.parent
SHARED_DATA = PROJECT.parent / "shared" / "data"

# No deadline, because a first call compiles; the same examples in every run, because a red test must stay red.
settings.register_profile("secateur", deadline=None, derandomize=True, database=None)
settings.load_profile("secateur")


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """`shared_data("perft/standard.epd")` is the path of that file; the test is skipped where it is absent."""

    def find(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.is_file():
            pytest.skip(f"gathered test data is absent: ../shared/data/{name}")
        return path

    return find


@pytest.fixture(scope="session")
def run_python() -> Callable[..., str]:
    """`run_python(script, argument, ..., NAME="value")` runs `script` in a fresh interpreter; gives its stdout.

    Keywords are environment variables, None removes one; `cwd` and `paths` (for imports, the project by default) are
    not. Fails with the interpreter's stderr when it does not exit with 0.
    """

    def run(script: str, *arguments: str, cwd: Path = PROJECT, paths: tuple[Path, ...] = (PROJECT,), **env: Any) -> str:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))} | env
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            cwd=cwd,
            env={name: value for name, value in environment.items() if value is not None},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
