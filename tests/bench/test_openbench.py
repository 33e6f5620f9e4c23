"""Plays OpenBench's client: builds from an unpacked download, moves the one file away, deletes the rest, benches."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.engine
import pytest

from bench.standalone import MARKER_TEXT
from engine.compiler.cache_folder import MARKER, digest_of, mark, renew
from engine.compiler.launcher import (
    _MARKER_TEXT,
    KEEP_SECONDS,
    _copy_once,
    _files_below,
    _sweep,
    launcher_text,
    make_standing,
    remove_launcher,
    write_launcher,
)
from engine.compiler.levels import LEVELS
from engine.compiler.library import MARKER as MARKER_BYTES
from engine.compiler.library import Description, library_path
from tests.conftest import MAKE_VARIABLES

PROJECT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix" or shutil.which("make") is None, reason="needs make and a POSIX shell"),
]

#: The client kills a bench after this time.
LIMIT_SECONDS = 60


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file that is left when the client has built it: nothing else of the download exists any more."""
    root = tmp_path_factory.mktemp("openbench")
    download, engines = root / "download", root / "Engines"
    engines.mkdir()
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=PROJECT, capture_output=True
    )
    if listing.returncode:
        pytest.skip("not a git checkout: there is nothing to clone")
    for name in filter(None, listing.stdout.decode().split("\0")):
        if (PROJECT / name).is_file():
            (download / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, download / name)
    environment = {**os.environ, "SECATEUR_STANDING_DIR": str(root / "standing")}
    for variable in (*MAKE_VARIABLES, "EXE", "PYTHON"):
        environment.pop(variable, None)  # of the `make test` that may be running us
    command = ["make", "-j", "EXE=Secateur-0123ABCD", "CC=gcc"]
    build = subprocess.run(command, cwd=download, env=environment, capture_output=True, text=True, timeout=900)
    if build.returncode and "pip install" in build.stderr and re.search(r"resolv|connect|timed out", build.stderr):
        pytest.skip("the package index cannot be reached")
    assert build.returncode == 0, build.stderr
    assert build.stdout == "", "make must print to stderr alone"
    shutil.move(download / "Secateur-0123ABCD", engines)
    shutil.rmtree(download)
    yield engines / "Secateur-0123ABCD"
    shutil.rmtree(root / "standing")


def figures(output: bytes) -> tuple[int, int]:
    """Node count and speed by the client's rule: in the last lines that have them, whatever else is printed."""
    nodes = speed = None
    for line in reversed(output.decode("ascii").strip().split("\n")):
        words = re.sub("[^A-Za-z0-9 ]+", " ", line).lower()
        if speed is None and (found := re.search(r"(\d+)\s+nps|nps\s+(\d+)|nodes second\s+(\d+)", words)):
            speed = int(next(filter(None, found.groups())))
        if nodes is None and (found := re.search(r"(\d+)\s+nodes|nodes\s+(\d+)|nodes searched\s+(\d+)", words)):
            nodes = int(next(filter(None, found.groups())))
    assert nodes is not None
    assert speed is not None
    return nodes, speed


