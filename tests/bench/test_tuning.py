"""Tuning runs: their games, their state, and their results."""

import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import pairs
from bench.adjudication import Adjudication, ResignRule
from bench.commands import spsa as command
from bench.commands.spsa import Run, tune
from bench.description import MatchDescription
from bench.engines import EngineSpec
from bench.pairs import PairsError, StateFile
from bench.schedule import make_plan
from bench.spsa import WINS_OF_TIME, Schedule, Spsa, SpsaError
from bench.timecontrol import TimeControl
from engine.files import locked
from search.tunables import Tunable

ENGINE = Path(__file__).with_name("tunable_engine.py")
RULES = Adjudication(ResignRule(1, 500, both_sides=True), max_moves=3)
SIZE, OTHER = Tunable("Size", 100, 0, 200, 20), Tunable("Other", 20, 0, 60, 4)


def run_of(iterations: int, *arguments: str, **fields: Any) -> Run:
    program = (sys.executable, str(ENGINE), *arguments)
    engine = EngineSpec("plus", program, TimeControl.parse("nodes=10"), options=(("Hash", "2"),))
    games = MatchDescription((engine, replace(engine, name="minus")), adjudication=RULES)
    return replace(Run((SIZE, OTHER), Schedule(iterations, 0.2), games), **fields)


def play(run: Run, state: StateFile | None = None, concurrency: int = 1) -> tuple[Spsa, StateFile, list[str]]:
    """The tuner, the state and the problems when all is played."""
    state = state or StateFile(None, "spsa")
    spsa = run.tuner(state)
    problems: list[str] = []
    tune(make_plan(run.games), run, spsa, state, {}, problems.append, concurrency)
    return spsa, state, problems


@pytest.mark.parametrize("concurrency", [1, 2])
def test_games_lead_to_the_winning_value(concurrency: int) -> None:
    run = run_of(24)
    spsa, state, problems = play(run, concurrency=concurrency)
    assert problems == []
    assert sorted(state.results) == list(range(24))
    assert spsa.result()["Size"] > 110
    assert set(state.results.values()) <= {-2, 0, 2}
    assert all(min(state.seconds[number]) > 0 for number in range(24))
    # The same results lead to the same values when the state is read back.
    assert (run.tuner(state).values == spsa.values).all()


@pytest.mark.parametrize(("limit", "corrected"), [("nodes=10", True), ("depth=3", True), ("1+1", False)])
def test_time_counts_unless_the_limit_is_one_of_time(limit: str, corrected: bool) -> None:
    worth = 1 - corrected * WINS_OF_TIME * math.log(2)
    run, state = run_of(2), StateFile(None, "spsa")
    engine = replace(run.games.engines[0], limit=TimeControl.parse(limit))
    run = replace(run, games=replace(run.games, engines=(engine, replace(engine, name="minus"))))
    state.add(0, 1, seconds=(2.0, 1.0))
    state.add(1, 1)  # as in a file of an older version
    assert [run.points(state, 0), run.points(state, 1)] == pytest.approx([worth, 1])
    spsa, expected = run.tuner(state), Spsa(run.parameters, run.schedule)
    expected.update(0, worth)
    expected.update(1, 1)
    assert spsa.values == pytest.approx(expected.values)


def test_engines_keep_running_and_get_only_what_changes(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    play(run_of(6, "--log", str(log), parameters=(SIZE, replace(OTHER, low=20, high=21))))
    lines = log.read_text(encoding="utf-8").splitlines()
    assert lines.count("start") == 3  # one to see that it can play, one a side
    assert lines.count("game") == 2 * 2 * 6
    assert lines.count("Hash value 2") == 3
    assert len([line for line in lines if line.startswith("Other")]) < 15


def test_an_engine_that_fails_teaches_nothing_and_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "PATIENCE", 2)
    run, state = run_of(100, "--fault"), StateFile(None, "spsa")
    problems: list[str] = []
    spsa = run.tuner(state)
    with pytest.raises(PairsError, match="gave up after engines failed in 2 pairs of games in a row"):
        tune(make_plan(run.games), run, spsa, state, {}, problems.append)
    assert (state.results, state.faults) == ({}, 4)
    assert not spsa.change_in_steps().any()
    assert problems[0].startswith("iteration 1: game 1 ")
    assert all("exit code: 3" in problem for problem in problems)


