"""The rules of chess as kernels, and the two ways to speak with the engine: UCI, and `Engine` for Python programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.client.engine import Engine

__all__ = ["Engine"]


def __getattr__(name: str) -> Any:
    """`Engine`, imported when it is asked for: this package is imported before `uci` is answered."""
    if name == "Engine":
        from engine.client.engine import Engine

        return Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
