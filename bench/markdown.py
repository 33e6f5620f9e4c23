"""Generated tables in Markdown files: each stands between two markers, and the rest of the file is the author's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from engine.errors import MissingError
from engine.files import read_bytes, reason, replace_file, shown

#: The largest Markdown file that is read, in bytes.
MOST_TEXT: Final = 1 << 24


class MarkersError(MissingError, ValueError):
    """A file without a place for the table; the message is one line."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A Markdown table; the columns with the indices `right` are aligned to the right."""
    numbers = frozenset(right)
    rule = "".join("---:|" if index in numbers else "---|" for index in range(len(head)))
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{rule}", *lines[1:]])


def markers(name: str) -> tuple[str, str]:
    """The lines before and after the table called `name`."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def replace_table(text: str, name: str, content: str) -> str:
    """`text` with `content` between the markers of `name`, with the line ends of `text`.

    Raises `MarkersError` unless each marker stands once, in order, on an unindented line outside fenced code.
    """
    begin, end = markers(name)
    lines = [line.rstrip() for line in text.splitlines()]
    if text.count(begin) != 1 or text.count(end) != 1 or not {begin, end} <= set(lines):
        raise MarkersError(f"'{begin}' and '{end}' must stand there once, each on a line of its own")
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise MarkersError(f"'{end}' stands before '{begin}'")
    if len(re.findall(r"^ {0,3}(?:```|~~~)", before, re.MULTILINE)) % 2:
        raise MarkersError(f"'{begin}' stands in a code block")
    newline = "\r\n" if "\r\n" in text else "\n"
    return newline.join([f"{before}{begin}", *content.split("\n"), f"{end}{after}"])


def has_table(text: str, name: str) -> bool:
    """Whether the text has the marker of that table."""
    return markers(name)[0] in text


def read_tables(path: Path, *names: str) -> str:
    """The text of a file that has a place for each named table: for a check before long work.

    Raises `MarkersError` naming the file.
    """
    try:
        text = read_bytes(path, MOST_TEXT).decode("utf-8")
        for name in names:
            replace_table(text, name, "")
    except FileNotFoundError:
        raise MarkersError(f"there is no file {shown(path)}") from None
    except OSError as error:
        raise MarkersError(f"{shown(path)}: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise MarkersError(f"{shown(path)}: is no UTF-8 text (byte {error.start})") from None
    except MarkersError as error:
        raise MarkersError(f"{shown(path)}: {error}") from None
    return text


def write_table(path: Path, name: str, content: str) -> None:
    """Replaces a table of a file. The other bytes and the line ends stay.

    Raises `MarkersError` for a file without a place for it, and OSError when the file cannot be written.
    """
    text = read_tables(path, name)
    new = replace_table(text, name, content)
    if new != text:
        replace_file(path, new)
