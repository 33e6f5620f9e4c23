"""Which library is taken; what becomes of one that is damaged, foreign or stale; and what is said without any."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.commands import kernels
from engine.compiler.levels import LEVELS, Level
from engine.compiler.library import (
    CHECKSUM_BYTES,
    FOLDER_VARIABLE,
    KERNELS_VARIABLE,
    MARKER,
    OTHER_BUILDS,
    PEXT_VARIABLE,
    REMEDY,
    RUNS_HERE,
    VECTORS_VARIABLE,
    Description,
    LibraryError,
    choose,
    library_path,
    read_description,
)
from engine.compiler.sources import source_hash
from tests.conftest import PROJECT
from tests.kernels.conftest import WITHOUT_NUMBA

Choose = Callable[..., tuple[str | None, list[str]]]


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> Choose:
    """`chosen(folder, NAME="value")`: the level that is taken from a folder, and the remarks."""

    def call(folder: Path, **environment: str) -> tuple[str | None, list[str]]:
        for name in (KERNELS_VARIABLE, PEXT_VARIABLE, VECTORS_VARIABLE, *OTHER_BUILDS):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        library, remarks = choose()
        return None if library is None else library.level.name, list(remarks)

    return call


def sealed(body: bytes) -> bytes:
    """The bytes of a library file with its checksum."""
    return body + hashlib.sha256(body).digest()


def change(path: Path, old: bytes, new: bytes) -> None:
    """Replaces bytes of a library by others, and makes it whole again."""
    body = path.read_bytes()[:-CHECKSUM_BYTES]
    assert old in body
    path.write_bytes(sealed(body.replace(old, new)))


# --- the choice ----------------------------------------------------------------------------------------------------


def test_what_fits_is_taken_without_a_word(chosen: Choose, built: Path, level: Level) -> None:
    assert chosen(built) == (level.name, [])
    assert chosen(built, **{KERNELS_VARIABLE: level.name}) == (level.name, [])
    assert chosen(built, NUMBA_DISABLE_JIT="0") == (level.name, [])


@pytest.mark.parametrize(
    ("name", "value"),
    [(KERNELS_VARIABLE, "jit"), ("NUMBA_DISABLE_JIT", "1"), ("SECATEUR_TRACING", "1"), ("SECATEUR_CHECKED", "1")],
)
def test_who_asks_for_other_kernels_is_told_nothing(chosen: Choose, built: Path, name: str, value: str) -> None:
    assert chosen(built, **{name: value}) == (None, [])


def test_a_level_that_is_none_is_named(chosen: Choose, built: Path) -> None:
    found, (remark,) = chosen(built, **{KERNELS_VARIABLE: "486"})
    assert found is None
    assert remark == f"{KERNELS_VARIABLE}=486: unknown; choose from jit, {', '.join(level.name for level in LEVELS)}"


def test_instructions_that_are_not_wanted_rule_out_what_uses_them(chosen: Choose, built: Path, level: Level) -> None:
    if level.vector_bits == 0 or not level.pext:
        pytest.skip("the level of this processor uses no such instructions")
    for variable in (PEXT_VARIABLE, VECTORS_VARIABLE):
        found, (remark,) = chosen(built, **{variable: "0"})
        assert found is None
        assert remark.startswith("no kernels compiled ahead of time for this processor in ")


def test_without_libraries_the_folder_is_named(chosen: Choose, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        found, remarks = chosen(folder)
        assert found is None
        assert remarks == [f"no kernels compiled ahead of time for this processor in {folder}"]
    name = LEVELS[0].name
    found, (remark,) = chosen(tmp_path, **{KERNELS_VARIABLE: name})
    assert found is None
    assert remark.startswith(f"{KERNELS_VARIABLE}={name}: no kernels compiled ahead of time ")


@pytest.mark.skipif(shutil.which("cc") is None, reason="takes a C compiler")
def test_a_library_that_does_not_run_here_is_passed_over(chosen: Choose, level: Level, tmp_path: Path) -> None:
    sources = source_hash()
    assert sources is not None
    description = Description(level.name, platform.machine(), sources, "nobody", {})
    text = json.dumps(MARKER.decode() + description.encode())
    code = tmp_path / "code.c"
    code.write_text(f"const char description[] = {text};\nint {RUNS_HERE}(void) {{ return 0; }}\n", encoding="ascii")
    path = library_path(level, tmp_path)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(path), str(code)], check=True)
    path.write_bytes(sealed(path.read_bytes()))
    assert chosen(tmp_path) == (
        None,
        [f"no kernels compiled ahead of time for this processor in {tmp_path}"],
    )


@pytest.mark.parametrize("text", ["{", "[]", "null", "{}", '{"format": 1}', '{"format": 1, "kernels": {"one": 1}}'])
def test_a_malformed_description_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    path = library_path(LEVELS[0], tmp_path)
    path.write_bytes(sealed(MARKER + text.encode() + b"\0"))
    with pytest.raises(LibraryError, match=re.escape(f"{path}: ")):
        read_description(path)


# --- bad files -----------------------------------------------------------------------------------------------------


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def become_stale(path: Path) -> None:
    sources = (source_hash() or "").encode()
    change(path, sources, b"0" * len(sources))


def be_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


RUNS = RUNS_HERE.encode()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(flip, "damaged, or not a library of kernels", id="flipped"),
        pytest.param(truncate, "damaged, or not a library of kernels", id="truncated"),
        pytest.param(empty, "damaged, or not a library of kernels", id="empty"),
        pytest.param(be_a_folder, "is a folder, not a file", id="folder"),
        pytest.param(become_stale, "built from different sources", id="stale"),
        pytest.param((b'"format": 1', b'"format": 9'), "has a description of an unknown format", id="format"),
        pytest.param((b'["secateur_5"', b'["secateur_9"'), "cannot be loaded: ", id="function"),
        pytest.param((RUNS + b"\0", RUNS[:-1] + b"_\0"), "cannot be loaded: ", id="processor check"),
    ],
)
def test_an_unusable_file_is_named_and_not_loaded(
    chosen: Choose, copied: Path, damage: Callable[[Path], None] | tuple[bytes, bytes], message: str
) -> None:
    if isinstance(damage, tuple):
        change(copied, *damage)
    else:
        damage(copied)
    found, (remark,) = chosen(copied.parent)
    assert found is None
    assert remark.startswith(f"kernels not used: {copied}: {message}")


def test_a_bad_library_does_not_keep_from_the_next(chosen: Choose, built: Path, level: Level, tmp_path: Path) -> None:
    better = LEVELS[: LEVELS.index(level)]
    shutil.copy(library_path(level, built), tmp_path)
    for other in better:
        library_path(other, tmp_path).write_bytes(b"nothing")
    found, remarks = chosen(tmp_path)
    assert (found, len(remarks)) == (level.name, len(better))


# --- what a user sees ----------------------------------------------------------------------------------------------


def run_engine(folder: Path, *arguments: str, before: str = "", text: str = "", **environment: str) -> tuple[int, str]:
    """Exit status of `secateur` with libraries from a folder, and what it said on stdout and stderr."""
    code = f"{before}import uci_main, sys; sys.exit(uci_main.main({list(arguments)!r}))"
    inherited = {name: value for name, value in os.environ.items() if name != KERNELS_VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=text,
        env={**inherited, FOLDER_VARIABLE: str(folder), **environment},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_version_says_which_kernels_are_in_use(built: Path, level: Level, tmp_path: Path) -> None:
    status, said = run_engine(built, "--version", before=WITHOUT_NUMBA)
    assert status == 0
    assert f", kernels compiled ahead of time for {level.name} by Numba " in said
    status, said = run_engine(tmp_path, "--version")
    assert status == 0
    assert f"(no kernels compiled ahead of time for this processor in {tmp_path})" in said
    assert ", kernels compiled here by Numba " in said


def test_uci_plays_without_numba(built: Path, level: Level) -> None:
    text = "uci\nisready\nposition startpos\ngo depth 6\n"
    status, said = run_engine(built, before=WITHOUT_NUMBA, text=text)
    assert status == 0
    assert "readyok" in said
    assert "info depth" in said
    assert "bestmove " in said
    assert "info string kernels" not in said
    status, said = run_engine(built, before=WITHOUT_NUMBA, text="compiler\neval\n")
    assert f"Compiled ahead of time by Numba {read_description(library_path(level, built)).compiler[6:]}" in said
    assert "Evaluation " in said


def test_a_bad_library_is_reported_and_numba_plays(copied: Path) -> None:
    flip(copied)
    status, said = run_engine(copied.parent, text="isready\nposition startpos\ngo depth 3\n")
    assert status == 0
    assert f"info string kernels not used: {copied}: damaged, or not a library of kernels\n" in said
    assert "info string Numba compiles the kernels here\n" in said
    assert "bestmove " in said
    assert "bestmove 0000" not in said


def test_where_nothing_was_built_nothing_is_said_of_that(tmp_path: Path) -> None:
    text = "isready\nposition startpos\ngo depth 1\n"
    status, said = run_engine(tmp_path, text=text)
    assert status == 0
    assert "\nbestmove " in said
    assert "ahead of time" not in said
    assert "compiled here" not in said


def test_without_library_and_numba_it_says_what_to_install(copied: Path) -> None:
    flip(copied)
    reason = f"kernels not used: {copied}: damaged, or not a library of kernels"
    status, said = run_engine(copied.parent, before=WITHOUT_NUMBA, text="uci\nisready\nposition startpos\ngo depth 3\n")
    assert status == 0
    assert "uciok" in said
    assert "readyok" in said
    assert reason in said
    assert f"to compile them here, {REMEDY}\n" in said
    assert "bestmove 0000" in said
    status, said = run_engine(copied.parent, "bench", "5", before=WITHOUT_NUMBA)
    assert status == 1
    assert said.startswith("secateur bench: ")
    assert said.endswith(f"to compile them here, {REMEDY}\n")
    assert said.count("\n") == 1
    status, said = run_engine(copied.parent, "kernels", "build", before=WITHOUT_NUMBA)
    assert (status, said) == (1, f"secateur kernels: needs Numba: {REMEDY}\n")


#: Starts `kernels build` with another program in place of the Python that compiles. A shell may ignore Ctrl-C for us.
_BUILD_WITH = """
import signal, sys
from bench.commands import kernels
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.executable = sys.argv[1]
sys.exit(kernels.main(["build", "--force", "--level", *sys.argv[2:]]))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_ctrl_c_ends_the_build_and_its_children(level: Level, tmp_path: Path) -> None:
    slow, note = tmp_path / "python", tmp_path / "note"
    slow.write_text(f"#!/bin/sh\necho $$ >{note}.new; mv {note}.new {note}; exec sleep 100\n")
    slow.chmod(0o755)
    command = [sys.executable, "-c", _BUILD_WITH, str(slow), level.name]
    with subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True) as process:
        while not note.exists() and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)  # to this process alone
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said.splitlines()[-1]) == (1, "secateur kernels: interrupted")
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_what_is_up_to_date_is_not_built_again(
    copied: Path, level: Level, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built_again: list[str] = []

    class Child(contextlib.nullcontext["Child"]):
        returncode = 1
        stdout = ()

        def __init__(self, arguments: list[str], **options: object) -> None:
            super().__init__(self)
            built_again.append(arguments[-1].partition("=")[2])

        def wait(self) -> None:
            """Has ended."""

    monkeypatch.setenv(FOLDER_VARIABLE, str(copied.parent))
    monkeypatch.setattr("bench.commands.kernels.subprocess.Popen", Child)
    build = ["build", "--level", level.name]
    assert kernels.main(build) == 0
    assert capsys.readouterr().err == f"secateur: {level.name}: up to date in {copied}\n"
    assert built_again == []
    assert kernels.main([*build, "--force"]) == 1
    monkeypatch.setattr("bench.commands.kernels.metadata.version", lambda name: "0.0.1")
    assert kernels.main(build) == 1
    monkeypatch.undo()
    monkeypatch.setenv(FOLDER_VARIABLE, str(copied.parent))
    monkeypatch.setattr("bench.commands.kernels.subprocess.Popen", Child)
    flip(copied)
    assert kernels.main(build) == 1
    assert built_again == [str(copied)] * 3


def test_warmup_has_nothing_to_do(built: Path) -> None:
    status, said = run_engine(built, "warmup", before=WITHOUT_NUMBA)
    assert status == 0
    assert "nothing to compile" in said


def test_list_shows_what_is_there(built: Path, level: Level, copied: Path) -> None:
    status, said = run_engine(built, "kernels", "list")
    assert status == 0
    rows = {line.split()[0]: line for line in said.splitlines()}
    assert "MiB, Numba " in rows[level.name]
    assert all(rows[other.name].endswith("not built") for other in LEVELS if other != level)
    assert said.endswith(f"in use: {level.name}\n")
    truncate(copied)
    status, said = run_engine(copied.parent, "kernels", "list")
    assert status == 1
    assert "damaged, or not a library" in said
    assert said.endswith("in use: Numba, which compiles the kernels on this machine\n")
    copied.unlink()
    status, said = run_engine(copied.parent, "kernels", "list", before=WITHOUT_NUMBA)
    assert status == 1
    assert said.endswith(f"in use: none, as Numba is not installed either: {REMEDY}\n")


# --- kernels of a release ------------------------------------------------------------------------------------------


def wheel_with(path: Path, wheel: Path) -> Path:
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(path, f"secateur/engine/kernels/{path.name}")
    return wheel


def test_the_kernels_of_a_matching_release_are_taken(
    built: Path, level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = wheel_with(library_path(level, built), tmp_path / "a.whl")
    other = wheel_with(tmp_path / "a.whl", tmp_path / "other platform.whl")
    place = library_path(level, tmp_path / "kernels")
    monkeypatch.setenv(FOLDER_VARIABLE, str(place.parent))
    assert kernels.main(["take", str(other), str(wheel)]) == 0
    assert capsys.readouterr().err.endswith(f" MiB in {place}, from {wheel}\n")
    assert place.read_bytes() == library_path(level, built).read_bytes()
    assert kernels.main(["take", str(other)]) == 0  # what fits is kept
    place.unlink()
    assert kernels.main(["take", str(other)]) == 1
    assert capsys.readouterr().err == "secateur kernels: these wheels have no kernels for this machine\n"


@pytest.mark.parametrize(
    ("damage", "reason"),
    [(flip, "damaged, or not a library of kernels"), (become_stale, "built from different sources")],
)
def test_other_kernels_of_a_release_are_refused_in_one_line(
    copied: Path,
    level: Level,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], None],
    reason: str,
) -> None:
    damage(copied)
    wheel = wheel_with(copied, tmp_path / "a.whl")
    place = library_path(level, tmp_path / "kernels")
    monkeypatch.setenv(FOLDER_VARIABLE, str(place.parent))
    assert kernels.main(["take", str(wheel)]) == 1
    assert capsys.readouterr().err == f"secateur kernels: kernels in {wheel} not taken: {reason}\n"
    assert not place.exists()
    wheel.unlink()
    assert kernels.main(["take", str(wheel)]) == 1
    assert capsys.readouterr().err.endswith(f" not taken: {os.strerror(errno.ENOENT)}\n")
    wheel.write_bytes(b"no archive")
    assert kernels.main(["take", str(wheel)]) == 1
    assert capsys.readouterr().err == f"secateur kernels: kernels in {wheel} not taken: File is not a zip file\n"


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (None, 0, "is a pipe, not a file"),
        (6, 1, "File .* is encrypted, password required for extraction"),
        (8, 77, "That compression method is not supported"),
        (30, 255, "Error -3 while decompressing data: invalid block type"),
    ],
)
def test_a_damaged_wheel_is_named_in_one_line(
    level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    place: int | None, value: int, reason: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "kernels"))
    wheel, name = tmp_path / "a.whl", f"secateur/engine/kernels/{library_path(level, tmp_path).name}"
    if place is None:
        os.mkfifo(wheel)
    else:
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, b"kernels")
        data = bytearray(wheel.read_bytes())
        for at in (30 + len(name),) if place == 30 else (place, data.index(b"PK\1\2") + place + 2):
            data[at] = value
        wheel.write_bytes(data)
    assert kernels.main(["take", str(wheel)]) == 1
    told = f"secateur kernels: kernels in {re.escape(str(wheel))} not taken: {reason}\n"
    assert re.fullmatch(told, capsys.readouterr().err)


def test_a_file_of_the_user_is_not_replaced_by_kernels_of_a_release(
    built: Path, level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = library_path(level, tmp_path)
    place.write_text("mine", encoding="ascii")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    assert kernels.main(["take", str(wheel_with(library_path(level, built), tmp_path / "a.whl"))]) == 1
    assert place.read_text(encoding="ascii") == "mine"
    place.rename(tmp_path / "theirs")
    place.symlink_to(tmp_path / "theirs")
    assert kernels.main(["take", str(tmp_path / "a.whl")]) == 1
    assert capsys.readouterr().err.endswith(f"{place}: is a symbolic link; its target is left unchanged\n")
