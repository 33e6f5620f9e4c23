"""`ablation`: what techniques gain, from games in which each side lacks random ones."""

from __future__ import annotations

import functools
import json
import math
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import pairs, records
from bench.cluster import Outcome
from bench.commands import ablation
from bench.commands.ablation import SHARE, effects, left_out
from bench.pairs import PairsError, PairsTask, PlayedPair, StateFile
from bench.results import GameResult, Termination
from bench.uci import close_engines
from search import benchmark
from search.benchmark import run_benchmark
from search.techniques import TECHNIQUES

pytest.importorskip("scipy", reason="the regression needs SciPy")

KEYS = ("null-move", "late-move-reduction", "futility", "delta-pruning", "probcut")
TRUE = {"null-move": 60.0, "late-move-reduction": 250.0, "futility": 0.0, "delta-pruning": -30.0, "probcut": 15.0}
QUICK = ["--games", "24", "--tc", "nodes=100", "--max-moves", "4", "--quiet"]


def simulated(count: int, seed: int = 1) -> dict[int, int]:
    """Pairs between sides that are as strong as their techniques say, without draws."""
    rng, found = random.Random(seed), {}
    for number in range(count):
        first, second = left_out(KEYS, seed, number)
        elo = sum(TRUE[key] for key in second) - sum(TRUE[key] for key in first)
        expected = 1 / (1 + 10 ** (-elo / 400))
        found[number] = sum(1 if rng.random() < expected else -1 for _ in range(2))
    return found


def test_each_technique_is_left_out_as_often_as_it_should_be() -> None:
    keys = [f"technique-{number}" for number in range(30)]
    drawn = [left_out(keys, 7, number) for number in range(4000)]
    assert drawn == [left_out(keys, 7, number) for number in range(4000)]
    assert drawn != [left_out(keys, 8, number) for number in range(4000)]
    for side in (0, 1):
        for key in keys:
            share = sum(key in pair[side] for pair in drawn) / len(drawn)
            assert abs(share - SHARE) < 5 * math.sqrt(SHARE * (1 - SHARE) / len(drawn))
    # Both sides never lack the same.
    assert {left_out(["futility"], 7, number) for number in range(100)} == {(("futility",), ()), ((), ("futility",))}


def test_gains_are_found_within_their_intervals() -> None:
    """Also beside one that outweighs all others; of intervals twice as wide 99.99 % hold the truth."""
    found = effects(KEYS, 1, simulated(20_000))
    for key in KEYS:
        assert abs(found[key].elo - TRUE[key]) < 2 * found[key].error
        assert 3 < found[key].error < 15


def test_intervals_of_few_games_hold_the_truth_as_well() -> None:
    """95 % of them; without the correction for leverage about 85 % would."""
    held = []
    for seed in range(80):
        found = effects(KEYS, seed, simulated(60, seed))
        held += [abs(found[key].elo - TRUE[key]) < found[key].error for key in KEYS if key != "late-move-reduction"]
    assert 0.92 < sum(held) / len(held) <= 1


def test_known_figures() -> None:
    """Found by Newton's method and the same estimator, written independently."""
    results = simulated(500)
    found = effects(KEYS, 1, dict(random.Random(3).sample(sorted(results.items()), 500)))  # the order does not matter
    assert {key: (round(effect.elo, 3), round(effect.error, 3)) for key, effect in found.items()} == {
        "null-move": (79.761, 41.179),
        "late-move-reduction": (251.919, 49.128),
        "futility": (-1.523, 42.059),
        "delta-pruning": (-6.614, 40.648),
        "probcut": (-12.364, 41.779),
    }


@pytest.mark.parametrize("count", [0, 3])
def test_too_few_games_are_reported(count: int) -> None:
    with pytest.raises(PairsError, match=f"{2 * count} games are too few to measure 5 techniques; play more"):
        effects(KEYS, 1, simulated(count))


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "ledger"
    folder.mkdir()
    monkeypatch.setattr(records, "LEDGER", folder)
    monkeypatch.setattr(benchmark, "run_benchmark", functools.partial(run_benchmark, 2))
    yield folder
    close_engines()


