"""Recordings as files, and what is refused instead of being shown."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from search.explorer.chess_document import DocumentError, check, load, recording_output, save, score_text
from tests.explorer.conftest import Recorded


@pytest.fixture
def document(recorded: Recorded) -> Any:
    """A small one, to be changed."""
    return copy.deepcopy(recorded["small"])


@pytest.mark.parametrize("name", ["search.json", "search.json.gz"])
def test_a_saved_recording_is_read_back(document: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    save(document, path)
    assert load(path) == document
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    first = path.read_bytes()
    save(load(path), path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", ["search.json", "search.json.gz"])
def test_a_recording_takes_the_place_of_a_recording_only(document: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for data in (b'{"my": "data"}', gzip.compress(b"my notes"), b"\x1f\x8b my notes"):
        path.write_bytes(data)
        with pytest.raises(FileExistsError, match="is there already and is no recording"):
            save(document, path)
        with pytest.raises(FileExistsError):
            recording_output(path)
        assert path.read_bytes() == data


def test_compression_is_seen_by_content_not_by_name(document: Any, tmp_path: Path) -> None:
    save(document, tmp_path / "search.gz")
    renamed = (tmp_path / "search.gz").rename(tmp_path / "search.json")
    assert load(renamed) == document


def test_a_file_that_was_cut_off_is_refused(document: Any, tmp_path: Path) -> None:
    for name in ("search.json", "search.json.gz"):
        path = tmp_path / name
        save(document, path)
        whole = path.read_bytes()
        for length in (len(whole) - 1, len(whole) // 2, 1000):
            path.write_bytes(whole[:length])
            with pytest.raises(DocumentError, match=r"search\.json.*(cut off|no JSON|damaged)"):
                load(path)


def test_a_damaged_compressed_file_is_refused(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "search.json.gz"
    save(document, path)
    data = bytearray(path.read_bytes())
    for place in (20, len(data) // 2, len(data) - 6):
        garbled = data.copy()
        garbled[place] ^= 0xFF
        path.write_bytes(garbled)
        with pytest.raises(DocumentError):
            load(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no JSON: Expecting value"),
        (b"[1, 2]", "expected a JSON object, found [1, 2]"),
        (b"\xff\xfe\x00", "byte 0 is not UTF-8"),
        (b'{"a": 1,\n "b" 2}', "no JSON: Expecting ':' delimiter: line 2 column 6"),
        (b'{"a": NaN}', "no JSON: the number 'NaN' is not finite"),
        (b"{}", 'expected "format": "secateur trace", found null'),
        (b'{"format": "chrome trace"}', 'expected "format": "secateur trace", found "chrome trace"'),
        (b'{"format": "secateur trace", "version": 2}', 'expected "version": 1, found 2'),
        (b'{"format": "secateur trace", "version": true}', 'expected "version": 1, found true'),
        (b'{"format": "secateur trace", "version": 1, "kind": "tree"}', 'expected "kind": "chess", found "tree"'),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (gzip.compress(b"[]"), "expected a JSON object, found []"),
    ],
    ids=range(12),
)
def test_foreign_files_are_refused_with_what_was_expected_and_found(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "foreign.json"
    path.write_bytes(data)
    with pytest.raises(DocumentError) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def put(value: Any, *path: str | int) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


DAMAGES: list[tuple[Callable[[Any], None], str]] = [
    (put(None, "nodes"), '"nodes": expected an object, found null'),
    (put("yes", "truncated"), '"truncated": expected true or false, found "yes"'),
    (put([1, 2], "nodes", "value"), '"nodes", "value": expected 1000 rows, found 2'),
    (put(None, "nodes", "size"), '"nodes", "size": expected a list, found null'),
    (put(1.5, "nodes", "depth", 7), '"nodes", "depth", row 7: expected a whole number, found 1.5'),
    (put(None, "nodes", "depth", 7), '"nodes", "depth", row 7: expected a whole number, found null'),
    (put(9, "nodes", "parent", 9), '"nodes", "parent", row 9: expected -1 to 8, found 9'),
    (put(99, "nodes", "end", 3), '"nodes", "end", row 3: expected 0 to 24, found 99'),
    (put(1000, "pruned", "node", 0), '"pruned", "node", row 0: expected 0 to 999, found 1000'),
    (put([], "reasons"), "\"reasons\": 'all-moves' is missing"),
    (put([{"key": 1, "text": "x"}], "reasons"), '"reasons": expected objects with "key" and "text", found {"key": 1'),
    (put([1], "moves"), '"moves" and "before": expected texts'),
    (put({}, "scores"), '"scores", "infinite": expected a whole number, found null'),
    (put({"visits": -1}, "left_out"), '"left_out", "visits": expected 0 to '),
    (put([3], "iterations"), '"iterations", number 1: expected an object, found 3'),
    (put(5000, "iterations", 0, "last_node"), '"iterations", number 1, "last_node": expected -1 to 999, found 5000'),
    (put([], "costs"), '"costs": expected null or an object with a list "without", found []'),
    (put({"without": [], "nodes": 0, "value": 1, "depth": 1}, "costs"), '"costs", "nodes": expected 1 to '),
    (
        put({"without": [{"reason": "cutoff"}], "nodes": 1, "value": 1, "depth": 1}, "costs"),
        '"costs", "without", number 1: expected an object with a "reason" that can be switched off',
    ),
    (put({"without": [], "nodes": 1, "value": 1}, "costs"), '"costs", "depth": expected a whole number, found null'),
    (put(None, "iterations", 0, "score"), '"iterations", number 1: expected "score" and "line"'),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=[message for _, message in DAMAGES])
def test_documents_that_contradict_themselves_are_refused(
    document: Any, tmp_path: Path, damage: Callable[[Any], None], message: str
) -> None:
    assert check(document) is document
    damage(document)
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DocumentError) as refused:
        load(path)
    assert message in str(refused.value)


def test_scores_as_text() -> None:
    scores = {"infinite": 32001, "mate": 32000, "mate_bound": 31872}
    texts = {31: "+0.31", -250: "-2.50", 0: "+0.00", 31999: "#1", 31997: "#2", -31998: "#-1", -31996: "#-2"}
    texts |= {32001: "+∞", -32001: "-∞"}
    assert {score: score_text(score, scores) for score in texts} == texts
    assert score_text(None, scores) == "-"
