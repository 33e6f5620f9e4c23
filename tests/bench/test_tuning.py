"""Tuning runs: their games, their file, and what is made of them."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import tuning
from bench.adjudication import Adjudication, DrawRule, ResignRule
from bench.commands import spsa as command
from bench.spsa import Schedule, SpsaError
from bench.tuning import Run, State, edited_source, points_of, tune, write_source
from engine.files import locked
from search.tunables import BY_NAME, Tunable

ENGINE = Path(__file__).with_name("tunable_engine.py")
RULES = Adjudication(ResignRule(1, 500, both_sides=True), max_moves=3)
SIZE, OTHER = Tunable("Size", 100, 0, 200, 20), Tunable("Other", 20, 0, 60, 4)


def run_of(iterations: int, *arguments: str, **fields: Any) -> Run:
    values: dict[str, Any] = {"options": (("Hash", "2"),), "limit": "nodes=10", "adjudication": RULES}
    run = Run((SIZE, OTHER), Schedule(iterations, 0.2), (sys.executable, str(ENGINE), *arguments), **values)
    return replace(run, **fields)


def play(state: State, concurrency: int = 1) -> list[str]:
    problems: list[str] = []
    tune(state, lambda step: None, problems.append, concurrency)
    return problems


# -- games -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 2])
def test_games_lead_to_the_winning_value(tmp_path: Path, concurrency: int) -> None:
    state = State.create(run_of(40), tmp_path / "run.jsonl")
    assert play(state, concurrency) == []
    assert state.is_finished
    assert sorted(step.iteration for step in state.steps) == list(range(1, 41))
    assert state.spsa.result()["Size"] > 110
    assert {step.points for step in state.steps} <= {-2, 0, 2}


def test_engines_go_on_running_and_get_only_what_changes(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    run = run_of(6, "--log", str(log), parameters=(SIZE, replace(OTHER, low=20, high=21)), pairs=2)
    play(State.create(run, tmp_path / "run.jsonl"))
    lines = log.read_text(encoding="utf-8").splitlines()
    assert lines.count("start") == 3  # one to see that it can play, one a side
    assert lines.count("game") == 2 * 2 * 2 * 6
    assert lines.count("Hash value 2") == 3
    assert len([line for line in lines if line.startswith("Other")]) < 15


def test_both_sides_play_both_colours_from_one_opening(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    book.write_text(
        "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2\n"
        "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2\n",
        encoding="utf-8",
    )
    from bench.tuning import iteration_task

    run = run_of(10, book=str(book), order="sequential", pairs=2)
    state = State(run, tmp_path / "none")
    task = iteration_task(run, state.spsa.propose(3), run.openings())
    assert [(game.white.name, game.black.name) for game in task.games] == [("plus", "minus"), ("minus", "plus")] * 2
    fens = [game.opening.fen.split()[0] for game in task.games]
    assert fens[0] == fens[1] != fens[2] == fens[3]
    assert [game.game for game in task.games] == [8, 9, 10, 11]


def test_an_engine_that_fails_teaches_nothing_and_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "PATIENCE", 4)
    state = State.create(run_of(100, "--fault"), tmp_path / "run.jsonl")
    problems: list[str] = []
    with pytest.raises(SpsaError, match="given up"):
        tune(state, lambda step: None, problems.append)
    assert len(state.steps) == 3
    assert state.spsa.change_in_steps() == [0.0, 0.0]
    assert all("exit code: 3" in problem for problem in problems)


def test_an_engine_without_the_options_is_told_before_any_game(tmp_path: Path) -> None:
    run = run_of(5, parameters=(replace(SIZE, name="Nonsense"),))
    with pytest.raises(SpsaError, match="does not support option Nonsense"):
        play(State.create(run, tmp_path / "run.jsonl"))


def test_an_engine_that_cannot_play_costs_no_earlier_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    feed(State.create(run_of(5), path), 3)
    before = path.read_bytes()
    state = State.create(run_of(5, parameters=(replace(SIZE, name="Nonsense"),)), path)
    with pytest.raises(SpsaError, match="does not support option Nonsense"):
        play(state)
    assert path.read_bytes() == before
    State.create(run_of(7), path).begin()
    assert State.load(path).run == run_of(7)


# -- the file --------------------------------------------------------------------------------------------------


def feed(state: State, last: int) -> None:
    """Gives iterations results that depend on what they would play."""
    for iteration in state.missing():
        if iteration > last:
            return
        proposal = state.spsa.propose(iteration)
        state.add(iteration, (proposal.plus["Size"] * 7 + proposal.minus["Other"]) % 5 - 2)


@pytest.mark.parametrize(
    "torn", [b"", b"{", b'{"iteration": 31, "poi', b'{"iteration": 31, "points": -', b'{"iteration": 31, "points": -2, '
             b'"values": [100.5, 1.5e-', b'{"iteration": 31, "points": -2, "values": [100.5, 20.0]}']
)  # fmt: skip
def test_a_killed_run_goes_on_exactly(tmp_path: Path, torn: bytes) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    feed(State.create(run_of(60), whole), 60)
    feed(State.create(run_of(60), cut), 30)
    cut.write_bytes(cut.read_bytes() + torn)
    before = cut.read_bytes()
    state = State.load(cut)
    assert len(state.steps) == 30
    assert cut.read_bytes() == before  # who only looks changes nothing
    feed(state, 60)
    assert cut.read_bytes() == whole.read_bytes()


def test_iterations_that_were_under_way_are_played_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    state = State.create(run_of(6), path)
    for iteration in (1, 4, 3):
        state.add(iteration, 1)
    assert list(State.load(path).missing()) == [2, 5, 6]
    assert State.load(path).steps == state.steps


def test_everything_a_run_depends_on_comes_back(tmp_path: Path) -> None:
    rules = Adjudication(ResignRule(3, 500, True), DrawRule(30, 5, 10), 99, None, 6)
    run = run_of(7, adjudication=rules, book="b.epd", plies=8, seed=5, pairs=3, order="sequential")
    State.create(run, tmp_path / "run.jsonl").begin()
    assert State.load(tmp_path / "run.jsonl").run == run


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", r"run.jsonl:2: no iteration"),
        ('{"iteration": 99, "points": 0, "values": [100.0, 20.0]}', r"run.jsonl:2: no iteration"),
        ('{"iteration": 1, "points": 0, "values": [100.0]}', r"run.jsonl:2: no iteration"),
        ('{"iteration": 1, "points": 0, "values": [100.0, 61.0]}', r"run.jsonl:2: no iteration"),
        ("[]", r"run.jsonl:2: no iteration"),
    ],
)
def test_a_damaged_file_is_refused_by_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "run.jsonl"
    State.create(run_of(10), path).begin()
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(SpsaError, match=message):
        State.load(path)


@pytest.mark.parametrize("text", ["", "{}\n", '{"secateur-spsa": 999}\n', "[1]\n", "\xff\n"])
def test_another_file_is_no_run(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(SpsaError, match="no tuning run"):
        State.load(path)


@pytest.mark.parametrize("text", [b"my notes", b"my notes\n", b"\x89PNG\r\n", b'{"name": 1}\n'])
def test_a_file_of_somebody_else_is_left_as_it_is(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(text)
    with pytest.raises(SpsaError, match="is there already and is no tuning run"):
        State.create(run_of(5), path)
    with pytest.raises(SpsaError, match="no tuning run"):
        State.load(path)
    assert path.read_bytes() == text
    ours = tmp_path / "ours.jsonl"
    State.create(run_of(5), ours).begin()
    before = ours.read_bytes() + text.rstrip(b"\n")
    ours.write_bytes(before)
    with pytest.raises(SpsaError, match=r"ours\.jsonl:2: no iteration of this run"):
        State.load(ours)
    assert ours.read_bytes() == before


# -- the table in the source -----------------------------------------------------------------------------------

SOURCE = command.SOURCE.read_text(encoding="utf-8")


def test_new_defaults_are_the_only_change() -> None:
    first, last = BY_NAME["rfp_margin"], BY_NAME["history_bonus_max"]
    text = edited_source(SOURCE, [first, last], {first.name: first.high, last.name: last.low})
    old, new = SOURCE.splitlines(), text.splitlines()
    changed = [(before, after) for before, after in zip(old, new, strict=True) if before != after]
    assert len(changed) == 2
    assert f'"{first.name}", {first.high}, {first.low}' in changed[0][1]
    # A second time nothing is left to do.
    assert edited_source(text, [first, last], {first.name: first.high, last.name: last.low}) == text


def test_a_table_that_has_changed_meanwhile_is_not_edited() -> None:
    first = BY_NAME["rfp_margin"]
    with pytest.raises(SpsaError, match="by now, and the run began with"):
        edited_source(SOURCE, [replace(first, default=first.low)], {first.name: first.high})
    with pytest.raises(SpsaError, match="another range or step"):
        edited_source(SOURCE, [replace(first, high=first.high + 1)], {first.name: first.high})
    with pytest.raises(SpsaError, match="0 rows"):
        edited_source(SOURCE, [replace(first, name="Gone")], {"Gone": first.high})


def test_the_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "tunables.py"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    write_source(path, "new\n")
    assert path.read_text(encoding="utf-8") == "new\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(SpsaError):
        write_source(tmp_path / "nowhere" / "tunables.py", "new")


# -- the command -----------------------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the table that may be written, and a table of tunables that the fake engine has."""
    path = tmp_path / "tunables.py"
    path.write_text(
        "from search.tunables import Tunable\n\nTUNABLES = (\n"
        '    Tunable("Size", 100, 0, 200, 20),\n    Tunable("Other", 20, 0, 60, 4),\n)\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(command, "SOURCE", path)
    monkeypatch.setattr(command.tunables, "TUNABLES", (SIZE, OTHER))
    return path


def arguments(path: Path, *more: str) -> list[str]:
    return ["--state", str(path), "--quiet", "--engine", f"cmd={sys.executable}", f"arg={ENGINE}", "--tc", "nodes=10",
            "--resign", "1,500,both", "--max-moves", "3", *more]  # fmt: skip


def test_a_run_from_the_command_line(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, picture = tmp_path / "run.jsonl", tmp_path / "run.png"
    began = source.read_text(encoding="utf-8")
    assert command.main(arguments(state, "--iterations", "30", "--gain", "0.3", "--plot", str(picture), "--write")) == 0
    out = capsys.readouterr().out
    assert "30 of 30 iterations of 2 games at nodes=10" in out
    found = State.load(state).spsa.result()["Size"]
    assert found > 100
    assert f'+    Tunable("Size", {found}, 0, 200, 20),' in out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f'Tunable("Size", {found}, 0, 200, 20)' in source.read_text(encoding="utf-8") != began
    assert command.main(["--state", str(state), "--show", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["parameters"]["Size"]["default"] == found
    assert command.main(["--state", str(state), "--resume"]) == 0  # nothing is left to play


def test_mistakes_are_one_line_each(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "run.jsonl"
    State.create(run_of(5), state).begin()
    for given, status, message in (
        (arguments(state), 1, "is there already"),
        (["--state", str(state), "--resume", "--pairs", "2"], 2, "--pairs cannot be given"),
        (["--state", str(state), "--show", "--except", "Size"], 2, "--except cannot be given"),
        (["--state", str(tmp_path / "none"), "--resume"], 1, "No such file"),
        (arguments(tmp_path / "new", "--only", "Szie"), 2, "no tunable is called 'Szie'"),
        (arguments(tmp_path / "new", "--book", "none.epd"), 1, "there is no such book"),
        (arguments(tmp_path / "new", "--iterations", "0"), 2, "iterations is at least 1"),
        (arguments(tmp_path / "new", "--tc", "fast"), 2, "'fast' is not a time control"),
        (arguments(tmp_path / "new", "--engine", "cmd=/no/such", "option.Size=3"), 2, "option Size is tuned"),
        (arguments(tmp_path / "new", "--engine", "cmd=/no/such"), 1, "there is no program"),
    ):
        assert command.main(given) == status, given
        lines = [line for line in capsys.readouterr().err.splitlines() if ": note:" not in line]
        assert len(lines) == 1, lines
        assert message in lines[0]
    assert not (tmp_path / "new").exists()


def test_a_run_that_another_process_plays_is_only_shown(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "run.jsonl"
    State.create(run_of(5), state).begin()
    before = state.read_bytes()
    with locked(state):
        for given in (["--state", str(state), "--resume"], arguments(state, "--overwrite")):
            assert command.main(given) == 1
            assert f"{state}: is in use by another process\n" in capsys.readouterr().err
        assert command.main(["--state", str(state), "--show"]) == 0
    assert state.read_bytes() == before


def test_what_an_interrupted_run_has_found_is_written_only_on_demand(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(state: State, *rest: object) -> None:
        state.add(1, 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "tune", interrupted)
    state, before = tmp_path / "run.jsonl", source.read_text(encoding="utf-8")
    assert command.main(arguments(state, "--iterations", "9", "--gain", "0.5", "--write")) == 1
    assert "--resume goes on" in capsys.readouterr().err
    assert source.read_text(encoding="utf-8") == before
    assert command.main(["--state", str(state), "--show", "--write"]) == 0
    assert source.read_text(encoding="utf-8") != before


def test_points_count_wins_less_losses() -> None:
    from bench.results import GameResult

    games = [GameResult(0, 0, "plus", "minus", "1-0"), GameResult(1, 0, "minus", "plus", "1/2-1/2")]
    assert points_of(games) == 1
    assert points_of([GameResult(0, 0, "minus", "plus", "1-0")] * 2) == -2


@pytest.mark.parametrize("mode", ["new", "--overwrite", "--resume"])
@pytest.mark.parametrize("late", [False, True])
def test_what_somebody_puts_in_the_place_of_a_run_stays(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], mode: str,
    late: bool,
) -> None:  # fmt: skip
    state, mine = tmp_path / "run.jsonl", tmp_path / "mine"
    if mode != "new":
        feed(State.create(run_of(9), state), 3)
    given = ["--state", str(state), "--resume", "--quiet"] if mode == "--resume" else arguments(state)
    before = state.read_bytes() if state.exists() else b""
    kept: list[bytes] = []

    def fake(state: State, *rest: object) -> None:
        if late:
            state.add(4, 2)
        if mode == "--resume" and not late:
            with state.path.open("ab") as file:
                file.write(b"my notes\n")
        else:
            mine.write_bytes(before or b"my notes")
            mine.replace(state.path)
        kept.append(state.path.read_bytes())
        state.add(5, 2)

    monkeypatch.setattr(command, "tune", fake)
    assert command.main([*given, "--overwrite"] if mode == "--overwrite" else given) == 1
    assert state.read_bytes() == kept[0]
    beside = tmp_path / "run-2.jsonl"
    (line,) = [line for line in capsys.readouterr().err.splitlines() if ": note:" not in line]
    assert line.startswith(f"secateur spsa: {state}: ")
    assert line.endswith(f"; it is left as it is; its new contents are in {beside}")
    found = [step.iteration for step in State.load(beside).steps] if late or mode == "--resume" else []
    assert found == [1, 2, 3] * (mode == "--resume") + [4] * late + [5] * bool(found)
