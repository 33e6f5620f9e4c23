"""Kernels for other platforms: what can be built, read back, emulated and run here.

Windows libraries run under Wine with `driver.c`. The whole program runs, too, if SECATEUR_ARM64_PYTHON and
SECATEUR_WINDOWS_PYTHON are commands that start Pythons for AArch64 and Windows, with NumPy and python-chess (see
docs/development.md). No Mac runs the macOS libraries.
"""

from __future__ import annotations

import ast
import ctypes
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from engine.compiler import jit, linking
from engine.compiler.levels import (
    ALL_LEVELS,
    HERE,
    LEVELS,
    SLOW_PEXT_CPUS,
    TARGETS,
    Level,
    Target,
    levels_of,
    target_of,
)
from engine.compiler.library import (
    FOLDER_VARIABLE,
    KERNELS_VARIABLE,
    build_environment,
    fitting_description,
    library_path,
)
from engine.compiler.linking import BuildError, bindings, linker
from engine.compiler.sources import source_hash
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import SHIPPED, read_network
from search.benchmark import run_benchmark
from search.perft import count_by_move
from tests.conftest import PROJECT
from tests.kernels import macho
from tests.kernels.conftest import build
from tests.kernels.recorder import random_positions
from tests.kernels.test_builder import DESCRIPTION

BY_NAME = {target.name: target for target in TARGETS}
PYTHONS = {"linux-aarch64": "SECATEUR_ARM64_PYTHON", "windows-x86-64": "SECATEUR_WINDOWS_PYTHON"}
Elsewhere = Callable[..., str]
WINE = next((path for name in ("wine64", "/usr/lib/wine/wine64", "wine") if (path := shutil.which(name))), None)

needs_zig = pytest.mark.skipif(find_spec("ziglang") is None, reason="needs the package ziglang")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
needs_wine = pytest.mark.skipif(WINE is None, reason="needs Wine for 64 bits")


def test_twelve_libraries_for_five_platforms_have_names_of_their_own() -> None:
    paths = [library_path(level, Path(), target) for target in TARGETS for level in target.levels]
    assert (len(TARGETS), len(paths), len(set(paths))) == (5, 12, 12)
    assert target_of("linux", "riscv64").levels == levels_of("riscv64")
    assert target_of("win32", "AMD64") == BY_NAME["windows-x86-64"]
    assert [level.vector_bits for level in ALL_LEVELS.values()][:4] == [512, 256, 256, 0]
    assert ALL_LEVELS["aarch64"].vector_bits == ALL_LEVELS["arm64"].vector_bits == 128


def test_without_zig_each_platform_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BuildError, match=r"^needs the package ziglang to link: run '.* -m pip install ziglang'$"):
        linker(BY_NAME["windows-x86-64"], True)
    with pytest.raises(BuildError, match=r"^Zig cannot link for plan9-mips$"):
        linker(Target("plan9-mips", "plan9", "mips"), True)


def test_a_platform_without_its_linker_is_named_and_the_others_are_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from bench.commands import kernels

    def only_windows(target: Target, with_zig: bool) -> list[str]:
        if target.system != "win32":
            raise BuildError("no linker in this test")
        return []

    asked: list[tuple[str, str]] = []
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(kernels, "linker", only_windows)

    def note(wanted: list[tuple[Target, Level]], with_zig: bool) -> int:
        asked.extend((target.name, level.name) for target, level in wanted)
        return 0

    monkeypatch.setattr(kernels, "_build", note)
    status = kernels.main(["build", "--target", "macos-arm64", "windows-x86-64", "--level", "x86-64-v3", "arm64"])
    assert (status, asked) == (1, [("windows-x86-64", "x86-64-v3")])
    assert capsys.readouterr().err == "secateur kernels: macos-arm64 not built: no linker in this test\n"


@needs_cc
@pytest.mark.parametrize("level", [*levels_of("x86_64"), *levels_of("riscv64")], ids=lambda level: level.name)
def test_a_library_finds_out_what_the_processor_can_do(level: Level, tmp_path: Path) -> None:
    if level.features and HERE.machine not in ("x86_64", "AMD64"):
        pytest.skip("needs an x86-64 processor")
    code = tmp_path / "code.c"
    code.write_text(bindings(DESCRIPTION, level).partition("\nextern int32_t")[0], encoding="ascii")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Werror", "-o", str(tmp_path / "code.so"), str(code)], check=True)
    expected = all(jit.CPU_FEATURES.get(name, False) for name in level.features)
    if level.pext and jit.CPU_NAME in SLOW_PEXT_CPUS:
        expected = False
    assert ctypes.CDLL(str(tmp_path / "code.so")).secateur_runs_here() == expected


