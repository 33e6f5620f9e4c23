"""Builds the static site: `python -m bench.site FOLDER [ADDRESS]`, run by `make site`.

The result is the folder `FOLDER/site` for any web server. It contains the explorer's page, the Python code that answers
its requests, Pyodide (Python for browsers), and, if built, the documentation. npm downloads Pyodide once into `build/`.
ADDRESS is where the site will be hosted: the page's links then point there.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any, Final

from bench.standalone import put
from engine.compiler.sources import PROJECT_ROOT
from engine.files import reason, shown
from engine.progress import say
from engine.version import address as project_address

#: The version of Pyodide, and the SHA-256 of its npm package.
PYODIDE: Final = "314.0.7"
PYODIDE_SHA256: Final = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"

#: The first line of the site's marker file, which lists the site's files.
MARKER_TEXT = "Secateur made this site, and puts the next site that it makes in its place.\n"

_PAGE: Final = PROJECT_ROOT / "search" / "explorer" / "page"

_NOTICE: Final = f"""Pyodide {PYODIDE}. Changes: pyodide.asm.wasm is compressed, and the list of packages is empty.
Licence: MPL-2.0; source: the tag {PYODIDE} of the project pyodide/pyodide.
It contains CPython and its library (PSF-2.0).
secateur.zip is a part of Secateur (GPL-3.0-or-later) as source.
"""

#: Prints the files of all modules of this project that answering requests needs.
_LIST_MODULES: Final = """
import sys
import search.explorer.service
print(*{m.__file__ for n, m in list(sys.modules.items()) if n.split(".")[0] in ("engine", "search")}, sep="\\n")
"""


class SiteError(Exception):
    """Raised if the site cannot be built; the message says why in one line."""


def main(target: Path, address: str) -> str | None:
    """Builds `target/site`. Returns None, or why it failed and where any new site is."""
    if address and not re.fullmatch(r"https?://[^\s\"'<>#?]+/", address):
        return f"bad address {address!r}: expected http:// or https://, and / at the end"
    try:
        runtime = pyodide_archive(PROJECT_ROOT / "build")
        return put(target / "site", MARKER_TEXT, lambda work: make_site(work / "site", runtime, address), "site")
    except SiteError as error:
        return str(error)
    except OSError as error:
        return f"{shown(error.filename or target)}: {reason(error)}"


def pyodide_archive(folder: Path, download: bool = True) -> Path:
    """Returns Pyodide's npm package in `folder`, and downloads the package if necessary. Raises SiteError, OSError."""
    path = folder / f"pyodide-{PYODIDE}.tgz"
    if not path.exists():
        npm = shutil.which("npm")
        if not download:
            raise SiteError(f"{shown(path)} is missing")
        if npm is None:
            raise SiteError(f"{shown(path)} is missing, and npm, which downloads it, is not installed")
        say(f"secateur: downloading Pyodide {PYODIDE} (6 MB)")
        folder.mkdir(exist_ok=True)
        command = [npm, "pack", f"pyodide@{PYODIDE}", "--silent", "--pack-destination", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            raise SiteError(f"npm cannot download Pyodide: {lines[-1]}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != PYODIDE_SHA256:
        raise SiteError(f"{shown(path)} is not the package that was checked (wrong SHA-256); remove it to try again")
    return path


def make_site(site: Path, runtime: Path, address: str) -> Path:
    """Builds the site in the new folder `site` from Pyodide's package, and returns `site`. Raises OSError."""
    shutil.copytree(_PAGE, site)
    guide = PROJECT_ROOT / "docs" / "_build"
    has_guide = (guide / "index.html").is_file()
    index = site / "index.html"
    marks = f'data-site="{address}"' + (" data-guide" if has_guide else "")
    index.write_text(index.read_text(encoding="utf-8").replace("<html ", f"<html {marks} ", 1), encoding="utf-8")
    _unpack(runtime, site / "python")
    (site / "python" / "secateur.zip").write_bytes(_sources())
    (site / "answers.json").write_text(_first_answers(address), encoding="utf-8")
    # The service worker keeps these files, so that the page works offline after its first visit.
    files = sorted(path for path in site.rglob("*") if path.is_file() and path.suffix != ".md")
    names = [path.relative_to(site).as_posix() for path in files]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    worker = site / "service-worker.js"
    lines = f"const VERSION = {json.dumps(digest[:16])};\nconst FILES = {json.dumps(['./', *names])};\n"
    worker.write_text(lines + worker.read_text(encoding="utf-8"), encoding="utf-8")
    if has_guide:
        shutil.copytree(guide, site / "docs", ignore=shutil.ignore_patterns(".*"))
    return site


def _unpack(runtime: Path, folder: Path) -> None:
    """Writes the files of Pyodide that the page needs into the new folder `folder`."""
    folder.mkdir()
    with tarfile.open(runtime) as archive:

        def read(name: str) -> bytes:
            file = archive.extractfile(f"package/{name}")
            assert file is not None
            return file.read()

        for name in ("pyodide.mjs", "pyodide.asm.mjs", "python_stdlib.zip"):
            (folder / name).write_bytes(read(name))
        # Few servers compress this file, which is three quarters of Pyodide.
        (folder / "pyodide.asm.wasm.gz").write_bytes(gzip.compress(read("pyodide.asm.wasm"), mtime=0))
        lock = json.loads(read("pyodide-lock.json")) | {"packages": {}}
        (folder / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    (folder / "README.txt").write_text(_NOTICE, encoding="utf-8")


def _sources() -> bytes:
    """Returns a zip file of the modules that answer the page's requests. The same modules give the same bytes."""
    command = [sys.executable, "-c", _LIST_MODULES]
    listed = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    names = sorted(Path(line).relative_to(PROJECT_ROOT).as_posix() for line in listed if line)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in (*names, "search/theory/policies.json", "pyproject.toml"):
            archive.writestr(zipfile.ZipInfo(name), (PROJECT_ROOT / name).read_bytes(), zipfile.ZIP_DEFLATED)
    return data.getvalue()


def _first_answers(address: str) -> str:
    """Returns the answers that the first screen needs before Python has started, by request, as JSON."""
    from search.explorer import service
    from search.explorer.examples import EXAMPLES

    first = next(iter(EXAMPLES))
    shown_first = service.example({"key": first})
    asked: dict[str, Any] = {"text": shown_first["text"], "format": None, "algorithm": "two-sided", "lattice": None}
    asked |= {"order": {"kind": "given", "seed": 1, "hand": {}}, "title": shown_first["title"]}
    answers = {
        "catalogue": service.catalogue() | {"address": address or project_address("Explorer")},
        "document": {"document": None, "tree": None},
        f"example{service.as_text({'key': first})}": shown_first,
        f"trace{service.as_text(asked)}": service.trace(asked),
    }
    return service.as_text(answers)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m bench.site FOLDER [ADDRESS]")
    problem = main(Path(sys.argv[1]), "".join(sys.argv[2:]))
    sys.exit(problem and f"secateur: {problem}")
