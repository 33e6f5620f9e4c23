"""Builds the packages of a release: `python -m bench.release FOLDER [STANDALONE]`, as in `make wheels` and `release`.

Without STANDALONE, FOLDER gets the wheels of all platforms whose kernels are built, and the archive of the sources
(sdist). With STANDALONE, the folder of the stand-alone program, FOLDER is the whole release:

    *.whl, secateur-*.tar.gz    the wheels and the sdist, which twine and auditwheel have checked
    secateur-*-linux-*.tar.gz   the stand-alone program
    licences                    the licences of Secateur, and of what the stand-alone program contains
    NOTES.md                    the newest section of the changelog
    PUBLISH.md                  the commands that sign and publish these files
    SHA256SUMS                  the checksums of all these files
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Final

from bench.standalone import put
from engine.compiler.cache_folder import digest_of
from engine.compiler.levels import HERE, TARGETS, Target
from engine.compiler.library import LibraryError, fitting_description, library_path
from engine.compiler.sources import PROJECT_ROOT, source_hash
from engine.progress import Steps, say
from engine.version import version

#: The first line of the marker file of a folder that this module made.
MARKER_TEXT: Final = "Secateur made this folder, and puts the next packages that it makes in its place.\n"

#: The time in the archives, so that two builds of the same sources are equal: 1 January 2026.
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

Run these commands in this folder. None of them has been run yet.

```sh
sha256sum --check SHA256SUMS                                # the files are complete
gpg --armor --detach-sign SHA256SUMS                        # signs the checksums, and so all files
python -m twine upload *.whl secateur-{version}.tar.gz          # publishes the wheels and the sources for pip
```

Then attach all files to the release page, with NOTES.md as its text. Do not sign the libraries in the macOS wheels: the
linker has signed them, and Secateur refuses a library that has changed.
"""


class ReleaseError(Exception):
    """Raised if a package cannot be built or fails a check; the message says why."""


def main(arguments: list[str]) -> str | None:
    """Builds the packages. Returns None, or why a package is missing or the folder is not written."""
    target, *program = (Path(argument).absolute() for argument in arguments)
    missing: list[str] = []

    def make(work: Path) -> Path:
        fresh = work / target.name
        fresh.mkdir()
        with Steps("secateur: packages") as view:
            missing.extend(_packages(fresh, view.show))
            if program:
                view.show("secateur: archive of the stand-alone program")
                _release(fresh, program[0])
        return fresh

    try:
        if problem := put(target, MARKER_TEXT, make, "release"):
            return problem
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
    _run([sys.executable, "-c", _BUILD, "sdist", str(fresh), HERE.name])
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
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(_TIME), "PYTHONPATH": str(PROJECT_ROOT)}
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


def _release(fresh: Path, program: Path) -> None:
    """Adds everything but the wheels and the sdist to the folder of a release."""
    if not (program / "secateur").is_file():
        raise ReleaseError(f"{program}: no stand-alone program (run 'make standalone')")
    number = version()
    licences = fresh / "licences"
    licences.mkdir()
    for name, path in _licences(program).items():
        shutil.copy(path, licences / f"{name}.txt")
    _pack(program, licences, fresh / f"secateur-{number}-{HERE.name}.tar.gz")
    (fresh / "NOTES.md").write_text(notes((PROJECT_ROOT / "CHANGELOG.md").read_text("utf-8")), "utf-8")
    (fresh / "PUBLISH.md").write_text(_PUBLISH.format(version=number), "utf-8")
    files = sorted(path for path in fresh.rglob("*") if path.is_file())
    sums = [f"{digest_of(path)}  {path.relative_to(fresh).as_posix()}\n" for path in files]
    (fresh / "SHA256SUMS").write_text("".join(sums), "utf-8")


def notes(changelog: str) -> str:
    """Returns the newest section of the changelog, with its heading."""
    sections = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)
    return next(section for section in sections if section.startswith("## ")).strip() + "\n"


def _licences(program: Path) -> dict[str, Path]:
    """Returns the licence files by the names of their programs. Raises ReleaseError if one is missing.

    Among them are those of the system's libraries in the stand-alone program, if Debian's package manager knows them.
    """
    found = {"secateur": PROJECT_ROOT / "LICENSE", "python": Path(sysconfig.get_path("stdlib"), "LICENSE.txt")}
    for name in ("numpy", "chess"):
        files = [file for file in metadata.files(name) or [] if re.match("LICEN[CS]E", file.name)]
        if files:
            found[name] = Path(str(files[0].locate()))
        elif name == "chess":  # its wheel has no copy of the licence that Secateur has, too
            found[name] = PROJECT_ROOT / "LICENSE"
    for library in (program / "_internal").glob("lib*.so*") if shutil.which("dpkg") else ():
        owner = subprocess.run(["dpkg", "-S", f"*/{library.name}"], capture_output=True, text=True, check=False).stdout
        if package := owner.partition(":")[0]:
            found[package] = Path("/usr/share/doc", package, "copyright")
    for name, path in found.items():
        if not path.is_file():
            raise ReleaseError(f"{path}: the licence of {name} is missing")
    return found


def _pack(program: Path, licences: Path, path: Path) -> None:
    """Packs the program with its licences into an archive, in a fixed order and with fixed times."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = _TIME, 0, 0, "", ""
        return entry

    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", mtime=_TIME, fileobj=file) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for source, name in ((program, "secateur"), (licences, "secateur/licences")):
            archive.add(source, name, filter=plain)  # `add` sorts the files of a folder


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m bench.release FOLDER [STANDALONE]")
    sys.exit(main(sys.argv[1:]))
