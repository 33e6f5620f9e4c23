"""`worth --together`: what many techniques are worth, from games in which each side lacks a random few of them."""

from __future__ import annotations

import functools
import json
import math
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import records, screening
from bench.cluster import Outcome
from bench.commands import worth
from bench.results import GameResult, Termination
from bench.screening import SHARE, Pair, Played, Screening, ScreeningError, effects, left_out
from bench.tuning import IterationTask
from bench.uci import close_engines
from search import benchmark
from search.benchmark import run_benchmark

KEYS = ("null-move", "late-move-reduction", "killers", "razoring", "probcut")
TRUE = {"null-move": 60.0, "late-move-reduction": 250.0, "killers": 0.0, "razoring": -30.0, "probcut": 15.0}
QUICK = ["--together", "--games", "40", "--tc", "nodes=100", "--max-moves", "4", "--concurrency", "2", "--quiet"]


def simulated(count: int, seed: int = 1) -> list[Pair]:
    """Pairs between sides that are as strong as their techniques say, without draws."""
    rng, found = random.Random(seed), []
    for number in range(count):
        first, second = left_out(KEYS, seed, number)
        elo = sum(TRUE[key] for key in second) - sum(TRUE[key] for key in first)
        expected = 1 / (1 + 10 ** (-elo / 400))
        found.append(Pair(number, sum(1 if rng.random() < expected else -1 for _ in range(2))))
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


def test_both_sides_never_lack_the_same() -> None:
    assert {left_out(["killers"], 7, number) for number in range(100)} == {(("killers",), ()), ((), ("killers",))}


def test_worths_are_found_within_their_intervals() -> None:
    """Also beside one that outweighs all others; of intervals twice as wide 99.99 % hold the truth."""
    found = effects(KEYS, 1, simulated(20_000))
    for key in KEYS:
        assert abs(found[key].elo - TRUE[key]) < 2 * found[key].error
        assert 3 < found[key].error < 15


def test_intervals_shrink_with_the_root_of_the_games() -> None:
    few, many = effects(KEYS, 1, simulated(2_000)), effects(KEYS, 1, simulated(32_000))
    for key in KEYS:
        assert few[key].error / many[key].error == pytest.approx(4, rel=0.15)


def test_intervals_of_few_games_hold_the_truth_as_well() -> None:
    """95 % of them; without a correction for what a pair weighs in the fit about 85 % would."""
    held = []
    for seed in range(100):
        found = effects(KEYS, seed, simulated(60, seed))
        held += [abs(found[key].elo - TRUE[key]) < found[key].error for key in KEYS if key != "late-move-reduction"]
    assert 0.92 < sum(held) / len(held) <= 1


def test_the_order_in_which_pairs_end_does_not_matter() -> None:
    pairs = simulated(300)
    assert effects(KEYS, 1, pairs) == effects(KEYS, 1, random.Random(3).sample(pairs, len(pairs)))


@pytest.mark.parametrize("count", [0, 3])
def test_too_few_games_are_told(count: int) -> None:
    with pytest.raises(ScreeningError, match=f"{2 * count} games do not tell 5 techniques apart: play more"):
        effects(KEYS, 1, simulated(count))


@pytest.mark.parametrize("points", [0, 2])
def test_games_that_all_end_alike_are_explained_by_nothing(points: int) -> None:
    """And a few of them are no proof that nothing is worth anything."""
    for effect in effects(KEYS, 1, [Pair(number, points) for number in range(40)]).values():
        assert abs(effect.elo) < effect.error
        assert effect.error > 50


def test_games_that_one_technique_always_decides_have_no_worth() -> None:
    pairs = []
    for number in range(400):
        first, second = left_out(KEYS, 1, number)
        pairs.append(Pair(number, 2 * (("killers" in second) - ("killers" in first))))
    with pytest.raises(ScreeningError, match="800 games are too one-sided to say what killers is worth"):
        effects(KEYS, 1, pairs)


