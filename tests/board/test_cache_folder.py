"""Where the kernel cache lies: in the user's folder or another, never where others can write; and swept of old builds.

The tests run copies of the project in processes of their own, with a kernel of a few lines.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.compiler.cache_folder import (
    _MARKER_TEXT,
    CACHE_VARIABLE,
    CHECKSUM_BYTES,
    KEEP_FOLDERS,
    KEEP_SECONDS,
    KERNEL_HEADER,
    MARKER,
    mark,
    open_cache,
)
from tests.board.tiny_kernel import build_folders

posix_only = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")

# --- places ------------------------------------------------------------------------------------------------------


def test_other_working_directory_and_moved_project(
    warm: Path, run_tiny: Callable[..., dict[str, Any]], project: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run_tiny(cwd=elsewhere)["hits"] == 1
    assert list(elsewhere.iterdir()) == []
    moved = shutil.move(project, tmp_path / "moved")
    answer = run_tiny(cwd=elsewhere, at=Path(moved))
    assert (answer["hits"], answer["folder"]) == (1, str(warm))


@posix_only
def test_user_cache_folder_is_the_usual_one(run_tiny: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    if sys.platform == "darwin":
        pytest.skip("macOS has Library/Caches")
    home, xdg = tmp_path / "home", tmp_path / "xdg"
    places = {CACHE_VARIABLE: None, "HOME": str(home), "XDG_CACHE_HOME": None}
    assert Path(run_tiny(**places)["folder"]).parent == home / ".cache" / "secateur" / "kernels"
    places["XDG_CACHE_HOME"] = str(xdg)
    assert Path(run_tiny(**places)["folder"]).parent == xdg / "secateur" / "kernels"


@posix_only
def test_home_that_cannot_be_written(run_tiny: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    # Below a regular file nobody can make a folder, not even root.
    barrier, temporary = tmp_path / "file", tmp_path / "temporary"
    barrier.write_text("", encoding="utf-8")
    temporary.mkdir()
    places = {
        CACHE_VARIABLE: None,
        "HOME": str(barrier / "home"),
        "XDG_CACHE_HOME": None,
        "TMPDIR": str(temporary),
    }
    first, second = run_tiny(**places), run_tiny(**places)
    assert Path(first["folder"]).parent.parent == temporary
    assert (first["value"], first["hits"]) == (12, 0)
    assert (second["value"], second["hits"]) == (12, 1)
    named = places | {CACHE_VARIABLE: str(barrier / "kernels")}
    assert run_tiny(**named)["folder"] == first["folder"]


#: As `~` is expanded for a user whom the system does not know, such as a number that a container is run with.
NOBODY_HAS_A_HOME = """
import pathlib

def expanduser(path):
    raise RuntimeError("Could not determine home directory.")

