"""How strong the levels are: the fit, the record, and the command that makes it; documentation and code have it."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="ratings need SciPy")
pytest.importorskip("rich", reason="the command shows its progress with rich")

from fakes import BOOK

from bench import calibration as module
from bench import records
from bench.calibration import (
    BEGIN,
    END,
    OWN_NODES,
    Calibration,
    CalibrationError,
    Encounter,
    KnownRating,
    Plan,
    anchor_from_pairs,
    edited_source,
    load,
    markdown,
    not_monotone,
    save,
)
from bench.commands import calibrate
from bench.description import Book
from bench.stats import Tally
from search import strength
from search.strength import LEVELS, Level

ROOT = Path(__file__).resolve().parents[2]
RATED = Path(__file__).with_name("rated_engine.py")

WEAK, MIDDLE, STRONG = Level(1000, 100, 90, 9), Level(1100, 200, 50, 5), Level(1200, 400, 10, 2)


def calibration(*encounters: Encounter, anchors: tuple[KnownRating, ...] = ()) -> Calibration:
    return Calibration((WEAK, MIDDLE, STRONG), anchors, encounters, "book.epd", ("abc",), 123, date="2026-01-02")


#: Half of the pairs even, the other half won twice: 75 % of the points, which is 190.85 Elo (10 ** (190.85 / 400) = 3).
THREE_TO_ONE = (0, 0, 10, 0, 10)
LADDER = (
    Encounter(MIDDLE.name, WEAK.name, OWN_NODES, THREE_TO_ONE),
    Encounter(STRONG.name, MIDDLE.name, OWN_NODES, THREE_TO_ONE),
)


# -- the fit -----------------------------------------------------------------------------------------------------------


def test_an_encounter_gives_its_games_again() -> None:
    encounter = Encounter("A", "B", "depth=1", (1, 2, 3, 4, 5))
    games = list(encounter.results(7))
    tally = Tally.of(games, "A")
    assert tally.pentanomial == (1, 2, 3, 4, 5)
    assert (tally.games, tally.points) == (encounter.games, encounter.games * encounter.score)
    assert len({game.game for game in games}) == 30
    assert {game.pair for game in games} == set(range(7, 22))


def test_ratings_by_hand() -> None:
    rated = calibration(*LADDER).rated()
    # The average stays 1100 where nobody is known.
    assert [level.elo for level in rated.levels] == [909, 1100, 1291]
    known = KnownRating("known", 2000.0, "depth=5")
    level = Encounter(MIDDLE.name, "known", "depth=5", (0, 0, 9, 0, 0))
    rated = calibration(*LADDER, level, anchors=(known,)).rated()
    assert [level.elo for level in rated.levels] == [1809, 2000, 2191]
    assert [level.name for level in rated.levels] == [WEAK.name, MIDDLE.name, STRONG.name]


def test_what_cannot_be_rated_is_named() -> None:
    with pytest.raises(CalibrationError, match=f"level {WEAK.name}: lost every game: play more"):
        calibration(replace(LADDER[0], pentanomial=(0, 0, 0, 0, 9)), LADDER[1]).ratings()
    with pytest.raises(CalibrationError, match=f"level {WEAK.name} has played no pair"):
        calibration(LADDER[1]).ratings()
    with pytest.raises(CalibrationError, match="anchor nobody has played no game"):
        calibration(*LADDER, anchors=(KnownRating("nobody", 1.0, "depth=1"),)).ratings()


def test_levels_that_are_no_better_are_found() -> None:
    assert not_monotone((WEAK, MIDDLE, STRONG)) == []
    (problem,) = not_monotone((WEAK, MIDDLE, replace(STRONG, elo=1100)))
    assert problem == f"level {STRONG.name} (1100) is rated no better than {MIDDLE.name} (1100)"


def test_tables_say_what_was_measured() -> None:
    known = KnownRating("known", 1000.0, "depth=5")
    encounter = Encounter(STRONG.name, "known", "depth=5", (0, 0, 5, 0, 5), 1)
    text = markdown(calibration(*LADDER, encounter, anchors=(known,)))
    levels, engines, circumstances = text.split("\n\n")
    assert len(levels.splitlines()) == 2 + 3
    assert levels.splitlines()[2].endswith("| 100 | 90 cp | 9 |  |  |")
    assert "| 400 | 10 cp | 2 | 75.0 % of 40 | 100.0 % |" in levels
    assert "| known | 1000 | depth=5 | 1191 | 75.0 % of 20 | 75.0 % |" in engines
    assert circumstances == "100 games, 2026-01-02; openings book.epd; commit abc; bench 123; 1 lost by a fault."
    assert "the zero of the scale is a guess" in markdown(calibration(*LADDER))


# -- files -------------------------------------------------------------------------------------------------------------


def test_the_record_is_kept_as_it_is(tmp_path: Path) -> None:
    known = (KnownRating("known", 1000.5, "10+0.1"),)
    for kept in (calibration(*LADDER), calibration(*LADDER, LADDER[0], anchors=known)):
        path = save(replace(kept, note='said "so"'), tmp_path)
        assert path == tmp_path / "strength" / "levels.json"
        assert load(tmp_path) == replace(kept, note='said "so"')
        assert records.load(tmp_path) == []  # the ledger's matches are another matter


def test_a_broken_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match=r"levels\.json: No such file"):
        load(tmp_path)
    path = save(calibration(*LADDER), tmp_path)
    data = json.loads(path.read_text(encoding="utf-8"))
    for wrong, message in (
        ({**data, "more": 1}, "got an unexpected keyword argument 'more'"),
        ({"levels": []}, "there is no 'anchors'"),
        ([1], ""),
        ({**data, "levels": [{"elo": 1}]}, "missing 3 required positional arguments: 'nodes'"),
    ):
        path.write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(CalibrationError, match=rf"levels\.json: {message}"):
            load(tmp_path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(CalibrationError, match=r"levels\.json: "):
        load(tmp_path)


def test_ratings_are_put_into_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (ROOT / "search" / "strength.py").read_text(encoding="utf-8")
    levels = [replace(level, elo=level.elo + 7) for level in LEVELS]
    text = edited_source(source, levels)
    (tmp_path / "edited_levels.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    edited = importlib.import_module("edited_levels")
    assert [vars(level) for level in edited.LEVELS] == [vars(level) for level in levels]
    assert edited_source(text, LEVELS) == source
    with pytest.raises(CalibrationError, match="was not measured"):
        edited_source(source, levels[1:])
    with pytest.raises(CalibrationError, match="not in the table of levels"):
        edited_source(source, [*levels, WEAK])


# -- what is played ----------------------------------------------------------------------------------------------------


def plan(tmp_path: Path, **changes: object) -> Plan:
    values: dict[str, object] = {
        "levels": (WEAK, MIDDLE, STRONG),
        "anchors": (),
        "command": ("engine", "--flag"),
        "options": {"Hash": "16"},
        "folder": tmp_path,
        "pairs": 4,
        "anchor_pairs": 3,
        "nearest": 2,
        "book": Book("book.epd"),
    }
    return Plan(**{**values, **changes})  # type: ignore[arg-type]


def test_neighbours_meet_and_anchors_meet_the_nearest(tmp_path: Path) -> None:
    anchor = anchor_from_pairs(["cmd=other", "name=An Other", "tc=1+0.1", "option.Hash=4", "rating=1180.5"])
    matches = plan(tmp_path, anchors=(anchor,)).matches()
    names = [tuple(engine.name for engine in match.engines) for match in matches]
    assert names == [
        (MIDDLE.name, WEAK.name),
        (STRONG.name, MIDDLE.name),
        (STRONG.name, "An Other"),
        (MIDDLE.name, "An Other"),
    ]
    first, second = matches[2].engines
    assert first.command == ("engine", "--flag")
    assert dict(first.options) == {"Hash": "16", "UCI_LimitStrength": "true", "UCI_Elo": "1200"}
    assert not first.limit.is_timed
    assert (str(second.limit), dict(second.options)) == ("1+0.1", {"Hash": "4"})
    assert matches[2].pgn == str(tmp_path / f"{STRONG.name}--An_Other.pgn")
    assert len({match.pgn for match in matches}) == 4
    assert [match.rounds for match in matches] == [4, 4, 3, 3]
    assert all(match.resume for match in matches)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["cmd=a", "depth=5"], "needs rating=NUMBER once"),
        (["cmd=a", "depth=5", "rating=x"], "needs rating=NUMBER once"),
        (["cmd=a", "depth=5", "rating=1", "rating=2"], "needs rating=NUMBER once"),
        (["cmd=a", "rating=1"], "engine a: no time control"),
        (["depth=5", "rating=1"], "without cmd="),
        (["cmd=a", "what=5", "rating=1"], "'what=5'"),
    ],
)
def test_wrong_anchors_are_refused(pairs: list[str], message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        anchor_from_pairs(pairs)


def test_plans_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    anchor = anchor_from_pairs(["cmd=a", "depth=5", "rating=1"])
    with pytest.raises(CalibrationError, match="two anchors are called a"):
        plan(tmp_path, anchors=(anchor, anchor))
    with pytest.raises(CalibrationError, match="--pairs is at least 1, not 0"):
        plan(tmp_path, pairs=0)


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The record and the table of levels in a folder of the test; three levels of the test engine."""
    monkeypatch.setattr(records, "LEDGER", tmp_path / "ledger")
    levels = (Level(1000, 100, 90, 9), Level(1300, 200, 50, 5), Level(1700, 400, 10, 2))
    monkeypatch.setattr(strength, "LEVELS", levels)
    source = tmp_path / "strength.py"
    rows = "    Level(1000, 100, 90, 9),\n    Level(1300, 200, 50, 5), Level(1700, 400, 10, 2))\n"
    source.write_text(f"LEVELS = (\n{rows}", encoding="utf-8")
    monkeypatch.setattr(strength, "__file__", str(source))
    (tmp_path / "book.epd").write_text(BOOK, encoding="utf-8")
    (tmp_path / "README.md").write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    return tmp_path


