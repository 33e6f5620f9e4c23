"""The optional parts of Secateur (extras), and how to install their packages."""

from __future__ import annotations

import sys
from importlib import util
from typing import Final

from engine.compiler.sources import PROJECT_ROOT

#: The commands that install the extras of `pyproject.toml` into the project's environment.
MAKE: Final = {
    "jit": "make",
    "explore": "make explore",
    **dict.fromkeys(("lab", "training", "cluster"), "make lab"),
}


def remedy(extra: str) -> str:
    """Returns how to install an extra for the running Python, as the end of a message without a full stop."""
    if getattr(sys, "frozen", False):
        return "use an installation with Python, because this stand-alone program does not include it"
    pip = f"{sys.executable} -m pip install"
    if not (PROJECT_ROOT / "pyproject.toml").is_file():  # installed: the project's folder may be gone
        return f"run '{pip} \"secateur[{extra}]\"'"
    made = f"'{MAKE[extra]}', or " if extra in MAKE else ""
    return f"run {made}'{pip} \".[{extra}]\"' in the project's folder"


def has_numba() -> bool:
    """Returns whether Numba, which compiles kernels, is installed for the running Python."""
    return util.find_spec("numba") is not None