pathlib.Path.expanduser = expanduser
"""


@posix_only
def test_a_user_without_a_home(run_tiny: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    answer = run_tiny(before=NOBODY_HAS_A_HOME, **{CACHE_VARIABLE: None, "TMPDIR": str(temporary)})
    assert Path(answer["folder"]).parent.parent == temporary
    assert (answer["value"], answer["problem"]) == (12, None)


def test_a_folder_of_an_unknown_user_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "~nobody-of-that-name/kernels")
    with pytest.raises(ValueError, match="~nobody-of-that-name/kernels: Could not determine home"):
        open_cache("0" * 20)


def test_no_cache_at_all(run_tiny: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    barrier = tmp_path / "file"
    barrier.write_text("", encoding="utf-8")
    no_temporary_folder = f"import tempfile; tempfile.tempdir = {str(barrier / 'temporary')!r}\n"
    for _ in range(2):
        answer = run_tiny(before=no_temporary_folder, **{CACHE_VARIABLE: str(barrier / "kernels")})
        assert (answer["value"], answer["hits"], answer["folder"]) == (12, 0, None)
        assert answer["problem"].startswith("no writable cache folder: kernels are compiled at every start")


@posix_only
@pytest.mark.parametrize(("which", "mode"), [("root", 0o777), ("root", 0o770), ("build", 0o707)])
def test_folder_that_others_can_write_is_refused(
    warm: Path, run_tiny: Callable[..., dict[str, Any]], tmp_path: Path, which: str, mode: int
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (warm if which == "build" else warm.parent).chmod(mode)
    answer = run_tiny(TMPDIR=str(temporary))
    assert (answer["value"], answer["hits"]) == (12, 0)
    assert Path(answer["folder"]).parent.parent == temporary


@posix_only
def test_folders_are_made_for_the_user_alone(warm: Path) -> None:
    assert warm.stat().st_mode & 0o777 == 0o700
    assert warm.parent.stat().st_mode & 0o777 == 0o700


# --- sweeping ------------------------------------------------------------------------------------------------------

#: How a kernel's file begins. One that was cut short may end there.
KERNEL = bytes(CHECKSUM_BYTES) + KERNEL_HEADER


def old_build(root: Path, number: int, seconds: float) -> Path:
    """A cache folder as another version left it, last used so many seconds ago."""
    folder = root / f"{number:020x}"
    folder.mkdir(parents=True)
    mark(folder, _MARKER_TEXT)
    (folder / "kernel.nbc").write_bytes(KERNEL + b"machine code")
    used = time.time() - seconds
    os.utime(folder, (used, used))
    return folder


def test_folders_of_old_builds_are_swept(run_tiny: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    root = tmp_path / "kernels"
    day = 24 * 3600
    root.mkdir(mode=0o700)
    stale = [old_build(root, 1, KEEP_SECONDS + day), old_build(root, 2, 2 * KEEP_SECONDS)]
    recent = [old_build(root, 10 + number, (number + 1) * day / 2) for number in range(KEEP_FOLDERS)]
    foreign = root / "something else"
    foreign.mkdir()
    os.utime(foreign, (0, 0))
    current = Path(run_tiny()["folder"])
    assert build_folders(root) == sorted([*recent, current, foreign])
    assert not any(folder.exists() for folder in stale)


def test_what_numba_compiled_is_swept(warm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(warm.parent))
    assert len(list(warm.glob("*.nbc"))) == 1
    make_old(warm)
    open_cache("f" * 20)
    assert not warm.exists()


def test_only_so_many_builds_are_kept_but_no_fresh_one_is_taken(
    run_tiny: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    root = tmp_path / "kernels"
    root.mkdir(mode=0o700)
    fresh = [old_build(root, 1 + number, 60) for number in range(KEEP_FOLDERS + 2)]
    unused = [old_build(root, 100 + number, 7200 + number) for number in range(3)]
    current = Path(run_tiny()["folder"])
    assert build_folders(root) == sorted([*fresh, current])
    assert not any(folder.exists() for folder in unused)


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's that the cache is put into."""
    root = tmp_path / "shared"
    root.mkdir(mode=0o700)
    monkeypatch.setenv(CACHE_VARIABLE, str(root))
    return root


def make_old(*paths: Path) -> None:
    for path in paths:
        os.utime(path, (0, 0), follow_symlinks=False)


@pytest.mark.parametrize("name", ["my-thesis-chapters-2", "0123456789abcdef0123", "a" * 20])
def test_a_folder_without_the_marker_is_never_swept(shared: Path, name: str) -> None:
    thesis = shared / name
    thesis.mkdir()
    (thesis / "chapter.tex").write_text("chapter", encoding="utf-8")
    (thesis / "figures.nbc").write_text("figures", encoding="utf-8")
    make_old(thesis)
    assert open_cache("f" * 20) == shared / ("f" * 20)
    assert sorted(path.name for path in thesis.iterdir()) == ["chapter.tex", "figures.nbc"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("my-thesis-chapters-2", _MARKER_TEXT),
        ("0123456789abcdef0123", ""),
        ("0123456789abcdef0123", "my notes about what Secateur made\n"),
        ("0123456789abcdef0123", _MARKER_TEXT[:-1]),
        ("0123456789abcdef0123", f"{_MARKER_TEXT}and my notes\n"),
    ],
)
def test_a_marker_counts_by_its_text_and_beside_the_folder_s_name(shared: Path, name: str, text: str) -> None:
    thesis = shared / name
    thesis.mkdir()
    (thesis / MARKER).write_text(text, encoding="utf-8")
    (thesis / "figures.nbc").write_bytes(KERNEL)
    make_old(thesis)
    open_cache("f" * 20)
    assert sorted(path.name for path in thesis.iterdir()) == ["figures.nbc", MARKER]
    assert (thesis / MARKER).read_text(encoding="utf-8") == text


def test_a_user_s_own_folder_of_a_build_s_name_is_never_swept(shared: Path) -> None:
    thesis = shared / ("0" * 20)
    thesis.mkdir(mode=0o700)
    (thesis / "figures.nbc").write_bytes(KERNEL)
    assert open_cache(thesis.name) == thesis
    make_old(thesis)
    open_cache("f" * 20)
    assert [path.name for path in thesis.iterdir()] == ["figures.nbc"]