def test_a_calibration_is_played_kept_and_gone_on_with(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    games, readme, picture = elsewhere / "games", elsewhere / "README.md", elsewhere / "levels.svg"
    engine = [f"cmd={sys.executable}", f"arg={RATED}"]
    arguments = [str(games), "--pairs", "6", "--engine", *engine, "--book", str(elsewhere / "book.epd"), "--quiet"]
    arguments += ["--anchor", *engine, "name=known", "option.UCI_LimitStrength=true", "option.UCI_Elo=1500", "depth=9"]
    arguments += ["rating=1500", "--opponents", "3", "--anchor-pairs", "2"]
    written = ["--write", "--readme", str(readme), "--plot", str(picture), "--bench-nodes", "123", "--note", "A test"]
    assert calibrate.main([*arguments, *written]) == 0, capsys.readouterr().err
    table = capsys.readouterr().out.strip()
    assert readme.read_text(encoding="utf-8") == f"before\n{BEGIN}\n{table}\n{END}\nafter\n"
    assert table.endswith("bench 123; none lost by a fault. A test")
    assert "<svg" in picture.read_text(encoding="utf-8")
    record = load()
    assert [(one.first, one.second, one.games, one.limit) for one in record.encounters] == [
        ("200n-50cp-5l", "100n-90cp-9l", 12, OWN_NODES),
        ("400n-10cp-2l", "200n-50cp-5l", 12, OWN_NODES),
        ("200n-50cp-5l", "known", 4, "depth=9"),
        ("400n-10cp-2l", "known", 4, "depth=9"),
        ("100n-90cp-9l", "known", 4, "depth=9"),
    ]
    assert record.anchors == (KnownRating("known", 1500.0, "depth=9"),)
    elos = [level.elo for level in record.levels]
    assert elos == sorted(elos)
    source = Path(strength.__file__).read_text(encoding="utf-8")
    assert source == (
        f"LEVELS = (\n    Level({elos[0]}, 100, 90, 9),\n    Level({elos[1]}, 200, 50, 5), "
        f"Level({elos[2]}, 400, 10, 2))\n"
    )
    # The same again, with the new ratings in the table: all games are there.
    monkeypatch.setattr(strength, "LEVELS", record.levels)
    monkeypatch.setattr(module, "play", None)
    assert calibrate.main([*arguments, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [level["elo"] for level in answer["levels"]] == elos
    assert answer["rating_list"]["games"] == 36
    # And from the record alone.
    assert calibrate.main(["--readme", str(readme)]) == 0
    assert capsys.readouterr().out.strip() == table


def test_what_is_not_monotone_is_not_written(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Levels whose ratings are the wrong way round: the test engine plays by the rating that it is told."""
    source = Path(strength.__file__)
    rows = "LEVELS = (Level(2500, 100, 90, 9), Level(1500, 200, 50, 5))\n"
    source.write_text(rows, encoding="utf-8")
    monkeypatch.setattr(strength, "LEVELS", (Level(2500, 100, 90, 9), Level(1500, 200, 50, 5)))
    engine = ["--engine", f"cmd={sys.executable}", f"arg={RATED}"]
    arguments = [str(elsewhere / "games"), *engine, "--pairs", "5", "--book", str(elsewhere / "book.epd"), "--quiet"]
    assert calibrate.main([*arguments, "--write"]) == 1
    said = capsys.readouterr().err
    assert "level 200n-50cp-5l" in said
    assert "is rated no better than 100n-90cp-9l" in said
    assert "nothing was written" in said
    assert source.read_text(encoding="utf-8") == rows
    assert not module.record_path().exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pairs", "5"], "--pairs goes with a FOLDER"),
        (["--pairs", "0"], "--pairs goes with a FOLDER"),
        (["--seed", "0"], "--seed goes with a FOLDER"),
        (["--write"], "--write goes with a FOLDER"),
        (["games", "--pairs", "0"], "--pairs is at least 1"),
        (["games", "--anchor-pairs", "0"], "--anchor-pairs is at least 1"),
        (["games", "--anchor", "cmd=stockfish"], "needs rating=NUMBER"),
        (["games", "--engine", f"cmd={sys.executable}", "dir=x"], "dir and restart have no meaning"),
        (["--plot", "plot.pdf"], "plot.pdf"),
    ],
)
def test_the_command_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrate.main(arguments) == 2
    assert message in capsys.readouterr().err


# -- the project -------------------------------------------------------------------------------------------------------


def test_the_levels_have_the_ratings_of_the_record() -> None:
    record = load()
    assert record.levels == LEVELS
    assert record.rated().levels == LEVELS
    assert not_monotone(LEVELS) == []


def test_the_documentation_has_the_tables_of_the_record() -> None:
    text = (ROOT / "docs" / "strength.md").read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == markdown(load())
    assert "bench/ledger/strength/levels.svg" in text
    assert "<svg" in (ROOT / "bench" / "ledger" / "strength" / "levels.svg").read_text(encoding="utf-8")
