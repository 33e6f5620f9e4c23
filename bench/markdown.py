"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Returns a Markdown table; the columns with the indices `right` are right-aligned."""
    numbers = frozenset(right)
    rule = "".join("---:|" if index in numbers else "---|" for index in range(len(head)))
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{rule}", *lines[1:]])
