"""The rules of chess, the compilation of kernels, and two interfaces: UCI, and `Engine` for Python programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.client.engine import Engine

__all__ = ["Engine"]


def __getattr__(name: str) -> Any:
    """Imports `Engine` only when a program uses it, so that the UCI loop can import this package quickly."""
    if name == "Engine":
        from engine.client.engine import Engine

        return Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
