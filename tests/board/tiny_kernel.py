"""A copy of the project with one more kernel of a few lines, and a script that runs it."""

from __future__ import annotations

import shutil
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent

TINY = """
from engine.compiler.jit import kernel
from engine.board.tiny_part import STEP, advance

@kernel
def tiny(x):
    return advance(x) + STEP
"""
TINY_PART = """
from engine.compiler.jit import subkernel

STEP = 10

@subkernel
def advance(x):
    return x + 1
"""
RUN_TINY = """
import json, sys
from engine.compiler import jit
from engine.board.tiny import tiny
value = int(tiny(1))
statistics = tiny.stats
print(json.dumps({
    "value": value,
    "hits": sum(statistics.cache_hits.values()),
    "misses": sum(statistics.cache_misses.values()),
    "folder": jit.CACHE_FOLDER and str(jit.CACHE_FOLDER),
    "problem": jit.cache_problem(),
}))
"""


def copy_project(target: Path) -> Path:
    """Copies the project and adds one more kernel, `engine.board.tiny`, that is spread over two files."""
    for folder in ("engine", "eval", "search"):
        shutil.copytree(PROJECT / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("uci_main.py", "pyproject.toml"):
        shutil.copy(PROJECT / file, target / file)
    (target / "engine" / "board" / "tiny.py").write_text(TINY, encoding="utf-8")
    (target / "engine" / "board" / "tiny_part.py").write_text(TINY_PART, encoding="utf-8")
    return target


def build_folders(root: Path) -> list[Path]:
    """The folders of a cache, one for each build."""
    return sorted(path for path in root.iterdir() if path.is_dir())
