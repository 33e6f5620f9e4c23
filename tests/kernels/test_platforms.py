"""Kernels for other platforms: what can be built, read back, emulated and run here.

Windows libraries run under Wine with `driver.c`. AArch64 libraries run under qemu if SECATEUR_ARM64_PYTHON is a command
that starts an AArch64 Python with NumPy and python-chess (see docs/development.md). No Mac runs the macOS libraries.
"""

from __future__ import annotations

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
from engine.compiler.levels import ALL_LEVELS, HERE, SLOW_PEXT_CPUS, TARGETS, Level, Target, levels_of, target_of
from engine.compiler.library import FOLDER_VARIABLE, KERNELS_VARIABLE, fitting_description, library_path
from engine.compiler.linking import BuildError, bindings, linker
from engine.compiler.sources import source_hash
from search.benchmark import run_benchmark
from search.perft import count_by_move
from tests.conftest import PROJECT
from tests.kernels import macho
from tests.kernels.conftest import build
from tests.kernels.recorder import random_positions
from tests.kernels.test_builder import DESCRIPTION

BY_NAME = {target.name: target for target in TARGETS}
ARM64 = "SECATEUR_ARM64_PYTHON"
WINE = next((path for name in ("wine64", "/usr/lib/wine/wine64", "wine") if (path := shutil.which(name))), None)

needs_zig = pytest.mark.skipif(find_spec("ziglang") is None, reason="needs the package ziglang")
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
needs_wine = pytest.mark.skipif(WINE is None, reason="needs Wine for 64 bits")
needs_arm64 = pytest.mark.skipif(ARM64 not in os.environ, reason=f"{ARM64} names no AArch64 Python")


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


# --- libraries -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def foreign(level: Level, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with libraries for all platforms: of x86-64, the second level and this machine's."""
    if find_spec("ziglang") is None:
        pytest.skip("needs the package ziglang")
    folder = tmp_path_factory.mktemp("foreign") if jit.CACHE_FOLDER is None else jit.CACHE_FOLDER / "foreign"
    done = build(folder, "--target", "all", "--level", "x86-64-v2", level.name, "aarch64", "arm64")
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
    for one in {level, ALL_LEVELS["x86-64-v2"]}:
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


# --- AArch64 -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def arm64(foreign: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Runs the installed wheel for AArch64: `arm64(arguments, text)` returns stdout."""
    root = tmp_path_factory.mktemp("arm64")
    project, site = root / "project", root / "site"
    for room in ("engine", "eval", "search", "bench"):
        shutil.copytree(PROJECT / room, project / room, ignore=shutil.ignore_patterns("__pycache__", "kernels/*.so"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "uci_main.py"):
        shutil.copy(PROJECT / name, project)
    shutil.rmtree(project / "engine" / "kernels", ignore_errors=True)
    shutil.copytree(foreign, project / "engine" / "kernels")
    pip = [sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--quiet", "--wheel-dir", str(root)]
    subprocess.run([*pip, "--config-settings", "target=linux-aarch64"], cwd=project, check=True)
    (wheel,) = root.glob("*.whl")
    assert wheel.name.endswith("-manylinux_2_17_aarch64.whl")
    zipfile.ZipFile(wheel).extractall(site)

    def run(*arguments: str, text: str = "") -> str:
        inherited = {
            name: value for name, value in os.environ.items() if name not in (KERNELS_VARIABLE, FOLDER_VARIABLE)
        }
        done = subprocess.run(
            [*shlex.split(os.environ[ARM64]), *arguments],
            input=text,
            cwd=root,
            env={**inherited, "PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@needs_zig
@needs_arm64
@pytest.mark.slow
def test_aarch64_benches_as_this_machine_does(arm64: Callable[..., str]) -> None:
    assert " for aarch64 by Numba " in arm64("-m", "secateur", "--version")
    expected = run_benchmark(depth=9)
    assert expected is not None
    assert arm64("-m", "secateur", "bench", "9").split()[:2] == [str(expected.nodes), "nodes"]


@needs_zig
@needs_arm64
@pytest.mark.slow
def test_aarch64_counts_and_evaluates_a_thousand_positions_alike(
    arm64: Callable[..., str], run_python: Callable[..., str]
) -> None:
    script = """
import json, sys
import chess
from {0}eval.network.evaluator import NetworkEvaluator
from {0}eval.network.format import SHIPPED, read_network
from {0}search.perft import count_by_move
boards = [chess.Board(line.strip()) for line in sys.stdin]
evaluator = NetworkEvaluator(read_network(SHIPPED))
print(json.dumps([(sum(count_by_move(board, 2).values()), evaluator.score(board)) for board in boards]))
"""
    boards = random_positions(1000)
    found = json.loads(arm64("-c", script.format("secateur."), text="\n".join(board.fen() for board in boards)))
    from eval.network.evaluator import NetworkEvaluator
    from eval.network.format import SHIPPED, read_network

    evaluator = NetworkEvaluator(read_network(SHIPPED))
    assert found == [[sum(count_by_move(board, 2).values()), evaluator.score(board)] for board in boards]


@needs_zig
@needs_arm64
@pytest.mark.slow
def test_aarch64_plays_a_game(arm64: Callable[..., str]) -> None:
    """A client that the emulated Python runs plays both sides by UCI, to the end or for 40 moves."""
    script = """
import subprocess, sys
import chess, chess.engine
engine = chess.engine.SimpleEngine.popen_uci(sys.argv[1:] + ["-m", "secateur"], timeout=120)
board = chess.Board()
while not board.is_game_over() and board.ply() < 80:
    board.push(engine.play(board, chess.engine.Limit(depth=4)).move)
engine.quit()
print(board.ply(), board.result(claim_draw=True))
"""
    said = arm64("-c", script, *shlex.split(os.environ[ARM64])).split()
    assert int(said[0]) == 80 or re.fullmatch(r"1-0|0-1|1/2-1/2", said[1])
    assert int(said[0]) > 20
