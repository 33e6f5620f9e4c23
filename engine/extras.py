"""Optional parts of Secateur: what to do where one is asked for and its packages are not installed."""

from __future__ import annotations

import sys
from importlib import util
from typing import Final

from engine.compiler.sources import PROJECT_ROOT

#: What installs an extra of `pyproject.toml` into the project's own environment.
MAKE: Final = {"jit": "make", "lab": "make lab", "cluster": "make lab", "explore": "make explore"}


def remedy(extra: str) -> str:
    """How the packages of an extra come to the Python that is running: the end of a message, without a full stop."""
    if getattr(sys, "frozen", False):
        return "take an installation with Python, for this stand-alone program comes without it"
    pip = f"{sys.executable} -m pip install"
    if not (PROJECT_ROOT / "pyproject.toml").is_file():  # installed: the project's folder may be gone
        return f"run '{pip} \"secateur[{extra}]\"'"
    return f"run '{MAKE[extra]}', or '{pip} \".[{extra}]\"' in the project's folder"


def has_numba() -> bool:
    """Whether kernels can be compiled by the Python that is running."""
    return util.find_spec("numba") is not None