def test_a_folder_that_a_killed_start_left_empty_is_swept(shared: Path) -> None:
    killed = shared / ("0" * 20)
    killed.mkdir(mode=0o700)
    open_cache(killed.name)
    make_old(killed)
    open_cache("f" * 20)
    assert not killed.exists()


def test_a_user_s_files_in_an_old_build_stay(shared: Path) -> None:
    first = open_cache("0" * 20)
    assert first is not None
    own = {"kernel-12.py311.0123456789abcdef.nbc": KERNEL, ".secateur.0123abcd.tmp": b""}
    foreign = {"numba.nbc": b"\x80\x04\x95", "thesis.nbc": b"my thesis", ".thesis.0123abcd.tmp": b"my thesis"}
    for name, content in {**own, **foreign, "notes.txt": b"", ".hidden": b""}.items():
        (first / name).write_bytes(content)
    (first / "folder.nbc").mkdir()
    (first / "folder.nbc" / "mine.nbc").touch()
    make_old(first)
    open_cache("f" * 20)
    left = sorted(path.name for path in first.iterdir())
    assert left == sorted([*foreign, ".hidden", "folder.nbc", "notes.txt"])
    assert (first / "folder.nbc" / "mine.nbc").exists()


@posix_only
def test_sweeping_follows_no_link(shared: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in (MARKER, "kernel.nbc"):
        (elsewhere / name).write_bytes(KERNEL if name != MARKER else _MARKER_TEXT.encode())
    (shared / ("0" * 20)).symlink_to(elsewhere)
    within = open_cache("1" * 20)
    unmarked = open_cache("2" * 20)
    assert within is not None
    assert unmarked is not None
    (within / "kernel.nbc").symlink_to(elsewhere / "kernel.nbc")
    (within / "folder.nbc").symlink_to(elsewhere)
    (unmarked / MARKER).unlink()
    (unmarked / MARKER).symlink_to(elsewhere / MARKER)
    make_old(elsewhere, shared / ("0" * 20), within, unmarked)
    open_cache("f" * 20)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["kernel.nbc", MARKER]
    assert sorted(path.name for path in within.iterdir()) == ["folder.nbc", "kernel.nbc"]
    assert unmarked.exists()
    assert (shared / ("0" * 20)).is_symlink()


# --- links -----------------------------------------------------------------------------------------------------------

#: A process for which every symbolic link is another user's.
LINKS_OF_OTHERS = """
import os, pathlib, stat

class Other:
    def __init__(self, status):
        self.st_mode, self.st_uid, self.st_mtime = status.st_mode, os.getuid() + 1, status.st_mtime

lstat = pathlib.Path.lstat

def of_others(path):
    status = lstat(path)
    return Other(status) if stat.S_ISLNK(status.st_mode) else status

pathlib.Path.lstat = of_others
"""


@posix_only
@pytest.mark.parametrize("target", ["documents", "missing"])
def test_a_link_that_another_user_put_into_the_temporary_folder_is_not_followed(
    run_python: Callable[..., str], tmp_path: Path, target: str
) -> None:
    temporary, documents = tmp_path / "temporary", tmp_path / "documents"
    temporary.mkdir()
    documents.mkdir(mode=0o700)
    link = temporary / f"secateur-kernels-{os.getuid()}"
    link.symlink_to(tmp_path / target)
    named = {CACHE_VARIABLE: "/dev/null/kernels", "TMPDIR": str(temporary)}
    script = LINKS_OF_OTHERS + "from engine.compiler.cache_folder import open_cache\nprint(open_cache('0' * 20))"
    assert run_python(script, **named).strip() == "None"
    assert list(documents.iterdir()) == []
    # One's own is what one wanted.
    if target == "documents":
        folder = run_python("from engine.compiler.cache_folder import open_cache\nprint(open_cache('0' * 20))", **named)
        assert Path(folder.strip()) == link / ("0" * 20)


@posix_only
def test_a_build_s_folder_is_no_link(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (shared / ("0" * 20)).symlink_to(elsewhere)
    assert open_cache("0" * 20) is None or list(elsewhere.iterdir()) == []


# --- renewal ---------------------------------------------------------------------------------------------------------


def test_start_renews_the_folder_it_uses(warm: Path, run_tiny: Callable[..., dict[str, Any]]) -> None:
    os.utime(warm, (0, 0))
    assert run_tiny()["hits"] == 1
    assert time.time() - warm.stat().st_mtime < 120
