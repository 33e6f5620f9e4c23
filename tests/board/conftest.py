"""What the tests of the kernel cache share: copies of the project with a tiny kernel, and caches that hold it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.compiler.cache_folder import CACHE_VARIABLE
from tests.board.tiny_kernel import RUN_TINY, build_folders, copy_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The copy that `run_tiny` runs the kernel in."""
    return copy_project(tmp_path / "project")


@pytest.fixture
def run_tiny(project: Path, tmp_path: Path, run_python: Callable[..., str]) -> Callable[..., dict[str, Any]]:
    """Runs the tiny kernel in a fresh process; `tmp_path / "kernels"` holds the cache unless told otherwise."""

    def run(before: str = "", cwd: Path = project, at: Path = project, **env: str | None) -> dict[str, Any]:
        named: dict[str, Any] = {CACHE_VARIABLE: str(tmp_path / "kernels"), "PYTHONDONTWRITEBYTECODE": "1"} | env
        answer: dict[str, Any] = json.loads(run_python(before + RUN_TINY, cwd=cwd, paths=(at,), **named))
        return answer

    return run


@pytest.fixture(scope="session")
def filled_cache(tmp_path_factory: pytest.TempPathFactory, run_python: Callable[..., str]) -> Path:
    """A cache as a first run leaves it; to be copied."""
    folder = tmp_path_factory.mktemp("filled")
    project = copy_project(folder / "project")
    answer = run_python(RUN_TINY, cwd=project, paths=(project,), **{CACHE_VARIABLE: str(folder / "kernels")})
    assert (json.loads(answer)["value"], json.loads(answer)["misses"]) == (12, 1)
    return folder / "kernels"


@pytest.fixture
def warm(filled_cache: Path, tmp_path: Path) -> Path:
    """The build folder of a cache that an earlier run has filled, where `run_tiny` looks for it."""
    (folder,) = build_folders(Path(shutil.copytree(filled_cache, tmp_path / "kernels")))
    return folder
