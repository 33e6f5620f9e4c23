"""What the page of clients says about options, commands and the installation is true."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from engine.compiler.launcher import launcher_text
from engine.uci.options import OPTIONS, OptionValues
from engine.uci.session import READY_PATIENCE
from tests.conftest import MAKE_VARIABLES, PROJECT
from tests.uci.recipes import (
    HOME,
    TEXT,
    json_block,
    lichess_bot_options,
    polyglot_options,
    sections,
)
from uci_main import COMMANDS

#: What lichess-bot's default configuration sets (`config.yml.default` of 2026.8.2.1).
LICHESS_BOT_DEFAULTS = {
    "Move Overhead": 100,
    "Threads": 4,
    "Hash": 512,
    "SyzygyPath": "./syzygy/",
    "UCI_ShowWDL": True,
}

#: The options that other clients set by themselves: En Croissant and PyChess, Banksia, OpenBench, Scid, python-chess.
SET_BY_CLIENTS = (
    "MultiPV Threads Hash SyzygyPath SyzygyProbeLimit Syzygy50MoveRule UCI_AnalyseMode UCI_Chess960 UCI_ShowWDL Ponder"
).split()

PYPROJECT: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = ("engine", "search", "eval", "bench")


def test_what_is_said_of_the_first_start() -> None:
    assert f"`isready` after {READY_PATIENCE:.0f} seconds at the latest" in TEXT


def test_options_of_the_blocks_are_declared_and_accepted() -> None:
    cutechess = {option["name"]: option["value"] for option in json_block("cutechess")[0]["options"]}
    nibbler = json_block("nibbler")[f"{HOME}/secateur"]["options"]
    values = OptionValues()
    for options in (cutechess, nibbler, lichess_bot_options(), polyglot_options()):
        assert options
        for name, value in options.items():
            assert values.set(name, str(value).lower() if isinstance(value, bool) else str(value)) == name


def test_options_that_clients_set_by_themselves_are_declared() -> None:
    declared = {option.name for option in OPTIONS}
    assert declared >= {*SET_BY_CLIENTS, *LICHESS_BOT_DEFAULTS}


def test_option_lines_hold_no_word_of_the_protocol_but_in_its_place() -> None:
    # Scid and others look for these words anywhere in the line.
    for option in OPTIONS:
        words = option.declaration().split()
        assert all(words.count(word) <= 1 for word in ("name", "type", "default", "min", "max", "var")), option


def test_openbench_gets_what_its_server_and_client_ask_for() -> None:
    engine = json_block("openbench")
    assert engine["private"] is False
    assert engine["nps"] > 0
    assert (PROJECT / engine["build"]["path"] / "Makefile").is_file()
    # The client runs the compiler with --version and takes the first number with a dot, to compare it with the least.
    (compiler,) = engine["build"]["compilers"]
    program, _, least = compiler.partition(">=")
    assert f">={least}" == PYPROJECT["project"]["requires-python"]
    if shutil.which(program):
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=20).stdout
        assert re.search(r"\d+\.\d+(\.\d+)?", said)
    values = OptionValues()
    for kind in ("test_presets", "datagen_presets"):
        assert "default" in engine[kind]
        for preset in engine[kind].values():
            for setting in preset.get("both_options", "").split():
                values.set(*setting.split("="))


def test_commands_of_the_document_exist() -> None:
    named = re.findall(r"`\.?/?secateur ([a-z]+)`", TEXT) + re.findall(r'"(genfens) ', TEXT)
    assert {"warmup", "bench", "match", "spsa", "genfens"} <= set(named)
    assert set(named) <= set(COMMANDS)


@pytest.mark.skipif(os.name != "posix" or shutil.which("make") is None, reason="needs make and a POSIX shell")
def test_make_refuses_a_network_instead_of_forgetting_it() -> None:
    environment = {name: text for name, text in os.environ.items() if name not in MAKE_VARIABLES}
    command = ["make", "-n", "EXE=Secateur-0123ABCD", "EVALFILE=/networks/0123abcd"]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "EVALFILE= is not supported" in done.stderr


def test_an_installation_has_every_package_and_every_file_it_reads() -> None:
    included = PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    data = PYPROJECT["tool"]["setuptools"]["package-data"]
    listing = subprocess.run(["git", "ls-files", "-z", "--", *PACKAGES], cwd=PROJECT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout: nothing says which files are the project's")
    for path in map(Path, filter(None, listing.stdout.split("\0"))):
        package = path.parts[0]
        assert f"{package}*" in included
        if path.suffix == ".py":
            assert (PROJECT / path.parent / "__init__.py").is_file(), f"{path.parent} is no package"
        elif path.suffix not in (".md", ".png"):
            name = path.relative_to(package).as_posix()
            patterns = [pattern.replace("**/", "*") for pattern in data.get(package, ())]
            assert any(fnmatch(name, pattern) for pattern in patterns), f"{path} is in no package-data"


def test_the_extras_of_the_document_exist() -> None:
    pages = [PROJECT / name for name in ("README.md", "docs/install.md")]
    for text in (sections()["arena"], *(page.read_text(encoding="utf-8") for page in pages)):
        # Of the project: ".[jit,lab]", or its folder with [jit] behind it.
        extras = {extra for found in re.findall(r"(?:\.|-source)\[([\w,]+)\]", text) for extra in found.split(",")}
        assert "jit" in extras
        assert extras <= set(PYPROJECT["project"]["optional-dependencies"])


def test_the_launcher_stands_blanks_in_paths_and_keeps_its_name_in_the_command_line() -> None:
    shebang, command = launcher_text("/path with blanks/python", entry_point=Path("/a b/uci_main.py")).splitlines()
    assert shebang == "#!/bin/sh"
    assert command == "exec '/path with blanks/python' -X \"launcher=$0\" '/a b/uci_main.py' \"$@\""
