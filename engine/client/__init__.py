"""Secateur inside a Python program, with python-chess's types: `from secateur import Engine`.

The build also makes this file the `__init__` of the package `secateur`. Only the first `Engine` imports the kernels, so
a program can choose its evaluation before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.client.analysis import Analysis
    from engine.client.engine import Engine
    from eval.build import EvaluationError

__all__ = ["Analysis", "Engine", "EvaluationError", "__version__"]

#: The version, as text.
__version__: str


def __getattr__(name: str) -> Any:
    """Imports the public names on demand."""
    if name == "Analysis":
        from engine.client.analysis import Analysis

        return Analysis
    if name == "Engine":
        from engine.client.engine import Engine

        return Engine
    if name == "EvaluationError":
        from eval.build import EvaluationError

        return EvaluationError
    if name == "__version__":
        from engine.version import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
