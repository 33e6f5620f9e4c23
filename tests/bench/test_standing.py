"""The table of strength: what it says of each kind of record, and that the documentation has the current one."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bench import records, standing
from bench.commands import epd, ledger
from bench.markdown import MarkersError, markers, with_table
from bench.records import LedgerError, Record, SuiteRecord
from bench.standing import CLEAN, ROWS, figures
from engine.compiler.sources import PROJECT_ROOT
from search.strength import LEVELS
from tests.bench.fakes import fake

BEGIN, END = markers("strength")


def match(pairs: tuple[int, ...], elo: float, faults: int | None = 0, name: str = "goal-toga2") -> Record:
    played = ("b", "1+0.01", 2 * sum(pairs), pairs, elo, 30.0, elo, "measured")
    return Record(name, "a match", "2026-01-01", (), ("us", "them"), *played, faults=faults)


def suite(solved: int) -> SuiteRecord:
    return SuiteRecord("goal-wac", "wac.epd", "movetime=1", 201, {"us": solved, "them": 195})


def test_a_row_says_what_was_measured_and_from_what() -> None:
    # Points by hand: 10 pairs of which 5 are won 2:0, 5 drawn 1:1 is 15 of 20.
    record = match((0, 0, 5, 0, 5), 190.8)
    assert figures(record) == ("75.0 % (+190.8 +- 30.0  [ledger: goal-toga2])", "20 games")
    assert figures(replace(record, faults=1, bench_nodes=1234))[1] == "20 games, 1 fault, bench 1234"
    one_sided = replace(match((0, 0, 0, 1, 99), 1.0), elo=None, elo_error=None, nelo=None)
    assert figures(one_sided)[0] == "99.8 % of the points  [ledger: goal-toga2]"
    (one, *_) = sorted(CLEAN)
    for faults, text in ((0, "20 games, 0 faults"), (1, "20 games, 1 fault"), (None, "not counted")):
        assert figures(match((0, 0, 10, 0, 0), 0.0, faults, one)) == (f"{text}  [ledger: {one}]", "1+0.01")
    assert figures(suite(189)) == ("189 of 201; them 195  [ledger: goal-wac]", "movetime=1")


def test_tables_are_renewed_between_their_markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich", reason="the command needs rich")
    page = tmp_path / "strength.md"
    shutil.copytree(records.LEDGER / "strength", tmp_path / "ledger" / "strength")
    monkeypatch.setattr(records, "LEDGER", tmp_path / "ledger")
    monkeypatch.setattr(standing, "PAGE", page)
    places = "between\n".join(f"{begin}\nold\n{end}\n" for begin, end in map(markers, ("strength", "levels")))
    page.write_text(f"before\n{places}after\n", encoding="utf-8")
    assert not standing.is_current()
    assert ledger.main(["--write"]) == 0
    assert standing.is_current()
    text = page.read_text(encoding="utf-8")
    assert text.count("not measured") == len(ROWS)
    assert f"| {LEVELS[0].elo} | " in text.partition(markers("levels")[0])[2]
    assert text.startswith(f"before\n{BEGIN}\n| against")
    assert text.endswith(f"|\n{markers('levels')[1]}\nafter\n")
    records.save_suite(suite(190))
    assert not standing.is_current()
    standing.renew()
    assert "| 190 of 201; them 195  [ledger: goal-wac] | movetime=1 |" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    [
        "no markers",
        "{begin}\nold\n{end}\nmine\n{begin}\n{end}\n",
        "see `{begin}`\nmine\n{end}\n",
        "{end}\nmine\n{begin}\n",
        "{begin}\nmine {end}\n",
        "    {begin}\n    mine\n    {end}\n",
    ],
)
def test_a_page_without_a_place_for_the_table_is_refused(page: str) -> None:
    with pytest.raises(MarkersError, match="strength: begin"):
        with_table(page.format(begin=BEGIN, end=END), "strength", "| table |")


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
    path, program = tmp_path / "one.epd", fake("Us").command
    path.write_text(EPD, encoding="utf-8")
    base = [str(path), "--nodes", "2000", "--ledger", "goal-one", "--commit", "abc"]
    base += ["--engine", f"cmd={program[0]}", f"arg={program[1]}", "name=Us"]
    assert epd.main([*base, "--first", "1"]) == 2
    assert epd.main([str(path), *base]) == 2
    assert epd.main(base) == 0
    record = records.load_suites(tmp_path / "ledger")["goal-one"]
    assert (record.suite, record.limit, record.positions, record.commits) == ("one.epd", "nodes=2000", 1, ("abc",))
    assert list(record.solved) == ["Us"]
    path.write_text(EPD + "nonsense\n", encoding="utf-8")
    assert epd.main([*base, "--ledger", "goal-two"]) == 1
    assert "goal-two" not in records.load_suites(tmp_path / "ledger")
