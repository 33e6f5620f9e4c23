"""The packages of a release: what goes in, what is checked, what is said of the missing ones."""

from __future__ import annotations

import ctypes
import gzip
import importlib.metadata
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench import release
from bench.release import MARKER_TEXT, ReleaseError, notes
from bench.standalone import blas_source
from engine.compiler.levels import TARGETS
from engine.version import version
from tests.conftest import PROJECT

needs_linux = pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and cc")


def test_notes_are_the_newest_section() -> None:
    assert notes("# Changelog\n\nText.\n\n## 2.0\n\n- New.\n\n### Part\n\n## 1.0\n\n- Old.\n") == (
        "## 2.0\n\n- New.\n\n### Part\n"
    )


def test_every_program_in_the_stand_alone_has_its_licence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    internal = tmp_path / "_internal"
    internal.mkdir()
    (internal / "libpython3.11.so.1.0").touch()
    (internal / "libffi.so.8").touch()  # not the system's
    system = Path("/lib/x86_64-linux-gnu/libz.so.1")
    is_debian = shutil.which("dpkg") is not None and system.exists()
    if is_debian:
        shutil.copy(system, internal)
    found = release._licences(tmp_path)
    assert set(found) == {"secateur", "python", "numpy", "chess"} | ({"zlib1g"} if is_debian else set())
    assert all(path.stat().st_size > 1000 for path in found.values())
    monkeypatch.setenv("PATH", "")  # without dpkg
    release._licences(tmp_path)
    lines = capsys.readouterr().err.splitlines()
    names = ["libffi.so.8", "libffi.so.8", *(["libz.so.1"] if is_debian else [])]
    assert [line.split(":")[1] for line in lines] == [f" no licence for {name}" for name in names]


def test_platforms_without_kernels_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []

    def run(command: list[str]) -> str:
        ran.append(command)
        return ""

    monkeypatch.setattr(release, "_run", run)
    monkeypatch.setattr(release, "PROJECT_ROOT", tmp_path)
    said = release.main([str(tmp_path / "dist")])
    assert said is not None
    lines = said.splitlines()
    assert [line.split()[4].rstrip(":") for line in lines] == [target.name for target in TARGETS]
    assert all(
        f"(run 'make kernels TARGETS={target.name}')" in line for target, line in zip(TARGETS, lines, strict=True)
    )
    assert [command[3] for command in ran if "-c" in command] == ["sdist"]
    assert "checks" not in capsys.readouterr().out


def test_a_folder_of_the_user_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "dist" / "mine"
    mine.parent.mkdir()
    mine.write_text("mine", encoding="ascii")
    said = release.main([str(mine.parent)])
    assert said is not None
    assert said.startswith(f"secateur: {mine.parent} already exists and was not built by this command")
    assert mine.read_text(encoding="ascii") == "mine"


def test_without_the_stand_alone_program_there_is_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "_packages", lambda fresh, show: [])
    said = release.main([str(tmp_path / "dist"), str(tmp_path / "none")])
    assert said == f"secateur: {tmp_path / 'none'}: no stand-alone program (run 'make standalone')"
    assert not (tmp_path / "dist" / "NOTES.md").exists()


def test_a_release_is_complete_and_two_are_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program"
    program.mkdir()
    for name in ("secateur", "b", "a"):
        (program / name).write_text(f"{name} GLIBC_2.4 GLIBC_2.36 GLIBC_2.5", encoding="ascii")
    monkeypatch.setattr(release, "_packages", lambda fresh, show: [])
    monkeypatch.setattr(release, "notes", lambda changelog: "## Unreleased\n")
    target = tmp_path / "dist"
    assert release.main([str(target), str(program)]) is None
    assert "secateur: warning: NOTES.md describes Unreleased, not " in capsys.readouterr().err
    (archive,) = target.glob("*-glibc-2.36.tar.gz")
    first = archive.read_bytes()
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(first))) as packed:
        names = packed.getnames()
    assert {"secateur/secateur", "secateur/licences/numpy.txt", "secateur/a"} <= set(names)
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=target, check=True)
    listed = {line.split("  ")[1] for line in (target / "SHA256SUMS").read_text("utf-8").splitlines()}
    present = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert listed == {path.name for path in target.glob("secateur-*")} == {archive.name}
    licences = {f"licences/{name}.txt" for name in ("secateur", "python", "numpy", "chess")}
    assert present - listed == {"SHA256SUMS", "made-by-secateur", "NOTES.md", "PUBLISH.md"} | licences
    publish = (target / "PUBLISH.md").read_text("utf-8")
    assert f"\n- {archive.name}\n- SHA256SUMS\n" in publish
    (python,) = re.findall(r"^(\S+) -m twine", publish, re.MULTILINE)
    assert (target / python).samefile(sys.executable)
    (program / "a").chmod(0o600)
    (program / "a").touch()  # a new time
    monkeypatch.setattr(release, "notes", lambda changelog: f"## {version()} (2026-11-22)\n")
    assert release.main([str(target), str(program)]) is None
    assert "NOTES.md describes" not in capsys.readouterr().err
    assert archive.read_bytes() == first
    assert (target / "made-by-secateur").read_text("utf-8").startswith(MARKER_TEXT)
    assert release.main(["--check", str(target)]) is None
    (target / "SHA256SUMS.asc").write_text("signed", encoding="ascii")
    said = [f"secateur: {target / 'SHA256SUMS.asc'} was not built by this command, or has changed; move it elsewhere"]
    said += [f"secateur: {program} already exists and was not built by this command; move it elsewhere"]
    assert (release.main(["--check", str(target), str(program)]) or "").splitlines() == said
    assert release.main([str(target), str(program)]) == said[0]


