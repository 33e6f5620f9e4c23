"""The tables of docs/strength.md are those of the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import records, standings
from bench.records import LedgerError
from engine.compiler.sources import PROJECT_ROOT

LISTED = {
    "ratings": [
        {"name": "Us", "rating": 3519.6, "error": 55.2, "games": 80, "score": 0.55},
        {"name": "Stash 37", "rating": 3424.0, "error": 0.0, "games": 40, "score": 0.35},
    ]
}
PAGE = "# Strength\n\n<!-- strength: begin -->\nold\n<!-- strength: end -->\nend\n"


def ledger_with(folder: Path, ladder: str) -> Path:
    (folder / "strength").mkdir()
    (folder / standings.LADDER).write_text(ladder, encoding="utf-8")
    return folder


def test_the_page_has_the_tables_of_the_ledger() -> None:
    page = (PROJECT_ROOT / "docs" / "strength.md").read_text(encoding="utf-8")
    for name, table in standings.tables(records.LEDGER).items():
        assert table in page, f"{name}: run `secateur ledger --write`"


def test_a_rating_list_becomes_a_table(tmp_path: Path) -> None:
    found = standings.tables(ledger_with(tmp_path, json.dumps(LISTED)))["ladder"]
    rows = ["| Us | 3520 | +- 55 | 80 | 55.0 % |", "| Stash 37 | 3424 | known | 40 | 35.0 % |"]
    assert found.splitlines()[2:] == rows


def test_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "strength.md"
    page.write_text(PAGE, encoding="utf-8")
    standings.write_page(page, records.LEDGER)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Strength\n\n<!-- strength: begin -->\n| what |")
    assert text.endswith("|\n<!-- strength: end -->\nend\n")
    standings.write_page(tmp_path / "missing.md", records.LEDGER)
    assert not (tmp_path / "missing.md").exists()


@pytest.mark.parametrize("ladder", ["{", "[]", '{"ratings": [{"name": "Us"}]}', '{"ratings": 1}'])
def test_a_broken_rating_list_is_named(tmp_path: Path, ladder: str) -> None:
    with pytest.raises(LedgerError, match=r"ladder\.json: is not a rating list"):
        standings.tables(ledger_with(tmp_path, ladder))


def test_a_page_without_a_place_for_a_table_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "strength.md"
    page.write_text(PAGE, encoding="utf-8")
    with pytest.raises(LedgerError, match="ladder: begin"):
        standings.write_page(page, ledger_with(tmp_path, json.dumps(LISTED)))
    assert page.read_text(encoding="utf-8") == PAGE
