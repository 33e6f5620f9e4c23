"""Test suites: reading lines of every kind, judging answers, and the command with an engine made of a table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import chess
import pytest

from bench.commands import epd
from bench.suites import SuiteError, load_suite, parse_problem

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "data" / "suites"

MATE = "6k1/5ppp/8/8/8/8/8/K3R3 w - -"
FORK = "4k3/8/8/3q4/8/2N5/8/4K3 w - -"
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"


def test_best_and_bad_moves() -> None:
    problem = parse_problem(f'{START} bm e4 Nf3; am a3; id "one";')
    assert problem.name == "one"
    assert problem.grades == (("e2e4", 1), ("g1f3", 1))
    assert problem.bad == ("a2a3",)
    assert [problem.points(chess.Move.from_uci(move), None) for move in ("e2e4", "a2a3", "d2d4")] == [1, 0, 0]
    avoid = parse_problem(f"{START} am f3;", "suite:7")
    assert avoid.name == "suite:7"
    assert [avoid.points(chess.Move.from_uci(move), None) for move in ("f2f3", "d2d4")] == [0, 1]
    assert avoid.points(None, None) == 0


def test_graded_moves() -> None:
    by_opcodes = parse_problem(f'{START} bm e4; c0 "e4=10, d4=7"; c7 "e4 d4"; c8 "10 7"; c9 "e2e4 d2d4";')
    by_comment = parse_problem(f'{START} bm e4; c0 "e4=10, d4=7";')
    assert by_opcodes.grades == by_comment.grades == (("e2e4", 10), ("d2d4", 7))
    assert by_opcodes.most == 10
    assert [by_opcodes.points(chess.Move.from_uci(move), None) for move in ("e2e4", "d2d4", "c2c4")] == [10, 7, 0]
    assert parse_problem(f'{START} bm e4; c0 "a remark";').grades == (("e2e4", 1),)


@pytest.mark.parametrize("operation", ["bm #1;", "dm 1;"])
def test_mates(operation: str) -> None:
    problem = parse_problem(f"{MATE} {operation}")
    move = chess.Move.from_uci("e1e8")
    assert problem.mate == 1
    assert [problem.points(move, mate) for mate in (1, 2, -1, None)] == [1, 0, 0, 0]


def test_bent_lines_in_circulation() -> None:
    assert parse_problem(f"{MATE} ; bm Re8 + ; id BK.01 ").grades == (("e1e8", 1),)
    assert parse_problem(f'{MATE} bm Re1-e8+!; id "semi;colon";').name == "semi;colon"
    assert parse_problem(f"{MATE} bm e1e8").grades == (("e1e8", 1),)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (START, "at least one operation"),
        ("8/8/8/8/8/8/8/8 w - - bm e4;", "not a legal position"),
        ("what is this w - bm e4;", "invalid position"),
        (f"{START} bm e5;", "e5"),
        (f'{START} id "nothing";', "nothing to solve: expected bm"),
        (f"{START} bm #x;", "the number of moves to mate must be 1 to 999"),
        (f'{START} c7 "e4 d4"; c8 "10";', "c8 has 1 grade for 2 moves in c9 or c7$"),
        (f'{START} c7 "e4 d4"; c8 "10 x";', "grades must be numbers"),
        (f'{START} bm e4; id "open', "invalid operation"),
    ],
)
def test_bad_lines_say_why(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_problem(line)


def test_bad_lines_are_named_and_skipped(tmp_path: Path) -> None:
    suite = tmp_path / "suite.epd"
    suite.write_text(f"# comment\n\n{START} bm e5;\n{START} bm e4;\n")
    problems: list[str] = []
    assert [problem.name for problem in load_suite(suite, problems)] == ["suite:4"]
    assert len(problems) == 1
    assert problems[0].startswith(f"{suite}:3: ")
    with pytest.raises(SuiteError, match="No such file"):
        load_suite(tmp_path / "none.epd", problems)
    suite.write_text('[Event "?"]\n\n1. e4 *\n')
    with pytest.raises(SuiteError, match=r"suite\.epd: contains games \(PGN\), not positions \(EPD\)"):
        load_suite(suite, [])


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared suites are not on this machine")
@pytest.mark.parametrize(
    ("name", "count", "most"),
    [("wac", 201, 201), ("kaufman", 25, 25), ("bratko-kopec", 24, 24), ("sts", 1500, 15000), ("mates280", 280, 280)],
)
def test_public_suites_are_understood_to_the_last_line(name: str, count: int, most: int) -> None:
    problems: list[str] = []
    suite = load_suite(SHARED / f"{name}.epd", problems)
    assert problems == []
    assert len(suite) == count
    assert sum(problem.most for problem in suite) == most


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.epd"
    path.write_text(
        f'{MATE} bm #1; id "mate";\n'
        f'{FORK} bm Nxd5; id "takes";\n'
        f'{START} c7 "e4 d4"; c8 "10 7"; id "graded";\n'
        f'{START} am a3; id "twice";\n'
    )
    return path


def engine(tmp_path: Path, *fault: str) -> list[str]:
    table = {
        MATE: [
            "info depth 1 nodes 5 score cp 900 pv e1e7",
            "info depth 2 nodes 50 score mate 1 pv e1e8",
            "bestmove e1e8",
        ],
        FORK: [
            "info depth 1 nodes 10 score cp 1 pv c3d5",
            "info depth 2 nodes 20 score cp 2 pv c3e4",
            "info depth 3 nodes 30 score cp 3 multipv 1 pv c3d5",
            "info depth 3 nodes 30 score cp 0 multipv 2 pv c3e4",
            "info depth 4 nodes 40 score cp 4 pv c3d5",
            "bestmove c3d5",
        ],
        START: ["info depth 7 nodes 70 score cp 20 pv d2d4", "bestmove d2d4"],
    }
    file = tmp_path / "table.json"
    file.write_text(json.dumps(table))
    words = [f"cmd={sys.executable}", f"arg={HERE / 'table_engine.py'}", f"arg={file}", "name=Table"]
    return ["--engine", *words, *(f"arg={word}" for word in fault)]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = epd.main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return status, output.out, output.err


def answers(out: str, suite: Path) -> dict[str, dict[str, Any]]:
    return {answer["problem"]: answer for answer in json.loads(out)["suites"][str(suite)]["answers"]}


def test_points_time_and_nodes_to_solution(tmp_path: Path, suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, suite, *engine(tmp_path), "--nodes", 100, "--concurrency", 2, "--json", "--quiet")
    assert (status, err) == (0, "")
    found = answers(out, suite)
    assert {name: answer["points"] for name, answer in found.items()} == {
        "mate": 1,
        "takes": 1,
        "graded": 7,
        "twice": 1,
    }
    # The last time it came to want the move counts, and only the first line of a multi-PV search.
    assert {name: answer["nodes_to_solution"] for name, answer in found.items()} == {
        "mate": 50,
        "takes": 30,
        "graded": None,
        "twice": 70,
    }
    assert found["mate"]["mate"] == 1
    assert found["takes"]["move"] == "Nxd5"
    assert found["takes"]["nodes"] == 40
    assert 0 <= found["takes"]["seconds_to_solution"] <= found["takes"]["seconds"] < 5
    totals = json.loads(out)["suites"][str(suite)]["totals"]["Table"]
    assert (totals["solved"], totals["positions"], totals["points"], totals["of"]) == (3, 4, 10, 13)
    assert totals["nodes_to_solution"] == 50


def test_the_table_for_people(tmp_path: Path, suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich", reason="tables need Rich")
    status, out, _ = run(capsys, suite, *engine(tmp_path), "--nodes", 100, "--details")
    assert status == 0
    for words in ("graded: Table played d4, 7/10 points\n", "3/4", "10/13 (76.9 %)", "nodes=100"):
        assert words in out


def test_bad_lines_cost_the_exit_status_but_not_the_rest(
    tmp_path: Path, suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with suite.open("a") as file:
        file.write("garbage\n")
    status, out, err = run(capsys, suite, tmp_path / "none.epd", *engine(tmp_path), "--nodes", 100, "--json")
    assert status == 1
    assert f"{suite}:5: " in err
    assert "none.epd: No such file" in err
    assert len(answers(out, suite)) == 4


def test_a_crashing_engine_is_named_and_started_again(
    tmp_path: Path, suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, suite, *engine(tmp_path, "--fault", "crash"), "--nodes", 100, "--json")
    assert status == 1
    assert err.count("Table: ") == 4
    assert all("died" in answer["error"] for answer in answers(out, suite).values())


def test_a_hanging_engine_is_given_up(
    tmp_path: Path, suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bench import suites

    monkeypatch.setattr(suites, "READY_SECONDS", 0.2)
    monkeypatch.setattr(suites, "GRACE_SECONDS", 0.3)
    spec = epd._engines(
        epd.parser().parse_args([str(suite), *engine(tmp_path, "--fault", "hang"), "--movetime", "0.1"])
    )[0]
    solution = suites.solve(suites.Task(spec, load_suite(suite, [])[0]))
    assert "gave no move within 0.6 s" in solution.error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x.epd", "--engine", f"cmd={sys.executable}", "tc=10+0.1"], "test suites have no clock"),
        (["x.epd", "--engine", f"cmd={sys.executable}", "--concurrency", "0"], "at least 1"),
        (["x.epd", "--engine", f"cmd={sys.executable}", "--engine", f"cmd={sys.executable}"], "the same name"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert message in err


def test_an_engine_that_does_not_start_is_asked_once(
    tmp_path: Path, suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = ("--engine", "cmd=/bin/sh", "arg=-c", "arg=exit 3", "name=Broken")
    status, out, err = run(capsys, suite, *engine(tmp_path), *broken, "--nodes", 100, "--json", "--quiet")
    assert status == 1
    assert err == "secateur epd: engine Broken exited during start-up (exit status 3); it printed nothing\n"
    assert {answer["engine"] for answer in json.loads(out)["suites"][str(suite)]["answers"]} == {"Table"}
