"""The wheel and the stand-alone program play without Numba, without a cache and without the checkout.

The tests make the wheel. The stand-alone program takes minutes and PyInstaller: `make standalone` makes it, and
`SECATEUR_STANDALONE=dist/secateur/secateur` makes the tests run it, too.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench import standalone
from engine.checkout.secateur import PARTS
from engine.compiler.cache_folder import MARKER, digest_of, mark
from engine.compiler.levels import Level
from engine.compiler.library import library_path
from engine.version import full_name
from search.benchmark import run_benchmark
from tests.client.test_examples import evaluation_example
from tests.conftest import MAKE_VARIABLES, PROJECT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix" or shutil.which("make") is None, reason="needs make and a POSIX shell"),
]

#: Environment variable with the path of a stand-alone program to test.
STANDALONE = "SECATEUR_STANDALONE"


def check(done: subprocess.CompletedProcess[str]) -> None:
    """Fails unless pip succeeded; skips the test where pip cannot get setuptools."""
    if done.returncode and "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr


def make_wheel(project: Path) -> Path:
    """`make wheel` in a copy of the project whose kernels are built; skips where setuptools cannot be had."""
    python = Path(sys.executable)
    command = ["make", "-o", "kernels", "wheel", f"BIN={python.parent}", f"PYTHON={python}"]
    # Where these tests are run by `make`, its variables would make this one talk of the folders it enters.
    environment = {name: value for name, value in os.environ.items() if name not in MAKE_VARIABLES}
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    check(done)
    assert done.stdout == "", "make must print to stderr alone"
    (wheel,) = (project / "dist").glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def project(built: Path, level: Level, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with kernels."""
    project = tmp_path_factory.mktemp("wheel") / "project"
    for room in ("engine", "eval", "search", "bench"):
        shutil.copytree(
            PROJECT / room, project / room, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.dll", "*.dylib")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE", "Makefile", "uci_main.py"):
        shutil.copy(PROJECT / name, project)
    kernels = project / "engine" / "kernels"
    kernels.mkdir(exist_ok=True)
    shutil.copy(library_path(level, built), kernels)
    return project


@pytest.fixture(scope="module")
def wheel(project: Path) -> Path:
    # The wheel must not contain what an earlier build left behind.
    stale = project / "build" / "lib" / "secateur" / "engine" / "kernels"
    stale.mkdir(parents=True)
    (stale / "stale.so").write_bytes(b"stale")
    return make_wheel(project)