def test_all_are_measured_by_the_same_games(ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "run.jsonl"
    arguments = ["late-move", "futility", *QUICK, "--state", str(state), "--commit", "abc", "--json"]
    assert ablation.main(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["games"] == 24
    assert {row["key"] for row in answer["techniques"]} == {"late-move-pruning", "futility"}
    assert len(state.read_text().splitlines()) == 13

    # Nothing is left to play; what was played gives the same once more, now for the ledger.
    assert ablation.main([*arguments, "--ledger", "--suffix", "quick", "--note", "a note"]) == 0
    assert json.loads(capsys.readouterr().out) == answer
    counted = run_benchmark(2)
    assert counted is not None
    for row in answer["techniques"]:
        (record,) = [record for record in records.load(ledger) if record.id == f"{row['key']}-quick"]
        assert (record.games, record.pentanomial, record.faults) == (24, (), 0)
        assert (record.elo, record.elo_error) == (round(row["elo"], 2), round(row["error"], 2))
        assert (record.what, record.engines) == (f"{row['title']}, against none", ("with", "without"))
        assert (record.commits, record.bench_nodes) == (("abc",), counted.nodes)
        assert (record.book, record.time_control) == ("balanced.epd", "nodes=100")
        assert record.note == "one of 2 techniques; each side lacked each of them with probability 15%; a note"
    assert "futility-quick" in (ledger / "README.md").read_text()

    # The same seed plays the same games.
    again = tmp_path / "again.jsonl"
    assert ablation.main([*arguments, "--games", "6", "--state", str(again)]) == 0
    results = StateFile(state, "ablation").results
    assert StateFile(again, "ablation").results == {number: results[number] for number in range(3)}
    capsys.readouterr()

    # A test keeps its record, and a state its games: nothing is played when either is in the way.
    assert ablation.main([*arguments, "--ledger", "--suffix", "quick"]) == 1
    assert "the ledger already has a record late-move-pruning-quick" in capsys.readouterr().err
    assert ablation.main([*arguments, "--seed", "2", "--draw", "30,6,10"]) == 1
    assert "belongs to a run with other settings (seed, adjudication)" in capsys.readouterr().err


def test_spoilt_games_are_reported_and_measure_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of four pairs: the others are kept, printed and recorded, with the number of games that were spoilt."""
    tasks = []

    def played(task: PairsTask) -> PlayedPair:
        tasks.append(task)
        ending = Termination.CRASH if task.number == 2 else Termination.CHECKMATE
        games = [
            GameResult(game.game, game.pair, game.white.name, game.black.name, "1-0", ending) for game in task.games
        ]
        return PlayedPair(tuple(games), (1.0, 1.0))

    def one_by_one(function: Any, items: Iterable[Any], cluster: None, *, workers: int) -> Iterator[Outcome[Any, Any]]:
        yield from (Outcome(item, function(item)) for item in items)

    monkeypatch.setattr(pairs, "play_games", played)
    monkeypatch.setattr(pairs, "map_unordered", one_by_one)
    state = tmp_path / "run.jsonl"
    arguments = ["null-move", "--games", "8", "--tc", "1+0.01", "--draw", "30,6,10", "--quiet"]
    arguments += ["--state", str(state)]
    assert ablation.main([*arguments, "--ledger", "--suffix", "faults", "--commit", "abc"]) == 1
    output = capsys.readouterr()
    assert output.err.count("secateur ablation: pair 3 (left out: ") == 2
    assert output.out.splitlines()[-1] == "6 games"
    (record,) = records.load(ledger)
    assert (record.id, record.games, record.faults) == ("null-move-faults", 6, 2)
    # The sides differ in what they lack alone.
    sides = tasks[0].games[0].white, tasks[0].games[0].black
    assert {side.options for side in sides} == {
        (("Hash", "16"), ("Without", text)) for text in ("null-move", "<empty>")
    }
    assert {(side.command[-1], str(side.limit)) for side in sides} == {("--tuning", "1+0.01")}
    # The spoilt pair is played again; that it was spoilt is not forgotten.
    assert ablation.main(arguments) == 1
    assert [task.number for task in tasks] == [0, 1, 2, 3, 2]
    assert "pair 3" in capsys.readouterr().err


def test_an_interrupted_run_shows_what_it_has_and_where_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(keys: Any, plan: Any, state: StateFile, options: Any) -> None:
        for number in range(10):
            state.add(number, number % 3 - 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(ablation, "_play", interrupted)
    path = tmp_path / "run.jsonl"
    arguments = ["null-move", "--state", str(path), "--quiet", "--ledger", "--bench-nodes", "7"]
    assert ablation.main(arguments) == 1
    output = capsys.readouterr()
    assert output.err == f"secateur ablation: interrupted; not recorded; the results so far are in {path}\n"
    assert output.out.splitlines()[-1] == "20 games"
    assert not list(ledger.glob("*.json"))


def test_without_keys_all_but_the_scales_of_time_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(ablation, "_play", lambda keys, *_: asked.extend(keys))
    assert ablation.main(["--quiet"]) == 1
    assert asked == [technique.key for technique in TECHNIQUES if not technique.needs_clock]
    assert "0 games are too few to measure" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["my notes", '{"secateur-ablation": 2, "settings": {"games": 5}}\n'])
def test_an_unusable_state_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    state = tmp_path / "state"
    state.write_text(text, encoding="utf-8")
    counted: list[bool] = []

    def count(quiet: bool) -> int:
        counted.append(quiet)
        return 1

    monkeypatch.setattr(ablation, "_count_benchmark", count)
    assert ablation.main(["null-move", "--games", "2", "--state", str(state)]) == 1
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    if counted:
        assert "state:1: not the settings of an ablation run" in errors
    else:
        assert "already exists and is not a state of `secateur ablation`" in errors
    assert bool(counted) == (text != "my notes")
    assert state.read_text(encoding="utf-8") == text


def test_a_book_that_is_missing_leaves_no_empty_state(tmp_path: Path) -> None:
    state = tmp_path / "state"
    ablation.main(["null-move", "--games", "2", "--state", str(state), "--book", str(tmp_path / "no.epd")])
    assert not state.exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nul-move"], "unknown technique 'nul-move'; the techniques are aspiration, "),
        (["null-move", "--games", "7"], "--games must be even"),
        (["null-move", "--concurrency", "0"], "concurrency must be at least 1"),
        (["null-move", "--tc", "soon"], "'soon' is not a time control"),
        (["time-effort"], "time-effort needs a clock"),
        (["null-move", "--suffix", "x"], "--suffix requires --ledger"),
        (["null-move", "--ledger", "--suffix", "Big one"], "'null-move-Big one' is not a ledger id"),
    ],
)
def test_wrong_usage_is_reported_before_any_game(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ablation.main(arguments) == 2
    output = capsys.readouterr()
    assert output.err.startswith("secateur ablation: ")
    assert part in output.err
    assert not output.out
