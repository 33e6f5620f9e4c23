"""Secateur inside a Python program, with python-chess's types: `from secateur import Engine`.

    engine     `Engine`: play, analyse, analysis, configure
    analysis   `Analysis`: a search in progress
    runner     the thread on which an engine searches
    commands   converts python-chess's boards and limits for the engine
    infos      converts the engine's results for python-chess

The build makes this file the package's own `__init__`, too. The first `Engine` imports the kernels, so that a program
can choose its evaluation before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.client.engine import Engine

__all__ = ["Engine", "__version__"]

#: The version, as text.
__version__: str


def __getattr__(name: str) -> Any:
    """`Engine` and `__version__`, imported when they are asked for."""
    if name == "Engine":
        from engine.client.engine import Engine

        return Engine
    if name == "__version__":
        from engine.version import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