def install(what: Path, environment: Path, *options: str) -> Path:
    """Installs into a new environment, besides the project's dependencies; returns its site-packages."""
    venv.create(environment, with_pip=False, symlinks=True)
    (site,) = environment.glob("lib/python*/site-packages")
    python = str(environment / "bin" / "python")
    words = ["--python", python, "install", "--quiet", "--disable-pip-version-check", "--no-deps", *options, str(what)]
    check(subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, timeout=300))
    for name in ("numpy", "chess"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        for folder in (package, package.parent / f"{name}.libs"):
            if folder.is_dir():
                (site / folder.name).symlink_to(folder)
    return site


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site-packages of an environment with the wheel."""
    return install(wheel, tmp_path_factory.mktemp("installed") / "environment", "--no-index")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder, with files of the names that Secateur's modules have in the checkout."""
    for name in (*PARTS, "uci_main"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('a file of the user')\n", encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module", params=["wheel", "standalone"])
def command(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that starts the engine."""
    root = tmp_path_factory.mktemp("elsewhere")
    if request.param == "standalone":
        if STANDALONE not in os.environ:
            pytest.skip(f"{STANDALONE} names no program")
        program = Path(os.environ[STANDALONE]).resolve()
        moved = Path(shutil.copytree(program.parent, root / "any where"))
        for path in (*moved.rglob("*"), moved):
            path.chmod(path.stat().st_mode & ~0o222)
        return [str(moved / program.name)]
    return [str(program_of(request.getfixturevalue("site"), "secateur"))]


def program_of(site: Path, name: str) -> Path:
    """A program of the environment with that site-packages."""
    return site.parents[2] / "bin" / name


def run(command: list[str], home: Path, *arguments: str, text: str = "") -> str:
    """What the engine writes to stdout, started in `home` with nothing else in its environment."""
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
    system = rf"manylinux_2_\d+_{platform.machine()}" if platform.libc_ver()[0] == "glibc" else r"(?!any)[a-z]\w+"
    assert re.fullmatch(rf"secateur-[0-9.]+-py3-none-{system}\.whl", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if name.startswith("secateur/engine/kernels/")] == [
        f"secateur/engine/kernels/{library_path(level, wheel.parent).name}"
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
    python = Path(command[0]).with_name("python")
    remedy = f"run '{python} -m pip install \"secateur[jit]\"'" if python.exists() else "stand-alone program"
    assert remedy in done.stderr


# --------------------------------------------------------------------------------------------------------------
# The package
# --------------------------------------------------------------------------------------------------------------

PROGRAM = """
import json, sys
import chess
from chess.engine import Limit
import secateur
from secateur import Engine
with Engine({"Threads": 2}) as engine:
    move = engine.play(chess.Board("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"), Limit(depth=4)).move
print(json.dumps([move.uci(), secateur.__version__, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def check_program(said: str) -> None:
    """The program played, and imported none of the user's files and no module of the checkout."""
    move, version, modules = json.loads(said)
    assert move == "d1d8"
    assert version == full_name().split()[1]
    assert "secateur" in modules
    assert not {*PARTS, "uci_main", "numba"} & set(modules)


def test_an_installation_is_one_package_and_its_metadata(site: Path, folder: Path) -> None:
    added = {path.name for path in site.iterdir() if path.name.split(".")[0] not in ("numpy", "chess")}
    assert {name.split("-")[0] for name in added} == {"secateur"}
    assert len(added) == 2
    assert {path.name for path in (site / "secateur").iterdir() if path.suffix != ".pyc"} - {"__pycache__"} == {
        *PARTS,
        "__init__.py",
        "__main__.py",
        "py.typed",
    }
    assert not (site / "secateur" / "engine" / "checkout").exists()
    (metadata,) = site.glob("secateur-*.dist-info")
    assert (metadata / "top_level.txt").read_text(encoding="utf-8") == "secateur\n"


def test_files_of_the_user_do_no_harm(site: Path, folder: Path) -> None:
    python, program = str(program_of(site, "python")), str(program_of(site, "secateur"))
    check_program(run([python, "-c", PROGRAM], folder))
    for command in ([program], [python, "-m", "secateur"]):
        assert run(command, folder, "--version").startswith(f"{full_name()}, kernels compiled ahead of time ")
    assert "uciok\n" in run([python, "-m", "secateur"], folder, text="uci\n")
    # Commands start the engine themselves, and find the module that builds kernels.
    script = "from secateur.bench.engines import SECATEUR; print(*SECATEUR[1:])"
    assert run([python, "-c", script], folder) == "-P -m secateur\n"
    done = subprocess.run([python, "-m", "secateur.search.export"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 1
    assert "No module named 'llvmlite'" in done.stderr


def test_every_module_can_be_imported_and_names_the_package(
    site: Path, folder: Path, run_python: Callable[..., str]
) -> None:
    for path in (site / "secateur").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & {*PARTS, "uci_main"}, path
    script = """
import pkgutil, sys
from importlib import import_module
import secateur
names = [module.name for module in pkgutil.walk_packages(secateur.__path__, "secateur.")]
for name in names:
    if name != "secateur.__main__":
        import_module(name)
from secateur.__main__ import COMMANDS
assert {module for _, module, _, _ in COMMANDS.values()} <= set(names)
from secateur.engine.compiler.compiling import COSTS
for name in COSTS:
    module, _, kernel = name.rpartition(".")
    assert hasattr(sys.modules[module], kernel), name
print(len(names), *{name.partition(".")[0] for name in sys.modules})
"""
    count, *modules = run_python(script, cwd=folder, paths=(site,), PYTHONSAFEPATH="1").split()
    assert int(count) > 200
    assert not {*PARTS, "uci_main"} & set(modules)


EVALUATION = """
import sys
import chess
from secateur.eval.build import choose_evaluation
choose_evaluation(sys.argv[1])
from secateur.engine.board.convert import from_board
from secateur.eval.custom import custom_score
print(int(custom_score(from_board(chess.Board("4k3/8/8/8/4P3/8/8/4K3 w - - 0 1")))))
"""


def test_an_evaluation_of_the_user_s_imports_the_package(
    site: Path, folder: Path, run_python: Callable[..., str]
) -> None:
    file = folder / "centre.py"
    file.write_text(re.sub(r"(?m)^from (?=engine|eval)", "from secateur.", evaluation_example()), encoding="utf-8")
    environment = {"cwd": folder, "NUMBA_DISABLE_JIT": "1", "PYTHONSAFEPATH": "1"}
    assert run_python(EVALUATION, str(file), paths=(site,), **environment) == "120\n"
    # The same without an installation.
    paths = (PROJECT / "engine" / "checkout",)
    assert run_python(EVALUATION, str(file), paths=paths, **environment) == "120\n"


def test_an_editable_installation_is_the_checkout_under_the_package_s_name(
    project: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = sorted(path.name for path in project.iterdir())
    site = install(project, tmp_path_factory.mktemp("editable") / "environment", "--editable")
    added = {path.name for path in site.iterdir() if path.name.split(".")[0] not in ("numpy", "chess")}
    assert {name for name in added if not name.endswith(".dist-info")} == {"secateur.pth"}
    assert sorted(path.name for path in project.iterdir()) == before
    python = str(program_of(site, "python"))
    check_program(run([python, "-c", PROGRAM], folder))
    program = str(program_of(site, "secateur"))
    assert run([program], folder, "--version") == run([python, "-m", "secateur"], folder, "--version")
    (project / "engine" / "client" / "added.py").write_text("from engine.errors import OK\n", encoding="utf-8")
    script = "from secateur.engine.client.added import OK; print(OK)"
    assert run([python, "-c", script], folder) == "0\n"


@pytest.mark.parametrize("before", [None, "mine.cfg"])
def test_a_build_restores_the_variable_that_it_sets(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    packaging = pytest.importorskip("bench.packaging", reason="needs setuptools")
    name = "DIST_EXTRA_CONFIG"
    monkeypatch.setenv(name, before or "")
    if before is None:
        monkeypatch.delenv(name)
    with packaging._folder_of_its_own():
        assert Path(os.environ[name]).is_file()
    assert os.environ.get(name) == before


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
            mark(folder, standalone.MARKER_TEXT, {} if kind == "unlisted" else {"mine": digest_of(folder / "mine")})
        if kind == "link":
            place.symlink_to(folder)
    said = standalone.main(tmp_path / "dist")
    assert said == f"{place} already exists and was not built by this command; move it elsewhere"


def test_a_stand_alone_program_takes_the_place_of_an_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(work: Path) -> Path:
        program = work / "secateur"
        (program / "_internal").mkdir(parents=True)
        (program / "_internal" / f"file of {len(made)}").touch()
        (program / "link").symlink_to("_internal")
        names = (f"_internal/file of {len(made)}", "link")
        mark(program, standalone.MARKER_TEXT, {name: digest_of(program / name) for name in names})
        made.append(program)
        if appears:
            (target / "secateur" / "mine").touch()
        return program

    appears = False
    made: list[Path] = []
    monkeypatch.setattr(standalone, "stale", list)
    monkeypatch.setattr(standalone, "_make", make)
    target = tmp_path / "dist"
    for number in range(2):
        assert standalone.main(target) is None
        assert [path.name for path in (target / "secateur" / "_internal").iterdir()] == [f"file of {number}"]
        assert [path.name for path in target.iterdir()] == ["secateur"]
    appears = True
    for number in (2, 3):
        said = f"{target / 'secateur' / 'mine'} was not built by this command, or has changed; move it elsewhere"
        assert standalone.main(target) == f"{said}; the new program is in {target / f'secateur-{number}'}"
        assert (target / f"secateur-{number}" / "_internal" / f"file of {number}").exists()
        (target / "secateur" / "mine").unlink()
    appears = False
    with monkeypatch.context() as patch:  # the file appears later still
        patch.setattr(standalone, "remove_listed", lambda *_: None)
        said = f"{target / 'secateur'}: Directory not empty; the new program is in {target / 'secateur-4'}"
        assert standalone.main(target) == said
    mine = target / "secateur" / "_internal" / "mine"
    mine.touch()
    assert standalone.main(target) == f"{mine} was not built by this command, or has changed; move it elsewhere"
    assert len(made) == 5
    assert mine.exists()
    assert (target / "secateur" / "_internal" / "file of 1").exists()
