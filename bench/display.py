"""Output with rich: the table of a running match's figures, and the console for results."""

from __future__ import annotations

from typing import Any


def figures_table(figures: dict[str, str]) -> Any:
    """Returns a rich table of two columns: the labels (the keys of `figures`) and their texts."""
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for label, text in figures.items():
        table.add_row(label, text)
    return table


def result_console() -> Any:
    """Returns a rich console on stdout for results."""
    from rich.console import Console

    # Markup is disabled because engine names may contain it.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:  # a file or pipe has no width
        console.width = 140
    return console
