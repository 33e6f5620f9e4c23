"""Tables in Markdown pages: each stands between two markers, and the rest of the page is its author's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.errors import MissingError


class MarkersError(MissingError, ValueError):
    """A page without a place for the table; the message is one line."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A Markdown table; the columns with the indices `right` are aligned to the right."""
    numbers = frozenset(right)
    rule = "".join("---:|" if index in numbers else "---|" for index in range(len(head)))
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{rule}", *lines[1:]])


def markers(name: str) -> tuple[str, str]:
    """The lines before and after the table called `name`."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def with_table(page: str, name: str, content: str) -> str:
    """The page with `content` between the markers of `name`.

    Raises `MarkersError` unless each marker is one line of the page, the first before the second.
    """
    both = list(markers(name))
    parts = re.split(f"^({'|'.join(both)})$", page, flags=re.MULTILINE)
    if parts[1::2] != both:
        raise MarkersError(f"the lines '{both[0]}' and '{both[1]}' must stand there once, in this order")
    return "\n".join([parts[0] + both[0], content, both[1] + parts[4]])
