"""Hostile files for every command and option that opens one. The fuzzer notices every kind of harm."""

from __future__ import annotations

import re
import sys

import pytest

import uci_main
from engine.uci.options import OPTIONS
from tests.uci.fuzz import files
from tests.uci.fuzz.files import VICTIMS, Case, Victim, first_cases
from tests.uci.fuzz.model import BreachError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes, devices and limits are POSIX's")

#: What an option's value is called when it is a file or a folder.
FILES = r"(--[a-z-]+) (?:FILE|FOLDER|PGN|BOOK|OUT|PATH)\b"


@pytest.mark.slow
@pytest.mark.parametrize("case", first_cases(16, seed=1), ids=str)
def test_a_hostile_file_harms_nobody(case: Case) -> None:
    case.run()


DATA_TOOLS = [f"datagen {tool}" for tool in ("stats", "verify", "archive", "restore")]


@pytest.mark.parametrize("command", [*uci_main.COMMANDS, *DATA_TOOLS])
def test_no_option_that_opens_a_file_is_forgotten(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        uci_main.main([*command.split(), "--help"])
    lines = [victim.line for victim in VICTIMS if victim.line.startswith(f"{command} ")]
    for option in re.findall(FILES, capsys.readouterr().out):
        assert any(f" {option} <>" in line for line in lines), option


def test_no_uci_option_that_opens_a_file_is_forgotten() -> None:
    texts = {option.name for option in OPTIONS if option.kind == "string"}
    assert {victim.line[2:] for victim in VICTIMS if victim.line.startswith(">")} == texts - {"UCI_EngineAbout"}


@pytest.mark.parametrize(
    ("program", "role", "problem"),
    [
        ("pathlib.Path(path).unlink()", files.OWNS, None),
        ("pathlib.Path(path).unlink()", files.REPLACES, "lost: the file itself"),
        ("pathlib.Path('photo.png').unlink()", files.READS, "lost: work/photo.png"),
        ("pathlib.Path('../keep/precious.txt').write_text('')", files.READS, "changed: keep/precious.txt"),
        ("raise ValueError", files.READS, "a traceback"),
        ("sys.exit('secateur test: [Errno 2] no file')", files.READS, "a number of the system's"),
        ("sys.exit('secateur test: ' + 400 * 'x')", files.READS, "a line of 415 characters"),
        ("sys.exit('no file')", files.READS, "no 'secateur COMMAND: '"),
        ("sys.exit(3)", files.READS, "exit status 3"),
        ("time.sleep(60)", files.READS, "hung"),
        ("subprocess.Popen(['sleep', '60'], stdout=-3, stderr=-3)", files.READS, "left a process: sleep"),
        ("sys.exit('secateur test: no tree')", files.READS, None),
    ],
)
def test_every_harm_is_noticed(program: str, role: str, problem: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_CLIENT", f"import os, pathlib, subprocess, sys, time; path = sys.argv[1]; {program}")
    monkeypatch.setattr(files, "LIMIT", 1 if problem == "hung" else 60)
    monkeypatch.setattr(files, "LINGERS", 1)
    case = Case(Victim("python <>", "tree.txt", role), "notes", 1)
    if problem is None:
        case.run()
        return
    with pytest.raises(BreachError, match=re.escape(problem)):
        case.run()
