"""Writes the executable that a GUI loads: `python -m engine.launcher PATH`, run by `make`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

ENTRY_POINT = Path(__file__).resolve().parent.parent / "uci_main.py"


def launcher_text(python: str, windows: bool = False) -> str:
    """A script that replaces itself by the engine, so that killing the one kills the other."""
    if windows:
        return f'@"{python}" "{ENTRY_POINT}" %*\r\n'
    return f'#!/bin/sh\nexec {shlex.quote(python)} {shlex.quote(str(ENTRY_POINT))} "$@"\n'


def write_launcher(path: Path) -> None:
    """Writes an executable script to `path` that starts Secateur with this interpreter, from any folder."""
    windows = sys.platform == "win32"
    if windows and path.suffix.lower() not in (".bat", ".cmd"):
        path = path.with_suffix(".bat")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(launcher_text(sys.executable, windows), encoding="utf-8", newline="")
    path.chmod(0o755)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m engine.launcher PATH")
    write_launcher(Path(sys.argv[1]))
