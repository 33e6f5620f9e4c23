"""The rules of chess as kernels, and the engine's two interfaces: UCI, and `Engine` for Python programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.client.engine import Engine

__all__ = ["Engine"]


def __getattr__(name: str) -> Any:
    """Imports and returns `Engine` at its first use, so that importing this package for the UCI loop stays fast."""
    if name == "Engine":
        from engine.client.engine import Engine

        return Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