def test_a_file_is_gone_on_from(tmp_path: Path) -> None:
    path, circumstances = tmp_path / "worth.jsonl", {"techniques": KEYS, "seed": 1}
    played = Played(circumstances, {"commits": ["abc"]}, path)
    for number in (0, 1, 3):
        played.add(Pair(number, number - 1))
    played.add_faults(2, 2)
    with path.open("a") as file:
        file.write('{"number": 4, "poi')  # the power went
    again = Played(circumstances, {"commits": ["def"]}, path)
    assert again.pairs == played.pairs == [Pair(0, -1), Pair(1, 0), Pair(3, 2)]
    assert (again.faults, again.provenance) == (2, {"commits": ["abc"]})
    assert list(again.missing(6)) == [2, 4, 5]
    again.add(Pair(2, 1))
    assert len(Played(circumstances, {}, path).pairs) == 4


HEADER = '{"secateur-worth": 1, "games": {"seed": 2}, "provenance": {}}\n'


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (None, r"is of other games \(seed differ\)"),
        ("my notes", "is there already and is no file of games of `worth --together`"),
        (HEADER + "my notes", r"w\.jsonl:2: no pair of games"),
        (HEADER + '{"number": 1, "points": 0}\n' + '{"number": 1, "note', r"w\.jsonl:3: no pair of games"),
        ("0\n", "is there already and is no file of games"),
        (HEADER.replace("1", "2"), "has no games of this version"),
        (HEADER + '{"number": 1}\n', r"w\.jsonl:2: no pair of games"),
        (HEADER + '{"number": 1, "points": 3}\n', r"w\.jsonl:2: no pair of games"),
        (HEADER + '{"number": 1, "points": 0.5}\n', r"w\.jsonl:2: no pair of games"),
        (HEADER + '{"number": -1, "points": 0}\n', r"w\.jsonl:2: no pair of games"),
        (HEADER + 2 * '{"number": 1, "points": 0}\n', "a pair is there twice"),
    ],
)
def test_a_file_of_something_else_is_refused_and_kept(text: str | None, part: str, tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    if text is None:
        Played({"seed": 1}, {}, path)
    else:
        path.write_text(text)
    before = path.read_bytes()
    with pytest.raises(ScreeningError, match=part):
        Played({"seed": 2}, {}, path)
    assert path.read_bytes() == before


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScreeningError, match="is a folder, not a file"):
        Played({"seed": 1}, {}, tmp_path)


# --------------------------------------------------------------------------------------------------------------
# The command
# --------------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "ledger"
    folder.mkdir()
    monkeypatch.setattr(records, "LEDGER", folder)
    monkeypatch.setattr(benchmark, "run_benchmark", functools.partial(run_benchmark, 2))
    yield folder
    close_engines()


