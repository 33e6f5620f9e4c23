"""Optional parts of Secateur, and how to install the packages of a missing one."""

from __future__ import annotations

import sys
from importlib import util
from typing import Final

from engine.compiler.sources import PROJECT_ROOT

#: The commands that install the extras of `pyproject.toml` into the project's own environment.
MAKE: Final = {
    "jit": "make",
    "explore": "make explore",
    **dict.fromkeys(("lab", "training", "cluster"), "make lab"),
}


def remedy(extra: str) -> str:
    """How to install the packages of an extra for the running Python: the end of a message, without a full stop."""
    if getattr(sys, "frozen", False):
        return "take an installation with Python, for this stand-alone program comes without it"
    pip = f"{sys.executable} -m pip install"
    if not (PROJECT_ROOT / "pyproject.toml").is_file():  # installed: the project's folder may be gone
        return f"run '{pip} \"secateur[{extra}]\"'"
    return f"run '{MAKE[extra]}', or '{pip} \".[{extra}]\"' in the project's folder"


def has_numba() -> bool:
    """Whether the running Python can compile kernels."""
    return util.find_spec("numba") is not None
