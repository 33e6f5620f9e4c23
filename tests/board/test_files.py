"""Files that users name: what is read, what is refused, and what stays whole."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from engine.files import (
    PATH_LENGTH,
    QUOTE_LENGTH,
    Output,
    locked,
    open_regular,
    parse_json,
    printable,
    quoted,
    read_bytes,
    read_text,
    reason,
    replace_file,
    shown,
)
from tests.bench.fakes import room_for

WRITING = ("w", "a", "r+b", "a+b")


@pytest.fixture(params=["pipe", "folder", "device", "link to a pipe"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "thing"
    if request.param == "device":
        return Path("/dev/zero")
    if request.param == "folder":
        path.mkdir()
        return path
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(path)
    if request.param == "pipe":
        return path
    link = tmp_path / "link"
    link.symlink_to(path)
    return link


@pytest.mark.parametrize("mode", ["rb", *WRITING])
def test_only_a_regular_file_is_opened(no_file: Path, mode: str) -> None:
    with pytest.raises(OSError, match=r"is a (pipe|folder|device), not a file") as caught:
        open_regular(no_file, mode)
    assert str(caught.value.strerror).startswith("is a ")


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(OSError, match="is larger than 4 bytes"):
        read_bytes(path, 4)
    path.write_bytes(b"\xef\xbb\xbfa\xc3\xa4")
    assert read_text(path, 100) == "aä"
    path.write_bytes(b"ab\xff")
    with pytest.raises(OSError, match=r"is not UTF-8 text \(byte 2\)"):
        read_text(path, 100)


def test_a_replaced_file_keeps_its_permissions_and_its_links(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    replace_file(path, "first ä")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    link.symlink_to(path)
    replace_file(link, b"second")
    assert link.is_symlink()
    assert path.read_bytes() == b"second"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(tmp_path.iterdir()) == [path, link]


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only the administrator gives files away")
def test_the_administrator_replaces_a_file_for_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"ours 1")
    path.chmod(0o640)
    os.chown(path, 12345, 12346)
    replace_file(path, b"ours 2")
    Output(path, _is_ours, "text").replace("ours 3", keep_old=True)
    for name in ("file.txt", "file-old.txt"):
        status = (tmp_path / name).stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 12346, 0o640)


def _hold(path: Path, ready: Any, release: Any) -> None:
    with locked(path):
        ready.set()
        release.wait(60)


def test_a_lock_has_one_holder_and_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(path, ready, release))
    holder.start()
    try:
        assert ready.wait(60)
        with pytest.raises(BlockingIOError, match="is in use by another process"), locked(path):
            pass
        holder.kill()
        holder.join(60)
        with locked(path), pytest.raises(BlockingIOError), locked(path):
            pass
        with locked(path):
            pass
    finally:
        holder.kill()
        holder.join(60)


def test_a_lock_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "games"
    for data in (b"", b"some data"):
        path.write_bytes(data)
        with locked(path):
            pass
        assert path.read_bytes() == data
    path.unlink()
    with locked(path, remove=True):
        assert path.exists()
    assert not path.exists()
    with locked(path):
        other = path.open("ab")  # another program, which writes later
    with other:
        other.write(b"written later")
    assert path.read_bytes() == b"written later"
    with locked(path):
        path.write_bytes(b"written meanwhile")
    assert path.read_bytes() == b"written meanwhile"


def test_appends_all_or_nothing(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "state"
    output = Output(path, _is_ours, "state")
    output.append(b"ours456789")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (15, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            output.append(b"0123456789")
        assert path.read_bytes() == b"ours456789"
        with pytest.raises(OSError, match="File too large"):
            replace_file(path, b"0123456789abcdefgh")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"ours456789"
    assert list(tmp_path.iterdir()) == [path]


def _is_ours(head: bytes) -> bool:
    return head.startswith(b"ours")


def test_an_output_replaces_only_what_is_ours(tmp_path: Path) -> None:
    path, link = tmp_path / "picture.png", tmp_path / "link.png"
    link.symlink_to(path)
    Output(path, _is_ours, "picture").replace("ours 1")
    Output(link, _is_ours, "picture").replace("ours 2")
    assert link.is_symlink()
    assert path.read_text(encoding="utf-8") == "ours 2"
    path.write_bytes(b"my notes")
    for name in (path, link):
        with pytest.raises(FileExistsError, match="already exists and is not a picture; it is left unchanged"):
            Output(name, _is_ours, "picture").replace("ours 3")
    assert path.read_bytes() == b"my notes"
    path.write_bytes(b"")
    Output(path, _is_ours, "picture").replace("ours 3")
    with pytest.raises(FileNotFoundError, match="its folder does not exist"):
        Output(tmp_path / "nowhere" / "picture.png", _is_ours, "picture")
    if hasattr(os, "getuid") and os.getuid():  # the administrator may write everywhere
        path.chmod(0o444)
        with pytest.raises(PermissionError, match="is write-protected"):
            Output(path, _is_ours, "picture")


MINE = b"ours, but of somebody else\n"


def _meanwhile(path: Path, how: str) -> bytes:
    """Moves a file onto `path`, or adds a line to what is there; returns what must stay."""
    if how == "moved":
        (path.parent / "mine").write_bytes(MINE)
        (path.parent / "mine").replace(path)
    else:
        with path.open("ab") as file:
            file.write(MINE)
    return path.read_bytes()


@pytest.mark.parametrize("how", ["moved", "added to"])
@pytest.mark.parametrize("found", [None, b"", b"ours 1\n"])
@pytest.mark.parametrize("through", ["path", "link"])
def test_an_output_is_replaced_only_while_it_is_what_was_found(
    tmp_path: Path, how: str, found: bytes | None, through: str
) -> None:
    path = real = tmp_path / "out.txt"
    if through == "link":
        path = tmp_path / "link.txt"
        path.symlink_to(real)
    if found is not None:
        real.write_bytes(found)
    output = Output(path, _is_ours, "text")
    kept = _meanwhile(real, how)
    words = "was replaced by another file" if how == "moved" or found is None else "was changed by another program"
    beside = path.with_stem(path.stem + "-2")
    with pytest.raises(FileExistsError, match=words) as error:
        output.replace("ours, the result")
    assert real.read_bytes() == kept
    assert beside.read_text(encoding="utf-8") == "ours, the result"
    assert reason(error.value).endswith(f"; it is left unchanged; its new contents are in {beside}")
    for keep in (None, 0):
        output.keep = keep
        with pytest.raises(FileExistsError, match=words):
            output.append(b"ours, a record")
    assert real.read_bytes() == kept


def test_an_output_knows_what_it_wrote_itself(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    output = Output(path, _is_ours, "text")
    for text in ("ours 1", "ours 2"):
        output.replace(text)
        assert path.read_text(encoding="utf-8") == text
    output.append(b", more")
    output.append(b" and more")
    output.keep = 6
    output.append(b", less")
    assert path.read_bytes() == b"ours 2, less"
    output.replace("ours 3")
    path.write_bytes(b"ours 4")  # as long, but not the same
    output.keep = 0
    with pytest.raises(FileExistsError, match="was changed by another program"):
        output.replace("ours 5")
    with pytest.raises(FileExistsError, match="was changed by another program"):
        output.append(b"ours 5")
    assert path.read_bytes() == b"ours 4"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        output.append(b"the end alone")
    assert not path.exists()
    output.replace("ours 6")
    assert path.read_bytes() == b"ours 6"


def test_what_is_replaced_or_dropped_stays_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.txt"
    old, older = (tmp_path / f"out-old{number}.txt" for number in ("", "-2"))
    Output(path, _is_ours, "text").replace("ours 1", keep_old=True)  # nothing was there
    Output(path, _is_ours, "text").replace("ours 2", keep_old=True)
    output = Output(path, _is_ours, "text")
    output.keep = 4
    output.append(b", more")
    assert (path.read_bytes(), old.read_bytes(), older.read_bytes()) == (b"ours, more", b"ours 1", b" 2")
    says = f"note: {path}: the old contents are in {old}\nnote: {path}: the dropped end is in {older}\n"
    assert capsys.readouterr().err == says
    assert len(list(tmp_path.iterdir())) == 3


def test_what_is_dropped_is_copied_once_even_if_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(b"ours 1")
    output = Output(path, _is_ours, "text")
    output.keep = 0
    for _ in range(3):
        with room_for(100), pytest.raises(OSError, match="File too large"):
            output.append(b"ours, a record" * 10)
    assert (tmp_path / "out-old.txt").read_bytes() == path.read_bytes() == b"ours 1"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_result_is_saved_beside_a_folder_and_under_no_name_that_is_in_use(tmp_path: Path) -> None:
    path, second, third = (tmp_path / name for name in ("out.txt", "out-2.txt", "out-3.txt"))
    output = Output(path, _is_ours, "text")
    path.mkdir()
    second.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OSError, match=r"is a folder, not a file; its new contents are in .*out-3\.txt"):
        output.replace("ours")
    assert third.read_bytes() == b"ours"
    assert second.is_symlink()
    assert list(path.iterdir()) == []
    long = Output(tmp_path / ("\N{DECIDUOUS TREE}" * 61 + ".epd"), _is_ours, "text")
    long.path.write_bytes(MINE)
    with pytest.raises(FileExistsError, match="its new contents are in"):
        long.replace("ours")


def test_messages_show_no_control_characters_and_no_endless_text() -> None:
    assert printable("a\x1b[31mb\n\udc80ä") == r"a\x1b[31mb\n\udc80ä"
    assert quoted("x" * QUOTE_LENGTH) == "'" + "x" * QUOTE_LENGTH + "'"
    assert quoted("x" * 1000) == "'" + "x" * QUOTE_LENGTH + "...' (1000 characters)"
    assert shown("x" * PATH_LENGTH) == "x" * PATH_LENGTH
    long = shown("/begin/" + "x" * 10_000_000 + "/end\x1b.pgn")
    assert len(long) < 2 * PATH_LENGTH
    assert long.startswith("/begin/")
    assert r"/end\x1b.pgn (10000016 characters)" in long


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[" * 300 + "]" * 300, "NaN", "[-Infinity]", "1e999", "9" * 400, '"\\ud800"']
)
@pytest.mark.parametrize("encoded", [False, True])
def test_json_that_cannot_be_written_again_is_refused(text: str, encoded: bool) -> None:
    with pytest.raises(ValueError, match=r"nested|too large|surrogate"):
        parse_json(text.encode() if encoded else text)


def test_json_is_read() -> None:
    assert parse_json('{"a": [1, -2.5, "\\ud83d\\ude00", null]}') == {"a": [1, -2.5, "\N{GRINNING FACE}", None]}
    with pytest.raises(ValueError, match=r"not UTF-8 text \(byte 1\)"):
        parse_json(b'"\xff"')
