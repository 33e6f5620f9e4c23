"""How a session ends: end of input, `quit`, signals, closed pipes; and where it can start."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.compiler.jit import CACHE_FOLDER
from tests.uci.conftest import ENGINE, Engine

UCI_LINE = ("id ", "option ", "uciok", "readyok", "info ", "bestmove ")

posix_only = pytest.mark.skipif(os.name != "posix", reason="signals, pipes and launchers are different elsewhere")
needs_full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


def piped(text: str) -> list[str]:
    """The output of an engine that gets all its input at once."""
    done = subprocess.run(ENGINE, input=text, capture_output=True, text=True, timeout=300, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("go", ["go movetime 200", "go infinite"])
def test_input_that_ends_after_go_is_answered(go: str) -> None:
    lines = piped(f"uci\nisready\nposition startpos moves e2e4\n{go}")  # a last line without newline counts
    assert lines[-1].startswith("bestmove ")
    assert all(line.startswith(UCI_LINE) for line in lines)


def test_a_count_that_was_piped_in_is_finished() -> None:
    lines = piped("go perft 4\nbench 1\n")
    assert "Nodes searched: 197281" in lines
    assert lines[-1].endswith(" nps")


def test_every_go_of_a_long_script_is_answered() -> None:
    assert piped("") == []
    lines = piped("go depth 1\n" * 100)
    assert sum(line.startswith("bestmove ") for line in lines) == 100


def test_quit_ends_the_process_when_the_session_hangs(run_python: Callable[..., str]) -> None:
    script = """
import threading
from engine.uci import session
session.Session._do_d = lambda self, words: threading.Event().wait()
from engine.uci.loop import run
run("hanging")
"""
    run_python(script, stdin="uci\nisready\nd\nquit\n")


@posix_only
@pytest.mark.parametrize("command", ["uci", "go infinite", "go perft 9"])
def test_work_ends_when_the_reader_goes_away(command: str) -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(ENGINE, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert process.stdin is not None
    process.stdin.write(f"isready\n{command}\n".encode())
    process.stdin.flush()
    heard = b""
    while command != "uci" and b"readyok" not in heard:
        heard += os.read(reading, 4096)
    os.close(reading)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (0, 1)
    assert errors == b""


@needs_full_disk
def test_output_onto_a_full_disk_ends_the_engine() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(ENGINE, input=b"uci\n", stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


# -- signals -----------------------------------------------------------------------------------------------------------


@posix_only
def test_signals_end_the_engine_quietly(start: Callable[..., Engine]) -> None:
    for name, status in ((signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM)):
        engine = start()
        engine.send("go infinite")
        engine.expect("info depth 3 ")
        engine.process.send_signal(name)
        assert engine.process.wait(30) == status
        assert engine.stderr() == ""


def test_engines_that_are_killed_while_they_start_harm_no_other() -> None:
    """All of them share a cache; the next engine finds it whole."""
    engines = [Engine() for _ in range(4)]
    for number, engine in enumerate(engines):
        engine.send("uci", "isready", "go infinite")
        time.sleep(number / 10)
    for engine in engines:
        engine.process.kill()
        engine.process.wait()
        assert engine.stderr() == ""
        engine.kill()
    assert not any("compiled" in line for line in piped("isready\ngo depth 3\n"))


# -- where it starts ---------------------------------------------------------------------------------------------------


@posix_only
def test_any_working_directory_and_a_home_that_cannot_be_written(start: Callable[..., Engine], tmp_path: Path) -> None:
    """The cache is below the folder for temporary files."""
    assert CACHE_FOLDER is not None
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    cache = tmp_path / f"secateur-kernels-{os.getuid()}"
    cache.mkdir(mode=0o700)
    shutil.copytree(CACHE_FOLDER, cache / CACHE_FOLDER.name)
    engine = start(
        cwd=tmp_path,
        HOME=str(blocked / "home"),
        XDG_CACHE_HOME=str(blocked / "cache"),
        TMPDIR=str(tmp_path),
        SECATEUR_CACHE_DIR="",
    )
    engine.best("go nodes 500")
    assert not any("compil" in line for line in engine.lines)
