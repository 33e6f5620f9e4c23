"""The page of clients is true: its table, its options, the files it names, and the packaging behind it."""

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

from engine.compiler.cache_folder import CACHE_VARIABLE
from engine.compiler.launcher import launcher_text
from engine.uci.options import OPTIONS, OptionValues
from engine.uci.session import READY_PATIENCE
from tests.conftest import MAKE_VARIABLES
from tests.uci.recipes import (
    HOME,
    PROJECT,
    TEXT,
    json_block,
    lichess_bot_options,
    polyglot_options,
    rows,
    sections,
)
from uci_main import COMMANDS, main

#: The clients that the page has to cover.
CLIENTS = (
    "CuteChess cutechess-cli Arena BanksiaGUI En-Croissant Nibbler xboard PyChess Scid lichess-bot python-chess "
    "fastchess OpenBench pip pipx uv Docker"
).split()

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
ROOMS = ("engine", "search", "eval", "bench")


# --------------------------------------------------------------------------------------------------------------
# The document
# --------------------------------------------------------------------------------------------------------------


def test_every_client_has_a_row_with_a_state_and_a_section() -> None:
    assert [row.client.replace(" ", "-") for row in rows()] == CLIENTS
    for row in rows():
        assert row.state in ("run", "written"), row
        assert row.page or row.anchor in sections(), row
        assert row.tried, row
        if row.state == "run":
            assert row.version, row


def test_what_is_said_of_the_first_start() -> None:
    assert f"`isready` after {READY_PATIENCE:.0f} seconds at the latest" in TEXT
    # Nobody in the table waits less; of some it is not known.
    for row in rows():
        limits = [int(text) for text in re.findall(r"(\d+) s\b", row.patience)]
        assert all(limit > READY_PATIENCE for limit in limits[1:]), row


def test_options_of_the_blocks_are_declared_and_accepted() -> None:
    cutechess = {option["name"]: option["value"] for option in json_block("cutechess")[0]["options"]}
    nibbler = json_block("nibbler")[f"{HOME}/secateur"]["options"]
    values = OptionValues()
    for options in (cutechess, nibbler, lichess_bot_options(), polyglot_options()):
        assert options
        for name, value in options.items():
            assert values.set(name, str(value).lower() if isinstance(value, bool) else str(value)) == name


def test_cutechess_gets_options_as_they_are_declared() -> None:
    declared = {option.name: option for option in OPTIONS}
    for option in json_block("cutechess")[0]["options"]:
        ours = declared[option["name"]]
        assert (option["type"], option["default"], option["min"]) == (ours.kind, ours.default, ours.low)


def test_options_that_clients_set_by_themselves_are_declared() -> None:
    declared = {option.name for option in OPTIONS}
    assert declared >= {*SET_BY_CLIENTS, *LICHESS_BOT_DEFAULTS}


def test_lichess_bot_s_default_options_are_in_its_recipe() -> None:
    assert lichess_bot_options() == LICHESS_BOT_DEFAULTS


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


# --------------------------------------------------------------------------------------------------------------
# pip, pipx, uv
# --------------------------------------------------------------------------------------------------------------


def test_the_installed_command_is_the_entry_point() -> None:
    (script,) = PYPROJECT["project"]["scripts"].items()
    # The build makes this of uci_main.py.
    assert script == ("secateur", "secateur.__main__:main")
    assert callable(main)
    assert PYPROJECT["tool"]["setuptools"]["py-modules"] == ["uci_main"]


