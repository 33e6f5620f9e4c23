"""The console on which commands print their results."""

from __future__ import annotations

from typing import Any


def result_console() -> Any:
    """Returns a `rich` console, which prints results on stdout."""
    from rich.console import Console

    # Markup is disabled because engine names may contain it.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:  # a file or pipe has no width
        console.width = 140
    return console
