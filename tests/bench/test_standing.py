"""The table of strength: what it says of each kind of record, and that the documentation has the current one."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from bench import records, standing
from bench.commands import epd, ledger
from bench.markdown import MarkersError, markers
from bench.records import LedgerError, Record, SuiteRecord
from bench.standing import CLEAN, ROWS, figures
from engine.compiler.sources import PROJECT_ROOT
from search.strength import LEVELS

BEGIN, END = markers("strength")


def match(pairs: tuple[int, ...], elo: float, faults: int | None = 0, name: str = "goal-toga2") -> Record:
    games = 2 * sum(pairs)
    return Record(
        name,
        "a match",
        "2026-01-01",
        (),
        ("us", "them"),
        "b",
        "1+0.01",
        games,
        pairs,
        elo,
        30.0,
        elo,
        "measured",
        faults=faults,
    )


def suite(solved: int) -> SuiteRecord:
    return SuiteRecord("goal-wac", "wac.epd", "movetime=1", 201, {"us": solved, "them": 195})


def test_a_match_counts_points_and_says_its_faults() -> None:
    # Points by hand: 10 pairs of which 5 are won 2:0, 5 drawn 1:1 is 15 of 20.
    record = match((0, 0, 5, 0, 5), 190.8)
    assert figures(record) == ("75.0 % (+190.8 +- 30.0  [ledger: goal-toga2])", "20 games")
    assert figures(replace(record, faults=1, bench_nodes=1234))[1] == "20 games, 1 fault, bench 1234"
    one_sided = replace(match((0, 0, 0, 1, 99), 1.0), elo=None, elo_error=None, nelo=None)
    assert figures(one_sided)[0] == "99.8 % of the points  [ledger: goal-toga2]"


def test_games_without_a_fault_are_counted() -> None:
    (one, *_) = sorted(CLEAN)
    for faults, text in ((0, "20 games, 0 faults"), (1, "20 games, 1 fault"), (None, "not counted")):
        assert figures(match((0, 0, 10, 0, 0), 0.0, faults, one)) == (f"{text}  [ledger: {one}]", "1+0.01")


def test_suites_count_positions() -> None:
    assert figures(suite(189)) == ("189 of 201; them 195  [ledger: goal-wac]", "movetime=1")


def test_tables_are_written_between_their_markers_and_known_to_be_current(tmp_path: Path) -> None:
    folder, readme = tmp_path / "ledger", tmp_path / "README.md"
    folder.mkdir()
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    assert not standing.is_current(readme, folder)
    standing.write_into(readme, folder)
    assert standing.is_current(readme, folder)
    assert readme.read_text(encoding="utf-8").count("not measured") == len(ROWS)
    records.save_suite(suite(190), folder)
    assert not standing.is_current(readme, folder)
    standing.write_into(readme, folder)
    assert "| 190 of 201; them 195  [ledger: goal-wac] | movetime=1 |" in readme.read_text(encoding="utf-8")
    readme.write_text("no table", encoding="utf-8")
    assert standing.is_current(readme, folder)
    with pytest.raises(MarkersError, match="strength: begin"):
        standing.write_into(readme, folder)


def test_the_table_of_levels_is_written_where_it_has_a_place(tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="ratings need SciPy")
    readme = tmp_path / "README.md"
    begin, end = markers("levels")
    readme.write_text(f"{begin}\n{end}\n", encoding="utf-8")
    standing.write_into(readme)
    assert f"| {LEVELS[0].elo} | " in readme.read_text(encoding="utf-8").partition(begin)[2]
    assert standing.is_current(readme)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_all_but_the_table_stays_as_it_is(tmp_path: Path, newline: str) -> None:
    folder, readme = tmp_path / "ledger", tmp_path / "README.md"
    folder.mkdir()
    text = f"\ufeffbefore\n{BEGIN}\nold\n{END}\nafter  \n\n".replace("\n", newline)
    readme.write_bytes(text.encode())
    standing.write_into(readme, folder)
    found = readme.read_bytes().decode()
    assert found.startswith(f"\ufeffbefore{newline}{BEGIN}{newline}| against")
    assert found.endswith(f"|{newline}{END}{newline}after  {newline}{newline}")
    assert found.count("\n") == found.count(newline)
    assert standing.is_current(readme, folder)


@pytest.mark.parametrize(
    "text",
    [
        "{begin}\nold\n{end}\nmine\n{begin}\n{end}\n",
        "see `{begin}`\nmine\n{begin}\nold\n{end}\n",
        "{begin}\nold\n{end}\nmine, then {end}\n",
        "see `{begin}`\nmine\n{end}\n",
        "{end}\nmine\n{begin}\n",
        "{begin}\nmine {end}\n",
        "```\n{begin}\nmine\n{end}\n```\n",
        "  ~~~~ text\n{begin}\nmine\n~~~\n{end}\n~~~~\n",
        "    {begin}\n    mine\n    {end}\n",
    ],
)
def test_markers_that_enclose_no_table_cost_no_text(tmp_path: Path, text: str) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(text.format(begin=BEGIN, end=END), encoding="utf-8")
    before = readme.read_bytes()
    with pytest.raises(MarkersError, match="strength: "):
        standing.write_into(readme, tmp_path)
    assert readme.read_bytes() == before


def test_a_readme_is_a_file_of_moderate_size(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    with readme.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises((OSError, MarkersError), match="larger than"):
        standing.write_into(readme, tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_no_readme(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    os.mkfifo(readme)
    with pytest.raises(OSError, match="is a pipe"):
        standing.is_current(readme, tmp_path)


def test_what_is_no_table_or_record_is_left_as_it_is(tmp_path: Path) -> None:
    readme, other = tmp_path / "README.md", tmp_path / "suites" / "goal-wac.json"
    readme.write_text("# My notes\n", encoding="utf-8")
    with pytest.raises(LedgerError, match=r"is there already and is no table of the ledger"):
        records.save_suite(suite(190), tmp_path)
    assert readme.read_text(encoding="utf-8") == "# My notes\n"
    readme.unlink()
    other.write_text('{"my": "data"}\n', encoding="utf-8")
    with pytest.raises(LedgerError, match=r"goal-wac\.json"):
        records.save_suite(suite(190), tmp_path)
    assert other.read_text(encoding="utf-8") == '{"my": "data"}\n'


def test_a_broken_suite_record_is_named(tmp_path: Path) -> None:
    path = records.save_suite(suite(190), tmp_path)
    data = json.loads(path.read_text(encoding="utf-8"))
    for wrong in ({**data, "id": "other"}, {**data, "more": 1}, {**data, "solved": {}}, [1]):
        path.write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(LedgerError, match=r"goal-wac\.json"):
            records.load_suites(tmp_path)


def test_the_documentation_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    text = (PROJECT_ROOT / "docs" / "strength.md").read_text(encoding="utf-8")
    assert BEGIN in text
    assert ledger.main(["--check"]) == 0, capsys.readouterr().err


EPD = '6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - bm Ra8#; id "back rank";\n'


def test_epd_records_a_whole_suite_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LEDGER", tmp_path / "ledger")
    path = tmp_path / "one.epd"
    path.write_text(EPD, encoding="utf-8")
    base = [str(path), "--nodes", "2000", "--ledger", "goal-one", "--commit", "abc"]
    assert epd.main([*base, "--first", "1"]) == 2
    assert epd.main([str(path), *base]) == 2
    assert epd.main(base) == 0
    record = records.load_suites(tmp_path / "ledger")["goal-one"]
    assert (record.suite, record.limit, record.positions, record.commits) == ("one.epd", "nodes=2000", 1, ("abc",))
    assert record.solved == {"Secateur": 1}
    path.write_text(EPD + "nonsense\n", encoding="utf-8")
    assert epd.main([*base[:4], "goal-two"]) == 1
    assert "goal-two" not in records.load_suites(tmp_path / "ledger")
