"""What is given to others plays without Numba, without a cache, and without anything else of this machine.

The wheel is made here. The stand-alone program takes minutes and PyInstaller: `make standalone` makes it, and
`SECATEUR_STANDALONE=dist/secateur/secateur` lets it take the tests, too.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import chess
import pytest

from bench import standalone
from engine.compiler.cache_folder import MARKER, mark
from engine.compiler.levels import LEVELS, Level
from engine.compiler.library import FOLDER_VARIABLE, library_path
from engine.compiler.sources import source_hash
from search.benchmark import run_benchmark
from search.perft import count_by_move
from tests.conftest import MAKE_VARIABLES
from tests.kernels.conftest import PROJECT
from tests.kernels.test_loading import change

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix" or shutil.which("make") is None, reason="needs make and a POSIX shell"),
]

#: Environment variable with the path of a stand-alone program to test.
STANDALONE = "SECATEUR_STANDALONE"


def make_wheel(project: Path) -> Path:
    """`make wheel` in a copy of the project whose kernels are built; skips where setuptools cannot be had."""
    python = Path(sys.executable)
    command = ["make", "-o", "kernels", "wheel", f"BIN={python.parent}", f"PYTHON={python}"]
    # Where these tests are run by `make`, its variables would make this one talk of the folders it enters.
    environment = {name: value for name, value in os.environ.items() if name not in MAKE_VARIABLES}
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode and re.search(r"resolv|connect|timed out|No matching distribution", done.stderr):
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", "make must print to stderr alone"
    (wheel,) = (project / "dist").glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(built: Path, level: Level, tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("wheel") / "project"
    for room in ("engine", "eval", "search", "bench"):
        shutil.copytree(PROJECT / room, project / room, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "Makefile", "uci_main.py"):
        shutil.copy(PROJECT / name, project)
    kernels = project / "engine" / "kernels"
    kernels.mkdir()
    shutil.copy(library_path(level, built), kernels)
    # What an earlier build left behind must not come along.
    stale = project / "build" / "lib" / "engine" / "kernels"
    stale.mkdir(parents=True)
    (stale / "stale.so").write_bytes(b"stale")
    return make_wheel(project)


@pytest.fixture(scope="module", params=["wheel", "standalone"])
def command(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What starts the engine as others have it."""
    root = tmp_path_factory.mktemp("elsewhere")
    if request.param == "standalone":
        if STANDALONE not in os.environ:
            pytest.skip(f"{STANDALONE} names no program")
        program = Path(os.environ[STANDALONE]).resolve()
        moved = Path(shutil.copytree(program.parent, root / "any where"))
        for path in (*moved.rglob("*"), moved):
            path.chmod(path.stat().st_mode & ~0o222)
        return [str(moved / program.name)]
    environment = root / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    (site,) = environment.glob("lib/python*/site-packages")
    with zipfile.ZipFile(request.getfixturevalue("wheel")) as archive:
        archive.extractall(site)
    for name in ("numpy", "chess"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        for folder in (package, package.parent / f"{name}.libs"):
            if folder.is_dir():
                (site / folder.name).symlink_to(folder)
    return [str(environment / "bin" / "python"), "-m", "uci_main"]


def run(command: list[str], home: Path, *arguments: str, text: str = "") -> str:
    """What the engine says on stdout, started in an empty home with nothing else in its environment."""
    done = subprocess.run(
        [*command, *arguments],
        input=text,
        cwd=home,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "TMPDIR": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wheel_has_kernels_and_fits_this_platform_with_any_python(wheel: Path, level: Level) -> None:
    assert re.fullmatch(r"secateur-[0-9.]+-py3-none-[a-z]\w+\.whl", wheel.name)
    assert "none-any" not in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if name.startswith("engine/kernels/")] == [
        f"engine/kernels/{library_path(level, wheel.parent).name}"
    ]
    metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
    required = re.findall(r"^Requires-Dist: (.*)$", zipfile.ZipFile(wheel).read(metadata).decode(), re.MULTILINE)
    assert sorted(re.split(r"[^a-z]", text)[0] for text in required if "extra ==" not in text) == ["chess", "numpy"]
    assert any(text.startswith("numba") and 'extra == "jit"' in text for text in required)


def test_it_says_what_it_is(command: list[str], level: Level, tmp_path: Path) -> None:
    said = run(command, tmp_path, "--version")
    assert re.match(rf"Secateur [0-9.]+, kernels compiled ahead of time for {level.name} by Numba ", said)


def test_it_benches_as_the_sources_do(command: list[str], tmp_path: Path) -> None:
    expected = run_benchmark(depth=8)
    assert expected is not None
    assert run(command, tmp_path, "bench", "8").split()[:2] == [str(expected.nodes), "nodes"]


def test_it_counts_moves(command: list[str], tmp_path: Path) -> None:
    expected = sum(count_by_move(chess.Board(), 5).values())
    assert f"Nodes searched: {expected}\n" in run(command, tmp_path, "perft", "--depth", "5", "--threads", "2")


def test_it_plays_and_leaves_nothing_behind(command: list[str], tmp_path: Path) -> None:
    text = "uci\nisready\nposition startpos moves e2e4\ngo depth 8\nisready\neval\ncompiler\n"
    said = run(command, tmp_path, text=text)
    assert "uciok\n" in said
    assert "readyok\n" in said
    assert re.search(r"^bestmove [a-h][1-8][a-h][1-8]", said, re.MULTILINE)
    assert "Compiled ahead of time by Numba " in said
    assert "info string kernels" not in said
    assert list(tmp_path.iterdir()) == []


def test_what_takes_a_compiler_says_so(command: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*command, "datagen", str(tmp_path / "games"), "--games", "1"],
        cwd=tmp_path,  # where no sources lie that would be taken instead
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 1
    assert done.stderr.startswith("secateur datagen: ")
    remedy = f"run '{command[0]} -m pip install \"secateur[jit]\"'" if "uci_main" in command else "stand-alone program"
    assert remedy in done.stderr


def test_a_stand_alone_program_is_not_made_of_stale_kernels(
    built: Path, level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = library_path(level, tmp_path)
    shutil.copy(library_path(level, built), library)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(standalone, "LEVELS", (level,))
    assert standalone.stale() == []
    assert [path for path, place in standalone.data() if place == "engine/kernels"] == [library]
    others = [other for other in LEVELS if other is not level]
    for other in others:
        shutil.copy(library, library_path(other, tmp_path))
    monkeypatch.setattr(standalone, "LEVELS", (level, *others))
    wrong_level = f"is for {level.name} on {platform.machine()}"
    assert standalone.stale() == [f"{library_path(other, tmp_path)}: {wrong_level}" for other in others]
    monkeypatch.setattr(standalone, "LEVELS", (level,))
    sources = source_hash()
    assert sources is not None
    change(library, sources.encode(), b"0" * len(sources))
    assert standalone.stale() == [f"{library}: is of other sources than these"]
    library.unlink()
    assert standalone.stale() == [f"{library}: No such file or directory"]
    said = standalone.main(tmp_path / "dist")
    assert said is not None
    assert said.startswith("the program needs the kernels of these sources (run 'make kernels'): ")
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize("kind", ["folder", "marker", "link", "file", "unlisted"])
def test_a_stand_alone_program_takes_the_place_of_one_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(standalone, "stale", list)
    place = tmp_path / "dist" / "secateur"
    place.parent.mkdir()
    if kind == "file":
        place.write_text("mine")
    else:
        folder = tmp_path / "elsewhere" if kind == "link" else place
        folder.mkdir()
        (folder / "mine").touch()
        if kind == "marker":
            (folder / MARKER).write_text("mine")
        elif kind != "folder":
            mark(folder, standalone.MARKER_TEXT, [] if kind == "unlisted" else ["mine"])
        if kind == "link":
            place.symlink_to(folder)
    said = standalone.main(tmp_path / "dist")
    assert said == f"{place}: is there already, and was not made by this; remove it or name another folder"


def test_a_stand_alone_program_takes_the_place_of_an_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(work: Path) -> Path:
        program = work / "secateur"
        (program / "_internal").mkdir(parents=True)
        (program / "_internal" / f"file of {len(made)}").touch()
        (program / "link").symlink_to("_internal")
        mark(program, standalone.MARKER_TEXT, [f"_internal/file of {len(made)}", "link"])
        made.append(program)
        return program

    made: list[Path] = []
    monkeypatch.setattr(standalone, "stale", list)
    monkeypatch.setattr(standalone, "_make", make)
    target = tmp_path / "dist"
    for number in range(2):
        assert standalone.main(target) is None
        assert [path.name for path in (target / "secateur" / "_internal").iterdir()] == [f"file of {number}"]
        assert [path.name for path in target.iterdir()] == ["secateur"]
    mine = target / "secateur" / "_internal" / "mine"
    mine.touch()
    assert standalone.main(target) == f"{mine}: was not made by this; move it elsewhere"
    assert len(made) == 2
    assert mine.exists()
    assert (target / "secateur" / "_internal" / "file of 1").exists()
