"""A JSON reader that records places and never overflows the stack, however deep the text."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final, TypeAlias

from search.theory.trees import Place, TreeError, shortened

Value: TypeAlias = "bool | int | float | str | list[Item] | dict[str, Item] | None"

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}

#: The most digits of a number: a longer one is no valid value, and Python refuses to read it.
_MAX_DIGITS: Final = 300


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


class _Reader:
    """The state of the reader: a position in the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = Lines(text)
        self.index = 0

    def error(self, message: str, index: int | None = None) -> TreeError:
        return TreeError(message, self.lines.place(self.index if index is None else index))

    def skip(self) -> str:
        """Moves to the next character that is no space, and returns it; "" at the end."""
        space = _SPACE.match(self.text, self.index)
        assert space is not None
        self.index = space.end()
        return self.text[self.index : self.index + 1]

    def string(self) -> str:
        match = _STRING.match(self.text, self.index)
        if match is None:
            raise self.error("a string in double quotes should stand here, on one line")
        try:
            value = json.loads(match.group())
        except ValueError:
            raise self.error("this string has an escape that JSON does not know") from None
        self.index = match.end()
        return str(value)

    def scalar(self) -> Value:
        """A string, a number or one of the three words."""
        if self.text[self.index] == '"':
            return self.string()
        number = _NUMBER.match(self.text, self.index)
        if number is not None:
            if len(number.group()) > _MAX_DIGITS:
                raise self.error("this number is too long")
            self.index = number.end()
            text = number.group()
            return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
        word = re.compile(r"\w*").match(self.text, self.index)
        name = word.group() if word is not None else ""
        if name not in _WORDS:
            what = f"'{shortened(name or self.text[self.index])}'"
            raise self.error(f"{what} is out of place in JSON")
        self.index += len(name)
        return _WORDS[name]

    def name(self, fields: dict[str, Item]) -> str:
        """The name of an object's next field, and its colon."""
        self.skip()
        start = self.index
        name = self.string()
        if name in fields:
            raise self.error(f"'{shortened(name)}' is there twice", start)
        if self.skip() != ":":
            raise self.error("a ':' should follow the name")
        self.index += 1
        return name


def read_json(text: str) -> Item:
    """The value of a JSON text, iteratively. Raises `TreeError`, which names line and column."""
    reader = _Reader(text)
    #: The open lists, and open objects with their current field names: a list instead of Python's stack.
    open_items: list[tuple[Item, str]] = []
    while True:
        character = reader.skip()
        place = reader.lines.place(reader.index)
        if not character:
            raise reader.error("the JSON text ends too early")
        if character in "[{":
            reader.index += 1
            container = Item([] if character == "[" else {}, place)
            following = reader.skip()
            if following == ("]" if character == "[" else "}"):
                reader.index += 1
                item = container
            else:
                open_items.append((container, reader.name({}) if character == "{" else ""))
                continue
        else:
            item = Item(reader.scalar(), place)
        # The item is complete: add it to its container, and repeat for each container that this completes.
        while open_items:
            container, name = open_items.pop()
            following = reader.skip()
            if isinstance(container.value, list):
                container.value.append(item)
                closing = "]"
            else:
                assert isinstance(container.value, dict)
                container.value[name] = item
                closing = "}"
            if following == ",":
                reader.index += 1
                name = reader.name(container.value) if isinstance(container.value, dict) else ""
                open_items.append((container, name))
                break
            if following != closing:
                raise reader.error(f"a ',' or a '{closing}' should stand here")
            reader.index += 1
            item = container
        else:
            if reader.skip():
                raise reader.error("there is more after the end of the JSON text")
            return item
