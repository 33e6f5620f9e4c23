"""The code blocks of the page of clients in the documentation."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.conftest import PROJECT

DOCUMENT = PROJECT / "docs" / "guis.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")

#: The project's folder in the examples.
HOME = "/home/you/secateur"


def sections() -> dict[str, str]:
    """The text below each second-level heading, by the heading's anchor."""
    parts = re.split(r"^## (.+)$", TEXT, flags=re.MULTILINE)[1:]
    return {anchor(heading): text for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def anchor(heading: str) -> str:
    """What links to a heading: lower case, no punctuation, a hyphen for each blank."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def block(section: str, language: str) -> str:
    """The one block of that language in a section."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", sections()[section], flags=re.MULTILINE | re.DOTALL)
    assert len(found) == 1, f"{section}: {len(found)} blocks of {language}"
    return str(found[0])


def json_block(section: str) -> Any:
    """The JSON of a section."""
    return json.loads(block(section, "json"))


def lichess_bot_options() -> dict[str, str | int | bool]:
    """The `uci_options` of lichess-bot's section. Of YAML, only what is used there is understood."""
    _, _, below = block("lichess-bot", "yaml").partition("  uci_options:\n")
    options: dict[str, str | int | bool] = {}
    for line in below.splitlines():
        name, _, text = line.strip().partition(": ")
        options[name] = (
            text == "true" if text in ("true", "false") else int(text) if text.isdigit() else text.strip('"')
        )
    return options


def polyglot_options() -> dict[str, str]:
    """The options that polyglot's file passes on to the engine."""
    _, _, below = block("xboard", "ini").partition("[Engine]\n")
    return dict(line.split(" = ", 1) for line in below.splitlines())
