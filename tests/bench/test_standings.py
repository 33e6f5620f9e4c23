"""The table of docs/strength.md is that of the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import records, standings
from bench.records import LedgerError
from engine.compiler.sources import PROJECT_ROOT

PAGE = "# Strength\n\n<!-- strength: begin -->\nold\n<!-- strength: end -->\nend\n"


def test_the_page_has_the_table_of_the_ledger() -> None:
    page = (PROJECT_ROOT / "docs" / "strength.md").read_text(encoding="utf-8")
    table = standings.goals(records.load(), records.load_suites().values())
    assert f"{standings.BEGIN}{table}\n{standings.END}" in page, "run `secateur ledger --write`"


def test_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "strength.md"
    page.write_text(PAGE, encoding="utf-8")
    standings.write_page(page, records.LEDGER)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Strength\n\n<!-- strength: begin -->\n| what |")
    assert text.endswith("|\n<!-- strength: end -->\nend\n")
    standings.write_page(tmp_path / "missing.md", records.LEDGER)
    assert not (tmp_path / "missing.md").exists()


def test_a_page_without_a_place_for_the_table_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "strength.md"
    page.write_text("# Strength\n", encoding="utf-8")
    with pytest.raises(LedgerError, match="strength: begin"):
        standings.write_page(page, records.LEDGER)
    assert page.read_text(encoding="utf-8") == "# Strength\n"
