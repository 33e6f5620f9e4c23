"""The documentation's pictures show what the page shows."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from engine.version import full_name
from search.explorer import service
from tests.explorer.page.conftest import PROJECT, Explorer, Shown, new_page
from tests.explorer.page.pictures import DEPTH, FOLDER, POSITION, SCENES, SIZE, WINDOW, take

SETS = {"kind": "sets", "spec": "a b c"}
DOCUMENTATION = PROJECT / "docs" / "explorer.md"


def test_the_documentation_shows_each_picture_once() -> None:
    shown = re.findall(r"\(../search/explorer/pictures/([^)]+)\)", DOCUMENTATION.read_text("utf-8"))
    assert sorted(shown) == sorted(SCENES) == sorted(path.name for path in FOLDER.iterdir())


def check_tree(page: Shown) -> None:
    assert page.text("title") == "Seven leaves"
    assert page.counts() == {"visited": 11, "evaluated": 5, "pruned": 2, "cuts": 2, "table_hits": 0}
    assert page.text("explanation").startswith(
        "MIN can already hold D to 3, but one step up, at #0, MAX has 6 for certain"
    )


def check_lattice(page: Shown) -> None:
    text = service.example({"key": "worlds"})["text"]
    one, two = (
        service.trace({"text": text, "algorithm": rule, "lattice": SETS})["statistics"]
        for rule in ("lattice-strong", "lattice-shallow")
    )
    assert (page.counts(3)["visited"], page.counts(4)["visited"]) == (one["visited"], two["visited"])
    # As the documentation says.
    assert (one["visited"], two["visited"], one["nodes"]) == (11, 16, 20)


def check_chess(page: Shown) -> None:
    assert page.text("caption-a").startswith(f"{full_name()}: depth {DEPTH}, ")
    assert page.page.input_value("#chess-position") == POSITION
    assert page.page.is_visible("#pruned-table .meaning strong")


@pytest.mark.parametrize(
    ("name", "check"), [("tree.png", check_tree), ("lattice.png", check_lattice), ("chess.png", check_chess)]
)
def test_a_picture_taken_now_shows_what_the_documentation_says(
    browser: Any, explorer: Explorer, tmp_path: Path, name: str, check: Any
) -> None:
    with new_page(browser, explorer.url, **WINDOW) as page:
        for data in (take(page, name, tmp_path).read_bytes(), (FOLDER / name).read_bytes()):
            assert struct.unpack(">8sII", data[:8] + data[16:24]) == (b"\x89PNG\r\n\x1a\n", *SIZE)
        check(page)


def test_the_documentation_names_every_key() -> None:
    section = DOCUMENTATION.read_text("utf-8").split("\n## Keys\n")[1].split("\n## ")[0]
    table = "\n".join(line for line in section.splitlines() if line.startswith("| "))
    legend = (PROJECT / "search" / "explorer" / "page" / "legend.js").read_text("utf-8")
    keys = re.findall(r'\["([^"]+)", "', legend.split("const KEYS = [")[1].split("];")[0])
    names = {"space": "space", "← → ↑ ↓": "arrows", "Enter": "Enter", "−": "`-`", "Esc": "Esc"}
    assert len(keys) > 10
    for key in (part for row in keys for part in row.split("  ")):
        assert names.get(key, f"`{key}`") in table, key
