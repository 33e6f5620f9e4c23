"""Builds the packages of a release: `python -m bench.release [--check] FOLDER [STANDALONE]`.

Without STANDALONE, FOLDER gets the wheels of all platforms whose kernels are built, and the archive of the sources
(sdist). With STANDALONE, the folder of the stand-alone program, FOLDER is the whole release. `--check` only says which
of these folders must not be replaced.

    *.whl, secateur-*.tar.gz    the wheels and the sdist, which twine and auditwheel have checked
    secateur-*-linux-*.tar.gz   the stand-alone program; the name has the GNU C library that it needs
    licences                    the licences of Secateur, of Python and its packages in the stand-alone program, and the
                                texts of Debian's packages whose libraries are in it
    NOTES.md                    the newest section of the changelog
    PUBLISH.md                  the commands that sign and publish these files
    SHA256SUMS                  the checksums of the wheels and archives
"""

from __future__ import annotations

import filecmp
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

from bench import standalone
from bench.standalone import obstacle, put
from engine.compiler.cache_folder import digest_of
from engine.compiler.levels import HERE, TARGETS, Target
from engine.compiler.library import LibraryError, fitting_description, library_path
from engine.compiler.sources import PROJECT_ROOT, source_hash
from engine.progress import Steps, say
from engine.version import version

#: The first line of the marker file of a folder that this module made.
MARKER_TEXT: Final = "Secateur made this folder, and puts the next packages that it makes in its place.\n"

#: The time in the archives if the sources are not in Git: 1 January 2026.
_TIME: Final = 1767225600

#: Builds one package: arguments are "wheel" or "sdist", the folder, and the platform.
_BUILD: Final = """
import sys
from bench import packaging
kind, folder, target = sys.argv[1:]
if kind == "sdist":
    packaging.build_sdist(folder)
else:
    packaging.build_wheel(folder, {"target": target})
"""

_PUBLISH: Final = """\
# Publishing Secateur {version}

First fill in the addresses (`urls` in pyproject.toml), write the links in README.md in full, because the page of a
package does not follow relative ones, and run `make release` again. Then, in this folder, check the files, sign the
checksums, and publish the wheels and the sources. Signing and uploading have not been run yet.

```sh
sha256sum --check SHA256SUMS
gpg --armor --detach-sign SHA256SUMS
{python} -m twine upload *.whl secateur-{version}.tar.gz
```

Attach these files to the release page, with NOTES.md as its text, and move this folder elsewhere:

{files}

Do not sign the libraries in the macOS wheels, because Secateur refuses a library that has changed. Those for arm64 have
the linker's signature.
"""


class ReleaseError(Exception):
    """Raised if a package cannot be built or fails a check; the message says why."""


def main(arguments: list[str]) -> str | None:
    """Builds the packages, or checks the folders. Returns None, or which package or folder has a problem."""
    if arguments[0] == "--check":
        folders = [Path(argument).absolute() for argument in arguments[1:]]
        found = map(obstacle, folders, (MARKER_TEXT, standalone.MARKER_TEXT))
        return "\n".join(f"secateur: {problem}" for problem in found if problem) or None
    target, *program = (Path(argument).absolute() for argument in arguments)
    missing: list[str] = []

    def make(work: Path) -> Path:
        fresh = work / target.name
        fresh.mkdir()
        with Steps("secateur: packages") as view:
            missing.extend(_packages(fresh, view.show))
            if program:
                view.show("secateur: archive of the stand-alone program")
                _release(fresh, program[0], target)
        return fresh

    try:
        if problem := put(target, MARKER_TEXT, make, "release"):
            return f"secateur: {problem}"
    except ReleaseError as error:
        return f"secateur: {error}"
    for path in sorted(target.glob("*")):
        say(f"secateur: {path} ({path.stat().st_size / 1e6:.1f} MB)")
    return "\n".join(f"secateur: no wheel for {line}" for line in missing) or None


def _packages(fresh: Path, show: Callable[[str], None]) -> list[str]:
    """Builds the wheels and the sdist in the folder `fresh`, and checks them. Returns the platforms without a wheel."""
    missing = []
    for target in TARGETS:
        if problem := _stale(target):
            missing.append(f"{target.name}: {problem}")
            continue
        show(f"secateur: wheel for {target.name}")
        _run([sys.executable, "-c", _BUILD, "wheel", str(fresh), target.name])
    show("secateur: sdist")
    with tempfile.TemporaryDirectory() as work:
        _run([sys.executable, "-c", _BUILD, "sdist", work, HERE.name])
        for path in Path(work).glob("*.tar.gz"):  # setuptools writes the times of the build and the user's name
            shutil.unpack_archive(path, work)
            folder = path.name.removesuffix(".tar.gz")
            _pack({folder: Path(work, folder)}, fresh / path.name)
    show("secateur: checks")
    files = [str(path) for path in sorted(fresh.glob("*"))]
    _run([sys.executable, "-m", "twine", "check", "--strict", *files])
    for name in files:
        if "manylinux" in name:
            _check_linux(Path(name))
    return missing


def _stale(target: Target) -> str:
    """Returns why the kernels for a platform cannot be packed, or ""."""
    sources = source_hash()
    try:
        for level in target.levels:
            path = library_path(level, PROJECT_ROOT / "engine" / "kernels", target)
            fitting_description(path, level, sources, target)
    except LibraryError as error:
        return f"{error} (run 'make kernels TARGETS={target.name}')"
    return ""