def test_an_engine_that_cannot_play_does_not_cost_an_earlier_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    earlier = StateFile(path, "spsa")
    earlier.begin({})
    earlier.add(0, 2)
    before = path.read_bytes()
    run = run_of(5, parameters=(replace(SIZE, name="Nonsense"),))
    with pytest.raises(SpsaError, match="does not support option Nonsense"):
        play(run, StateFile(path, "spsa", read=False))
    assert path.read_bytes() == before


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tunables that the fake engine has."""
    monkeypatch.setattr("search.tunables.TUNABLES", (SIZE, OTHER))


def arguments(path: Path, *more: str) -> list[str]:
    return ["--state", str(path), "--quiet", "--engine", f"cmd={sys.executable}", f"arg={ENGINE}", "--tc", "nodes=10",
            "--resign", "1,500,both", "--max-moves", "3", *more]  # fmt: skip


def test_a_run_from_the_command_line(tuned: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "run.jsonl"
    assert command.main(arguments(state, "--iterations", "16", "--gain", "0.5")) == 0
    out = capsys.readouterr().out
    assert "16 of 16 iterations at nodes=10, each a pair of games" in out
    written = re.search(r'^    Tunable\("Size", (\d+), 0, 200, 20\),$', out, re.MULTILINE)
    assert written
    found = int(written[1])
    assert found > 100
    assert re.search(rf"^Size .* {found} ", out, re.MULTILINE)
    assert command.main(["--state", str(state), "--show"]) == 0
    assert capsys.readouterr().out == out
    assert command.main(["--state", str(state), "--resume"]) == 0  # nothing is left to play
    pytest.importorskip("matplotlib", reason="pictures need Matplotlib")
    picture = tmp_path / "run.svg"
    assert command.main(["--state", str(state), "--show", "--plot", str(picture)]) == 0
    change = re.search(r"^Size .* (\S+)  +-  +-$", out, re.MULTILINE)  # too few games for the effects of a step
    assert change
    assert f"Size {change[1]}" in picture.read_text(encoding="utf-8")
    assert command.main(["--state", str(state), "--resume", "--plot", str(tmp_path / "run.txt")]) == 2


def test_mistakes_are_one_line_each(tuned: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "run.jsonl"
    assert command.main(arguments(state, "--iterations", "2")) == 0
    whole = state.read_text(encoding="utf-8")
    for value in ("true", "7", "null", "[]"):
        state.write_text(whole.replace('"Size"', value), encoding="utf-8")
        for mode in ("--show", "--resume"):
            capsys.readouterr()
            assert command.main(["--state", str(state), mode]) == 1
            assert f"{state}:1: not a tuning run of this version: name has the wrong type" in capsys.readouterr().err
    state.write_text(whole, encoding="utf-8")
    capsys.readouterr()
    for given, status, message in (
        (arguments(state), 1, "already exists; pass --resume to continue it"),
        (["--state", str(state), "--resume", "--concurrency", "0"], 2, "--concurrency must be at least 1"),
        (["--state", str(state), "--resume", "--gain", "2"], 2, "--gain can be set only for a new run"),
        (["--state", str(tmp_path / "none"), "--resume"], 1, "No such file"),
        (arguments(tmp_path / "new", "--only", "Szie"), 2, "no tunable matches 'Szie'"),
        (arguments(tmp_path / "new", "--book", "none.epd"), 1, "no such book"),
        (arguments(tmp_path / "new", "--iterations", "0"), 2, "iterations must be at least 1"),
        (arguments(tmp_path / "new", "--tc", "fast"), 2, "'fast' is not a time control"),
        (arguments(tmp_path / "new", "--engine", "cmd=/no/such", "option.Size=3"), 2, "option Size is tuned"),
        (arguments(tmp_path / "new", "--engine", "cmd=/no/such"), 1, "there is no program"),
    ):
        assert command.main(given) == status, given
        lines = [line for line in capsys.readouterr().err.splitlines() if ": note:" not in line]
        assert len(lines) == 1, lines
        assert message in lines[0]
    assert not (tmp_path / "new").exists()


def test_an_engine_that_does_not_start_leaves_no_empty_file(tuned: None, tmp_path: Path) -> None:
    assert command.main(arguments(tmp_path / "new", "--engine", f"cmd={sys.executable}", "arg=-c0")) == 1
    assert not (tmp_path / "new").exists()


def test_a_run_that_another_process_plays_is_only_shown(
    tuned: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "run.jsonl"
    assert command.main(arguments(state, "--iterations", "2")) == 0
    capsys.readouterr()
    before = state.read_bytes()
    with locked(state):
        for given in (["--state", str(state), "--resume"], arguments(state, "--overwrite")):
            assert command.main(given) == 1
            assert f"{state}: is in use by another process\n" in capsys.readouterr().err
        assert command.main(["--state", str(state), "--show"]) == 0
    assert state.read_bytes() == before


def test_what_an_interrupted_run_has_found_is_written_only_on_demand(
    tuned: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object, run: Run, spsa: Spsa, state: StateFile, settings: Any, *rest: object) -> None:
        state.begin(settings)
        state.add(0, 2)
        spsa.update(0, 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "tune", interrupted)
    state = tmp_path / "run.jsonl"
    assert command.main(arguments(state, "--iterations", "9", "--gain", "0.5")) == 1
    assert "--resume continues" in capsys.readouterr().err
    assert command.main(["--state", str(state), "--show"]) == 0


@pytest.mark.parametrize(
    ("options", "starts"),
    [
        ((), set()),
        (("--tc", "1+0.01"), {"time"}),
        (("--engine", "cmd=secateur", "arg=--tuning", "option.UsePolicy=true"), {"policy"}),
    ],
)
def test_only_tunables_that_can_matter_are_tuned_by_default(
    options: tuple[str, ...], starts: set[str], tmp_path: Path
) -> None:
    run = command._run(command.parser().parse_args(["--state", str(tmp_path / "run.jsonl"), *options]))
    names = {row.name for row in run.parameters}
    assert {name.split("_")[0] for name in names} & {"time", "policy"} == starts
    assert "rfp_margin" in names
    assert "quiescence_checks" not in names
