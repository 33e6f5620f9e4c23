"""A JSON reader that records places and never overflows the stack, however deep the text."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final, TypeAlias

from search.theory.trees import Place, TreeError, shortened

Value: TypeAlias = "bool | int | float | str | list[Item] | dict[str, Item] | None"

_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_TOKEN: Final = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\.)*+"'
    r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
    r"|(?:true|false|null)(?!\w)"
    r"|[\[\]{},:]"
)


@dataclass(frozen=True, slots=True)
class Item:
    """A value of a JSON text, and the place where it begins."""

    value: Value
    place: Place


class Lines:
    """Finds line and column of an index in a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, index: int) -> Place:
        """Line and column from 1."""
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1


class _Tokens:
    """The tokens of a text: `text` is the current one, "" at the end, and `place` says where it begins."""

    def __init__(self, text: str) -> None:
        self._whole = text
        self._lines = Lines(text)
        self._end = 0
        self.text = ""
        self._advance()

    def _advance(self) -> None:
        space = _SPACE.match(self._whole, self._end)
        start = self._end if space is None else space.end()
        self.place = self._lines.place(start)
        token = _TOKEN.match(self._whole, start)
        if token is None and start < len(self._whole):
            character = self._whole[start]
            problem = "the string that begins here does not end on its line" if character == '"' else None
            raise TreeError(problem or f"'{shortened(character)}' is out of place in JSON", self.place)
        self.text = "" if token is None else token.group()
        self._end = start + len(self.text)

    def take(self, wanted: str) -> bool:
        """Whether this is the current token; if so, goes to the next one."""
        if self.text != wanted:
            return False
        self._advance()
        return True

    def value(self) -> Item:
        """The value that begins here: of a list or an object only its bracket."""
        text, place = self.text, self.place
        if not text:
            raise TreeError("the JSON text ends too early", place)
        if text in "]},:":
            raise TreeError(f"'{text}' is out of place in JSON", place)
        self._advance()
        try:
            return Item([] if text == "[" else {} if text == "{" else json.loads(text), place)
        except ValueError:
            raise TreeError(
                f"JSON knows no {shortened(text)}: an escape is wrong or a number too long", place
            ) from None

    def name(self, container: Item) -> str:
        """The name of an object's next field, with its colon; "" in a list."""
        if not isinstance(container.value, dict):
            return ""
        place = self.place
        if not self.text.startswith('"'):
            raise TreeError("a name in double quotes should stand here", place)
        name = str(self.value().value)
        if name in container.value:
            raise TreeError(f"'{shortened(name)}' is there twice", place)
        if not self.take(":"):
            raise TreeError("a ':' should follow the name", self.place)
        return name


def read_json(text: str) -> Item:
    """The value of a JSON text, iteratively. Raises `TreeError`, which names line and column."""
    tokens = _Tokens(text)
    #: The open lists and objects, each with the name of its next field: a list instead of Python's stack.
    open_items: list[tuple[Item, str]] = []
    while True:
        item = tokens.value()
        if item.value in ([], {}) and not tokens.take(_closing(item)):
            open_items.append((item, tokens.name(item)))
            continue
        # The item is complete: add it to its container, and repeat for each container that this completes.
        while open_items:
            container, name = open_items.pop()
            if isinstance(container.value, list):
                container.value.append(item)
            elif isinstance(container.value, dict):
                container.value[name] = item
            if tokens.take(","):
                open_items.append((container, tokens.name(container)))
                break
            if not tokens.take(_closing(container)):
                raise TreeError(f"a ',' or a '{_closing(container)}' should stand here", tokens.place)
            item = container
        else:
            if tokens.text:
                raise TreeError("there is more after the end of the JSON text", tokens.place)
            return item


def _closing(container: Item) -> str:
    return "]" if isinstance(container.value, list) else "}"
