"""What is said on stderr while Numba compiles, or a command runs that says nothing itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.compiler import compiling
from engine.compiler.cache_folder import CACHE_VARIABLE
from tests.board.tiny_kernel import PROJECT, RUN_TINY

Run = Callable[..., tuple[str, list[str]]]

posix_only = pytest.mark.skipif(os.name != "posix", reason="terminals and pipes are POSIX's")

#: Each function takes Numba two seconds more, in which other threads run, as they do while LLVM works.
SLOW_COMPILER = """
import time
from engine.compiler.numba_hooks import UnsignedIndices

run_pass = UnsignedIndices.run_pass

def slow_pass(self, state):
    time.sleep(1.3)
    return run_pass(self, state)

UnsignedIndices.run_pass = slow_pass
"""


@pytest.fixture
def run(project: Path, tmp_path: Path) -> Run:
    """Runs a script beside the tiny kernel; gives its stdout, and the lines of its stderr."""

    def run(script: str) -> tuple[str, list[str]]:
        named = {CACHE_VARIABLE: str(tmp_path / "kernels"), "PYTHONPATH": str(project)}
        command = [sys.executable, "-c", script]
        done = subprocess.run(
            command,
            cwd=project,
            env=os.environ | named,
            text=True,
            input="quit\n",
            capture_output=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr.splitlines()

    return run


# --- lines while Numba compiles --------------------------------------------------------------------------------------


def test_whatever_is_compiled_is_reported(run: Run) -> None:
    output, said = run(SLOW_COMPILER + RUN_TINY)
    assert json.loads(output)["value"] == 12  # and nothing else is on stdout
    *progress, last = (line for line in said if "Numba" not in line)
    # Kernel and subkernel are one compilation of more than two seconds.
    assert len(progress) >= 2
    assert all(re.fullmatch(r"secateur: compiling engine\.board\.tiny\.tiny: \d+ s", line) for line in progress)
    assert (found := re.fullmatch(r"secateur: compiled engine\.board\.tiny\.tiny in (\d+) s", last))
    assert int(found[1]) >= 2

    output, said = run(SLOW_COMPILER + RUN_TINY)
    assert json.loads(output)["hits"] == 1
    assert not [line for line in said if "compil" in line]


def test_the_advice_is_given_once_and_for_what_warmup_compiles(run: Run) -> None:
    script = """
from engine.compiler import compiling
{}
for name in ("somebody.else", "search.kernels.aspiration.search_iteration", "engine.board.make.complete_position"):
    compiling.begin(name)
    compiling.end(True)
"""
    _, said = run(script.format(""))
    assert [compiling.advice() in line for line in said] == [True]
    _, said = run(script.format("compiling.set_evaluation('centre.py')"))
    assert "once for each evaluation: run 'secateur --evaluation centre.py warmup'" in said[0]
    assert run(script.format("compiling.without_advice()"))[1] == []
    assert run(script.format("compiling.silence()"))[1] == []


# --- commands that say nothing ---------------------------------------------------------------------------------------


def progress(*command: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "engine.progress", *command],
        cwd=PROJECT,
        text=True,
        check=False,
        timeout=120,
        **{"capture_output": True, **options},
    )


def test_a_command_is_reported_until_it_ends() -> None:
    script = "import sys, time; time.sleep(2.5); print('out'); sys.exit(3)"
    done = progress("making something", sys.executable, "-c", script)
    assert (done.returncode, done.stdout) == (3, "out\n")
    lines = done.stderr.splitlines()
    assert len(lines) >= 2
    assert all(re.fullmatch(r"secateur: making something: \d+ s", line) for line in lines)


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        (("text", "./no-such-program"), 1, "secateur: ./no-such-program: No such file or directory"),
        (("text",), 2, "usage: python -m engine.progress TEXT COMMAND ..."),
        (("text", sys.executable, "-c", ""), 0, ""),
    ],
)
def test_commands_that_end_at_once(command: tuple[str, ...], status: int, said: str) -> None:
    done = progress(*command)
    assert (done.returncode, done.stdout) == (status, "")
    # A busy machine may take long to start Python.
    assert [line for line in done.stderr.splitlines() if "secateur: text: " not in line] == ([said] if said else [])


@posix_only
def test_a_terminal_has_one_line_that_is_renewed() -> None:
    ours, theirs = os.openpty()
    try:
        done = progress(
            "making", sys.executable, "-c", "import time; time.sleep(2)", capture_output=False, stderr=theirs
        )
        said = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0
    assert said.count("secateur: making: ") >= 2
    assert "\n" not in said
    assert said.endswith("\r\x1b[K")


@posix_only
def test_nobody_has_to_read_what_is_said(run: Run) -> None:
    script = """
import os, time
ours, theirs = os.pipe()
os.set_blocking(theirs, False)
try:
    while True:
        os.write(theirs, bytes(4096))
except BlockingIOError:
    os.set_blocking(theirs, True)
os.dup2(theirs, 2)
from engine.progress import Line
with Line(lambda: "working"):
    time.sleep(1)
print("done")
"""
    assert run(script) == ("done\n", [])


# --- the Makefile ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_help_lists_all_targets() -> None:
    done = subprocess.run(["make", "-s", "help"], cwd=PROJECT, capture_output=True, text=True, check=True)
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    (targets,) = re.findall(r"^GOALS := (.*) FORCE$", makefile, re.MULTILINE)
    rows = dict(re.findall(r"^make (\S+) +(\S.*)$", done.stdout, re.MULTILINE))
    assert sorted(rows) == sorted(targets.split())
    assert len(done.stdout.splitlines()) == len(rows)
