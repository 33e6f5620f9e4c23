"""`worth`: games of the engine itself, what is recorded of them, and what is refused before any is played."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench import records
from bench.commands import worth
from bench.commands.match import report_problems
from bench.description import MatchDescription
from bench.play import PlayError
from bench.results import GameResult, MatchResult
from bench.uci import close_engines
from search import benchmark
from search.benchmark import run_benchmark
from search.techniques import TECHNIQUES

QUICK = ["--games", "2", "--tc", "nodes=200", "--max-moves", "8", "--quiet"]


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "ledger"
    folder.mkdir()
    monkeypatch.setattr(records, "LEDGER", folder)
    yield folder
    close_engines()


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[MatchDescription]]:
    """Gives the matches these outcomes instead of playing them; the descriptions that were asked for."""

    def give(*results: MatchResult | Exception) -> list[MatchDescription]:
        waiting, asked = list(results), []

        def play(name: str, description: MatchDescription, quiet: bool) -> MatchResult:
            asked.append(description)
            result = waiting.pop(0)
            if isinstance(result, Exception):
                raise result
            report_problems(name, result)
            return result

        monkeypatch.setattr(worth, "play_shown", play)
        return asked

    return give


def match(*results: str, planned: int = 4, interrupted: bool = False) -> MatchResult:
    """A match of `full` against `without` in which colours alternate, with these results."""
    names = ("full", "without")
    games = [
        GameResult(number, number // 2, names[number % 2], names[1 - number % 2], result)
        for number, result in enumerate(results)
    ]
    return MatchResult(names, games, planned, interrupted=interrupted)


def rows(output: str) -> dict[str, str]:
    """The printed table, by key, with one space between its cells."""
    return {line.split()[0]: " ".join(line.split()) for line in output.splitlines()[1:]}


def test_techniques_are_measured_and_recorded(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "run_benchmark", functools.partial(run_benchmark, 2))
    arguments = ["late-move", "killers", *QUICK, "--ledger", "--suffix", "quick", "--commit", "abc", "--json"]
    assert worth.main(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["key"] for row in answer["techniques"]] == ["late-move-pruning", "killers"]
    assert [row["games"] for row in answer["techniques"]] == [2, 2]
    counted = run_benchmark(2)
    assert counted is not None
    for key, title in (("late-move-pruning", "late move pruning"), ("killers", "killer moves")):
        record = json.loads((ledger / f"{key}-quick.json").read_text(encoding="utf-8"))
        assert record["what"] == f"{title}, against none"
        assert record["engines"] == ["full", "without"]
        assert (record["book"], record["time_control"]) == ("balanced.epd", "nodes=200")
        assert (record["commits"], record["bench_nodes"], record["faults"]) == (["abc"], counted.nodes, 0)
    # A test keeps its record: nothing is played when one of them is there.
    assert worth.main(["null-move", *arguments]) == 1
    output = capsys.readouterr()
    assert "the ledger has a record late-move-pruning-quick already" in output.err
    assert not output.out
    assert not (ledger / "null-move-quick.json").exists()


def test_the_second_engine_is_the_first_without_the_technique(outcomes: Callable[..., list[MatchDescription]]) -> None:
    asked = outcomes(match("1-0", "0-1"))
    worth.main(["time-fall", "--tc", "1+0.01", "--games", "12", "--hash", "3", "--draw", "30,6,10"])
    (description,) = asked
    full, reduced = description.engines
    assert full.command == reduced.command
    assert full.command[-1] == "--tuning"
    assert full.options == (("Hash", "3"), ("Without", "<empty>"))
    assert reduced.options == (("Hash", "3"), ("Without", "time-fall"))
    assert str(full.limit) == str(reduced.limit) == "1+0.01"
    rules = description.adjudication
    assert rules.resign is not None
    assert rules.draw is not None
    assert (rules.resign.moves, rules.resign.score, rules.draw.from_move) == (4, 700, 30)
    assert description.rounds == 6


def test_all_but_the_scales_of_time_are_measured_unless_told(outcomes: Callable[..., list[MatchDescription]]) -> None:
    asked = outcomes(*(match("1-0", "1/2-1/2", planned=2) for _ in TECHNIQUES))
    assert worth.main(["--games", "2", "--quiet"]) == 0
    without = [dict(description.engines[1].options)["Without"] for description in asked]
    assert without == [technique.key for technique in TECHNIQUES if not technique.needs_clock]


def test_what_was_measured_before_an_interruption_is_printed(
    ledger: Path, outcomes: Callable[..., list[MatchDescription]], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = outcomes(
        match("1-0", "1/2-1/2", "1/2-1/2", "1/2-1/2", "0-1", "1-0", planned=6),
        match("1-0", "0-1", "1-0", planned=6, interrupted=True),
    )
    assert worth.main(["probcut", "null-move", "razoring", "--games", "6", "--ledger", "--bench-nodes", "7"]) == 1
    output = capsys.readouterr()
    assert "interrupted" in output.err
    found = rows(output.out)
    assert list(found) == ["probcut", "null-move"]
    # Pairs worth 3/2, 1 and 0 points: two and a half of six.
    assert found["probcut"].startswith("probcut ProbCut -58.45 +- ")
    assert found["probcut"].endswith(" 6 1, 0, 1, 1, 0")
    assert found["null-move"] == "null-move null move > -636.43 (every game won) 2 0, 0, 0, 0, 1"
    assert len(asked) == 2
    assert [path.name for path in ledger.glob("*.json")] == ["probcut.json"]


@pytest.mark.parametrize("failure", [PlayError("no engine"), MatchResult(("full", "without"), [], 2, problems=["bad"])])
def test_what_cannot_be_played_ends_the_run(
    failure: MatchResult | Exception,
    outcomes: Callable[..., list[MatchDescription]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = outcomes(match("1-0", "0-1", planned=2), failure)
    assert worth.main(["probcut", "null-move", "razoring", "--games", "2"]) == 1
    output = capsys.readouterr()
    assert "no engine" in output.err or "bad" in output.err
    assert list(rows(output.out)) == ["probcut"]
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nul-move"], "no technique 'nul-move'; those are aspiration, "),
        (["null-move", "--games", "7"], "--games is an even number"),
        (["null-move", "--games", "0"], "--games is an even number"),
        (["null-move", "--hash", "0"], "--hash is 1 to"),
        (["null-move", "--concurrency", "0"], "concurrency is at least 1"),
        (["null-move", "--tc", "soon"], "'soon' is not a time control"),
        (["null-move", "--resign", "soon"], "--resign soon"),
        (["time-effort"], "time-effort is about time: it needs a clock"),
        (["time-effort", "--tc", "movetime=1"], "time-effort is about time: it needs a clock"),
        (["null-move", "--suffix", "x"], "--suffix is for the records of --ledger"),
        (["null-move", "--ledger", "--suffix", "Big one"], "'null-move-Big one' is no ledger id"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_game(
    arguments: list[str],
    part: str,
    outcomes: Callable[..., list[MatchDescription]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = outcomes()
    assert worth.main(arguments) == 2
    output = capsys.readouterr()
    assert output.err.startswith("secateur worth: ")
    assert part in output.err
    assert not output.out
    assert not asked