@needs_cc
def test_the_memory_functions_copy_and_fill_every_byte(tmp_path: Path) -> None:
    code = tmp_path / "code.c"
    renamed = linking._MEMORY.replace("*memcpy(", "*our_memcpy(").replace("*memset(", "*our_memset(")
    code.write_text(f"#include <stddef.h>\n#include <stdint.h>\n{renamed}\n", encoding="ascii")
    library = tmp_path / "code.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-fno-builtin", "-o", str(library), str(code)], check=True)
    loaded = ctypes.CDLL(str(library))
    for name in ("our_memcpy", "our_memset"):
        loaded[name].restype = ctypes.c_void_p
    for size in (*range(70), 1000):
        source = bytes(range(1, 256)) * 4
        target = ctypes.create_string_buffer(b"\xff" * 1100, 1100)
        loaded.our_memcpy(ctypes.byref(target, 3), source, ctypes.c_size_t(size))
        assert target.raw == b"\xff" * 3 + source[:size] + b"\xff" * (1097 - size)
        loaded.our_memset(ctypes.byref(target, 3), 0x1A5, ctypes.c_size_t(size))
        assert target.raw == b"\xff" * 3 + b"\xa5" * size + b"\xff" * (1097 - size)


def test_neon_takes_less_than_half_of_the_instructions(run_python: Callable[..., str]) -> None:
    """Counted in the loop of the output layer; LLVM makes vector code of its plain twin, too."""
    script = """
import re
import numpy as np
from engine.compiler import builder, numba_hooks
from engine.compiler.jit import kernel
from engine.compiler.levels import ALL_LEVELS, TARGETS
from eval.kernels.vectors import SCRELU_DOTS
machine = builder._machine(ALL_LEVELS["aarch64"], next(target for target in TARGETS if target.machine == "aarch64"))

def instructions(dot):
    @kernel
    def output(values, numbers, weights, count):
        return dot(values, 0, values, numbers, 0, weights, 0, count)
    output(np.zeros(64, np.int16), np.zeros(1, np.int64), np.zeros(64, np.int16), 64)
    code = machine.emit_assembly(numba_hooks.compiled(output.dispatcher, output.types, machine)[2])
    loops = re.findall(r"^(\\.L\\w+):(?:.*\\n)((?:(?!\\.L).*\\n)*?)\\s+(?:b\\.\\w+|cbn?z)\\s.*\\1$", code, re.MULTILINE)
    return max(len(re.findall(r"^\\s+[a-z]", body, re.MULTILINE)) for _, body in loops) + 1

print(instructions(SCRELU_DOTS[128]), instructions(SCRELU_DOTS[0]))
"""
    neon, plain = map(int, run_python(script, **build_environment(ALL_LEVELS["aarch64"])).split())
    assert 20 < neon <= plain / 2


# --- libraries -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def foreign(level: Level, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with libraries for all platforms: of x86-64, levels 2, 3 and this machine's."""
    if find_spec("ziglang") is None:
        pytest.skip("needs the package ziglang")
    folder = tmp_path_factory.mktemp("foreign") if jit.CACHE_FOLDER is None else jit.CACHE_FOLDER / "foreign"
    done = build(folder, "--target", "all", "--level", "x86-64-v2", "x86-64-v3", level.name, "aarch64", "arm64")
    assert done.returncode == 0, done.stderr
    return folder


@needs_zig
@pytest.mark.slow
def test_two_builds_give_identical_bytes(foreign: Path, tmp_path: Path) -> None:
    done = build(tmp_path, "--target", "all", "--level", "x86-64-v2")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["x86-64-v2.dll", "x86-64-v2.dylib", "x86-64-v2.so"]
    assert all((tmp_path / name).read_bytes() == (foreign / name).read_bytes() for name in names)
    assert "not built" not in done.stderr


@needs_zig
@pytest.mark.slow
@pytest.mark.parametrize("target", [BY_NAME["macos-arm64"], BY_NAME["macos-x86-64"]], ids=lambda target: target.name)
def test_macos_libraries_have_what_macos_asks_for(foreign: Path, target: Target) -> None:
    """No Mac runs this: it shows only that the file is what macOS documents."""
    level = target.levels[-1]
    path = library_path(level, foreign, target)
    found = macho.read(path)
    symbols = {
        f"_{export.symbol}" for export in fitting_description(path, level, source_hash(), target).kernels.values()
    }
    assert symbols | {"_secateur_runs_here", "_secateur_kernels"} <= found["symbols"]
    assert found["machine"] == target.machine
    assert found["oldest"] == (11, 0)
    assert found["needs"] == ["/usr/lib/libSystem.B.dylib"]
    assert found["name"] == f"@rpath/{path.name}"
    # Macs with ARM load only signed libraries.
    assert found["pages"] > 50 or target.machine == "x86_64"


