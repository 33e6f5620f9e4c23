"""Where the kernel cache lies, never where others can write, and how old builds are removed from it."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.compiler.cache_folder import (
    _MARKER_TEXT,
    CACHE_VARIABLE,
    KEEP_FOLDERS,
    KEEP_SECONDS,
    MARKER,
    digest_of,
    listed,
    mark,
    open_cache,
    remove_listed,
    strangers,
)
from engine.compiler.library import BUILD as BUILD_KERNELS
from engine.compiler.library import KERNELS_VARIABLE
from engine.compiler.sources import add_sources

posix_only = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")

BUILD, OTHER = "0" * 20, "f" * 20
KERNEL = "0" * 32 + ".nbc"
DAY = 24 * 3600

# --- places ------------------------------------------------------------------------------------------------------


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary: Path) -> Path:
    """A folder of the user's that the cache is put into."""
    folder = tmp_path / "kernels"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    return folder


def opened(build: str = BUILD) -> Path:
    folder = open_cache(build)
    assert folder is not None
    assert folder.name == build
    return folder


@posix_only
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has Library/Caches")
def test_the_folder_is_in_the_user_s_caches_and_the_user_s_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path
) -> None:
    for name in (CACHE_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert opened().parent == tmp_path / ".cache" / "secateur" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert opened().parent == tmp_path / "xdg" / "secateur" / "kernels"
    assert opened().stat().st_mode & 0o777 == opened().parent.stat().st_mode & 0o777 == 0o700


@posix_only
@pytest.mark.parametrize("problem", ["home not writable", "named folder not writable"])
def test_without_that_it_is_in_the_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path, problem: str
) -> None:
    # Below a regular file nobody can make a folder, not even root.
    barrier = tmp_path / "file"
    barrier.touch()
    for name in (CACHE_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(barrier))
    if problem == "named folder not writable":
        monkeypatch.setenv(CACHE_VARIABLE, str(barrier / "kernels"))
    assert opened().parent.parent == temporary
    monkeypatch.setattr(tempfile, "tempdir", str(barrier))
    assert open_cache(BUILD) is None


def test_without_any_cache_kernels_are_compiled_and_a_remark_says_so(
    run_tiny: Callable[..., dict[str, object]], tmp_path: Path
) -> None:
    barrier = tmp_path / "file"
    barrier.touch()
    no_temporary_folder = f"import tempfile; tempfile.tempdir = {str(barrier / 'temporary')!r}\n"
    answer = run_tiny(before=no_temporary_folder, **{CACHE_VARIABLE: str(barrier / "kernels")})
    assert (answer["value"], answer["hits"], answer["folder"]) == (12, 0, None)
    assert str(answer["problem"]).startswith("no writable cache folder: kernels are compiled at every start")


def test_a_build_of_a_library_needs_no_cache(run_python: Callable[..., str]) -> None:
    script = "from engine.compiler import jit; print(jit.cache_problem())"
    assert run_python(script, **{KERNELS_VARIABLE: BUILD_KERNELS}) == "None\n"


@posix_only
@pytest.mark.parametrize(("which", "mode"), [("root", 0o777), ("root", 0o770), ("build", 0o707)])
def test_a_folder_that_others_can_write_is_refused(root: Path, temporary: Path, which: str, mode: int) -> None:
    folder = opened()
    (folder if which == "build" else root).chmod(mode)
    assert opened().parent.parent == temporary


# --- sweeping ------------------------------------------------------------------------------------------------------


def make_old(*paths: Path, seconds: float = 2 * KEEP_SECONDS) -> None:
    used = time.time() - seconds
    for path in paths:
        os.utime(path, (used, used), follow_symlinks=False)


def old_build(root: Path, number: int, seconds: float) -> Path:
    """A cache folder as another version left it, last used so many seconds ago."""
    folder = root / f"{number:020x}"
    folder.mkdir()
    mark(folder, _MARKER_TEXT)
    (folder / KERNEL).touch()
    make_old(folder, seconds=seconds)
    return folder


def test_folders_of_old_builds_are_swept(root: Path) -> None:
    stale = [old_build(root, 1, KEEP_SECONDS + DAY), old_build(root, 2, 2 * KEEP_SECONDS)]
    recent = [old_build(root, 10 + number, (number + 1) * DAY / 2) for number in range(KEEP_FOLDERS)]
    too_many = [old_build(root, 100 + number, KEEP_SECONDS - DAY + number) for number in range(3)]
    fresh = [old_build(root, 200 + number, 60) for number in range(2)]
    foreign = root / "something else"
    foreign.mkdir()
    make_old(foreign)
    current = opened(OTHER)
    swept = [*stale, *too_many, *recent[-2:]]
    assert not any(folder.exists() for folder in swept)
    assert set(root.iterdir()) == {*recent[:-2], *fresh, current, foreign}