def test_all_are_measured_by_the_same_games(ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "worth.jsonl"
    arguments = ["null-move", "killers", *QUICK, "--state", str(state), "--commit", "abc", "--json"]
    assert worth.main(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["games"] == 40
    assert {row["key"] for row in answer["techniques"]} == {"null-move", "killers"}
    assert len(state.read_text().splitlines()) == 21

    # Nothing is left to play; what was played gives the same once more, now for the ledger.
    assert worth.main([*arguments, "--ledger", "--suffix", "quick"]) == 0
    assert json.loads(capsys.readouterr().out) == answer
    counted = run_benchmark(2)
    assert counted is not None
    for row in answer["techniques"]:
        (record,) = [record for record in records.load(ledger) if record.id == f"{row['key']}-quick"]
        assert (record.games, record.pentanomial, record.faults) == (40, (), 0)
        assert (record.elo, record.elo_error) == (round(row["elo"], 2), round(row["error"], 2))
        assert (record.commits, record.bench_nodes) == (("abc",), counted.nodes)
        assert (record.book, record.time_control) == ("balanced.epd", "nodes=100")
        assert record.note == "one of 2 that sides lacked at random, 15% of the time, in the same games"
    assert "killers-quick" in (ledger / "README.md").read_text()


def test_the_same_seed_plays_the_same_games(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for seed in ("3", "3", "4"):
        assert worth.main(["null-move", "table-cuts", *QUICK, "--seed", seed, "--max-moves", "60", "--json"]) == 0
        printed.append(json.loads(capsys.readouterr().out)["techniques"])
    assert printed[0] == printed[1] != printed[2]


def test_games_that_an_engine_spoils_tell_nothing_and_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of four pairs: the others are kept, printed and recorded, with the number of games that were spoilt."""

    def played(task: IterationTask) -> tuple[GameResult, ...]:
        ending = Termination.CRASH if task.iteration == 2 else Termination.CHECKMATE
        return tuple(
            GameResult(game.game, game.pair, game.white.name, game.black.name, "1-0", ending) for game in task.games
        )

    def one_by_one(function: Any, items: Iterable[Any], cluster: None, *, workers: int) -> Iterator[Outcome[Any, Any]]:
        yield from (Outcome(item, function(item)) for item in items)

    monkeypatch.setattr(screening, "play_iteration", played)
    monkeypatch.setattr(screening, "map_unordered", one_by_one)
    state = tmp_path / "worth.jsonl"
    arguments = ["null-move", "--together", "--games", "8", "--state", str(state), "--quiet"]
    assert worth.main([*arguments, "--ledger", "--suffix", "faults", "--commit", "abc"]) == 1
    output = capsys.readouterr()
    assert output.err.count("secateur worth: pair 3 (without ") == 2
    assert output.out.splitlines()[-1] == "6 games"
    (record,) = records.load(ledger)
    assert (record.id, record.games, record.faults) == ("null-move-faults", 6, 2)
    # The spoilt pair is played again; that it was spoilt is not forgotten.
    assert worth.main(arguments) == 1
    assert "pair 3" in capsys.readouterr().err


def test_a_run_that_is_broken_off_shows_what_it_has_and_where_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken_off(screening: Screening, played: Played, *rest: object) -> None:
        for number in range(10):
            played.add(Pair(number, number % 3 - 1))
        raise KeyboardInterrupt

    monkeypatch.setattr(worth, "play", broken_off)
    state = tmp_path / "worth.jsonl"
    arguments = ["null-move", "--together", "--state", str(state), "--quiet", "--ledger", "--bench-nodes", "7"]
    assert worth.main(arguments) == 1
    output = capsys.readouterr()
    assert output.err == f"secateur worth: interrupted; not recorded; {state} has what was played\n"
    assert output.out.splitlines()[-1] == "20 games"
    assert not list(ledger.glob("*.json"))


def test_a_state_without_a_folder_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["null-move", "--together", "--bench-nodes", "1", "--state", "/nowhere/worth.jsonl"]
    assert worth.main(arguments) == 1
    assert capsys.readouterr().err == "secateur worth: /nowhere/worth.jsonl: No such file or directory\n"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["null-move", "--together", "--games", "7"], "--games is an even number"),
        (["null-move", "--together", "--concurrency", "0"], "concurrency is at least 1"),
        (["time-fall", "--together"], "time-fall is about time"),
        (["null-move", "--state", "worth.jsonl"], "--state is for --together"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert worth.main(arguments) == 2
    output = capsys.readouterr()
    assert output.err.startswith("secateur worth: ")
    assert part in output.err
    assert not output.out


@pytest.mark.parametrize("how", ["moved", "added to"])
def test_what_somebody_puts_in_the_place_of_the_games_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    state, mine, beside = (tmp_path / name for name in ("worth.jsonl", "mine", "worth-2.jsonl"))
    kept = []

    def meanwhile(screening: Screening, played: Played, *rest: object) -> None:
        for number in range(10):
            played.add(Pair(number, number % 3 - 1))
        if how == "moved":
            mine.write_bytes(state.read_bytes())
            mine.replace(state)
        else:
            with state.open("ab") as file:
                file.write(b"my notes\n")
        kept.append(state.read_bytes())
        played.add(Pair(10, 1))

    monkeypatch.setattr(worth, "play", meanwhile)
    assert worth.main(["null-move", "--together", "--state", str(state), "--quiet", "--bench-nodes", "7"]) == 1
    words = "another file took its place" if how == "moved" else "somebody changed it"
    told = f"secateur worth: {state}: {words}; it is left as it is; its new contents are in {beside}\n"
    assert capsys.readouterr().err == told
    assert [state.read_bytes()] == kept
    assert len(beside.read_bytes().splitlines()) == 12
