"""Secateur inside a Python program, with python-chess's types: `from secateur import Engine`.

The build also uses this file as the `__init__.py` of the package `secateur`. This module does not import the
kernels, but the creation of the first `Engine` does. Until then, a program can choose its evaluation.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.client.analysis import Analysis
    from engine.client.engine import Engine
    from eval.build import EvaluationError

__all__ = ["Analysis", "Engine", "EvaluationError", "__version__"]

_MODULES = {"Analysis": "engine.client.analysis", "Engine": "engine.client.engine", "EvaluationError": "eval.build"}
#: The version of Secateur.
__version__: str


def __getattr__(name: str) -> Any:
    """Imports a public name on demand. Raises AttributeError for any other name."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name == "__version__":
        from engine.version import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
