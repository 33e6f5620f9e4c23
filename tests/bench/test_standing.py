"""The table of strength: what each kind of record says about a goal, and that the documentation has the current one."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from bench import records, standing
from bench.commands import epd, ledger
from bench.records import LedgerError, Record, SuiteRecord
from bench.speed import MarkersError
from bench.standing import GOALS, Goal, standing_of, verdict
from engine.compiler.sources import PROJECT_ROOT


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


@pytest.mark.parametrize(
    ("pairs", "elo", "value", "reached"),
    [
        # Points by hand: 10 pairs of which 5 are won 2:0, 5 drawn 1:1 is 15 of 20.
        ((0, 0, 5, 0, 5), 190.8, 75.0, "aim"),
        ((0, 0, 10, 0, 0), 0.0, 50.0, "must"),
        ((1, 2, 4, 2, 1), 0.0, 50.0, "must"),
        ((4, 3, 2, 1, 0), -190.8, 25.0, "MISSED"),
    ],
)
def test_a_match_counts_points(pairs: tuple[int, ...], elo: float, value: float, reached: str) -> None:
    goal = Goal("toga2", "goal-toga2", "score", 50, 65)
    found = standing_of(goal, {"goal-toga2": match(pairs, elo)}, {})
    assert found is not None
    assert found.value == pytest.approx(value)
    assert "[ledger: goal-toga2]" in found.text
    assert verdict(goal, found) == reached


def test_what_was_measured_is_named_by_its_benchmark() -> None:
    goal = Goal("toga2", "goal-toga2", "score", 50, 65)
    for nodes, basis in ((None, "20 games"), (1234, "20 games, bench 1234")):
        record = replace(match((0, 0, 10, 0, 0), 0.0), bench_nodes=nodes)
        found = standing_of(goal, {"goal-toga2": record}, {})
        assert found is not None
        assert found.basis == basis


def test_points_stand_where_there_is_no_finite_elo() -> None:
    goal = Goal("toga2", "goal-toga2", "score", 50, 65)
    record = replace(match((0, 0, 0, 1, 99), 1.0), elo=None, elo_error=None, nelo=None)
    found = standing_of(goal, {"goal-toga2": record}, {})
    assert found is not None
    assert found.text == "99.8 % of the points  [ledger: goal-toga2]"
    assert verdict(goal, found) == "aim"
    assert standing_of(Goal("x", "goal-toga2", "elo", 1, 2), {"goal-toga2": record}, {}) is None


def test_threads_count_elo_and_suites_positions() -> None:
    goal = Goal("threads", "goal-toga2", "elo", 30, 60)
    assert verdict(goal, standing_of(goal, {"goal-toga2": match((0, 0, 1, 1, 0), 29.9)}, {})) == "MISSED"
    assert verdict(goal, standing_of(goal, {"goal-toga2": match((0, 0, 1, 1, 0), 30.0)}, {})) == "must"
    goal = Goal("wac", "goal-wac", "solved", 190, 197)
    for solved, reached in ((189, "MISSED"), (190, "must"), (197, "aim")):
        found = standing_of(goal, {}, {"goal-wac": suite(solved)})
        assert found is not None
        assert found.text == f"{solved} of 201; them 195  [ledger: goal-wac]"
        assert verdict(goal, found) == reached


def test_one_fault_spoils_all_games() -> None:
    goal = Goal("clean", "goal-toga2", "clean", 20, 100)
    pairs = (0, 0, 10, 0, 0)
    for faults, text, reached in (
        (0, "20 games, 0 faults  [ledger: goal-toga2]", "must"),
        (1, "20 games, 1 fault  [ledger: goal-toga2]", "MISSED"),
        (2, "20 games, 2 faults  [ledger: goal-toga2]", "MISSED"),
        (None, None, "not measured"),
    ):
        found = standing_of(goal, {"goal-toga2": match(pairs, 0.0, faults)}, {})
        assert (found and found.text) == text
        assert verdict(goal, found) == reached


@pytest.mark.parametrize("kind", ["score", "elo"])
def test_a_match_with_faults_says_so(kind: str) -> None:
    for faults, basis in ((0, "20 games"), (None, "20 games"), (1, "20 games, 1 fault"), (3, "20 games, 3 faults")):
        record = match((0, 0, 10, 0, 0), 0.0, faults)
        found = standing_of(Goal("x", "goal-toga2", kind, 1, 2), {"goal-toga2": record}, {})
        assert found is not None
        assert found.basis == basis


def test_one_failure_spoils_a_run_of_checks() -> None:
    goal = Goal("sessions", "goal-wac", "passed", 100, 500)
    for positions, solved, reached in ((201, 201, "must"), (201, 200, "MISSED"), (99, 99, "MISSED"), (500, 500, "aim")):
        record = replace(suite(solved), positions=positions, solved={"us": solved})
        found = standing_of(goal, {}, {"goal-wac": record})
        assert found is not None
        assert found.text == f"{solved} of {positions}  [ledger: goal-wac]"
        assert verdict(goal, found) == reached
    assert standing_of(goal, {"goal-wac": match((0, 0, 1, 0, 0), 0.0, name="goal-wac")}, {}) is None


def test_a_goal_without_its_kind_of_record_is_not_measured() -> None:
    goal = Goal("wac", "goal-wac", "solved", 190, 197)
    assert verdict(goal, standing_of(goal, {}, {})) == "not measured"
    assert (
        verdict(goal, standing_of(goal, {"goal-wac": match((0, 0, 1, 0, 0), 0.0, name="goal-wac")}, {}))
        == "not measured"
    )
    with pytest.raises(ValueError, match="not 'best'"):
        Goal("x", "x", "best", 1, 2)


def test_table_is_written_between_its_markers_and_known_to_be_current(tmp_path: Path) -> None:
    folder, readme = tmp_path / "ledger", tmp_path / "README.md"
    folder.mkdir()
    readme.write_text(f"before\n{standing.BEGIN}\nold\n{standing.END}\nafter\n", encoding="utf-8")
    assert not standing.is_current(readme, folder)
    standing.write_into(readme, folder)
    assert standing.is_current(readme, folder)
    assert readme.read_text(encoding="utf-8").count("not measured") == len(GOALS)
    records.save_suite(suite(190), folder)
    assert not standing.is_current(readme, folder)
    standing.write_into(readme, folder)
    row = "| 190 of 201; them 195  [ledger: goal-wac] | movetime=1 | 190 | 197 | must |"
    assert row in readme.read_text(encoding="utf-8")
    readme.write_text("no table", encoding="utf-8")
    with pytest.raises(ValueError, match="strength: begin"):
        standing.write_into(readme, folder)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_all_but_the_table_stays_as_it_is(tmp_path: Path, newline: str) -> None:
    folder, readme = tmp_path / "ledger", tmp_path / "README.md"
    folder.mkdir()
    text = f"\ufeffbefore\n{standing.BEGIN}\nold\n{standing.END}\nafter  \n\n".replace("\n", newline)
    readme.write_bytes(text.encode())
    standing.write_into(readme, folder)
    found = readme.read_bytes().decode()
    assert found.startswith(f"\ufeffbefore{newline}{standing.BEGIN}{newline}| against")
    assert found.endswith(f"|{newline}{standing.END}{newline}after  {newline}{newline}")
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
    readme.write_text(text.format(begin=standing.BEGIN, end=standing.END), encoding="utf-8")
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
    assert standing.BEGIN in text
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