def test_what_numba_compiled_is_swept_and_a_start_renews_its_folder(
    warm: Path, run_tiny: Callable[..., dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(warm.parent))
    make_old(warm)
    assert run_tiny()["hits"] == 1
    assert time.time() - warm.stat().st_mtime < 120
    make_old(warm)
    opened(OTHER)
    assert not warm.exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("my-thesis-chapters-2", _MARKER_TEXT),
        (BUILD, None),
        (BUILD, "my notes about what Secateur made\n"),
        (BUILD, f"{_MARKER_TEXT}and my notes\n"),
    ],
)
def test_a_folder_without_marker_or_name_of_a_build_is_never_swept(root: Path, name: str, text: str | None) -> None:
    thesis = root / name
    thesis.mkdir()
    (thesis / KERNEL).touch()
    if text is not None:
        (thesis / MARKER).write_text(text, encoding="utf-8")
    before = sorted(path.name for path in thesis.iterdir())
    make_old(thesis)
    opened(OTHER)
    assert sorted(path.name for path in thesis.iterdir()) == before


def test_a_user_s_files_in_an_old_build_stay(root: Path) -> None:
    folder = opened()
    own = {"notes.txt", ".hidden", ".thesis.0123abcd.tmp", "thesis.nbc"}
    for name in (*own, KERNEL, ".secateur.0123abcd.tmp"):
        (folder / name).touch()
    (folder / "folder").mkdir()
    (folder / "folder" / KERNEL).touch()
    make_old(folder)
    opened(OTHER)
    assert {path.name for path in folder.iterdir()} == {*own, "folder", MARKER}
    assert (folder / "folder" / KERNEL).exists()
    for name in own:
        (folder / name).rename(root.parent / name)
    (folder / "folder").rename(root.parent / "folder")
    make_old(folder)
    opened(OTHER)
    assert not folder.exists()


@posix_only
def test_sweeping_follows_no_link(root: Path, tmp_path: Path) -> None:
    elsewhere = old_build(tmp_path, 9, 0)
    (root / ("2" * 20)).symlink_to(elsewhere)
    within, unmarked = opened("3" * 20), opened("4" * 20)
    (within / KERNEL).symlink_to(elsewhere / KERNEL)
    (within / "folder").symlink_to(elsewhere)
    (unmarked / MARKER).unlink()
    (unmarked / MARKER).symlink_to(elsewhere / MARKER)
    make_old(elsewhere, root / ("2" * 20), within, unmarked)
    opened(OTHER)
    assert sorted(path.name for path in elsewhere.iterdir()) == [KERNEL, MARKER]
    assert (within / "folder").is_symlink()
    assert unmarked.exists()
    assert (root / ("2" * 20)).is_symlink()


# --- folders that list their files -----------------------------------------------------------------------------------


def test_a_listed_file_that_was_changed_stays(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    (folder / "engine" / "__pycache__").mkdir(parents=True)
    for name in ("engine/one.py", "engine/two.py"):
        (folder / name).write_text("original")
    names = {name: digest_of(folder / name) for name in ("engine/one.py", "engine/two.py")}
    mark(folder, "made\n", names)
    assert listed(folder, "made\n") == names
    (folder / "engine" / "__pycache__" / "one.cpython-311.pyc").touch()
    assert strangers(folder, names) == []
    edited = folder / "engine" / "two.py"
    edited.write_text("edited")
    make_old(edited)  # a user's older file that was moved here
    assert strangers(folder, names) == [edited]
    remove_listed(folder, "made\n")
    assert {path.name for path in folder.rglob("*") if path.is_file()} == {MARKER, "two.py"}
    edited.write_text("original")
    remove_listed(folder, "made\n")
    assert not folder.exists()


def test_a_users_empty_folder_in_a_copy_stays(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    (folder / "engine" / "parts").mkdir(parents=True)
    (folder / "engine" / "parts" / "one.py").write_text("original")
    (folder / "engine" / "parts" / "__pycache__").mkdir()
    mark(folder, "made\n", {"engine/parts/one.py": digest_of(folder / "engine" / "parts" / "one.py")})
    mine = folder / "engine" / "drafts" / "new"
    mine.mkdir(parents=True)
    remove_listed(folder, "made\n")
    assert sorted(folder.rglob("*")) == [folder / "engine", mine.parent, mine, folder / MARKER]


@posix_only
def test_a_source_file_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / os.fsdecode(b"\xff.py")
    path.touch()
    digest = hashlib.sha256()
    monkeypatch.setattr("engine.compiler.sources.PROJECT_ROOT", tmp_path)
    add_sources(digest, [path])
    assert digest.digest() == hashlib.sha256(b"\xff.py\0\0").digest()


# --- links -----------------------------------------------------------------------------------------------------------


@posix_only
def test_a_link_in_the_temporary_folder_is_followed_only_if_it_is_the_user_s(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, temporary: Path
) -> None:
    documents = tmp_path / "documents"
    documents.mkdir(mode=0o700)
    link = temporary / f"secateur-kernels-{os.getuid()}"
    link.symlink_to(documents)
    monkeypatch.setenv(CACHE_VARIABLE, "/dev/null/kernels")
    assert opened() == link / BUILD
    user = os.getuid()
    with monkeypatch.context() as patch:
        # The link is another user's; the folder that it leads to still is this user's.
        lstat = Path.lstat
        patch.setattr(Path, "lstat", lambda path: os.stat_result((*lstat(path)[:4], user + 1, *lstat(path)[5:10])))
        assert open_cache(BUILD) is None


@posix_only
def test_a_build_s_folder_is_no_link(root: Path, tmp_path: Path, temporary: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (root / BUILD).symlink_to(elsewhere)
    assert opened().parent.parent == temporary
    assert list(elsewhere.iterdir()) == []
