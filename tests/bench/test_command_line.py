"""One convention for all commands: exit statuses, and errors of one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import uci_main
from engine.arguments import ERROR_LENGTH, reported
from engine.compiler.sources import PROJECT_ROOT
from engine.errors import CommandError, MissingError, UsageError

ENGINES = ("--engine", f"cmd={sys.executable}", "name=A", "--engine", f"cmd={sys.executable}", "name=B")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | str | None, str]:
    """Exit status and stderr of a command."""
    capsys.readouterr()
    try:
        status: int | str | None = uci_main.main(list(arguments))
    except SystemExit as end:
        status = end.code
    captured = capsys.readouterr()
    assert captured.out == ""
    return status, captured.err


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (CommandError("it broke"), 1, "it broke"),
        (MissingError("there is no x"), 1, "there is no x"),
        (UsageError("two\nlines, \x1b[1mbold"), 2, "two lines, \\x1b[1mbold"),
        (FileNotFoundError(2, "No such file or directory", "a\nb"), 1, "a\\nb: No such file or directory"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (KeyboardInterrupt(), 1, "interrupted"),
    ],
)
def test_an_error_is_one_line(error: BaseException, status: int, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise error

    assert reported("secateur test", fail) == status
    assert capsys.readouterr().err == f"secateur test: {line}\n"


@pytest.mark.parametrize("name", list(uci_main.COMMANDS))
def test_wrong_usage_is_one_line_without_the_usage(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, error = run(capsys, name, "--no-such-option", "x" * 5000)
    assert status == 2
    assert error.startswith(f"secateur {name}: ")
    assert error.count("\n") == 1
    assert len(error) < ERROR_LENGTH + 100


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("mtch", "unknown command 'mtch'; did you mean 'match'? see 'secateur --help'"),
        ("qqqqq", "unknown command 'qqqqq'; see 'secateur --help'"),
        ("version", "unknown command 'version'; did you mean '--version'? see 'secateur --help'"),
        ("--hlep", "unknown option '--hlep'; did you mean '--help'? see 'secateur --help'"),
        ("--foo", "unknown option '--foo'; see 'secateur --help'"),
        ("--tuning bench", "--tuning starts the UCI loop and cannot precede a command"),
    ],
)
def test_an_unknown_command_is_one_line(name: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *name.split()) == (2, f"secateur: {line}\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--conccurency", "2"], "unrecognized arguments: --conccurency (did you mean --concurrency?)"),
        (["--no-such-thing"], "unrecognized arguments: --no-such-thing"),
    ],
)
def test_a_misspelt_option_is_guessed(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "match", *words) == (2, f"secateur match: {line}\n")


def test_help_states_the_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert uci_main.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert "exit status:\n  0  " in said
    groups = said.partition("commands (")[2].split("\n\n")[0].splitlines()[1:]
    assert len(groups) == len(uci_main.GROUPS) == 5
    assert "lab       play, test and tune with games: match, sprt," in groups[2]


def test_help_describes_groups_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    members = []
    for name, what in uci_main.GROUPS.items():
        assert uci_main.main(["help", name]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"{what}:"
        members += [line.split()[0] for line in lines[1:]]
    assert members == list(uci_main.COMMANDS)
    assert not set(uci_main.GROUPS) & set(uci_main.COMMANDS)
    with pytest.raises(SystemExit, match="0"):
        uci_main.main(["help", "match"])
    assert capsys.readouterr().out.startswith("usage: secateur match ")
    assert run(capsys, "help", "mtch")[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("match", *ENGINES[:3], "--engine", "cmd=no-such-engine"),
        ("sprt", *ENGINES[:3], "--engine", "cmd=no-such-engine"),
        ("tourney", *ENGINES, "--engine", "cmd=no-such-engine"),
        ("epd", "suite.epd", "--engine", "cmd=no-such-engine"),
        ("spsa", "--state", "run.jsonl", "--engine", "cmd=no-such-engine"),
        ("speed", "--engine", "cmd=no-such-engine"),
        ("match", *ENGINES, "--runner", "fastchess"),
    ],
)
def test_a_missing_program_is_reported_before_anything_is_done(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("rich", "scipy"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    status, error = run(capsys, *arguments)
    assert status == 1
    last = error.splitlines()[-1]
    assert last.startswith(f"secateur {arguments[0]}: ")
    assert "there is no program 'no-such-engine'" in last or "is not on the PATH" in last
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_started_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "engine.txt"
    text.write_text("no program")
    for place, problem in (
        (text, f"{text} is not an executable file"),
        (tmp_path, f"{tmp_path} is not an executable file"),
    ):
        status, error = run(capsys, "match", *ENGINES[:3], "--engine", f"cmd={place}", "name=B")
        assert (status, error) == (1, f"secateur match: engine B: {problem}\n")
    status, error = run(capsys, "match", *ENGINES, "dir=no/such/folder")
    assert (status, error) == (1, "secateur match: engine B: there is no folder no/such/folder\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    status, error = run(capsys, "match", *ENGINES[:3], "--engine", "cmd=~/engine.txt", "name=B")
    assert (status, error) == (1, f"secateur match: engine B: {text} is not an executable file\n")


@pytest.mark.parametrize(("words", "status"), [(["nosuch.py"], 1), ([], 2)])
def test_a_missing_evaluation_is_a_failure_and_a_forgotten_one_wrong_usage(words: list[str], status: int) -> None:
    command = [sys.executable, str(PROJECT_ROOT / "uci_main.py"), "--evaluation", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert done.stderr.startswith("secateur: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("match", "missing.toml"),
        ("tourney", "missing.toml"),
        ("sprt", "missing.pgn"),
        ("rate", "missing.pgn"),
        ("match", *ENGINES, "--book", "missing.epd", "--runner", "builtin"),
        ("spsa", "--state", "run.jsonl", "--book", "missing.epd"),
        ("spsa", "--state", "missing.jsonl", "--resume"),
        ("ablation", "null-move", "--book", "missing.epd"),
        ("genfens", "1", "seed", "1", "book", "missing.epd"),
        ("datagen", "stats", "missing"),
        ("datagen", "games", "--games", "1", "--network", "missing.snet"),
        ("net", "missing.snet"),
    ],
)
def test_a_missing_file_is_a_failure(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("rich", "scipy"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECATEUR_KERNELS", "jit")
    status, error = run(capsys, *arguments)
    assert status == 1
    assert "missing" in error
    assert error.startswith(f"secateur {arguments[0]}")
    assert "Errno" not in error


@pytest.mark.parametrize(
    ("words", "line"),
    [
        # A file behind an engine is not taken for its command, nor is a key for each engine blamed on one.
        (["match.toml"], f"--engine: 'match.toml': the command is already {sys.executable}"),
        (["--each", "dpeth=2"], "--engine or --each: 'dpeth=2': unknown key; expected "),
    ],
)
def test_a_match_that_makes_no_sense_is_wrong_usage(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, error = run(capsys, "match", *ENGINES, *words)
    assert status == 2
    assert error.startswith("secateur match: ")
    assert line in error


@pytest.mark.parametrize(
    "arguments",
    [
        "bench 3 --hash 99999999",
        "bench 3 --hash 1e3",
        "bench 1_0",
        "bench ²",
        f"bench {'9' * 5000}",
        "perft --depth 99999999999999999999",
        "rate games.pgn --anchor b",
        "rate games.pgn --anchor b=nan",
        "rate games.pgn --anchor b=1e999",
        "rate games.pgn --white nan",
        "sprt games.pgn --elo0 nan",
        "sprt games.pgn --elo1 1e308",
        "sprt games.pgn --alpha nan",
        "sprt games.pgn --beta 0",
        "match games.toml --time-margin nan",
        "match games.toml --hang inf",
        f"match games.toml --rounds {'9' * 5000}",
        "epd suite.epd --engine cmd=true --movetime nan",
        "datagen games --games 16 --hash 99999999",
        "datagen games --games 16 --nodes 99999999999999999999",
        "train games --output x.snet --rate nan",
        "explore --port 99999999999999999999",
    ],
)
def test_numbers_that_are_none_are_wrong_usage(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("rich", "scipy"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECATEUR_KERNELS", "jit")
    (tmp_path / "games.pgn").write_text("")
    (tmp_path / "games.toml").write_text("".join(f'[[engines]]\nname = "{name}"\ncommand = "true"\n' for name in "ab"))
    (tmp_path / "suite.epd").write_text("")
    (tmp_path / "games").mkdir()
    status, error = run(capsys, *arguments.split())
    assert status == 2, error
    assert error.count("\n") == 1
    assert len(error) < 1100


_CTRL_C_AT_AN_IMPORT = """
import signal, sys
class Finder:
    def find_spec(self, name, *rest):
        if name == "{module}":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    ("module", "words"),
    [("importlib.metadata", ["--version"]), ("engine.version", ["--version"]), ("datetime", ["perft", "--depth", "1"])],
)
def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path: Path, module: str, words: list[str]) -> None:
    (tmp_path / "sitecustomize.py").write_text(_CTRL_C_AT_AN_IMPORT.format(module=module), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(PROJECT_ROOT / "uci_main.py"), *words],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "secateur: interrupted\n")


