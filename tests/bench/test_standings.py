"""The tables of docs/strength.md are those of the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import records, standings
from bench.records import LedgerError
from engine.compiler.sources import PROJECT_ROOT
from search.techniques import TECHNIQUES

FIRST = "# Strength\n\n<!-- strength: begin -->\nold\n<!-- strength: end -->\n"
PAGE = f"{FIRST}between\n<!-- techniques: begin -->\nold\n<!-- techniques: end -->\nend\n"


def test_the_page_has_the_tables_of_the_ledger() -> None:
    page = (PROJECT_ROOT / "docs" / "strength.md").read_text(encoding="utf-8")
    matches = records.load()
    tables = {
        "strength": standings.goals(matches, records.load_suites().values()),
        "techniques": standings.techniques(matches),
    }
    for name, table in tables.items():
        assert table.join(standings.marks(name)) in page, "run `secateur ledger --write`"
    gains = [float(row.split("|")[2].split()[0]) for row in tables["techniques"].splitlines()[2:]]
    assert len(gains) == sum(not technique.needs_clock for technique in TECHNIQUES)
    assert gains == sorted(gains, reverse=True)


def test_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "strength.md"
    page.write_text(PAGE, encoding="utf-8")
    standings.write_page(page, records.LEDGER)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Strength\n\n<!-- strength: begin -->\n| what |")
    assert "|\n<!-- strength: end -->\nbetween\n<!-- techniques: begin -->\n| technique |" in text
    assert text.endswith("|\n<!-- techniques: end -->\nend\n")
    standings.write_page(tmp_path / "missing.md", records.LEDGER)
    assert not (tmp_path / "missing.md").exists()


def test_a_page_without_a_place_for_the_table_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "strength.md"
    for text, missing in (("# Strength\n", "strength: begin"), (FIRST, "techniques: begin")):
        page.write_text(text, encoding="utf-8")
        with pytest.raises(LedgerError, match=missing):
            standings.write_page(page, records.LEDGER)
        assert page.read_text(encoding="utf-8") == text
