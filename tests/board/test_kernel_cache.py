"""The kernel cache: rebuilt when it must be, kept when it can be, never in the way.

The tests with processes run copies of the project with a kernel of a few lines. `test_cache_folder` tests where the
cache lies.
"""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.compiler import jit, kernel_cache, numba_hooks
from engine.compiler.cache_folder import CACHE_VARIABLE, unsealed
from engine.compiler.kernel_cache import KernelCache
from engine.compiler.sources import kernel_sources
from tests.board.tiny_kernel import PROJECT, RUN_TINY, TINY, TINY_PART

RunTiny = Callable[..., dict[str, Any]]


def edit(path: Path, old: str, new: str) -> None:
    """Changes a file's text but neither its size nor its time, by which some caches go."""
    text, status = path.read_text(encoding="utf-8"), path.stat()
    assert text.count(old) == 1
    assert len(old) == len(new)
    path.write_text(text.replace(old, new), encoding="utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


# --- keeping and rebuilding ----------------------------------------------------------------------------------------


def test_a_second_start_loads_what_the_first_compiled(warm: Path, run_tiny: RunTiny, tmp_path: Path) -> None:
    answer = run_tiny(cwd=tmp_path)
    assert (answer["value"], answer["hits"], answer["misses"]) == (12, 1, 0)
    assert (answer["folder"], answer["problem"]) == (str(warm), None)
    # Only the entry point has a file: its subkernel is inside it.
    assert len(list(warm.glob("*.nbc"))) == 1


def test_edit_of_another_file_is_seen(warm: Path, run_tiny: RunTiny, project: Path) -> None:
    edit(project / "engine" / "board" / "tiny_part.py", "x + 1", "x + 5")
    after = run_tiny()
    assert (after["value"], after["hits"], after["misses"]) == (16, 0, 1)
    assert after["folder"] != str(warm)
    edit(project / "engine" / "board" / "tiny_part.py", "x + 5", "x + 1")
    moved = project.rename(project.with_name("moved"))
    again = run_tiny(cwd=moved, at=moved)
    assert (again["value"], again["hits"], again["folder"]) == (12, 1, str(warm))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("USE_PEXT", None),
        ("VECTOR_BITS", 1),
        ("TRACING", None),
        ("CHECKED", None),
        ("CPU_NAME", ""),
        ("_companion", "x"),
    ],
)
def test_every_choice_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
    before = jit.build_hash()
    monkeypatch.setattr(jit, name, value)
    assert jit.build_hash() != before


def modules_of(*folders: str) -> Iterator[Path]:
    return (path for folder in folders for path in (PROJECT / folder).rglob("*.py"))


def test_every_kernel_lies_in_a_folder_that_counts() -> None:
    sources = set(kernel_sources())
    assert PROJECT / "engine" / "compiler" / "jit.py" in sources
    decorators = ("@kernel", "@subkernel", "@inlined", "@machine_op", "= inlined(", "njit(")
    found = {
        path
        for path in modules_of("engine", "eval", "search", "bench")
        if any(decorator in path.read_text(encoding="utf-8") for decorator in decorators)
    }
    assert PROJECT / "engine" / "board" / "make.py" in found
    # The training pipeline's kernels are keyed by their files too.
    assert {path.parent for path in found - sources} == {PROJECT / "eval" / "training" / "kernels"}


#: Kernel modules take decorators and choices from these. The name of the cache folder covers what they choose.
OPEN_DOORS = (
    "engine.compiler.jit",
    "engine.compiler.library",
    "engine.compiler.numba_hooks",
    "eval.build",
    "eval.custom",
)


def test_no_kernel_takes_a_value_from_a_file_that_does_not_count() -> None:
    """Walks the imports of every module with kernels, and of what it imports."""
    modules = {
        ".".join(path.relative_to(PROJECT).with_suffix("").parts): path
        for path in modules_of("engine", "eval", "search")
    }
    imported = {name: _imported_names(path) for name, path in modules.items()}
    decorators = {"kernel", "subkernel", "inlined", "float_kernel", "float_inlined", "hook", "machine_op"}
    declared = {f"engine.compiler.jit.{name}" for name in decorators}
    waiting = [name for name in modules if declared & imported[name]]
    assert "search.kernels.alphabeta" in waiting
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += () if name in OPEN_DOORS else imported[name] & modules.keys()
    # The files of the training's kernels are in their own keys.
    training = set((PROJECT / "eval" / "training" / "kernels").glob("*.py"))
    assert {modules[name] for name in reached} - training <= set(kernel_sources())