def _check_linux(wheel: Path) -> None:
    """Raises ReleaseError if auditwheel finds that a wheel needs a newer system than its name says."""
    said = _run([sys.executable, "-m", "auditwheel", "show", str(wheel)])
    found = re.search(r'following platform tag:\s+"manylinux_2_(\d+)_', said)
    named = re.search(r"manylinux_2_(\d+)_", wheel.name)
    if found is None or named is None or int(found[1]) > int(named[1]):
        raise ReleaseError(f"{wheel.name}: auditwheel says: {' '.join(said.split())}")


def _run(command: list[str]) -> str:
    """Runs a command in the project's folder; returns its output. Raises ReleaseError with the output if it fails."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(_time()), "PYTHONPATH": str(PROJECT_ROOT)}
    done = subprocess.run(
        command,
        cwd=PROJECT_ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise ReleaseError(f"{' '.join(command[:4])} failed: {done.stdout.strip()[-2000:]}")
    return done.stdout


@cache
def _time() -> int:
    """Returns the time in the archives, the date of the commit, so that two builds of a commit are equal."""
    if not (PROJECT_ROOT / ".git").exists() or shutil.which("git") is None:
        return _TIME
    command = ["git", "-C", str(PROJECT_ROOT), "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, capture_output=True, check=False).stdout or _TIME)


def _release(fresh: Path, program: Path, target: Path) -> None:
    """Adds everything but the wheels and the sdist to the folder of a release, which becomes `target`."""
    if not (program / "secateur").is_file():
        raise ReleaseError(f"{program}: no stand-alone program (run 'make standalone')")
    number = version()
    licences = fresh / "licences"
    licences.mkdir()
    for name, path in _licences(program).items():
        shutil.copy(path, licences / f"{name}.txt")
    codes = (path.read_bytes() for path in program.rglob("*") if path.is_file())
    used = [int(minor) for code in codes for minor in re.findall(rb"GLIBC_2\.(\d+)", code)]
    name = f"secateur-{number}-{HERE.name}" + (f"-glibc-2.{max(used)}" if used else "")
    _pack({"secateur": program, "secateur/licences": licences}, fresh / f"{name}.tar.gz")
    text = notes((PROJECT_ROOT / "CHANGELOG.md").read_text("utf-8"))
    (fresh / "NOTES.md").write_text(text, "utf-8")
    if not text.startswith(f"## {number} ("):
        what = f"{text.splitlines()[0][3:]}, not {number}"
        say(f"secateur: warning: NOTES.md describes {what}; see 'Publish a release' in docs/development.md")
    python = shlex.quote(os.path.relpath(sys.executable, target))
    names = [path.name for path in sorted(fresh.glob("secateur-*"))]
    listed = "\n".join(f"- {name}" for name in (*names, "SHA256SUMS", "SHA256SUMS.asc"))
    (fresh / "PUBLISH.md").write_text(_PUBLISH.format(version=number, python=python, files=listed), "utf-8")
    (fresh / "SHA256SUMS").write_text("".join(f"{digest_of(fresh / name)}  {name}\n" for name in names), "utf-8")


def notes(changelog: str) -> str:
    """Returns the newest section of the changelog, with its heading."""
    sections = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)
    return next(section for section in sections if section.startswith("## ")).strip() + "\n"


def _licences(program: Path) -> dict[str, Path]:
    """Returns the licence files by the names of their programs. Raises ReleaseError if one is missing.

    A library of the system in the stand-alone program has that of its Debian package. Names those without one.
    """
    found = {"secateur": PROJECT_ROOT / "LICENSE", "python": Path(sysconfig.get_path("stdlib"), "LICENSE.txt")}
    for name in ("numpy", "chess"):
        files = [file for file in metadata.files(name) or [] if re.match("LICEN[CS]E", file.name)]
        if files:
            found[name] = Path(str(files[0].locate()))
        elif name == "chess":  # its wheel has no copy of the licence that Secateur has, too
            found[name] = PROJECT_ROOT / "LICENSE"
    for library in sorted((program / "_internal").glob("lib*.so*")):
        if package := _package_of(library):
            found[package] = Path("/usr/share/doc", package, "copyright")
        elif not library.name.startswith(("libpython", "libscipy_openblas")):  # python.txt and numpy.txt cover these
            say(f"secateur: no licence for {library.name}: dpkg is missing, or no package that it knows has this file")
    for name, path in found.items():
        if not path.is_file():
            raise ReleaseError(f"{path}: the licence of {name} is missing")
    return found


def _package_of(library: Path) -> str:
    """Returns the Debian package that has a file with the name and the content of a library, or ""."""
    if shutil.which("dpkg"):
        said = subprocess.run(["dpkg", "-S", f"*/{library.name}"], capture_output=True, text=True, check=False).stdout
        for owner, _, path in (line.partition(": ") for line in said.splitlines()):
            if Path(path).is_file() and filecmp.cmp(path, library, shallow=False):
                return owner.partition(":")[0]
    return ""


def _pack(folders: dict[str, Path], path: Path) -> None:
    """Packs folders under new names into an archive, in a fixed order, with fixed times, owners and permissions."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = _time(), 0, 0, "", ""
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        return entry

    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", mtime=_time(), fileobj=file) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, source in folders.items():
            archive.add(source, name, filter=plain)  # `add` sorts the files of a folder


if __name__ == "__main__":
    if len(sys.argv) - ("--check" in sys.argv[:2]) not in (2, 3):
        sys.exit("usage: python -m bench.release [--check] FOLDER [STANDALONE]")
    sys.exit(main(sys.argv[1:]))
