"""Recordings as files, and what is refused instead of being shown."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from engine.compiler.sources import PROJECT_ROOT
from search.explorer.chess_document import DocumentError, read_text, recording_output, save, score_text
from search.explorer.examples import RECORDINGS
from tests.explorer.conftest import Recorded


@pytest.fixture
def document(recorded: Recorded) -> Any:
    """A small one, to be changed."""
    return copy.deepcopy(recorded["small"])


@pytest.mark.parametrize("name", ["search.json", "search.json.gz"])
def test_a_saved_recording_is_read_back(document: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    save(document, path)
    assert json.loads(read_text(path)) == document
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    first = path.read_bytes()
    save(json.loads(read_text(path)), path)
    assert path.read_bytes() == first
    assert path.with_stem(f"{path.stem}-old").read_bytes() == first


@pytest.mark.parametrize("name", ["search.json", "search.json.gz"])
def test_a_recording_takes_the_place_of_a_recording_only(document: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    tree = b'{"format":"secateur trace","version":1,"kind":"tree","title":"for my students"}'
    for data in (b'{"my": "data"}', tree, gzip.compress(tree), gzip.compress(b"my notes"), b"\x1f\x8b my notes"):
        path.write_bytes(data)
        with pytest.raises(FileExistsError, match="already exists and is not a recording"):
            save(document, path)
        with pytest.raises(FileExistsError):
            recording_output(path)
        assert path.read_bytes() == data


def test_compression_is_seen_by_content_not_by_name(document: Any, tmp_path: Path) -> None:
    save(document, tmp_path / "search.gz")
    renamed = (tmp_path / "search.gz").rename(tmp_path / "search.json")
    assert json.loads(read_text(renamed)) == document


def test_a_compressed_file_that_was_cut_off_is_refused(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "search.json.gz"
    save(document, path)
    whole = path.read_bytes()
    for length in (len(whole) - 1, len(whole) // 2, 1000):
        path.write_bytes(whole[:length])
        with pytest.raises(DocumentError, match=r"truncated|damaged"):
            read_text(path)


def test_a_damaged_compressed_file_is_refused(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "search.json.gz"
    save(document, path)
    data = bytearray(path.read_bytes())
    for place in (20, len(data) // 2, len(data) - 6):
        garbled = data.copy()
        garbled[place] ^= 0xFF
        path.write_bytes(garbled)
        with pytest.raises(DocumentError):
            read_text(path)


def test_scores_as_text() -> None:
    scores = {"infinite": 32001, "mate": 32000, "mate_bound": 31872}
    texts = {31: "+0.31", -250: "-2.50", 0: "+0.00", 31999: "#1", 31997: "#2", -31998: "#-1", -31996: "#-2"}
    texts |= {32001: "+∞", -32001: "-∞"}
    assert {score: score_text(score, scores) for score in texts} == texts
    assert score_text(None, scores) == "-"


@pytest.mark.parametrize("key", RECORDINGS)
def test_a_recorded_example_shows_what_its_name_promises(key: str) -> None:
    document = json.loads(read_text(PROJECT_ROOT / "search" / "explorer" / "page" / "recordings" / f"{key}.json.gz"))
    last = document["iterations"][-1]
    assert last["complete"]
    assert RECORDINGS[key].endswith(f", depth {last['depth']}")
    assert (last["score"] == "#3") == ("mate in three" in RECORDINGS[key])