def _imported_names(path: Path) -> set[str]:
    """The modules that a file imports, and `module.name` for names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_a_tool_s_kernels_are_rebuilt_alone(warm: Path, project: Path, run_tiny: RunTiny) -> None:
    """A kernel outside the folders that name the cache folder goes by the files beside it."""
    tools = project / "eval" / "training"
    for name, text in (
        ("tiny.py", TINY.replace("engine.board.tiny_part", "eval.training.tiny_part")),
        ("tiny_part.py", TINY_PART),
    ):
        (tools / name).write_text(text, encoding="utf-8")
    # The engine's own is loaded; then `engine.board.tiny` means the tool's.
    before = """
import sys
import engine.board.tiny
assert engine.board.tiny.tiny(1) == 12 and engine.board.tiny.tiny.stats.cache_hits
import eval.training.tiny
sys.modules["engine.board.tiny"] = eval.training.tiny
"""

    def run() -> tuple[int, int]:
        answer = run_tiny(before)
        assert answer["folder"] == str(warm)
        return answer["value"], answer["hits"]

    assert [run(), run()] == [(12, 0), (12, 1)]
    edit(tools / "tiny_part.py", "x + 1", "x + 5")
    assert run() == (16, 0)


# --- company and damage --------------------------------------------------------------------------------------------


def test_processes_that_start_at_once_on_an_empty_cache(run_tiny: RunTiny, project: Path, tmp_path: Path) -> None:
    environment = os.environ | {CACHE_VARIABLE: str(tmp_path / "kernels"), "PYTHONPATH": str(project)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RUN_TINY],
            cwd=project,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        answer = json.loads(output)
        assert (answer["value"], answer["problem"]) == (12, None)
    assert run_tiny()["hits"] == 1


def test_a_damaged_file_costs_one_compilation(warm: Path, run_tiny: RunTiny) -> None:
    (file,) = warm.glob("*.nbc")
    content = file.read_bytes()
    # Machine code that crashes, as a bad sector of a disk may leave it.
    head = content.index(b"\x7fELF") if b"\x7fELF" in content else len(content) // 2
    file.write_bytes(content[: head + 64] + b"\xcc" * 256 + content[head + 320 :])
    after = run_tiny()
    assert (after["value"], after["hits"], after["misses"], after["problem"]) == (12, 0, 1, None)
    assert run_tiny()["hits"] == 1


def test_no_damaged_or_foreign_file_is_believed(warm: Path, tmp_path: Path) -> None:
    (file,) = warm.glob("*.nbc")
    content = file.read_bytes()
    assert unsealed(file, content) is not None
    damaged = [b"", content[:-1], content[:32], content + b"\0"]
    for place in [*range(64), *random.Random(1).sample(range(64, len(content)), 100)]:
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        damaged.append(bytes(flipped))
    assert not [found for found in damaged if unsealed(file, found) is not None]
    # The file of another kernel or signature has another name, that of another build lies in another folder.
    for path in (file.with_name("0" * 32 + ".nbc"), tmp_path / file.name):
        assert unsealed(path, content) is None


def function_of(module: str, body: str = "x") -> Any:
    namespace: dict[str, Any] = {"__name__": module}
    exec(compile(f"def tiny(x):\n    return {body}\n", str(PROJECT / "engine" / "tiny.py"), "exec"), namespace)
    return namespace["tiny"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KernelCache:
    """A cache of a kernel whose machine code is a text."""
    monkeypatch.setattr(kernel_cache, "save_errors", [])
    monkeypatch.setattr(numba_hooks, "to_bytes", str.encode)
    monkeypatch.setattr(numba_hooks, "from_bytes", lambda data, context: data.decode())
    return KernelCache(function_of("a"), tmp_path)


def test_a_full_disk_costs_the_cache_and_nothing_else(
    cache: KernelCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        cache.save_overload("()", "code" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(jit, "save_errors", kernel_cache.save_errors)
    assert "File too large" in str(jit.cache_problem())
    cache.save_overload("()", "code")
    assert cache.load_overload("()", None) == "code"


def test_division_by_zero_raises_nothing() -> None:
    @jit.subkernel
    def divide(a: Any, b: Any) -> Any:
        return a / b

    assert divide(1.0, 0.0) == float("inf")
