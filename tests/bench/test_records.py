"""The ledger: its records, its table, and that every quoted Elo is in it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bench import records
from bench.commands import epd, ledger, sprt
from bench.records import (
    LedgerError,
    Record,
    SuiteRecord,
    current_commit,
    load,
    load_suites,
    save,
    table,
)
from engine.files import locked
from search.strength import LEVELS
from tests.bench.fakes import fake
from tests.bench.quotes import check, wrong_quotes

RECORDED = Path(__file__).parent / "recorded"

RECORD = Record(
    id="null-move",
    what="null move pruning | first version",
    date="2024-05-01",
    commits=("0123456789",),
    engines=("new", "old"),
    book="8moves.pgn",
    time_control="1+0.01",
    games=800,
    pentanomial=(20, 60, 170, 90, 60),
    elo=38.08,
    elo_error=9.21,
    nelo=51.3,
    verdict="accepted",
    llr=2.97,
    elo0=0.0,
    elo1=10.0,
    model="normalized",
    bench_nodes=123456,
)

SUITE = SuiteRecord(
    "wac",
    "wac.epd",
    "movetime=1",
    201,
    {"us": 193, "them": 195},
    ("abc",),
    note="one | thread",
    date="2024-06-01",
)


def test_every_quoted_elo_has_its_record_and_the_table_is_current() -> None:
    assert check() == []


def test_a_record_survives_the_file_and_enters_the_table(tmp_path: Path) -> None:
    save(RECORD, tmp_path)
    earlier = replace(RECORD, id="tempo", date="2024-04-01", llr=None, elo0=None, elo1=None, verdict="measured")
    save(earlier, tmp_path)
    assert load(tmp_path) == [earlier, RECORD]
    text = (tmp_path / "README.md").read_text()
    assert text == table([earlier, RECORD])
    row = text.splitlines()[-1]
    assert row.startswith(
        "| null-move | null move pruning \\| first version | +38.1 +- 9.2 | 2.97 [0, 10] normalized |"
    )
    assert "| 20, 60, 170, 90, 60 |" in row
    assert row.endswith("| 0123456789 | 123456 | 2024-05-01 | accepted |")
    with pytest.raises(LedgerError, match="already has a record null-move"):
        save(RECORD, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"x\.json:1"),
        ('{"id": "x", "colour": "red"}', "a record must be a JSON object"),
        ('{"id": "x"}', "a record must be a JSON object"),
        (json.dumps({**asdict(RECORD), "id": "x", "elo": "38.1"}), "x.json: .* a record must be a JSON object"),
        (json.dumps({name: getattr(RECORD, name) for name in Record.__slots__}), "the record has the id null-move"),
    ],
)
def test_broken_records_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(LedgerError, match=message):
        load(tmp_path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("# gain    +38.1 +- 9.2  [ledger: null-move]", None),
        ("Null move pruning gains +38.08 +- 9.21 Elo [ledger: null-move].", None),
        ("A +38.1 +- 9.2 [ledger: null-move], B 193 of 201 [ledger: wac]", None),
        ("# gain    +38.2 +- 9.2  [ledger: null-move]", "the record null-move says +38.1 +- 9.2"),
        ("# gain    +38.1 +- 9.2  [ledger: no-such]", "no record no-such"),
        ("# gain    38 Elo  [ledger: null-move]", "the record null-move says"),
        ("+38.1 +- 9.2 and more [ledger: null-move]", "the record null-move says"),
        ("It gained 12.5 Elo", "12.5 Elo without a"),
        ("Elo 2800 engines, UCI_Elo 1350", None),
        ("The other one solved 195 of 201 [ledger: wac]", None),
        ("| WAC | 193 of 201; them 195  [ledger: wac] | 190 |", None),
        ("| WAC | 194 of 201  [ledger: wac] |", "the record wac says 193 of 201; them 195 or 193 of 201 or 195 of 201"),
        ("| WAC | 1193 of 201  [ledger: wac] |", "the record wac says"),
        ("| WAC | 193 of 200  [ledger: wac] |", "the record wac says"),
        ("+38.1 +- 9.2  [ledger: wac]", "the record wac says 193 of 201"),
        ("| clean | 800 games, 1 fault  [ledger: null-move] |", None),
        ("| clean | 800 games, 0 faults  [ledger: null-move] |", "says +38.1 +- 9.2 or 800 games, 1 fault"),
        ("| toga2 | +38.1 +- 9.2  [ledger: null-move] | 800 games, 1 fault |", None),
    ],
)
def test_quotes(line: str, problem: str | None) -> None:
    found = wrong_quotes(f"first\n{line}\n", "file.py", [replace(RECORD, faults=1), SUITE])
    if problem is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith("file.py:2: ")
        assert problem in found[0]


def test_suites_have_a_table_of_their_own(tmp_path: Path) -> None:
    save(RECORD, tmp_path)
    readme = tmp_path / "README.md"
    assert "suite" not in readme.read_text()
    for record in (SUITE, replace(SUITE, id="sts", solved={"us": 9}, note="", date="2024-05-01")):
        save(record, tmp_path)
    assert load_suites(tmp_path)["wac"] == SUITE
    matches, suites = readme.read_text().split("Each test suite and")
    assert matches.rstrip() == table([RECORD]).rstrip()
    assert suites.splitlines()[-2:] == [
        "| sts | wac.epd | 9 of 201 | movetime=1 | us | abc | - | 2024-05-01 |",
        "| wac | wac.epd (one \\| thread) | 193 of 201; them 195 | movetime=1 | us, them | abc | - | 2024-06-01 |",
    ]
    with pytest.raises(LedgerError, match=r"already has a record wac; choose another id or delete .*wac\.json"):
        save(replace(SUITE, solved={"us": 197}), tmp_path)
    save(replace(RECORD, id="tempo"), tmp_path)
    assert "| 193 of 201; them 195 |" in readme.read_text()


def test_a_one_sided_match_is_quoted_by_its_points(tmp_path: Path) -> None:
    record = replace(RECORD, pentanomial=(0, 0, 0, 1, 99), games=200, elo=None, elo_error=None, nelo=None)
    save(record, tmp_path)
    assert load(tmp_path) == [record]
    assert records.quote(record) == "99.8 % of the points  [ledger: null-move]"
    assert "| 99.8 % of the points |" in table([record])
    assert wrong_quotes(f"won {records.quote(record)}", "file.py", [record]) == []
    assert wrong_quotes("+38.1 +- 9.2  [ledger: null-move]", "file.py", [record]) == [
        "file.py:1: the record null-move says 99.8 % of the points"
    ]


def test_check_sees_a_stale_table_wrong_quotes_and_broken_records(tmp_path: Path) -> None:
    folder = tmp_path / "bench" / "ledger"
    save(RECORD, folder)
    save(SUITE, folder)
    (tmp_path / "README.md").write_text(f"fine: {records.quote(RECORD)}\n193 of 201  [ledger: wac]\n")
    assert check(tmp_path) == []
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "a.py").write_text("# gains 5 Elo\n")
    (folder / "README.md").write_text(table([RECORD]))
    problems = check(tmp_path)
    assert len(problems) == 2
    assert "is stale" in problems[0]
    assert problems[1].startswith("search/a.py:1: 5 Elo without")
    (folder / "suites" / "wac.json").write_text("{")
    assert len(problems := check(tmp_path)) == 1
    assert "wac.json" in problems[0]


def test_records_that_are_saved_at_once_all_enter_the_table(tmp_path: Path) -> None:
    names = [f"match-{number}" for number in range(8)] * 2
    with ThreadPoolExecutor(len(names)) as pool:
        saved = [pool.submit(save, replace(RECORD, id=name), tmp_path) for name in names]
        problems = [str(error) for future in saved if (error := future.exception())]
    assert len(problems) == 8
    assert all("the ledger already has a record match-" in problem for problem in problems)
    assert (tmp_path / "README.md").read_text() == table(load(tmp_path))
    assert len(load(tmp_path)) == 8


def test_the_file_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "PATIENCE", 0.1)
    readme = tmp_path / "README.md"
    with locked(readme), pytest.raises(LedgerError, match=f"{readme}: cannot be written: is in use by another"):
        save(RECORD, tmp_path)
    readme.write_text("# My notes\n", encoding="utf-8")
    with pytest.raises(LedgerError, match=f"{readme}: cannot be written: already exists and is not a table"):
        save(RECORD, tmp_path)


def test_what_is_no_table_or_record_is_left_as_it_is(tmp_path: Path) -> None:
    readme, other = tmp_path / "README.md", tmp_path / "suites" / "wac.json"
    readme.write_text("# My notes\n", encoding="utf-8")
    with pytest.raises(LedgerError, match=r"already exists and is not a table of the ledger"):
        save(SUITE, tmp_path)
    assert readme.read_text(encoding="utf-8") == "# My notes\n"
    readme.unlink()
    for text in ('{"my": "data"}\n', "[1]", '{"id": "wac", "suite": "", "limit": "", "positions": 1, "solved": {}}'):
        other.write_text(text, encoding="utf-8")
        with pytest.raises(LedgerError, match=r"wac\.json"):
            save(SUITE, tmp_path)
        assert other.read_text(encoding="utf-8") == text


EPD = '6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - bm Ra8#; id "back rank";\n'


def test_broken_suite_records_are_named(tmp_path: Path) -> None:
    (tmp_path / "suites").mkdir()
    for wrong in ('"x"', '{"a": 1}, "date": 2026'):
        (tmp_path / "suites" / "x.json").write_text(
            f'{{"id": "x", "suite": "s", "limit": "depth=1", "positions": 1, "solved": {wrong}}}', encoding="utf-8"
        )
        with pytest.raises(LedgerError, match=r"x\.json: .* a record must be a JSON object"):
            load_suites(tmp_path)


def test_nothing_is_recorded_beside_a_broken_record(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(LedgerError, match=r"broken\.json:1"):
        records.check_unused("new", tmp_path)
    with pytest.raises(LedgerError, match=r"broken\.json:1"):
        save(RECORD, tmp_path)
    with pytest.raises(LedgerError, match=r"broken\.json:1"):
        records.check_unused("new", tmp_path, suite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["broken.json"]


def test_epd_records_a_whole_suite_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(records, "LEDGER", tmp_path / "ledger")
    path, program = tmp_path / "one.epd", fake("Us").command
    path.write_text(EPD, encoding="utf-8")
    base = [str(path), "--nodes", "2000", "--ledger", "goal-one", "--commit", "abc"]
    base += ["--engine", f"cmd={program[0]}", f"arg={program[1]}", "name=Us"]
    assert epd.main([*base, "--first", "1"]) == 2
    assert epd.main(base) == 0
    record = load_suites(tmp_path / "ledger")["goal-one"]
    assert (record.suite, record.limit, record.positions, record.commits) == ("one.epd", "nodes=2000", 1, ("abc",))
    saved = tmp_path / "ledger" / "suites" / "goal-one.json"
    before = saved.read_bytes()
    capsys.readouterr()
    assert epd.main(base) == 1
    told = f"secateur epd: the ledger already has a record goal-one; choose another id or delete {saved}\n"
    assert capsys.readouterr().err == told
    assert saved.read_bytes() == before
    path.write_text(EPD + "nonsense\n", encoding="utf-8")
    assert epd.main([*base, "--ledger", "goal-two"]) == 1
    assert "goal-two" not in load_suites(tmp_path / "ledger")


def test_the_levels_have_the_ratings_of_the_record() -> None:
    listed = json.loads((records.LEDGER / "strength" / "levels.json").read_text(encoding="utf-8"))
    later = sum(record.elo or 0.0 for record in load() if record.id == listed.get("since"))
    ratings = {line["name"]: round(line["rating"] + later) for line in listed["ratings"]}
    assert {level.name: level.elo for level in LEVELS}.items() <= ratings.items()


def test_the_commit_is_that_of_a_checkout_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setattr(records, "PROJECT_ROOT", tmp_path)
    assert current_commit() == ""
    file = tmp_path / "file"
    file.write_text("one\n")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=test", "-c", "user.email=test@localhost"]
    for words in (["init", "-q"], ["add", "file"], ["commit", "-q", "--no-gpg-sign", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    assert re.fullmatch("[0-9a-f]{10}", current_commit())
    file.write_text("two\n")
    assert re.fullmatch(r"[0-9a-f]{10}\+", current_commit())
    # Installed within a checkout of something else, as in a virtual environment there.
    monkeypatch.setattr(records, "PROJECT_ROOT", tmp_path / "packages")
    (tmp_path / "packages").mkdir()
    assert current_commit() == ""


def test_sprt_records_its_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("scipy", reason="the LLR needs SciPy")
    monkeypatch.setattr(records, "LEDGER", tmp_path)
    arguments = [str(RECORDED / "fastchess_normalized.pgn"), "--for", "stronger", "--elo1", "20", "--beta", "0.1"]
    arguments += ["--ledger", "more-nodes", "--what", "twice the nodes", "--commit", "abc", "--bench-nodes", "77"]
    assert sprt.main(arguments) == 0
    assert "+179.6 +- 65.3  [ledger: more-nodes]" in capsys.readouterr().err
    (record,) = load(tmp_path)
    assert record.pentanomial == (3, 1, 20, 9, 28)
    assert (record.llr, record.verdict, record.games, record.commits) == (2.93, "accepted", 122, ("abc",))
    assert sprt.main(arguments) == 1
    assert "already has a record more-nodes" in capsys.readouterr().err
    assert ledger.main([]) == 0
    assert capsys.readouterr().out == "more-nodes: twice the nodes: +179.6 +- 65.3, 122 games, accepted\n"
