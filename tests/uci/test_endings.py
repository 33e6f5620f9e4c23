"""How a session ends: end of input, quit, a GUI that died."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.uci.conftest import ENGINE, PROJECT, Engine

UCI_LINE = ("id ", "option ", "uciok", "readyok", "info ", "bestmove ")


@pytest.mark.parametrize("go", ["go movetime 1000", "go infinite", "go depth 5", "go"])
def test_input_that_ends_after_go_is_answered(go: str) -> None:
    text = f"uci\nisready\nposition startpos moves e2e4\n{go}\n"
    done = subprocess.run(ENGINE, input=text, capture_output=True, text=True, timeout=60, check=True)
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("bestmove ")
    assert all(line.startswith(UCI_LINE) for line in lines)
    assert done.stderr == ""


def test_a_last_line_without_newline_counts() -> None:
    done = subprocess.run(ENGINE, input="isready\ngo nodes 100", capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1].startswith("bestmove ")


@pytest.mark.parametrize("ending", ["quit", "end of input"])
def test_the_end_comes_at_once_in_the_middle_of_a_search(start: Callable[..., Engine], ending: str) -> None:
    engine = start()
    engine.send("isready")
    engine.expect("readyok")
    engine.send("go infinite")
    time.sleep(0.3)
    began = time.perf_counter()
    if ending == "quit":
        engine.send("quit")
    else:
        engine.close_input()
    rest = engine.finish(timeout=5)
    assert time.perf_counter() - began < 10  # 2 s on an idle machine
    assert rest[-1].startswith("bestmove ")


@pytest.mark.parametrize(("command", "last"), [("go perft 4", "Nodes searched: 197281"), ("bench 1", " nps")])
def test_a_count_that_was_piped_in_is_finished(command: str, last: str) -> None:
    text = f"position startpos\n{command}\n"
    done = subprocess.run(ENGINE, input=text, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1].endswith(last)


def test_every_go_of_a_long_script_is_answered() -> None:
    text = "go depth 1\n" * 1000
    done = subprocess.run(ENGINE, input=text, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.count("bestmove ") == 1000


@pytest.mark.parametrize("command", ["go perft 12", "bench 30"])
def test_quit_ends_a_count_and_a_benchmark(start: Callable[..., Engine], command: str) -> None:
    engine = start()
    engine.send("isready")
    engine.expect("readyok")
    engine.send("position startpos", command)
    time.sleep(0.3)
    engine.send("quit")
    began = time.perf_counter()
    rest = engine.finish(timeout=30)
    assert time.perf_counter() - began < 10  # 2 s on an idle machine
    assert not any("Nodes searched" in line or line.endswith(" nps") for line in rest)


def test_quit_ends_the_process_when_the_session_hangs(run_python: Callable[..., str]) -> None:
    script = """
import threading
from engine.uci import session
session.Session._d = lambda self, words: threading.Event().wait()
from engine.uci.loop import run
run("hanging")
"""
    began = time.perf_counter()
    run_python(script, stdin="uci\nisready\nd\nquit\n")
    assert time.perf_counter() - began < 20


@pytest.mark.skipif(os.name != "posix", reason="pipes close differently elsewhere")
@pytest.mark.parametrize("command", ["go infinite", "go perft 9", "bench 60"])
def test_work_ends_when_nobody_reads_any_more(command: str) -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(ENGINE, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(f"isready\n{command}\n".encode())
    process.stdin.flush()
    heard = b""
    while b"readyok" not in heard:
        heard += os.read(reading, 4096)
    time.sleep(0.5)
    os.close(reading)
    process.stdin.close()
    assert process.wait(10) in (0, 1)
    assert process.stderr.read() == b""
    process.stderr.close()


def test_empty_input_ends_quietly() -> None:
    done = subprocess.run(ENGINE, input="", capture_output=True, text=True, timeout=20, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.skipif(os.name != "posix", reason="pipes close differently elsewhere")
def test_a_closed_stdout_ends_the_engine() -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(ENGINE, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    os.close(reading)
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"uci\n")
    process.stdin.flush()
    assert process.wait(10) == 1
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_a_terminated_engine_leaves_no_child(start: Callable[..., Engine]) -> None:
    engine = start()
    engine.send("isready")
    engine.expect("readyok")
    engine.send("go infinite")
    time.sleep(0.2)
    engine.process.terminate()
    assert engine.process.wait(5) < 0


def test_any_working_directory_and_a_home_that_cannot_be_written(start: Callable[..., Engine], tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    engine = start(
        cwd=tmp_path,
        HOME=str(blocked / "home"),
        XDG_CACHE_HOME=str(blocked / "cache"),
        TMPDIR=str(tmp_path),
        SECATEUR_CACHE_DIR="",
    )
    engine.send("uci", "isready", "go nodes 500")
    engine.expect("readyok", timeout=30)
    engine.expect("bestmove", timeout=600)
    assert any(tmp_path.glob("secateur-kernels-*/*/*.nbc"))


@pytest.mark.skipif(os.name != "posix", reason="shell launcher")
def test_the_launcher_starts_the_engine_from_anywhere(tmp_path: Path) -> None:
    launcher = tmp_path / "bin" / "my engine"
    subprocess.run(
        [ENGINE[0], "-m", "engine.compiler.launcher", str(launcher)],
        cwd=PROJECT,
        check=True,
        capture_output=True,
        timeout=60,
    )
    done = subprocess.run(
        [launcher], input="uci\nquit\n", cwd="/", capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout.splitlines()[-1] == "uciok"


def test_a_long_count_says_every_two_seconds_that_it_goes_on(start: Callable[..., Engine]) -> None:
    engine = start()
    engine.send("isready", "go perft 12")
    for _ in range(3):
        began = time.perf_counter()
        assert "perft: " in engine.expect("info string perft", timeout=30)
        assert time.perf_counter() - began < 20  # 2 s on an idle machine
    engine.send("quit")
    engine.finish(timeout=30)