@needs_zig
@needs_wine
@pytest.mark.slow
def test_windows_libraries_do_the_same_under_wine(foreign: Path, level: Level, tmp_path: Path) -> None:
    """Perft, evaluations of 1000 positions and searches: all results and all memory are equal."""
    target = BY_NAME["windows-x86-64"]
    driver = tmp_path / "driver.exe"
    options = ["-O2", "-nostdlib", "-fno-builtin", "-o", str(driver), str(Path(__file__).with_name("driver.c"))]
    subprocess.run([*linker(target, True), *options, "-lkernel32"], check=True, cwd=tmp_path)
    for one in {level, *(each for each in LEVELS[LEVELS.index(level) :] if each.name in ("x86-64-v2", "x86-64-v3"))}:
        calls = tmp_path / "calls.bin"
        environment = {**os.environ, KERNELS_VARIABLE: one.name, FOLDER_VARIABLE: str(foreign)}
        recorded = subprocess.run(
            [sys.executable, "-m", "tests.kernels.recorder", str(calls), "7", "1000"],
            cwd=PROJECT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        wine = {
            "WINEPREFIX": str(tmp_path / "wine"),
            "WINEDEBUG": "-all",
            "CALLS": "calls.bin",
            "LIBRARY": "kernels.dll",
        }
        shutil.copy(library_path(one, foreign, target), tmp_path / "kernels.dll")
        done = subprocess.run(
            [str(WINE), str(driver)],
            cwd=tmp_path,
            env={**os.environ, **wine},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.stdout.split()[-4:] == ["calls", recorded.stdout.split()[0], "wrong", "0"], done.stdout
        assert done.returncode == 0


def test_list_shows_the_libraries_for_other_platforms(tmp_path: Path) -> None:
    (tmp_path / "arm64.dylib").write_bytes(b"damaged")
    done = subprocess.run(
        [sys.executable, str(PROJECT / "uci_main.py"), "kernels", "list"],
        env={**os.environ, FOLDER_VARIABLE: str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    path = tmp_path / "arm64.dylib"
    assert f"macos-arm64 arm64: {path}: damaged, or not a library of kernels\n" in done.stdout
    assert "windows" not in done.stdout


# --- the whole program, emulated -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=PYTHONS)
def elsewhere(request: pytest.FixtureRequest, foreign: Path, tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    """Runs the wheel for another platform with its Python: `elsewhere(*arguments, text=stdin)` returns stdout."""
    target, variable = BY_NAME[request.param], PYTHONS[request.param]
    if variable not in os.environ:
        pytest.skip(f"{variable} names no Python for {target.name}")
    root = tmp_path_factory.mktemp("elsewhere")
    project, site = root / "project", root / "šite ü"
    for room in ("engine", "eval", "search", "bench"):
        shutil.copytree(PROJECT / room, project / room, ignore=shutil.ignore_patterns("__pycache__", "kernels/*.so"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "uci_main.py"):
        shutil.copy(PROJECT / name, project)
    shutil.rmtree(project / "engine" / "kernels", ignore_errors=True)
    shutil.copytree(foreign, project / "engine" / "kernels")
    pip = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--quiet", "--wheel-dir", str(root)]
    subprocess.run([*pip, "--config-settings", f"target={target.name}"], cwd=project, check=True)
    (wheel,) = root.glob("*.whl")
    assert wheel.name.endswith(f"-{target.tag}.whl")
    zipfile.ZipFile(wheel).extractall(site)
    ours = {name: value for name, value in os.environ.items() if name not in (KERNELS_VARIABLE, FOLDER_VARIABLE)}

    def run(*arguments: str, text: str = "") -> str:
        done = subprocess.run(
            [*shlex.split(os.environ[variable]), *arguments],
            input=text.encode(),
            cwd=root,
            env={**ours, "PYTHONPATH": str(site), "COMMAND": os.environ[variable]},
            capture_output=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode()

    return run


@needs_zig
@pytest.mark.slow
def test_elsewhere_bench_counts_the_same_nodes(elsewhere: Elsewhere) -> None:
    assert ", kernels compiled ahead of time for " in elsewhere("-m", "secateur", "--version")
    expected = run_benchmark(depth=9)
    assert expected is not None
    assert elsewhere("-m", "secateur", "bench", "9").split()[:2] == [str(expected.nodes), "nodes"]


@needs_zig
@pytest.mark.slow
def test_elsewhere_a_thousand_positions_are_counted_and_evaluated_alike(elsewhere: Elsewhere) -> None:
    script = """
import json, sys
import chess
from secateur.eval.network.evaluator import NetworkEvaluator
from secateur.eval.network.format import SHIPPED, read_network
from secateur.search.perft import count_by_move
boards = [chess.Board(line.strip()) for line in sys.stdin]
evaluator = NetworkEvaluator(read_network(SHIPPED))
print(json.dumps([(sum(count_by_move(board, 2).values()), evaluator.score(board)) for board in boards]))
"""
    boards = random_positions(1000)
    found = json.loads(elsewhere("-c", script, text="\n".join(board.fen() for board in boards)))
    evaluator = NetworkEvaluator(read_network(SHIPPED))
    assert found == [[sum(count_by_move(board, 2).values()), evaluator.score(board)] for board in boards]


@needs_zig
@pytest.mark.slow
def test_elsewhere_the_engine_plays_a_game(elsewhere: Elsewhere) -> None:
    """A client that the emulated Python runs plays both sides by UCI, to the end or for 40 moves."""
    script = """
import os, shlex, sys
import chess, chess.engine
python = [sys.executable] if sys.platform == "win32" else shlex.split(os.environ["COMMAND"])
engine = chess.engine.SimpleEngine.popen_uci([*python, "-m", "secateur"], timeout=120)
board = chess.Board()
while not board.is_game_over() and board.ply() < 80:
    board.push(engine.play(board, chess.engine.Limit(depth=4)).move)
engine.quit()
print(board.ply(), board.result(claim_draw=True))
"""
    said = elsewhere("-c", script).split()
    assert int(said[0]) == 80 or re.fullmatch(r"1-0|0-1|1/2-1/2", said[1])
    assert int(said[0]) > 20


@needs_zig
@pytest.mark.slow
def test_elsewhere_files_have_names_with_blanks_and_foreign_letters(elsewhere: Elsewhere) -> None:
    """The engine reads a network, writes a log, answers `compiler`, and ends at the end of its input."""
    script = """
import pathlib, shutil
import secateur
folder = pathlib.Path("ŝ ü").absolute()
folder.mkdir()
shutil.copy(pathlib.Path(secateur.__file__).parent / "eval" / "network" / "default.snet", folder / "n ŝ.snet")
print(ascii(str(folder)))
"""
    folder = ast.literal_eval(elsewhere("-c", script))
    separator = "\\" if "\\" in folder else "/"
    log, network = f"{folder}{separator}l ü.txt", f"{folder}{separator}n ŝ.snet"
    lines = (f"setoption name Debug Log File value {log}", f"setoption name EvalFile value {network}", "compiler")
    said = elsewhere("-m", "secateur", text="".join(f"{line}\n" for line in lines))
    assert "vectors: " in said
    assert "n ŝ.snet': " in said, said
    read = "import pathlib, sys; print(ascii(pathlib.Path(sys.stdin.buffer.read().decode()).read_text('utf-8')))"
    written = ast.literal_eval(elsewhere("-c", read, text=log))
    assert " << Processor: " in written


@needs_zig
@pytest.mark.slow
def test_elsewhere_locked_files_are_left_alone(elsewhere: Elsewhere) -> None:
    """A process replaces a file that it has locked. Another process cannot lock it meanwhile."""
    script = """
import os, pathlib, shlex, subprocess, sys
from secateur.engine.files import check_lock, locked, replace_file
path = pathlib.Path("locked.txt")
if len(sys.argv) > 1:
    with locked(path):
        raise SystemExit("was not locked")
python = [sys.executable] if sys.platform == "win32" else shlex.split(os.environ["COMMAND"])
with locked(path):
    for text in ("first", "second"):
        replace_file(path, text)
        check_lock(path)
        again = [*python, "-c", os.environ["SCRIPT"], "again"]
        print(subprocess.run(again, stdin=subprocess.PIPE, capture_output=True).stderr.splitlines()[-1])
print(path.read_text())
"""
    said = elsewhere("-c", f"import os; os.environ['SCRIPT'] = script = {script!r}; exec(script)")
    assert said.count("BlockingIOError") == 2
    assert said.split()[-1] == "second"
