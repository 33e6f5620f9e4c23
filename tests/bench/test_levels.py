"""The levels of `UCI_Elo`: their tournament, and the table of their ratings."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="ratings need SciPy")
pytest.importorskip("rich", reason="tourney needs rich")

from bench import levels
from bench.commands import tourney
from bench.records import LedgerError
from search.strength import LEVELS, Level
from tests.bench.fakes import BOOK, FAKE


def test_levels_are_rated_by_a_tournament(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = (Level(1000, 100, 90, 9), Level(1300, 200, 50, 5), Level(1700, 400, 10, 2))
    monkeypatch.setattr(levels, "LEVELS", measured)
    monkeypatch.setattr("bench.engines.SECATEUR", [sys.executable, str(FAKE)])
    book, place = tmp_path / "book.epd", tmp_path / "strength" / "levels.json"
    book.write_text(BOOK, encoding="utf-8")
    place.parent.mkdir()
    words = ["--levels", "--rounds", "2", "--book", str(book), "--max-moves", "20", "--runner", "builtin", "--quiet"]
    words += ["--engine", f"cmd={sys.executable}", f"arg={FAKE}", "name=known", "depth=9"]
    words += ["option.UCI_LimitStrength=true", "option.UCI_Elo=1500", "--anchor", "known=1500", "--json"]
    assert tourney.main(words) == 0, capsys.readouterr().err
    place.write_text(capsys.readouterr().out, encoding="utf-8")
    listed = json.loads(place.read_text(encoding="utf-8"))
    assert listed["games"] == 2 * 12
    assert {line["name"] for line in listed["ratings"]} == {"known", *(level.name for level in measured)}
    rows = levels.table(tmp_path).splitlines()
    assert len(rows) == 2 + len(measured)
    elo, error = levels.ratings(tmp_path)[measured[0].name]
    assert rows[2] == f"| {elo:.0f} | {error:.0f} | 100 | 90 cp | 9 |"


@pytest.mark.parametrize("text", [None, "{", "[1]", '{"ratings": []}', '{"ratings": [{"name": 1}]}'])
def test_a_file_that_is_no_list_of_the_levels_is_named(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "strength" / "levels.json"
    path.parent.mkdir()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(LedgerError, match=r"levels\.json: (No such file|is no rating list of all levels)"):
        levels.ratings(tmp_path)


def test_the_levels_have_the_ratings_of_the_record() -> None:
    found = levels.ratings()
    assert [round(found[level.name][0]) for level in LEVELS] == [level.elo for level in LEVELS]
