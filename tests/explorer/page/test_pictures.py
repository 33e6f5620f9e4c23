"""The documentation's pictures show what the page shows."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

from search.explorer import service
from tests.explorer.page.conftest import PROJECT, Explorer, new_page
from tests.explorer.page.pictures import FOLDER, SIZE, WINDOW, take

DOCUMENTATION = PROJECT / "docs" / "explorer.md"


def test_a_picture_taken_now_is_as_large_and_shows_what_the_documentation_says(
    browser: Any, explorer: Explorer, tmp_path: Path
) -> None:
    with new_page(browser, explorer.url, **WINDOW) as page:
        for data in (take(page, "tree.png", tmp_path).read_bytes(), *(file.read_bytes() for file in FOLDER.iterdir())):
            assert struct.unpack(">8sII", data[:8] + data[16:24]) == (b"\x89PNG\r\n\x1a\n", *SIZE)
        assert page.text("title") == "Seven leaves"
        assert page.counts() == {"visited": 11, "evaluated": 5, "pruned": 2, "cuts": 2, "table_hits": 0}
        assert page.text("explanation").startswith("MIN can limit D to 3, but one step up, at root, MAX is already")


def test_the_rules_for_lattices_visit_as_many_nodes_as_the_documentation_says() -> None:
    text, lattice = service.example({"key": "worlds"})["text"], {"kind": "sets", "spec": "a b c"}
    one, two = (
        service.trace({"text": text, "algorithm": rule, "lattice": lattice})["statistics"]
        for rule in ("lattice-strong", "lattice-shallow")
    )
    assert (one["visited"], two["visited"], one["nodes"]) == (11, 16, 20)
    assert "visits 11 of the 20 nodes" in DOCUMENTATION.read_text("utf-8")


def test_the_documentation_names_every_key() -> None:
    section = DOCUMENTATION.read_text("utf-8").split("\n## Keys\n")[1].split("\n## ")[0]
    table = "\n".join(line for line in section.splitlines() if line.startswith("| "))
    legend = (PROJECT / "search" / "explorer" / "page" / "legend.js").read_text("utf-8")
    keys = re.findall(r'\["([^"]+)", "', legend.split("const KEYS = [")[1].split("];")[0])
    names = {"space": "space", "← → ↑ ↓": "arrows", "Enter": "Enter", "−": "`-`", "Esc": "Esc"}
    assert len(keys) > 10
    for key in (part for row in keys for part in row.split("  ")):
        assert names.get(key, f"`{key}`") in table, key
