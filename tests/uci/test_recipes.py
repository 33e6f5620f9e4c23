"""What the page of clients says about options, commands and the installation is true."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import chess
import psutil
import pytest

from engine.uci.options import OPTIONS, OptionValues
from engine.uci.session import READY_PATIENCE
from tests.conftest import MAKE_VARIABLES, PROJECT
from tests.uci.conftest import Engine
from uci_main import COMMANDS

TEXT = (PROJECT / "docs" / "guis.md").read_text(encoding="utf-8")

#: The options that clients set by themselves: En Croissant and PyChess, Banksia, OpenBench, Scid, python-chess, and
#: lichess-bot by its default configuration.
SET_BY_CLIENTS = (
    "MultiPV Threads Hash SyzygyPath SyzygyProbeLimit Syzygy50MoveRule UCI_AnalyseMode UCI_Chess960 UCI_ShowWDL Ponder"
).split()

PYPROJECT: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = ("engine", "search", "eval", "bench")

posix_only = pytest.mark.skipif(os.name != "posix", reason="the file that clients load is a shell script here")


def block(heading: str, language: str) -> str:
    """The one code block of that language below a heading."""
    section = re.split(rf"^## {heading}$", TEXT, flags=re.MULTILINE)[1].split("\n## ")[0]
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    return str(found)


def test_options_of_the_blocks_are_declared_and_accepted() -> None:
    (nibbler,) = json.loads(block("Nibbler", "json")).values()
    given = [
        *((option["name"], option["value"]) for option in json.loads(block("CuteChess", "json"))[0]["options"]),
        *nibbler["options"].items(),
        *(line.strip().split(": ", 1) for line in block("lichess-bot", "yaml").split("uci_options:\n")[1].splitlines()),
        *(line.split(" = ", 1) for line in block("xboard", "ini").split("[Engine]\n")[1].splitlines()),
    ]
    values = OptionValues()
    for name, value in given:
        assert values.set(name, str(value).strip('"')) == name
    assert len(given) > 8


def test_options_that_clients_set_by_themselves_are_declared() -> None:
    assert {option.name for option in OPTIONS} >= {*SET_BY_CLIENTS, "Move Overhead"}
    # Scid and others look for these words anywhere in the line.
    for option in OPTIONS:
        words = option.declaration().split()
        assert all(words.count(word) <= 1 for word in ("name", "type", "default", "min", "max", "var")), option


def test_openbench_gets_what_its_server_and_client_ask_for() -> None:
    engine = json.loads(block("OpenBench", "json"))
    assert engine["private"] is False
    assert engine["nps"] > 0
    assert (PROJECT / engine["build"]["path"] / "Makefile").is_file()
    (compiler,) = engine["build"]["compilers"]
    assert compiler.endswith(PYPROJECT["project"]["requires-python"])
    values = OptionValues()
    for kind in ("test_presets", "datagen_presets"):
        assert "default" in engine[kind]
        for preset in engine[kind].values():
            for setting in preset.get("both_options", "").split():
                values.set(*setting.split("="))


def test_commands_of_the_document_exist() -> None:
    assert f"`isready` within {READY_PATIENCE:.0f} seconds" in TEXT
    named = re.findall(r"`\.?/?secateur ([a-z]+)`", TEXT) + re.findall(r'"(genfens) ', TEXT)
    assert {"warmup", "bench", "match", "spsa", "genfens"} <= set(named)
    assert set(named) <= set(COMMANDS)


@pytest.mark.skipif(os.name != "posix" or shutil.which("make") is None, reason="needs make and a POSIX shell")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("EXE=Secateur-0123ABCD EVALFILE=/networks/0123abcd", "EVALFILE= is not supported"),
        ("EXE=my\\ engine", "EXE='my engine' is not supported; give a path without blanks"),
        ("EXE=", "EXE='' is not supported; give a path without blanks"),
        ("EXE=test", "EXE=test is not supported, because it is the name of a target"),
        ("EXE=.venv/.play", "EXE=.venv/.play is not supported, because make keeps its own files in that folder"),
        ("EXE=./.venv/bin/secateur", "because make keeps its own files in that folder"),
        (f"EXE={PROJECT}/docs/_build/.ready", "because make keeps its own files in that folder"),
    ],
)
def test_make_refuses_what_it_cannot_do(words: str, problem: str) -> None:
    environment = {name: text for name, text in os.environ.items() if name not in MAKE_VARIABLES}
    command = ["make", "-n", *shlex.split(words)]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_installation_has_every_package_and_every_file_it_reads() -> None:
    included = PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    data = PYPROJECT["tool"]["setuptools"]["package-data"]
    listing = subprocess.run(["git", "ls-files", "-z", "--", *PACKAGES], cwd=PROJECT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout: nothing says which files are the project's")
    for path in map(Path, filter(None, listing.stdout.split("\0"))):
        if path.is_relative_to("engine/checkout"):
            continue  # stays in the checkout
        package = path.parts[0]
        assert f"{package}*" in included
        if path.suffix == ".py":
            assert (PROJECT / path.parent / "__init__.py").is_file(), f"{path.parent} is no package"
        elif path.suffix not in (".md", ".png"):
            name = path.relative_to(package).as_posix()
            patterns = [pattern.replace("**/", "*") for pattern in data.get(package, ())]
            assert any(fnmatch(name, pattern) for pattern in patterns), f"{path} is in no package-data"


def test_the_extras_of_the_documents_exist() -> None:
    for name in ("README.md", "docs/install.md", "docs/guis.md"):
        text = (PROJECT / name).read_text(encoding="utf-8")
        # Of the project: ".[jit,lab]", or its folder with [jit] behind it.
        extras = {extra for found in re.findall(r"(?:\.|-source)\[([\w,]+)\]", text) for extra in found.split(",")}
        assert "jit" in extras or name == "docs/guis.md"
        assert extras <= set(PYPROJECT["project"]["optional-dependencies"])


# -- the file that clients load ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secateur(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that clients load, as `make` leaves it."""
    path = tmp_path_factory.mktemp("load me") / "secateur"
    command = [sys.executable, "-m", "engine.compiler.launcher", str(path)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, timeout=60)
    return path


@posix_only
def test_the_example_for_python_chess(secateur: Path, tmp_path: Path) -> None:
    (tmp_path / "secateur").symlink_to(secateur)
    command = [sys.executable, "-c", block("python-chess", "python")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    analysis, fen = done.stdout.splitlines()
    score, expectation, line = analysis.split(maxsplit=2)
    assert int(score) == pytest.approx(0, abs=150)
    assert 0.3 < float(expectation) < 0.9
    assert line.startswith("1. ")
    assert chess.Board(fen).fullmove_number == 6


@posix_only
def test_the_engine_starts_anywhere_and_is_found_by_its_file_s_name(
    secateur: Path, start: Callable[..., Engine], tmp_path: Path
) -> None:
    """OpenBench's client ends engines by `pkill -f NAME`."""
    name = tmp_path / "Secateur-0123ABCD"
    name.symlink_to(secateur)
    engine = start(cwd=Path("/"), command=(str(name),))
    engine.send("uci")
    engine.expect("uciok")
    assert str(name) in " ".join(psutil.Process(engine.process.pid).cmdline())
    engine.finish("quit")


@posix_only
def test_fastchess_compliance(secateur: Path) -> None:
    program = shutil.which("fastchess")
    if program is None:
        pytest.skip("fastchess is not installed")
    command = [program, "--compliance", str(secateur)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=secateur.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("Engine passed all compliance checks.")
