"""What leaves the page and comes back: addresses, exports, imports."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from search.explorer import service
from search.theory.algorithms import run
from search.theory.run_text import run_as_dot, run_as_text
from search.theory.tree_text import read_tree, write_indented
from tests.explorer.page.conftest import Explorer, Shown, new_page
from tests.explorer.page.reference import SEVEN, THREES, UNIFORM


def test_an_address_can_be_copied_and_shows_the_same_again(shown: Shown, browser: Any, explorer: Explorer) -> None:
    shown.enter(UNIFORM)
    for control, value in (("algorithm", "pvs"), ("compare", "alpha-beta"), ("order", "worst")):
        shown.choose(control, value)
    shown.press("ArrowDown")
    shown.seek(77)
    facts, counts, told = shown.facts(), shown.counts(), shown.text("explanation")
    shown.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=explorer.url.rstrip("/"))
    shown.click("share")
    shown.page.click("#share-copy")
    shown.page.wait_for_selector("#share-copy:has-text('Copied')")
    address = shown.page.input_value("#share-address")
    assert shown.page.evaluate("navigator.clipboard.readText()") == address
    assert len(address) < 2000
    with new_page(browser, address) as other:
        assert (other.facts(), other.counts(), other.text("explanation")) == (facts, counts, told)
        assert other.index == 77
        chosen = [other.page.input_value(f"#{control}") for control in ("algorithm", "compare", "order")]
        assert chosen == ["pvs", "alpha-beta", "worst"]
        other.page.goto("about:blank")
        other.open(explorer.url + "#s=broken")
        assert "address is damaged" in other.message
        assert other.length > 0


def test_text_and_dot_are_those_of_python(shown: Shown) -> None:
    shown.enter(SEVEN)
    shown.choose("algorithm", "pvs")
    shown.choose("compare", "minimax")
    done = run(read_tree(SEVEN), "pvs")
    assert shown.download("text").decode() == run_as_text(done)
    assert shown.download("dot").decode() == run_as_dot(done)


def test_svg_has_every_node_and_marks_what_was_cut_and_png_is_a_picture(shown: Shown) -> None:
    shown.enter(SEVEN)
    shown.click("end")
    root = ElementTree.fromstring(shown.download("svg"))
    name = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{name}svg"
    polygons = root.findall(f"{name}polygon")
    assert len(polygons) == 13
    assert sum("stroke-dasharray" in polygon.attrib for polygon in polygons) == 2
    texts = [element.text for element in root.findall(f"{name}text")]
    # C and D were cut, so their values are bounds; so is that of E, whose window was missed.
    assert {"A", "B", "C", "D", "E", "8", "4", "6", "≥7", "≤3"} <= set(texts)
    data = shown.download("png")
    assert data.startswith(b"\x89PNG\r\n")
    assert min(struct.unpack(">II", data[16:24])) > 300


def test_json_can_be_imported_again(shown: Shown, tmp_path: Path) -> None:
    shown.enter(UNIFORM)
    shown.choose("order", "worst")
    shown.seek(60)
    counts, told = shown.counts(), shown.text("explanation")
    data = shown.download("json")
    document = json.loads(data)
    assert document == service.trace(document["request"])
    file = tmp_path / "trace.json"
    file.write_bytes(data)
    shown.page.click("#tab-example")
    shown.choose("example", "seven")
    shown.import_file(file, until=f"#count:has-text('of {len(document['events']['kind'])}')")
    shown.seek(60)
    assert (shown.counts(), shown.text("explanation")) == (counts, told)
    assert (shown.page.input_value("#example"), shown.page.input_value("#tree-text")) == ("", UNIFORM)
    assert shown.page.is_visible("#tree-text")
    # It can be changed and exported again, because it holds its request.
    shown.choose("order", "best")
    assert shown.counts(2)["evaluated"] == 17
    file.write_text(json.dumps(document | {"request": None}))
    shown.import_file(file, until=f"#count:has-text('of {len(document['events']['kind'])}')")
    assert shown.page.input_value("#tree-text") == ""
    shown.page.click("#exports > summary")
    shown.page.click("[data-export=text]")
    shown.settle()
    assert "imported without its tree's text" in shown.message


def test_trees_can_be_imported_compressed_or_not_and_a_damaged_file_is_refused(shown: Shown, tmp_path: Path) -> None:
    file = tmp_path / "tree.txt"
    file.write_text(write_indented(read_tree(THREES)))
    shown.import_file(file, until="#title:has-text('tree.txt')")
    assert shown.length == len(run(read_tree(THREES), "alpha-beta").events)
    file = tmp_path / "tree.json.gz"
    file.write_bytes(gzip.compress(json.dumps(service.trace({"text": THREES, "algorithm": "minimax"})).encode()))
    shown.import_file(file, until="#caption-a:has-text('Minimax')")
    length = shown.length
    assert length == len(run(read_tree(THREES), "minimax").events)
    file.write_bytes(file.read_bytes()[:40])
    shown.import_file(file, until="#message:not([hidden])")
    assert shown.message == "cannot read tree.json.gz: the compressed file is damaged"
    assert shown.length == length
