"""What the engine does on Windows, with stand-ins for the system's libraries: only a Windows machine shows the rest."""

from __future__ import annotations

import ctypes
import io
import itertools
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from bench.engines import split_command
from engine import windows
from engine.compiler import levels
from engine.files import read_bytes, replace_file
from engine.progress import Line
from engine.uci.loop import converse
from engine.uci.options import memory_mebibytes
from engine.uci.output import Output
from search.timing import Alarm


class Library:
    """A system library that notes its calls and gives the results that a test sets."""

    def __init__(self, **results: Any) -> None:
        self.calls: list[tuple[Any, ...]] = []
        for name, result in results.items():
            setattr(self, name, self._function(name, result))

    def _function(self, name: str, result: Any) -> Any:
        def call(*arguments: Any) -> Any:
            self.calls.append((name, *arguments))
            return result(*arguments) if callable(result) else result

        return call


class Libraries:
    def __init__(self, **libraries: Library) -> None:
        vars(self).update(libraries)


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    windows.tick_every_millisecond.cache_clear()
    monkeypatch.setattr(windows.sys, "platform", "win32")  # type: ignore[attr-defined]
    yield
    windows.tick_every_millisecond.cache_clear()


def give(monkeypatch: pytest.MonkeyPatch, **libraries: Library) -> None:
    monkeypatch.setattr(ctypes, "windll", Libraries(**libraries), raising=False)


def test_elsewhere_nothing_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "win32":
        pytest.skip("is Windows")
    give(monkeypatch)  # has no libraries, so a call would raise AttributeError
    windows.tick_every_millisecond()
    assert windows.memory_bytes() is None
    assert windows.has_escapes()
    before = signal.getsignal(signal.SIGINT)
    windows.end_at_ctrl_c()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("on_windows")
def test_the_first_alarm_of_a_process_makes_short_waits_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    winmm = Library(timeBeginPeriod=0)
    give(monkeypatch, winmm=winmm)
    rang = threading.Event()
    for _ in range(2):
        alarm = Alarm(rang.set)
        alarm.set(0.001)
        assert rang.wait(5)
        alarm.close()
    assert winmm.calls == [("timeBeginPeriod", 1)]


@pytest.mark.usefixtures("on_windows")
def test_the_memory_limits_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    def status(reference: Any) -> int:
        structure = reference._obj
        assert structure.size == ctypes.sizeof(structure) == 64
        structure.sizes[0] = 96 << 20
        return 1

    give(monkeypatch, kernel32=Library(GlobalMemoryStatusEx=status))
    assert windows.memory_bytes() == 96 << 20
    assert memory_mebibytes() == 96
    give(monkeypatch, kernel32=Library(GlobalMemoryStatusEx=0))
    assert windows.memory_bytes() is None


@pytest.mark.usefixtures("on_windows")
@pytest.mark.parametrize(("is_console", "understands"), [(0, 1), (1, 0), (1, 1)])
def test_escapes_go_only_to_a_console_that_takes_them(
    monkeypatch: pytest.MonkeyPatch, is_console: int, understands: int
) -> None:
    def mode(handle: Any, reference: Any) -> int:
        reference._obj.value = 3
        return is_console

    kernel32 = Library(GetStdHandle=7, GetConsoleMode=mode, SetConsoleMode=understands)
    give(monkeypatch, kernel32=kernel32)
    assert windows.has_escapes() == bool(is_console and understands)
    assert kernel32.calls[0] == ("GetStdHandle", -12)
    assert [call[2] for call in kernel32.calls if call[0] == "SetConsoleMode"] == [7] * is_console


@pytest.mark.usefixtures("on_windows")
def test_without_escapes_progress_is_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "__stderr__", terminal)
    monkeypatch.setattr("engine.progress.has_escapes", lambda: False)
    line = Line(lambda: "working")
    line.start()
    assert not line._renews
    line.stop()


@pytest.mark.usefixtures("on_windows")
def test_ctrl_c_ends_the_process_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        windows.end_at_ctrl_c()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)


def test_paths_of_older_guis_are_in_the_users_code_page(on_windows: None) -> None:
    assert windows.decoded("setoption name EvalFile value C:\\Müller\\n.snet".encode("cp1252"), "cp1252").endswith(
        "C:\\Müller\\n.snet"
    )
    assert windows.decoded("Ŝaĥo".encode(), "cp1252") == "Ŝaĥo"
    assert windows.decoded(b"\x81\xff", "cp1252") == "\ufffdÿ"


def test_elsewhere_bytes_that_are_not_utf_8_are_kept() -> None:
    if sys.platform == "win32":
        pytest.skip("is Windows")
    assert windows.decoded(b"n\xff.snet") == "n\udcff.snet"


@pytest.mark.usefixtures("on_windows")
@pytest.mark.parametrize(("built_for", "machine"), [("win-amd64", "AMD64"), ("win-arm64", "ARM64"), ("win32", "WIN32")])
def test_the_machine_is_the_one_that_python_is_built_for(
    monkeypatch: pytest.MonkeyPatch, built_for: str, machine: str
) -> None:
    monkeypatch.setattr("platform.machine", None)  # may take seconds
    monkeypatch.setattr("sysconfig.get_platform", lambda: built_for)
    assert levels.machine() == machine


def test_files_open_although_only_pipes_have_a_blocking_mode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As Python 3.12 does on Windows, where there is no O_NONBLOCK."""

    def refuse(descriptor: int, blocking: bool) -> None:
        raise OSError("Invalid function")

    monkeypatch.delattr(os, "O_NONBLOCK", raising=False)
    monkeypatch.setattr(os, "set_blocking", refuse, raising=False)
    (tmp_path / "file").write_bytes(b"text")
    assert read_bytes(tmp_path / "file", 10) == b"text"


@pytest.mark.usefixtures("on_windows")
@pytest.mark.parametrize("failures", [0, 2, 999])
def test_a_file_that_another_program_has_open_for_a_moment_is_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failures: int
) -> None:
    replace, tries = Path.replace, itertools.count()

    def refused_at_first(scratch: Path, target: Path) -> Path:
        if next(tries) < failures:
            raise PermissionError(13, "Access is denied", str(scratch))
        return replace(scratch, target)

    monkeypatch.setattr(Path, "replace", refused_at_first)
    path = tmp_path / "file"
    path.write_text("old")
    is_closed = failures < 999
    with nullcontext() if is_closed else pytest.raises(PermissionError, match="Access is denied"):
        replace_file(path, "new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "new" if is_closed else "old")]


@pytest.mark.usefixtures("on_windows")
def test_a_backslash_in_a_command_separates_folders() -> None:
    assert split_command(r'"C:\My Engines\new.exe" --hash 16') == (r"C:\My Engines\new.exe", "--hash", "16")
    assert split_command(r"C:\new\table.exe -x #1") == (r"C:\new\table.exe", "-x", "#1")


def test_lines_with_carriage_returns_and_the_end_of_input(tmp_path: Any) -> None:
    """Windows GUIs end lines with CR LF. The session ends with its input, even without `quit`."""
    stream = io.BytesIO()
    done: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def talk() -> None:
        converse([b"uci\r\n", b"isready\r\n"], Output(stream), "test")
        done.put(True)

    threading.Thread(target=talk, daemon=True).start()
    assert done.get(timeout=60)
    said = stream.getvalue().split(b"\n")
    assert b"uciok" in said
    assert b"readyok" in said
