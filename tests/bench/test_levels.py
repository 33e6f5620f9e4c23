"""The rating of the levels: the fit, the record, and the tournament that makes it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="ratings need SciPy")
pytest.importorskip("rich", reason="tourney needs rich")

from fakes import BOOK

from bench import levels, records
from bench.commands import tourney
from bench.levels import Anchor, Encounter, LevelsRecord, load, save, table
from bench.rating import RatingError
from bench.records import LedgerError
from bench.stats import Tally
from search.strength import LEVELS, Level

RATED = Path(__file__).with_name("rated_engine.py")

WEAK, MIDDLE, STRONG = Level(1000, 100, 90, 9), Level(1100, 200, 50, 5), Level(1200, 400, 10, 2)


def record(*encounters: Encounter, anchors: tuple[Anchor, ...] = ()) -> LevelsRecord:
    return LevelsRecord((WEAK, MIDDLE, STRONG), anchors, encounters, "book.epd", ("abc",), 123, date="2026-01-02")


#: Half of the pairs even, the other half won twice: 75 % of the points, which is 190.85 Elo (10 ** (190.85 / 400) = 3).
THREE_TO_ONE = (0, 0, 10, 0, 10)
LADDER = (
    Encounter(MIDDLE.name, WEAK.name, "depth=64", THREE_TO_ONE),
    Encounter(STRONG.name, MIDDLE.name, "depth=64", THREE_TO_ONE),
)


def test_an_encounter_gives_its_games() -> None:
    encounter = Encounter("A", "B", "depth=1", (1, 2, 3, 4, 5))
    games = list(encounter.results(8))
    tally = Tally.of(games, "A")
    assert tally.pentanomial == (1, 2, 3, 4, 5)
    assert (tally.games, tally.points) == (encounter.games, encounter.games * encounter.score)
    assert [game.game for game in games] == list(range(8, 38))


def test_ratings_by_hand() -> None:
    # Without anchors the average stays 1100.
    assert [level.elo for level in record(*LADDER).rated().levels] == [909, 1100, 1291]
    met = Encounter(MIDDLE.name, "known", "depth=5", (0, 0, 9, 0, 0))
    rated = record(*LADDER, met, anchors=(Anchor("known", 2000.0, "depth=5"),)).rated()
    assert [level.elo for level in rated.levels] == [1809, 2000, 2191]
    assert [level.name for level in rated.levels] == [WEAK.name, MIDDLE.name, STRONG.name]


def test_what_cannot_be_rated_is_named() -> None:
    for encounters in ((replace(LADDER[0], pentanomial=(0, 0, 0, 0, 9)), LADDER[1]), LADDER[1:]):
        with pytest.raises(LedgerError, match=f"level {WEAK.name} has no finite rating: play more"):
            record(*encounters).ratings()
    with pytest.raises(RatingError, match="anchor nobody has played no game"):
        record(*LADDER, anchors=(Anchor("nobody", 1.0, "depth=1"),)).ratings()


def test_the_table_says_what_was_measured() -> None:
    known = Anchor("known", 1000.0, "depth=5")
    met = Encounter(STRONG.name, "known", "depth=5", (0, 0, 5, 0, 5), 1)
    rows, anchors, conditions = table(record(*LADDER, met, anchors=(known,))).split("\n\n")
    assert len(rows.splitlines()) == 2 + 3
    assert rows.splitlines()[2].endswith("| 100 | 90 cp | 9 |")
    assert "| known | 1000 | depth=5 | 1191 | 75.0 % of 20 | 75.0 % |" in anchors
    assert conditions == "100 games, 2026-01-02; openings book.epd; commit abc; bench 123; 1 lost by a fault."
    assert "only the differences are measured" in table(record(*LADDER))


def test_the_record_is_kept_as_it_is(tmp_path: Path) -> None:
    known = (Anchor("known", 1000.5, "10+0.1"),)
    for kept in (record(*LADDER), record(*LADDER, LADDER[0], anchors=known)):
        kept = replace(kept, note='said "so"')
        assert save(kept, tmp_path) == tmp_path / "strength" / "levels.json"
        assert load(tmp_path) == kept


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"levels\.json: No such file"):
        load(tmp_path)
    path = save(record(*LADDER), tmp_path)
    data = json.loads(path.read_text(encoding="utf-8"))
    for wrong in ({**data, "more": 1}, {"levels": []}, [1], {**data, "levels": [{"elo": 1}]}, "{"):
        path.write_text(wrong if wrong == "{" else json.dumps(wrong), encoding="utf-8")
        with pytest.raises(LedgerError, match=r"levels\.json: "):
            load(tmp_path)


def test_levels_are_rated_by_a_tournament(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The test engine plays the better the higher its `UCI_Elo` is."""
    measured = (Level(1000, 100, 90, 9), Level(1300, 200, 50, 5), Level(1700, 400, 10, 2))
    monkeypatch.setattr(levels, "LEVELS", measured)
    monkeypatch.setattr("bench.engines.SECATEUR", [sys.executable, str(RATED)])
    monkeypatch.setattr(records, "LEDGER", tmp_path / "ledger")
    book = tmp_path / "book.epd"
    book.write_text(BOOK, encoding="utf-8")
    words = ["--levels", "--rounds", "6", "--book", str(book), "--max-moves", "60", "--runner", "builtin", "--quiet"]
    words += ["--engine", f"cmd={sys.executable}", f"arg={RATED}", "name=known", "depth=9"]
    words += ["option.UCI_LimitStrength=true", "option.UCI_Elo=1500", "--anchor", "known=1500", "--json"]
    words += ["--save-levels", "--bench-nodes", "123", "--note", "A test"]
    assert tourney.main(words) == 0, capsys.readouterr().err
    output = capsys.readouterr()
    assert json.loads(output.out)["games"] == 6 * 12
    kept = load()
    names = [level.name for level in measured]
    assert [(one.first, one.second) for one in kept.encounters] == list(combinations([*names, "known"], 2))
    assert {one.games for one in kept.encounters} == {12}
    assert kept.anchors == (Anchor("known", 1500.0, "depth=9"),)
    assert (kept.book, kept.bench_nodes, kept.note) == ("book.epd", 123, "A test")
    assert kept.rated() == kept
    assert f"the ratings are {', '.join(str(level.elo) for level in kept.levels)}" in output.err
    assert tourney.main(["--save-levels", *words[8:]]) == 2
    assert "--save-levels goes with --levels" in capsys.readouterr().err


def test_the_levels_have_the_ratings_of_the_record() -> None:
    kept = load()
    assert kept.levels == LEVELS
    assert kept.rated().levels == LEVELS
