"""What leaves the page and comes back: addresses, exports, imports."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

from search.explorer import service
from search.theory.algorithms import run
from search.theory.run_text import run_as_text
from search.theory.tree_text import read_tree, write_indented, write_list
from tests.explorer.page.trees import SEVEN, THREES, UNIFORM


def test_an_address_shows_the_same_again(shown, browser):
    shown.enter(UNIFORM)
    shown.choose("algorithm", "pvs")
    shown.choose("compare", "alpha-beta")
    shown.choose("order", "worst")
    shown.press("ArrowDown")
    shown.seek(77)
    facts, counts, told = shown.facts(), shown.counts(), shown.text("explanation")
    shown.click("share")
    address = shown.page.input_value("#share-address")
    assert len(address) < 2000
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    other = type(shown)(context.new_page())
    other.open(address)
    assert (other.facts(), other.counts(), other.text("explanation")) == (facts, counts, told)
    assert other.index == 77
    assert other.page.input_value("#algorithm") == "pvs"
    assert other.page.input_value("#compare") == "alpha-beta"
    assert other.page.input_value("#order") == "worst"
    context.close()
    assert other.problems == []


def test_a_damaged_address_is_one_clear_line(shown, explorer):
    shown.page.goto("about:blank")
    shown.open(explorer.url + "#s=broken")
    assert "address is damaged" in shown.message
    assert shown.length > 0


@pytest.mark.parametrize("key", ["minimax", "alpha-beta", "pvs", "table", "engine"])
def test_text_is_that_of_python_and_dot_has_the_same_nodes(shown, key):
    shown.enter(SEVEN)
    shown.choose("algorithm", key)
    shown.click("end")
    done = run(read_tree(SEVEN), key)
    text = shown.download("text").decode()
    assert text == run_as_text(done)
    assert read_tree(text) == done.tree
    dot = shown.download("dot").decode()
    assert dot.count("->") == len(done.tree) - 1
    assert dot.count("style=dashed];\n") >= 2 * done.statistics.pruned
    assert f'n0 [shape=triangle, label="v={done.value}"];' in dot


def test_text_of_awkward_labels_can_be_read_again(shown):
    text = '["a b": [1 "x:y": 2] "[": [3 "a quote\\" here": 4] "MAX": ["{": 5 {}: 6] ",": ["(1, 0)": 7 "-": 8]]'
    tree = read_tree(text, "list")
    shown.enter(write_list(tree), "list")
    assert shown.message == ""
    shown.click("end")
    assert read_tree(shown.download("text").decode(), "indented") == tree


def test_svg_has_every_node_and_marks_what_was_cut(shown):
    shown.enter(SEVEN)
    shown.click("end")
    root = ElementTree.fromstring(shown.download("svg"))
    name = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{name}svg"
    polygons = root.findall(f"{name}polygon")
    assert len(polygons) == 13
    assert sum("stroke-dasharray" in polygon.attrib for polygon in polygons) == 2
    texts = [element.text for element in root.findall(f"{name}text")]
    assert {"A", "B", "C", "D", "E", "8", "4"} <= set(texts)


def test_png_is_a_picture(shown):
    shown.enter(SEVEN)
    data = shown.download("png")
    assert data.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", data[16:24])
    assert width > 300
    assert height > 300


def test_json_can_be_imported_again(shown, tmp_path: Path):
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
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector(f"#count:has-text('of {len(document['events']['kind'])}')")
    shown.settle()
    shown.seek(60)
    assert (shown.counts(), shown.text("explanation")) == (counts, told)
    # It can be changed again, because it knows what it was made of.
    shown.choose("order", "best")
    assert shown.counts(2)["evaluated"] == 17


def test_a_tree_can_be_imported(shown, tmp_path: Path):
    file = tmp_path / "tree.txt"
    file.write_text(write_indented(read_tree(THREES)))
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#title:has-text('tree.txt')")
    shown.settle()
    assert shown.length == len(run(read_tree(THREES), "alpha-beta").events)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": 2}, "version"),
        ({"kind": "other"}, "kind"),
        ({"tree": {}}, "no nodes"),
        ({"events": {"kind": [99]}}, "kind"),
        ({"statistics": None}, "statistics"),
        ({"texts": [1]}, "texts"),
        ({"order": [0, 0, 1]}, "order"),
    ],
)
def test_documents_that_are_none_are_refused_and_change_nothing(shown, tmp_path: Path, change, complaint):
    document = service.trace({"text": "[[5 6] [4 9]]", "algorithm": "alpha-beta"}) | change
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(document))
    length, told = shown.length, shown.text("explanation")
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#message:not([hidden])")
    assert complaint in shown.message
    shown.press("n", "b")
    assert (shown.length, shown.text("explanation")) == (length, told)


def test_an_address_can_be_copied(shown, explorer):
    shown.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=explorer.url.rstrip("/"))
    shown.enter(SEVEN)
    shown.click("share")
    shown.page.click("#share-copy")
    shown.page.wait_for_selector("#share-copy:has-text('Copied')")
    assert shown.page.evaluate("navigator.clipboard.readText()") == shown.page.input_value("#share-address")


def test_a_compressed_tree_can_be_imported_and_a_damaged_one_is_refused(shown, tmp_path: Path):
    file = tmp_path / "tree.json.gz"
    file.write_bytes(gzip.compress(json.dumps(service.trace({"text": THREES, "algorithm": "minimax"})).encode()))
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#caption-a:has-text('Minimax')")
    shown.settle()
    length = shown.length
    assert length == len(run(read_tree(THREES), "minimax").events)
    file.write_bytes(file.read_bytes()[:40])
    shown.page.set_input_files("#import", str(file))
    shown.page.wait_for_selector("#message:not([hidden])")
    assert shown.message == "tree.json.gz cannot be read: the compressed file is damaged"
    assert shown.length == length