def test_benches_agree_within_the_minute(engine: Path) -> None:
    # A second build shares the environment of the first.
    standing = engine.parents[1] / "standing"
    assert sorted(path.name.split("-")[0] for path in standing.iterdir()) == ["environment", "source"]
    text = engine.read_text(encoding="utf-8")
    assert str(standing) in text
    assert "download" not in text
    began = time.monotonic()
    command = [f"./{engine.name}", "bench"]
    runs = [
        subprocess.Popen(command, cwd=engine.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(2)
    ]
    answers = [figures(run.communicate(timeout=LIMIT_SECONDS)[0]) for run in runs]
    assert time.monotonic() - began < LIMIT_SECONDS
    assert len({nodes for nodes, _ in answers}) == 1
    assert all(speed > 1000 for _, speed in answers)
    assert answers[0][0] > 10000


def test_plays_with_the_options_that_the_client_sets(engine: Path) -> None:
    with chess.engine.SimpleEngine.popen_uci(str(engine), cwd="/", timeout=LIMIT_SECONDS) as client:
        assert {"Hash", "Threads"} <= set(client.options)
        client.configure({"Hash": 32, "Threads": 2})
        assert client.play(chess.Board(), chess.engine.Limit(nodes=2000)).move


def test_standing_copies_that_nobody_wants_any_more_are_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, left, unmarked, linked = (f"source-{number:020x}" for number in range(5))
    repaired = f"{left}-k3_mkdtm"
    left = f".{repaired}"  # of a build that was killed
    root, elsewhere = tmp_path / "standing", tmp_path / "elsewhere"
    others = [f"environment-{0:020x}", f"environment-{1:020x}", "environment-tests", "source-code", "notes"]
    for name in (old, new, repaired, left, unmarked, *others):
        (root / name / "folder").mkdir(parents=True)
        (root / name / "file").touch()
        (root / name / "folder" / "file").touch()
    elsewhere.mkdir()
    (root / old / "link").symlink_to(elsewhere)
    digests = {file: digest_of(root / old / file) for file in ("file", "link", "folder/file")}
    mark(elsewhere, _MARKER_TEXT, digests)
    for name in (old, new, repaired, left, *others[1:]):
        mark(root / name, "my notes\n" if name == others[1] else _MARKER_TEXT, digests)
    (root / unmarked / MARKER).symlink_to(elsewhere / MARKER)
    (root / linked).symlink_to(elsewhere)
    (root / f"source-{5:020x}").symlink_to("nowhere")
    (root / f"source-{6:020x}").touch()
    kept = sorted({path.name for path in root.iterdir()} - {old, repaired, left})
    for path in (*root.iterdir(), elsewhere):
        when = time.time() - (60 if path.name == new else KEEP_SECONDS + 60)
        os.utime(path, (when, when), follow_symlinks=False)
    _sweep(root)
    said = [f"secateur: removed {root / name}, which was not used for 90 days" for name in (left, old, repaired)]
    assert sorted(capsys.readouterr().err.splitlines()) == sorted(said)
    assert sorted(path.name for path in root.iterdir()) == kept
    assert (elsewhere / MARKER).exists()


def test_what_a_user_keeps_in_a_standing_copy_stays(tmp_path: Path) -> None:
    origin, root, elsewhere = tmp_path / "origin", tmp_path / "standing", tmp_path / "elsewhere"
    for folder in (origin / "engine" / "uci", elsewhere):
        folder.mkdir(parents=True)
        (folder / "file.py").touch()
    copy = _copy_once(root / f"source-{0:020x}", origin, [origin / "engine" / "uci" / "file.py"])
    (copy / "engine" / "uci" / "__pycache__").mkdir()
    (copy / "engine" / "uci" / "__pycache__" / "file.cpython-311.pyc").touch()
    (copy / "engine" / "uci" / "__pycache__" / "mine.cpython-311.pyc").touch()
    (copy / "engine" / "notes.txt").touch()
    edited = _copy_once(root / f"source-{3:020x}", origin, [origin / "engine" / "uci" / "file.py"])
    (edited / "engine" / "uci" / "file.py").write_text("mine")
    os.utime(edited / "engine" / "uci" / "file.py", (0, 0))  # a user's older file that was moved here
    (copy / "games").mkdir()
    (copy / "games" / "file.py").touch()
    unlisted = root / f"source-{1:020x}"
    unlisted.mkdir()
    mark(unlisted, _MARKER_TEXT)
    (unlisted / "file").touch()
    swapped = _copy_once(root / f"source-{2:020x}", origin, [origin / "engine" / "uci" / "file.py"])
    (swapped / "engine" / "uci" / "file.py").unlink()
    (swapped / "engine" / "uci").rmdir()
    (swapped / "engine" / "uci").symlink_to(elsewhere)
    for path in root.iterdir():
        os.utime(path, (0, 0))
    _sweep(root)
    left = sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*"))
    compiled = ["engine/uci", "engine/uci/__pycache__", "engine/uci/__pycache__/mine.cpython-311.pyc"]
    assert left == sorted([MARKER, "engine", *compiled, "engine/notes.txt", "games", "games/file.py"])
    assert (unlisted / "file").exists()
    assert (elsewhere / "file.py").exists()
    assert (edited / "engine" / "uci" / "file.py").read_text() == "mine"


def test_a_standing_copy_that_lacks_files_is_not_used(tmp_path: Path) -> None:
    origin, root = tmp_path / "origin", tmp_path / "standing"
    origin.mkdir()
    file = origin / "uci_main.py"
    file.touch()
    copy = _copy_once(root / f"source-{0:020x}", origin, [file])
    (copy / "notes.txt").touch()
    assert _copy_once(copy, origin, [file]) == copy
    os.utime(copy, (0, 0))
    _sweep(root)
    again = _copy_once(copy, origin, [file])
    assert again != copy
    assert (again / "uci_main.py").is_file()
    assert _copy_once(copy, origin, [file]) == again
    assert (copy / "notes.txt").exists()
    (again / "uci_main.py").unlink()
    for _ in range(2):
        third = _copy_once(copy, origin, [file])
        assert len(third.name) == len(again.name)
        assert len(list(root.iterdir())) == 3
    os.utime(third, (0, 0))
    _sweep(root)
    assert not third.exists()


def test_builds_share_one_copy_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment, root = tmp_path / "environment", tmp_path / "standing"
    packages = environment / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    for name in ("pyvenv.cfg", ".play", "lib/python3/site-packages/chess.py", "lib/python3/site-packages/secateur.pth"):
        (environment / name).write_text(name)
    (environment / MARKER).write_text("of an older version\n")
    monkeypatch.setattr(sys, "prefix", str(environment))
    monkeypatch.setattr(sys, "executable", str(environment / "bin" / "python"))
    program = make_standing(root)
    (environment / ".warm").touch()
    assert make_standing(root) == program
    sources, copy = sorted(root.iterdir(), reverse=True)
    assert program == (str(copy / "bin" / "python"), sources / "uci_main.py")
    assert sorted(path.name for path in copy.rglob("*") if path.is_file()) == ["chess.py", MARKER, "pyvenv.cfg"]


def test_a_start_keeps_a_standing_copy(project: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    mark(project, _MARKER_TEXT)
    for folder in (project, notes):
        os.utime(folder, (0, 0))
    renew(notes, tmp_path / "missing")
    assert notes.stat().st_mtime == 0
    command = [sys.executable, "-c", "import engine.compiler.jit"]
    subprocess.run(command, cwd=project, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=True, timeout=120)
    assert time.time() - project.stat().st_mtime < 120


def test_a_standing_copy_bears_the_mark_and_failures_leave_nothing(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    (origin / "folder").mkdir(parents=True)
    (origin / "folder" / "whole").touch()
    (origin / "link").symlink_to("folder")
    os.utime(origin, (0, 0))
    target = tmp_path / f"source-{0:020x}"
    files = _files_below(origin)
    assert files == [origin / "folder" / "whole", origin / "link"]
    with pytest.raises(OSError, match="No such file"):
        _copy_once(target, origin, [*files, origin / "missing"], links=True)
    assert list(tmp_path.iterdir()) == [origin]
    assert _copy_once(target, origin, files, links=True) == target
    assert sorted(path.name for path in target.iterdir()) == ["folder", "link", MARKER]
    assert (target / "link").readlink() == Path("folder")
    _sweep(tmp_path)
    assert target.is_dir(), "as old as what it was copied from"


@pytest.mark.parametrize(
    "data",
    [
        b"#!/bin/sh\necho my script\n",
        b'#!/bin/sh\nexec env MY=1 nice -n 5 /opt/mine/python /opt/myengine/uci_main.py "$@"\n',
        b'#!/bin/sh\nexec /opt/python -O -u /opt/myengine/uci_main.py "$@"\n',
        b'#!/bin/sh\nexec /opt/python /opt/uci_main.py "$@"',
        b'#!/bin/sh\nexec /usr/bin/python3 /home/me/other/uci_main.py "$@"\n',
        bytes(5000),
        None,
    ],
)
def test_a_launcher_takes_the_place_of_a_launcher_only(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "secateur"
    problem = "is a folder, not a file" if data is None else "is not a Secateur launcher; it is left unchanged"
    if data is None:
        path.mkdir()
    else:
        path.write_bytes(data)
    for work in (write_launcher, remove_launcher):
        with pytest.raises(OSError, match=problem):
            work(path)
    assert data is None or path.read_bytes() == data


@pytest.mark.parametrize("kind", ["launcher", "missing", "empty"])
def test_no_link_is_changed_and_no_empty_file_removed(tmp_path: Path, kind: str) -> None:
    target, path = tmp_path / "target", tmp_path / "secateur"
    if kind == "launcher":
        write_launcher(target)
    if kind == "empty":
        path.touch()
    else:
        path.symlink_to(target)
    before = target.stat() if kind == "launcher" else None
    for work in (remove_launcher,) if kind == "empty" else (remove_launcher, write_launcher):
        with pytest.raises(FileExistsError, match="it is left unchanged"):
            work(path)
    assert path.is_symlink() == (kind != "empty")
    assert os.path.lexists(path)
    assert (target.stat() if target.exists() else None) == before


def test_a_launcher_takes_the_place_of_older_ones(tmp_path: Path) -> None:
    path = tmp_path / "secateur"
    for old in (None, "", launcher_text("/old/it's/python")):
        if old is not None:
            path.write_text(old, encoding="utf-8", newline="")
        write_launcher(path)
        assert path.read_text(encoding="utf-8") == launcher_text(sys.executable)
        assert os.access(path, os.X_OK)
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what `make clean` needs."""
    project = tmp_path / "project"
    for room in ("engine", "bench"):
        shutil.copytree(PROJECT / room, project / room, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(PROJECT / "Makefile", project)
    return project


def run_make(project: Path, *arguments: str, **variables: str) -> tuple[int, list[str]]:
    """The exit status and what is said, line by line, except reports of progress."""
    environment = {name: value for name, value in os.environ.items() if name not in (*MAKE_VARIABLES, "EXE", "PYTHON")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", **variables}
    command = ["make", f"PYTHON={sys.executable}", *arguments]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout == ""
    return done.returncode, [line for line in done.stderr.splitlines() if not re.search(r": \d+ s$", line)]


def test_clean_removes_the_launcher_and_no_other_file(project: Path, tmp_path: Path) -> None:
    notes, launcher = tmp_path / "notes.txt", tmp_path / "secateur"
    write_launcher(launcher)
    notes.write_text("my notes", encoding="utf-8")
    for path, status in ((launcher, 0), (launcher, 0), (notes, 2)):
        assert run_make(project, "clean", f"EXE={path}")[0] == status
    assert not launcher.exists()
    assert notes.read_text(encoding="utf-8") == "my notes"


def make_products(project: Path) -> list[Path]:
    """Makes a stand-alone program and a kernel library as `make` does; returns their files."""
    program, kernels = project / "dist" / "secateur", project / "engine" / "kernels"
    for folder in (program, kernels):
        folder.mkdir(parents=True)
    (program / "secateur").touch()
    mark(program, MARKER_TEXT, {"secateur": digest_of(program / "secateur")})
    body = MARKER_BYTES + Description(LEVELS[0].name, "", "", "", {}).encode().encode() + b"\0"
    library_path(LEVELS[0], kernels).write_bytes(body + hashlib.sha256(body).digest())
    return [program / "secateur", library_path(LEVELS[0], kernels)]


def test_clean_removes_what_identifies_itself(project: Path) -> None:
    before = sorted(project.rglob("*"))
    make_products(project)
    write_launcher(project / "secateur")
    assert run_make(project, "clean") == (0, [])
    assert sorted(project.rglob("*")) == before


def test_clean_lets_make_compile_again(project: Path) -> None:
    stamp = project / ".venv" / ".warm"
    stamp.parent.mkdir()
    stamp.touch()
    assert run_make(project, "clean") == (0, ["left in place: .venv (rm -r deletes them)"])
    assert not stamp.exists()


def test_clean_keeps_all_other_files_and_names_their_folders(project: Path) -> None:
    files = [
        project / name
        for name in (
            ".venv/.play",
            ".venv-standalone/mine",
            "docs/_build/index.html",
            "dist/secateur-1.0.0-py3-none-any.whl",
            "dist/secateur/games/mine.pgn",
            "engine/kernels/.secateur.abcdefgh.tmp",
            "build/lib/mine",
        )
    ]
    products = make_products(project)
    files.append(library_path(LEVELS[-1], project / "engine" / "kernels"))
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("mine", encoding="utf-8")
    left = ".venv .venv-standalone dist docs/_build engine/kernels"
    for _ in range(2):
        assert run_make(project, "clean") == (0, [f"left in place: {left} (rm -r deletes them)"])
    assert all(file.read_text(encoding="utf-8") == "mine" for file in files)
    assert not any(file.exists() for file in products)


def test_clean_follows_no_link(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / "engine").mkdir(parents=True)
    products = make_products(tmp_path / "other")
    for name in ("dist", "engine/kernels"):
        (project / name).symlink_to(tmp_path / "other" / name)
    assert run_make(project, "clean") == (0, ["left in place: dist engine/kernels (rm -r deletes them)"])
    assert all(file.exists() for file in products)


def test_the_launcher_is_of_the_folder_where_make_runs(project: Path, tmp_path: Path) -> None:
    packages = project / ".venv" / "lib" / "python3" / "site-packages"
    for folder in (packages, project / ".venv" / "bin"):
        folder.mkdir(parents=True)
    # Not an environment, which `make EXE=` would copy.
    python = getattr(sys, "_base_executable", sys.executable)
    (project / ".venv" / "bin" / "python").write_text(f"#!/bin/sh\nexec '{python}' \"$@\"\n")
    (project / ".venv" / "bin" / "python").chmod(0o755)
    (packages / "secateur.pth").write_text("/elsewhere\n/elsewhere/engine/checkout\n")
    os.link(packages / "secateur.pth", tmp_path / "linked")
    for folder in (project, tmp_path / "copy"):
        if folder != project:
            shutil.copytree(project, folder)
        for _ in range(2):
            assert run_make(folder, "-o", ".venv/.warm") == (0, [])
        assert (folder / "secateur").read_text() == launcher_text(python, folder / "uci_main.py")
        lines = (folder / packages.relative_to(project) / "secateur.pth").read_text().splitlines()
        assert lines == [str(folder), str(folder / "engine" / "checkout")]
        assert [path.name for path in packages.iterdir()] == ["secateur.pth"]
    assert (tmp_path / "linked").read_text() == "/elsewhere\n/elsewhere/engine/checkout\n"
    for text in (f"{packages.parents[3]}\n/mine\n", "/mine\n"):
        (packages / "secateur.pth").write_text(text)
        said = "secateur: .venv/lib/python3/site-packages/secateur.pth: has lines that make did not write "
        assert run_make(project, "-o", ".venv/.warm") == (0, [f"{said}and is left unchanged"])
        assert (packages / "secateur.pth").read_text() == text
    (packages / "secateur.pth").unlink()
    # `make EXE=secateur` and `make` take each other's place, and a new version takes the place of an older one.
    standing = {"SECATEUR_STANDING_DIR": str(tmp_path / "standing")}
    texts = []
    for name, edit in (("EXE=secateur", ""), ("EXE=secateur", "# edited"), ("-s", "")):
        if edit:
            (project / "engine" / "edited.py").write_text(edit)
        assert run_make(project, "-o", ".venv/.warm", name, **standing) == (0, [])
        texts.append((project / "secateur").read_text())
    assert len({*texts}) == 3
    assert texts[2] == launcher_text(python, project / "uci_main.py")


@pytest.mark.parametrize("is_user_s", [False, True])
def test_an_environment_stays_as_the_user_left_it(project: Path, tmp_path: Path, is_user_s: bool) -> None:
    (project / "requirements").mkdir()
    (project / "requirements" / "play.txt").touch()
    environment = project / ".venv"
    if is_user_s:
        venv.create(environment, with_pip=False)
    # Instead of a Python that downloads: pip fails the first time, as it does without a network.
    pip = tmp_path / "pip" / "pip"
    pip.mkdir(parents=True)
    (pip / "__init__.py").touch()
    (pip / "__main__.py").write_text("import sys; sys.exit('install' in sys.argv)", encoding="utf-8")
    python, without_pip = tmp_path / "python", '[ "$2" = venv ] && set -- "$@" --without-pip'
    python.write_text(f"#!/bin/sh\n{without_pip}\nexec '{sys.executable}' \"$@\"\n", encoding="utf-8")
    python.chmod(0o755)
    before = {path: path.lstat().st_ctime_ns for path in environment.rglob("*")}
    for fails in (True, True, True) if is_user_s else (True, False, False):
        if (environment / ".play").exists():  # its requirements have changed since
            os.utime(environment / ".play", (0, 0))
        status, said = run_make(project, ".venv/.play", f"PYTHON={python}", PYTHONPATH=str(pip.parent))
        assert (status != 0) == fails, said
        (pip / "__main__.py").write_text("", encoding="utf-8")
        if is_user_s:
            assert said[0] == "secateur: .venv: was not made by make and is left unchanged; move it elsewhere"
            assert {path: path.lstat().st_ctime_ns for path in environment.rglob("*")} == before
        elif not fails:
            assert (environment / "bin" / "activate").read_text(encoding="utf-8") == "edited"
        else:
            (environment / "bin" / "activate").write_text("edited", encoding="utf-8")


@pytest.mark.parametrize("is_user_s", [False, True])
def test_docs_are_not_written_into_a_folder_of_a_user(project: Path, is_user_s: bool) -> None:
    page = project / "docs" / "_build" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("mine", encoding="utf-8")
    for name in ("bin/python", ".docs", *([] if is_user_s else ["../docs/_build/.ready"])):
        path = project / ".venv" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (project / ".venv" / "bin" / "python").write_text(f"#!/bin/sh\necho new >'{page}'\n", encoding="utf-8")
    (project / ".venv" / "bin" / "python").chmod(0o755)
    command = ["make", "docs", "-o", ".venv/.docs"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60)
    said = "secateur: docs/_build: was not made by make and is left unchanged; move it elsewhere"
    assert (done.returncode != 0, said in done.stderr) == (is_user_s, is_user_s), done.stderr
    assert (page.read_text(encoding="utf-8") == "mine") == is_user_s
