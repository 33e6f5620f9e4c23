"""The kernel cache: rebuilt when it must be, kept when it can be, never in the way.

The tests run copies of the project in processes of their own, mostly with a kernel of a few lines that is put into
the copy for the purpose. Where the cache lies is `test_cache_folder`'s.
"""

from __future__ import annotations

import ast
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.compiler import jit
from engine.compiler.cache_folder import CACHE_VARIABLE
from engine.compiler.kernel_cache import CHECKSUM_BYTES
from engine.compiler.sources import UNCOMPILED, kernel_sources
from tests.board.tiny_kernel import PROJECT, RUN_TINY, TINY, TINY_PART


def edit(path: Path, old: str, new: str) -> None:
    """Changes a file's text but neither its size nor its time, by which some caches go."""
    text, status = path.read_text(encoding="utf-8"), path.stat()
    assert text.count(old) == 1
    assert len(old) == len(new)
    path.write_text(text.replace(old, new), encoding="utf-8")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


# --- keeping and rebuilding ----------------------------------------------------------------------------------------


def test_second_start_loads_what_the_first_compiled(run_tiny: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    first, second = run_tiny(), run_tiny()
    assert (first["value"], first["hits"], first["misses"]) == (12, 0, 1)
    assert (second["value"], second["hits"], second["misses"]) == (12, 1, 0)
    assert first["folder"] == second["folder"]
    assert Path(first["folder"]).parent == tmp_path / "kernels"
    assert first["problem"] is second["problem"] is None
    # Only the entry point has files: its subkernel is inside it.
    assert len(list(Path(first["folder"]).glob("*.nbc"))) == 1


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        pytest.param("STEP = 10", "STEP = 20", 22, id="constant"),
        pytest.param("x + 1", "x + 5", 16, id="subkernel"),
    ],
)
def test_edit_of_another_file_is_seen(
    warm: Path, run_tiny: Callable[..., dict[str, Any]], project: Path, old: str, new: str, value: int
) -> None:
    edit(project / "engine" / "board" / "tiny_part.py", old, new)
    after = run_tiny()
    assert (after["value"], after["hits"], after["misses"]) == (value, 0, 1)
    assert after["folder"] != str(warm)
    edit(project / "engine" / "board" / "tiny_part.py", new, old)
    again = run_tiny()
    assert (again["value"], again["hits"], again["folder"]) == (12, 1, str(warm))


def test_every_file_in_a_room_of_kernels_counts(project: Path, tmp_path: Path, run_python: Callable[..., str]) -> None:
    script = """
from pathlib import Path
from engine.compiler import jit

print(jit.build_hash())
for folder in ("engine/compiler", "engine/board", "eval", "search/kernels"):
    file = Path(folder, "added.py")
    for text in ("# one more", "# one less"):
        file.write_text(text)
        print(jit.build_hash())
    file.rename(file.with_name("renamed.py"))
    print(jit.build_hash())
"""
    named = {CACHE_VARIABLE: str(tmp_path / "kernels")}
    hashes = run_python(script, cwd=project, paths=(project,), **named).split()
    assert len(set(hashes)) == len(hashes) == 13
    assert {len(name) for name in hashes} == {20}


def test_every_kernel_lies_in_a_folder_that_counts() -> None:
    sources = set(kernel_sources())
    assert PROJECT / "engine" / "compiler" / "jit.py" in sources
    decorators = ("@kernel", "@subkernel", "@inlined", "@machine_op", "= inlined(", "njit(")
    rooms = ("engine", "eval", "search", "bench")
    found = {
        path
        for room in rooms
        for path in (PROJECT / room).rglob("*.py")
        if any(decorator in path.read_text(encoding="utf-8") for decorator in decorators)
    }
    assert PROJECT / "engine" / "board" / "make.py" in found
    # Those of the training pipeline are keyed by its files besides: see the next test.
    assert {path.parent for path in found - sources} == {PROJECT / "eval" / "training" / "kernels"}


