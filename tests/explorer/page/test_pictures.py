"""The documentation's pictures show what the page shows."""

from __future__ import annotations

import re
import struct

import pytest

from engine.version import full_name
from search.explorer import service
from tests.explorer.page.conftest import PROJECT
from tests.explorer.page.pictures import DEPTH, FOLDER, POSITION, SCENES, SIZE, new_page, take

SETS = {"kind": "sets", "spec": "a b c"}


def size_of(data):
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", data[16:24])


DOCUMENTATION = PROJECT / "docs" / "explorer.md"


def test_the_documentation_shows_each_picture_once():
    shown = re.findall(r"\(../search/explorer/pictures/([^)]+)\)", DOCUMENTATION.read_text("utf-8"))
    assert sorted(shown) == sorted(SCENES) == sorted(path.name for path in FOLDER.iterdir())


@pytest.fixture
def taken(browser, explorer, tmp_path):
    """The page behind a picture that was just taken: `taken(name)`."""
    pages = []

    def take_one(name):
        page = new_page(browser, explorer.url)
        pages.append(page)
        wanted = (SIZE["width"], SIZE["height"])
        assert size_of(take(page, name, tmp_path).read_bytes()) == wanted
        assert size_of((FOLDER / name).read_bytes()) == wanted
        return page

    yield take_one
    for page in pages:
        page.page.context.close()
        assert page.problems == []


def test_the_tree_is_where_its_second_branch_is_cut(taken):
    page = taken("tree.png")
    assert page.text("title") == "Seven leaves"
    assert "the rest cannot matter" in page.text("explanation")
    assert page.counts() == {"visited": 11, "evaluated": 5, "pruned": 2, "cuts": 2, "table_hits": 0}
    assert page.text("explanation").startswith(
        "MIN can already hold D to 3, but one step up, at #0, MAX has 6 for certain"
    )


def test_the_lattice_is_searched_by_two_rules(taken):
    page = taken("lattice.png")
    one, two = (
        service.trace({"text": service.example({"key": "worlds"})["text"], "algorithm": rule, "lattice": SETS})
        for rule in ("lattice-strong", "lattice-shallow")
    )
    assert (page.counts(3)["visited"], page.counts(4)["visited"]) == (
        one["statistics"]["visited"],
        two["statistics"]["visited"],
    )
    # As the documentation says.
    assert (one["statistics"]["visited"], two["statistics"]["visited"], one["statistics"]["nodes"]) == (11, 16, 20)


def test_the_search_is_secateurs_own(taken):
    page = taken("chess.png")
    assert page.text("caption-a").startswith(f"{full_name()}: depth {DEPTH}, ")
    assert page.page.input_value("#chess-position") == POSITION
    assert page.page.is_visible("#pruned-table .meaning strong")


def test_the_documentation_names_every_key(shown):
    section = DOCUMENTATION.read_text("utf-8").split("\n## Keys\n")[1].split("\n## ")[0]
    table = "\n".join(line for line in section.splitlines() if line.startswith("| "))
    names = {"space": "space", "← → ↑ ↓": "arrows", "Enter": "Enter", "−": "`-`", "Esc": "Esc"}
    for key in shown.page.evaluate("Array.from(document.querySelectorAll('#keys kbd'), key => key.textContent)"):
        assert names.get(key, f"`{key}`") in table, key