def test_ctrl_c_that_caused_another_exception_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses: list[int] = []
    monkeypatch.setattr(os, "_exit", statuses.append)
    error = RuntimeError("Error calling __set_name__")
    error.__cause__ = KeyboardInterrupt()  # as Python 3.11 raises it while a class is made
    uci_main._end_in_one_line(RuntimeError, error, None)
    assert (statuses, capsys.readouterr().err) == ([1], "secateur: interrupted\n")
    uci_main._end_in_one_line(RuntimeError, RuntimeError("a bug"), None)
    assert (statuses, capsys.readouterr().err) == ([1], "RuntimeError: a bug\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("words", [["--version"], ["help"], ["help", "lab"]])
def test_a_full_disk_is_one_line(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, str(PROJECT_ROOT / "uci_main.py"), *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "secateur: No space left on device\n")


@pytest.mark.parametrize("words", [["perft", "--depth", "1"], ["--version"], ["kernels", "list"]])
def test_a_variable_that_names_nobody_s_folder_is_one_line(words: list[str]) -> None:
    environment = {**os.environ, "SECATEUR_KERNELS_DIR": "~nobody-of-that-name/x", "SECATEUR_KERNELS": ""}
    done = subprocess.run(
        [sys.executable, str(PROJECT_ROOT / "uci_main.py"), *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("secateur")
    assert line.endswith("~nobody-of-that-name/x: Could not determine home directory.")