#: Kernel modules take decorators and choices from these. The name of the cache folder covers what they choose.
OPEN_DOORS = ("engine.compiler.jit", "engine.compiler.library", "eval.build", "eval.custom")


def test_no_kernel_takes_a_value_from_a_file_that_does_not_count() -> None:
    """Walks the imports of every module with kernels, and of what it imports."""
    modules = {
        ".".join(path.relative_to(PROJECT).with_suffix("").parts): path
        for room in ("engine", "eval", "search")
        for path in (PROJECT / room).rglob("*.py")
        if not path.is_relative_to(PROJECT / "eval" / "training")
    }
    imported = {name: _imported_modules(path) & modules.keys() for name, path in modules.items()}
    waiting = [name for name, path in modules.items() if _declares_kernels(path)]
    assert "search.kernels.alphabeta" in waiting
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += () if name in OPEN_DOORS else imported[name]
    assert {modules[name] for name in reached} - {PROJECT / "eval" / "build.py"} <= set(kernel_sources())
    assert all((PROJECT / name).is_file() for name in UNCOMPILED)


def _imported_modules(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def _declares_kernels(path: Path) -> bool:
    decorators = {"kernel", "subkernel", "inlined", "float_kernel", "float_inlined", "hook", "machine_op"}
    return bool({f"engine.compiler.jit.{name}" for name in decorators} & _imported_modules(path))


def test_a_tool_s_kernels_are_rebuilt_alone(warm: Path, project: Path, run_python: Callable[..., str]) -> None:
    """A kernel outside the rooms that the cache folder is named by goes by the files beside it."""
    tools = project / "eval" / "training"
    for name, text in (
        ("tiny.py", TINY.replace("engine.board.tiny_part", "eval.training.tiny_part")),
        ("tiny_part.py", TINY_PART),
    ):
        (tools / name).write_text(text, encoding="utf-8")
    script = (
        "import engine.board.tiny\nassert engine.board.tiny.tiny(1) == 12 and engine.board.tiny.tiny.stats.cache_hits\n"
    )
    script += RUN_TINY.replace("from engine.board.tiny import", "from eval.training.tiny import")

    def run() -> dict[str, Any]:
        named = {CACHE_VARIABLE: str(warm.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        answer: dict[str, Any] = json.loads(run_python(script, cwd=project, paths=(project,), **named))
        assert answer["folder"] == str(warm)
        return answer

    assert [(answer["value"], answer["hits"]) for answer in (run(), run())] == [(12, 0), (12, 1)]
    edit(tools / "tiny_part.py", "x + 1", "x + 5")
    assert [(answer["value"], answer["hits"]) for answer in (run(), run())] == [(16, 0), (16, 1)]


def test_real_kernels_are_rebuilt_when_a_key_changes(
    project: Path, tmp_path: Path, run_python: Callable[..., str]
) -> None:
    script = """
import chess, json
from engine.board.convert import from_board
from engine.board.make import complete_position
position = from_board(chess.Board())
statistics = complete_position.stats
print(json.dumps([int(position["key"]), sum(statistics.cache_hits.values())]))
"""

    def run() -> tuple[int, int]:
        key, hits = json.loads(
            run_python(script, cwd=project, paths=(project,), SECATEUR_CACHE_DIR=str(tmp_path / "kernels"))
        )
        return key, hits

    assert run() == (0x463B96181691FC9C, 0)
    assert run() == (0x463B96181691FC9C, 1)
    zobrist = project / "engine" / "board" / "zobrist.py"
    text = zobrist.read_text(encoding="utf-8")
    assert text.count("_RANDOM[780]") == 1
    zobrist.write_text(text.replace("_RANDOM[780]", "(_RANDOM[780] ^ 0xFF)"), encoding="utf-8")
    assert run() == (0x463B96181691FC9C ^ 0xFF, 0)


@pytest.mark.skipif(not jit.USE_PEXT, reason="sliders use magic multiplication on this CPU in any case")
def test_choice_of_slider_lookup_has_a_cache_of_its_own(warm: Path, run_tiny: Callable[..., dict[str, Any]]) -> None:
    assert run_tiny(SECATEUR_PEXT="0")["folder"] != str(warm)


def test_kernels_of_one_name_in_two_rooms_do_not_meet(project: Path, tmp_path: Path, run_python: Any) -> None:
    # Same file name, same function name, same line, same bytecode: only the folder and the constant differ.
    for folder, value in (("engine/board", 1), ("search/kernels", 2)):
        text = f"from engine.compiler.jit import kernel\n\n@kernel\ndef answer(x):\n    return x + {value}\n"
        (project / folder / "twin.py").write_text(text, encoding="utf-8")
    script = "from engine.board import twin as one; from search.kernels import twin as two; "
    script += "print(one.answer(0), two.answer(0))"
    for _ in range(2):
        answer = run_python(script, cwd=project, paths=(project,), SECATEUR_CACHE_DIR=str(tmp_path / "kernels"))
        assert answer.split() == ["1", "2"]


# --- company and damage ---------------------------------------------------------------------------------------------


def test_processes_that_start_at_once_on_an_empty_cache(
    run_tiny: Callable[..., dict[str, Any]], project: Path, tmp_path: Path
) -> None:
    environment = os.environ | {
        CACHE_VARIABLE: str(tmp_path / "kernels"),
        "PYTHONPATH": str(project),
    }
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


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_off_the_last_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def keep_the_checksum_alone(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:CHECKSUM_BYTES])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garble(path: Path) -> None:
    path.write_bytes(b"\x93garbage\x00" * (path.stat().st_size // 9))


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def overwrite_machine_code(path: Path) -> None:
    """Pickled as before, with machine code that crashes: what a disk's bad sector may look like."""
    content = path.read_bytes()
    head = content.index(b"\x7fELF") if b"\x7fELF" in content else len(content) // 2
    path.write_bytes(content[: head + 64] + b"\xcc" * 256 + content[head + 320 :])


def put_numba_s_own_file_there(path: Path) -> None:
    path.write_bytes(pickle.dumps(("0.60.0", {})))


def remove(path: Path) -> None:
    path.unlink()


DAMAGES = [
    truncate,
    cut_off_the_last_byte,
    keep_the_checksum_alone,
    empty,
    garble,
    append,
    overwrite_machine_code,
    put_numba_s_own_file_there,
    remove,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_file_costs_one_compilation(
    warm: Path, run_tiny: Callable[..., dict[str, Any]], damage: Callable[[Path], None]
) -> None:
    (file,) = warm.glob("*.nbc")
    whole = file.stat().st_size
    damage(file)
    after, healed = run_tiny(), run_tiny()
    assert (after["value"], after["hits"], after["misses"], after["problem"]) == (12, 0, 1, None)
    assert (healed["value"], healed["hits"]) == (12, 1)
    assert abs(file.stat().st_size - whole) < 1000


def test_no_flipped_bit_is_believed(warm: Path, project: Path, run_python: Callable[..., str]) -> None:
    """Loads the file in one process again and again, with another bit flipped each time."""
    script = """
import json, random, sys
from pathlib import Path
from engine.board.tiny import tiny
from numba import int64

(file,) = Path(sys.argv[1]).glob("*.nbc")
whole = file.read_bytes()

def loads():
    return tiny._cache.load_overload((int64,), tiny.targetctx) is not None

found = [loads()]
places = [*range(64), *random.Random(1).sample(range(64, len(whole)), 400), len(whole) - 1]
for place in places:
    damaged = bytearray(whole)
    damaged[place] ^= 1 << place % 8
    file.write_bytes(damaged)
    found.append(loads())
file.write_bytes(whole)
found.append(loads())
print(json.dumps(found))
"""
    named = {CACHE_VARIABLE: str(warm.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    found = json.loads(run_python(script, str(warm), cwd=project, paths=(project,), **named))
    assert found == [True, *[False] * 465, True]


def test_a_file_of_another_kernel_signature_or_build_is_not_believed(
    project: Path, tmp_path: Path, run_python: Callable[..., str]
) -> None:
    """Two kernels and two signatures of one, whose files are swapped; then all of them taken from another build."""
    kernels = "@kernel\ndef more(x):\n    return x + 1\n\n@kernel\ndef less(x):\n    return x - 1\n"
    (project / "engine" / "board" / "pair.py").write_text(
        f"from engine.compiler.jit import kernel\n\n{kernels}", encoding="utf-8"
    )
    script = """
import json
from engine.compiler import jit
from engine.board.pair import less, more
values = [more(5), more(5.5), less(5)]
hits = sum(sum(kernel.stats.cache_hits.values()) for kernel in (more, less))
print(json.dumps([values, hits, str(jit.CACHE_FOLDER), jit.cache_problem()]))
"""

    def run(**env: str) -> tuple[int, Path]:
        named = {CACHE_VARIABLE: str(tmp_path / "kernels"), "PYTHONDONTWRITEBYTECODE": "1"} | env
        values, hits, folder, problem = json.loads(run_python(script, cwd=project, paths=(project,), **named))
        assert (values, problem) == ([6, 6.5, 4], None)
        return hits, Path(folder)

    assert run()[0] == 0
    hits, folder = run()
    assert hits == 3
    files = sorted(folder.glob("*.nbc"))
    assert len(files) == 3
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, [contents[-1], *contents[:-1]], strict=True):
        file.write_bytes(content)
    assert [run()[0], run()[0]] == [0, 3]
    # The same kernels with other vectors are another build, in a folder of its own.
    hits, other = run(SECATEUR_VECTOR_BITS="0")
    assert hits == 0
    assert other != folder
    for file in files:
        file.write_bytes((other / file.name).read_bytes())
    assert [run()[0], run()[0]] == [0, 3]


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_file_that_cannot_be_replaced_is_reported(
    warm: Path, run_tiny: Callable[..., dict[str, Any]], kind: str
) -> None:
    (file,) = warm.glob("*.nbc")
    file.unlink()
    if kind == "folder":
        file.mkdir()
    elif hasattr(os, "mkfifo"):
        os.mkfifo(file)
    else:
        pytest.skip("there are no named pipes here")
    answer = run_tiny()
    assert (answer["value"], answer["hits"]) == (12, 0)
    assert answer["problem"].startswith(f"kernels not cached in {warm}: ")


def test_a_full_disk_costs_the_cache_and_nothing_else(run_tiny: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    # No file may grow beyond this, which is what a full disk looks like from here.
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))\n"
    for _ in range(2):
        answer = run_tiny(before=full)
        assert (answer["value"], answer["hits"]) == (12, 0)
        assert answer["problem"].startswith("kernels not cached in ")
    assert not list((tmp_path / "kernels").glob("*/*.nbc"))
    assert run_tiny()["problem"] is None
    assert run_tiny()["hits"] == 1


# --- decorators -------------------------------------------------------------------------------------------------------


def test_one_specialisation_for_literals_and_variables() -> None:
    @jit.subkernel
    def twice(x: Any) -> Any:
        return x + x

    @jit.subkernel
    def caller(x: Any) -> Any:
        return twice(2) + twice(x) + twice(True)

    assert caller(5) == 16
    assert len(twice.signatures) == 2  # int64 and bool, not one for each literal


def test_division_by_zero_raises_nothing() -> None:
    @jit.subkernel
    def divide(a: Any, b: Any) -> Any:
        return a / b

    assert divide(1.0, 0.0) == float("inf")
