"""Without the extras every command of the lab says what is missing and how it is had, before it does anything."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import extras
from uci_main import COMMANDS

ROOT = Path(__file__).resolve().parents[2]


def run_without(package: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.modules[{package!r}] = None; import uci_main; sys.exit(uci_main.main({list(arguments)!r}))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)


@pytest.mark.parametrize(
    ("package", "command", "arguments"),
    [
        ("scipy", "sprt", "games.pgn"),
        ("scipy", "tourney", "tourney.toml"),
        ("scipy", "rate", "games.pgn"),
        ("scipy", "wdl", "data"),
        ("rich", "rate", "games.pgn"),
        ("rich", "epd", "suite.epd"),
        ("rich", "ablation", "null-move"),
        ("matplotlib", "sprt", "games.pgn --plot plot.svg"),
    ],
)
def test_a_missing_package_is_named(package: str, command: str, arguments: str) -> None:
    done = run_without(package, command, *arguments.split())
    assert done.returncode == 1
    assert re.match(f"secateur {command}: .*needs? the package '{package}': run 'make lab', or '", done.stderr)
    extra = COMMANDS[command][3]
    assert done.stderr.endswith(f"-m pip install \".[{extra}]\"' in the project's folder\n")
    assert done.stderr.count("\n") == 1


#: Prints every command's help where no extra is installed, and nothing is compiled.
HELP = """
import contextlib, io, os, sys
for package in ("scipy", "rich", "matplotlib", "numba", "llvmlite", "distributed", "starlette", "uvicorn"):
    sys.modules[package] = None
import uci_main
for name in uci_main.COMMANDS:
    said, complaint = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaint):
        try:
            status = uci_main.main([name, "--help"])
        except SystemExit as end:
            status = end.code
    assert status == 0, (name, status, complaint.getvalue())
    assert said.getvalue().startswith(f"usage: secateur {name} "), name
    assert "exit status:\\n  0  " in said.getvalue(), name
print(len(uci_main.COMMANDS))
"""


def test_help_takes_no_extra(tmp_path: Path, run_python: Callable[..., str]) -> None:
    said = run_python(HELP, SECATEUR_KERNELS=None, SECATEUR_KERNELS_DIR=str(tmp_path))
    assert said == f"{len(COMMANDS)}\n"


def test_remedies_are_for_the_way_in_which_secateur_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {extra for *_, extra in COMMANDS.values() if extra} <= set(extras.MAKE)
    for extra, command in extras.MAKE.items():
        assert extra in project["optional-dependencies"]
        target = command.removeprefix("make").strip() or "all"
        assert f"\n{target}:" in makefile
        expected = f"run '{command}', or '{sys.executable} -m pip install \".[{extra}]\"' in the project's folder"
        assert extras.remedy(extra) == expected
    monkeypatch.setattr(extras, "PROJECT_ROOT", tmp_path)
    assert extras.remedy("lab") == f"run '{sys.executable} -m pip install \"secateur[lab]\"'"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert extras.remedy("lab").endswith("this stand-alone program does not include it")