def test_a_wheel_that_needs_a_newer_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    said = 'is consistent with the following platform tag: "manylinux_2_{}_x86_64".'
    wheel = Path("secateur-1.0.0-py3-none-manylinux_2_17_x86_64.whl")
    for minor in (5, 17):
        monkeypatch.setattr(release, "_run", lambda command, minor=minor: said.format(minor))
        release._check_linux(wheel)
    for text in (said.format(28), "nothing"):
        monkeypatch.setattr(release, "_run", lambda command, text=text: text)
        with pytest.raises(ReleaseError, match=re.escape(wheel.name)):
            release._check_linux(wheel)


def test_a_failed_command_is_quoted() -> None:
    with pytest.raises(ReleaseError, match=r"failed: what it said$"):
        release._run([sys.executable, "-c", "import sys; sys.exit('what it said')"])


@pytest.mark.slow
@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("twine", "auditwheel", "setuptools"))
    or int(importlib.metadata.version("setuptools").split(".")[0]) < 77,
    reason="needs the packages of requirements/release.txt",
)
def test_the_sources_pass_twine_and_build(tmp_path: Path) -> None:
    """A copy of the checkout without kernels: there is an sdist, and each platform is named."""
    copy = tmp_path / "project"
    for room in ("engine", "eval", "search", "bench"):
        shutil.copytree(PROJECT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__", "kernels"))
    for room in ("eval", "search"):
        shutil.copytree(PROJECT / room / "kernels", copy / room / "kernels")
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "uci_main.py"):
        shutil.copy(PROJECT / name, copy)
    before = sorted(copy.iterdir())
    contents = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "bench.release", "dist/packages"],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 1
        assert done.stderr.count("secateur: no wheel for ") == len(TARGETS), done.stderr
        (sdist,) = (copy / "dist" / "packages").glob("*.tar.gz")
        contents.append(sdist.read_bytes())
        (copy / "README.md").touch()
    assert contents[0] == contents[1]
    assert sorted(copy.iterdir()) == sorted([*before, copy / "dist"])
    with tarfile.open(sdist) as packed:
        assert {(entry.uid, entry.uname, entry.mtime) for entry in packed} == {(0, "", release._TIME)}
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"pyproject.toml", "bench/packaging.py", "engine/compiler/linking.py", "eval/network/default.snet"} <= names


@needs_linux
def test_the_program_without_blas_multiplies_vectors_and_names_what_it_lacks(tmp_path: Path) -> None:
    source, library = tmp_path / "blas.c", tmp_path / "blas.so"
    source.write_text(blas_source(["scipy_cblas_ddot64_", "scipy_cblas_sdot64_", "scipy_dgesv_64_"]), encoding="ascii")
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", str(library), str(source)], check=True)
    loaded = ctypes.CDLL(str(library))
    for name, kind in (("ddot", ctypes.c_double), ("sdot", ctypes.c_float)):
        function = loaded[f"scipy_cblas_{name}64_"]
        function.restype = kind
        x, y = (kind * 4)(1, 2, 3, 4), (kind * 2)(10, 100)
        assert function(ctypes.c_int64(2), x, ctypes.c_int64(2), y, ctypes.c_int64(1)) == 310
    script = f"import ctypes; ctypes.CDLL({str(library)!r}).scipy_dgesv_64_()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "secateur: this program does not contain scipy_dgesv_64_ of NumPy's linear algebra\n",
    )