def test_an_installation_has_every_package_and_every_file_it_reads() -> None:
    included = PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    data = PYPROJECT["tool"]["setuptools"]["package-data"]
    listing = subprocess.run(["git", "ls-files", "-z", "--", *ROOMS], cwd=PROJECT, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout: nothing says which files are the project's")
    for path in map(Path, filter(None, listing.stdout.split("\0"))):
        room = path.parts[0]
        assert f"{room}*" in included
        if path.suffix == ".py":
            assert (PROJECT / path.parent / "__init__.py").is_file(), f"{path.parent} is no package"
        elif path.suffix not in (".md", ".png"):
            name = path.relative_to(room).as_posix()
            patterns = [pattern.replace("**/", "*") for pattern in data.get(room, ())]
            assert any(fnmatch(name, pattern) for pattern in patterns), f"{path} is in no package-data"


def test_the_extras_of_the_document_exist() -> None:
    pages = [PROJECT / name for name in ("README.md", "docs/install.md")]
    for text in (sections()["arena"], *(page.read_text(encoding="utf-8") for page in pages)):
        # Of the project: ".[jit,lab]", or its folder with [jit] behind it.
        extras = {extra for found in re.findall(r"(?:\.|-source)\[([\w,]+)\]", text) for extra in found.split(",")}
        assert "jit" in extras
        assert extras <= set(PYPROJECT["project"]["optional-dependencies"])


# --------------------------------------------------------------------------------------------------------------
# Docker
# --------------------------------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with their arguments."""
    text = (PROJECT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def ignored(path: str) -> bool:
    """Whether .dockerignore keeps a file or folder of the project's top away from the build."""
    lines = (PROJECT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line.removeprefix("**/") for line in lines if line and not line.startswith("#")]
    return any(fnmatch(path, pattern) for pattern in patterns)


def test_docker_installs_what_is_locked_with_a_python_that_is_supported() -> None:
    steps = instructions()
    (argument,) = (rest for word, rest in steps if word == "ARG")
    name, _, image = argument.partition("=")
    least = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert tuple(map(int, image.split("-")[0].split("."))) >= tuple(map(int, least.split(".")))
    stages = [rest for word, rest in steps if word == "FROM"]
    assert stages == [f"python:${{{name}}} AS build", f"python:${{{name}}}"]
    installs = [rest for word, rest in steps if word == "RUN" and "pip install" in rest]
    assert "--require-hashes -r /src/requirements/play.txt" in installs[0]
    assert installs[1].endswith("--no-deps /src")
    copies = [rest.split() for word, rest in steps if word == "COPY"]
    assert ["requirements/play.txt", "/src/requirements/play.txt"] in copies
    assert [".", "/src"] in copies


def test_docker_s_build_gets_everything_that_installing_needs() -> None:
    project = PYPROJECT["project"]
    needed = ["pyproject.toml", "uci_main.py", "requirements", project["readme"], *project["license-files"], *ROOMS]
    for path in needed:
        assert (PROJECT / path).exists()
        assert not ignored(path), path
    for path in (".git", ".venv", ".venv-standalone", "secateur", "build", "dist", "tests"):
        assert ignored(path), path


def test_docker_s_image_starts_the_installed_command_with_its_kernels_compiled() -> None:
    steps = instructions()
    environment = next(rest for word, rest in steps if word == "COPY" and rest.startswith("--from=build")).split()[-1]
    command = f"{environment}/bin/{next(iter(PYPROJECT['project']['scripts']))}"
    assert steps[-1] == ("ENTRYPOINT", f'["{command}"]')
    words = [word for word, _ in steps]
    assert ("RUN", f"{command} warmup") in steps
    variable, _, folder = next(rest for word, rest in steps if word == "ENV").partition("=")
    assert variable == CACHE_VARIABLE
    # The kernels belong to the user that reads them, and the folder that the document mounts is theirs.
    assert words.index("USER") < steps.index(("RUN", f"{command} warmup"))
    assert f":{folder}`" in sections()["docker"]


# --------------------------------------------------------------------------------------------------------------
# The file that clients start
# --------------------------------------------------------------------------------------------------------------


def test_the_launcher_stands_blanks_in_paths_and_keeps_its_name_in_the_command_line() -> None:
    shebang, command = launcher_text("/path with blanks/python", entry_point=Path("/a b/uci_main.py")).splitlines()
    assert shebang == "#!/bin/sh"
    assert command == "exec '/path with blanks/python' -X \"launcher=$0\" '/a b/uci_main.py' \"$@\""
