"""The tables of docs/strength.md are those of the ledger."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench import records, standings
from bench.records import LedgerError
from engine.compiler.sources import PROJECT_ROOT
from search.techniques import TECHNIQUES

NAMES = ("strength", "ladder", "techniques", "parameters", "levels")
PAGE = "# Strength\n\n" + "between\n".join("WAS HERE".join(standings.marks(name)) + "\n" for name in NAMES)
#: The first words of tunables that matter only on a clock or with a policy.
UNMEASURED = ("time", "policy")


def test_the_page_has_the_tables_of_the_ledger() -> None:
    page = (PROJECT_ROOT / "docs" / "strength.md").read_text(encoding="utf-8")
    tables = standings.tables(records.LEDGER)
    assert tuple(tables) == NAMES
    for name, table in tables.items():
        assert table.join(standings.marks(name)) in page, "run `secateur ledger --write`"
    measured = {row.split("`")[1] for row in tables["parameters"].splitlines()[2:]}
    assert len(measured) > 60
    assert not [name for name in measured if name.split("_")[0] in UNMEASURED]
    gains = [float(row.split("|")[2].split()[0]) for row in tables["techniques"].splitlines()[2:]]
    assert len(gains) == sum(not technique.needs_clock for technique in TECHNIQUES)
    assert gains == sorted(gains, reverse=True)


def test_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "strength.md"
    page.write_text(PAGE, encoding="utf-8")
    standings.write_page(page, records.LEDGER)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Strength\n\n<!-- strength: begin -->\n| what |")
    assert "|\n<!-- strength: end -->\nbetween\n<!-- ladder: begin -->\n| engine |" in text
    assert text.endswith("|\n<!-- levels: end -->\n")
    assert "WAS HERE" not in text
    assert text.count("between\n") == len(NAMES) - 1
    standings.write_page(tmp_path / "missing.md", records.LEDGER)
    assert not (tmp_path / "missing.md").exists()


def test_a_page_without_a_place_for_the_table_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "strength.md"
    first, _, _ = PAGE.partition("between")
    for text, missing in (("# Strength\n", "strength: begin"), (first, "ladder: begin")):
        page.write_text(text, encoding="utf-8")
        with pytest.raises(LedgerError, match=missing):
            standings.write_page(page, records.LEDGER)
        assert page.read_text(encoding="utf-8") == text


def test_the_ladder_tells_known_ratings_from_fitted_ones() -> None:
    us = {"name": "Us", "rating": 3519.6, "error": 55.2, "games": 80, "score": 0.55}
    known = {"name": "Stash 37", "rating": 3424.0, "error": 0.0, "games": 40, "score": 0.35}
    beaten = {"name": "Weiss 2.0", "rating": 3320.0, "error": 0.0, "games": 40, "score": 0.0}
    rows = [
        "| Us | 3520 | +- 55 | 80 | 55.0 % | - |",
        "| Stash 37 | 3424 | known | 40 | 35.0 % | 3532 |",
        "| Weiss 2.0 | 3320 | known | 40 | 0.0 % | - |",
    ]
    assert standings.ladder({"ratings": [us, known, beaten]}).splitlines()[2:] == rows


NO_RATING_LISTS = ["{", "[]", '{"ratings": [{"name": "Us"}]}', '{"ratings": 1}']


@pytest.mark.parametrize("name", ["ladder.json", "levels.json"])
def test_a_broken_file_is_named(tmp_path: Path, name: str) -> None:
    shutil.copytree(records.LEDGER / "strength", tmp_path / "strength")
    for text in NO_RATING_LISTS:
        (tmp_path / "strength" / name).write_text(text, encoding="utf-8")
        with pytest.raises(LedgerError, match=f"{name}: is not a rating list"):
            standings.tables(tmp_path)
