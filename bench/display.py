"""How the lab shows figures: those of a running match beside each other, and those of a result on stdout."""

from __future__ import annotations

from typing import Any


def figures_table(figures: dict[str, str]) -> Any:
    """Labels and texts as a rich table of two columns."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for label, text in figures.items():
        table.add_row(label, text)
    return table


def result_console() -> Any:
    """What prints a result with rich, to stdout."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:  # a file has no width
        console.width = 140
    return console
