"""cutechess-cli and fastchess: recorded output everywhere, the programs themselves where they are on the PATH."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from fakes import FAKE, fake

from bench.adjudication import Adjudication, DrawRule, ResignRule
from bench.description import MatchDescription
from bench.engines import EngineSpec
from bench.pgn import read_games
from bench.play import PlayError, pick_runner, play
from bench.results import GameResult, MatchResult, Termination
from bench.runners.cutechess import CutechessRunner
from bench.runners.external import ExternalRunner, Transcript, _add_details, book_text
from bench.runners.fastchess import FastchessRunner
from bench.schedule import make_plan
from bench.timecontrol import TimeControl

RECORDED = Path(__file__).with_name("recorded")
RUNNERS: list[type[ExternalRunner]] = [CutechessRunner, FastchessRunner]
Describe = Callable[..., MatchDescription]


def recorded(name: str) -> Transcript:
    output = Transcript()
    for line in (RECORDED / f"{name}.txt").read_text(encoding="utf-8").splitlines(keepends=True):
        output.read(line, 2)
    return output


# --------------------------------------------------------------------------------------------------------------
# Recorded output
# --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["cutechess", "fastchess"])
@pytest.mark.parametrize(
    ("kind", "termination", "problems"),
    [
        ("crash", Termination.CRASH, []),
        ("time", Termination.TIME_FORFEIT, ["Bad doesn't have option Nonsense"]),
    ],
)
def test_reads_recorded_matches(program: str, kind: str, termination: Termination, problems: list[str]) -> None:
    output = recorded(f"{program}_{kind}")
    assert sorted(game.game for game in output.games) == list(range(6))
    for game in output.games:
        assert game.pair == game.game // 2
        assert (game.white == "Bad") == (game.game % 2 == 1)
    faults = [game for game in output.games if game.faulty_engine]
    assert [(game.faulty_engine, game.termination) for game in faults] == [("Bad", termination)]
    assert "Bad: " in (faults[0].fault or "")
    assert [line.split(maxsplit=1)[1] for line in output.complaints] == problems


@pytest.mark.parametrize("name", ["cutechess_crash", "cutechess_time", "fastchess_crash", "fastchess_time"])
def test_completes_recorded_matches_from_their_pgn(name: str) -> None:
    output = recorded(name)
    result = MatchResult(("Good one", "Bad"), games=list(output.games))
    _add_details(result, RECORDED / f"{name}.pgn")
    assert result.problems == []
    for game in result.games:
        assert game.plies is not None
        assert game.final_fen is not None
        # The third own move is the one that goes wrong.
        assert game.plies <= 5 if game.faulty_engine else game.plies == 16
    by_pair = {game.pair: set() for game in result.games}  # type: ignore[var-annotated]
    for game in result.games:
        by_pair[game.pair].add(" ".join((game.start_fen or "").split()[:4]))
    assert [len(positions) for positions in by_pair.values()] == [1, 1, 1]
    assert len(set.union(*by_pair.values())) == 3


def test_illegal_moves_are_faults_and_no_complaints() -> None:
    output = recorded("cutechess_illegal")
    assert [game.termination for game in output.games] == [Termination.ILLEGAL_MOVE] * 6
    assert {game.faulty_engine for game in output.games} == {"Bad"}
    assert output.complaints == []


@pytest.mark.parametrize(("program", "words"), [("cutechess", "Cannot start engine"), ("fastchess", "does not exist")])
def test_a_program_that_cannot_start_an_engine_is_heard(program: str, words: str) -> None:
    output = recorded(f"{program}_missing")
    assert output.games == []
    assert any(words in line for line in output.complaints)


def test_an_unfinished_game_does_not_count() -> None:
    output = Transcript()
    assert output.read("Finished game 2 (B vs A): * {No result}\n", 2) is None
    assert output.read("Finished game 3 (A (new) vs B vs C): 1-0 {White mates}\n", 2) is not None
    assert [(game.white, game.black) for game in output.games] == [("A (new) vs B", "C")]


# --------------------------------------------------------------------------------------------------------------
# Command lines
# --------------------------------------------------------------------------------------------------------------


def arguments(runner: type[ExternalRunner], description: MatchDescription) -> list[str]:
    return runner().arguments(make_plan(description), Path("book.epd"), Path("games.pgn"), Path("scratch"))


@pytest.mark.parametrize("runner", RUNNERS)
def test_builds_the_exact_command(runner: type[ExternalRunner], describe: Describe, tmp_path: Path) -> None:
    first = EngineSpec(
        "A",
        (sys.executable, "an engine.py", "--fast"),
        TimeControl.parse("40/60+0.6"),
        str(tmp_path),
        (("Move Overhead", "5"),),
        restart=True,
    )
    second = EngineSpec("B", (sys.executable,), TimeControl.parse("nodes=5000,depth=7"))
    rules = Adjudication(ResignRule(3, 400, True), DrawRule(40, 8, 10), 200, "tb", 6)
    description = describe(first, second, rounds=7, concurrency=3, adjudication=rules, time_margin=0.02)
    words = arguments(runner, description)
    is_cutechess = runner is CutechessRunner
    engines = words[: words.index("-games")]
    assert engines == [
        *("-engine", "name=A", f"cmd={sys.executable}"),
        *(["arg=an engine.py", "arg=--fast"] if is_cutechess else ['args="an engine.py" --fast']),
        *("proto=uci", f"dir={tmp_path}", "tc=40/60+0.6", "timemargin=20", "restart=on", "option.Move Overhead=5"),
        *("-engine", "name=B", f"cmd={sys.executable}", "proto=uci", f"dir={Path.cwd()}"),
        *(["tc=inf", "nodes=5000", "depth=7"] if is_cutechess else ["nodes=5000", "plies=7"]),
    ]
    line = " ".join(words)
    for part in (
        "-games 2 -rounds 7",
        "-openings file=book.epd format=epd order=sequential",
        "-concurrency 3",
        "-resign movecount=3 score=400 twosided=true",
        "-draw movenumber=40 movecount=8 score=10",
        "-maxmoves 200",
        "-tb tb -tbpieces 6",
        "-recover",
        "-pgnout games.pgn fi" if is_cutechess else "-pgnout file=games.pgn nodes=true",
    ):
        assert part in line


@pytest.mark.parametrize("runner", RUNNERS)
def test_tournaments_have_the_programs_own_names(runner: type[ExternalRunner], describe: Describe) -> None:
    engines = (fake("A"), fake("B"), fake("C"))
    words = arguments(runner, describe(*engines, format="round-robin"))
    expected = "round-robin" if runner is CutechessRunner else "roundrobin"
    assert words[words.index("-tournament") + 1] == expected


def test_openings_with_moves_become_a_pgn(describe: Describe, tmp_path: Path) -> None:
    from bench.openings import Opening

    text = book_text((Opening(moves=("e2e4", "c7c5"), name="Sicilian"), Opening(moves=("d2d4",))))
    path = tmp_path / "book.pgn"
    path.write_text(text, encoding="utf-8")
    import chess.pgn

    with path.open(encoding="utf-8") as file:
        games = [chess.pgn.read_game(file), chess.pgn.read_game(file)]
    assert [[move.uci() for move in game.mainline_moves()] for game in games if game] == [["e2e4", "c7c5"], ["d2d4"]]


def test_picks_what_is_there(describe: Describe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def on_path(*programs: str) -> None:
        monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name in programs else None)

    on_path("fastchess", "cutechess-cli")
    assert pick_runner(describe(runner="auto")).name == "cutechess"
    on_path("fastchess")
    assert pick_runner(describe(runner="auto")).name == "fastchess"
    assert pick_runner(describe(runner="auto", pgn=str(tmp_path / "g"), resume=True)).name == "builtin"
    on_path()
    assert pick_runner(describe(runner="auto")).name == "builtin"
    with pytest.raises(PlayError, match="cutechess-cli is not on the PATH"):
        play(describe(runner="cutechess"))
    with pytest.raises(PlayError, match="only the built-in runner can resume"):
        play(describe(runner="fastchess", pgn=str(tmp_path / "g"), resume=True))


@pytest.mark.skipif(os.name != "posix", reason="a shell script stands for the program")
@pytest.mark.parametrize(
    ("lines", "left"), [("exit 3", 2), ('while [ "$1" != -pgnout ]; do shift; done; cat NEW >>"$2"', 1)]
)
def test_earlier_games_are_dropped_only_for_new_ones(
    describe: Describe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, left: int
) -> None:
    pgn, new = tmp_path / "games.pgn", tmp_path / "new.pgn"
    game = '[Event "Secateur match"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
    pgn.write_text(2 * game, encoding="utf-8")
    new.write_text(game, encoding="utf-8")
    script = tmp_path / "cutechess-cli"
    script.write_text(f"#!/bin/sh\n{lines.replace('NEW', str(new))}\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    play(describe(runner="cutechess", pgn=str(pgn), overwrite=True))
    assert pgn.read_text(encoding="utf-8") == left * game


# --------------------------------------------------------------------------------------------------------------
# The programs themselves
# --------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["cutechess", "fastchess"])
def program(request: pytest.FixtureRequest) -> str:
    name = "cutechess-cli" if request.param == "cutechess" else "fastchess"
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not on the PATH")
    return str(request.param)


def test_really_plays_and_survives_a_crash(program: str, describe: Describe, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    bad = fake("Bad one", "--seed", "9", "--fault", "crash", "--marker", str(tmp_path / "a marker"), Hash="64")
    rules = Adjudication(max_moves=8)
    seen: list[GameResult] = []
    description = describe(fake("A"), bad, rounds=3, runner=program, pgn=str(pgn), adjudication=rules)
    result = play(description, lambda game: not seen.append(game))
    assert [game.game for game in result.games] == list(range(6))
    assert len(seen) == 6
    assert [(game.faulty_engine, game.termination) for game in result.games if game.faulty_engine] == [
        ("Bad one", Termination.CRASH)
    ]
    assert result.exit_status == 1
    assert all(game.final_fen for game in result.games)
    assert len(list(read_games(pgn, moves=True))) == 6
    for first, second in zip(result.games[::2], result.games[1::2], strict=True):
        assert (first.start_fen, first.white) == (second.start_fen, second.black)


def test_really_loses_on_time(program: str, describe: Describe, tmp_path: Path) -> None:
    slow = fake("Slow", "--fault", "slow", "--marker", str(tmp_path / "m"), limit="movetime=0.05")
    result = play(
        describe(
            *(fake("A", limit="movetime=0.05"), slow),
            rounds=1,
            runner=program,
            time_margin=0.2,
            adjudication=Adjudication(max_moves=6),
        )
    )
    assert [game.faulty_engine for game in result.games if game.termination == Termination.TIME_FORFEIT] == ["Slow"]
    assert result.exit_status == 1


def test_really_reports_a_wrong_option(program: str, describe: Describe) -> None:
    result = play(describe(fake("A"), fake("B", Nonsense="1"), runner=program))
    assert result.games == []
    assert "engine B refused its options: engine does not support option Nonsense" in result.problems[0]
    assert result.exit_status == 1


def test_really_plays_a_tournament(program: str, describe: Describe) -> None:
    engines = (fake("A"), fake("B", "--seed", "4"), fake("C", "--seed", "5"))
    rules = Adjudication(max_moves=6)
    result = play(describe(*engines, format="round-robin", rounds=1, runner=program, adjudication=rules))
    assert len(result.games) == 6
    assert result.exit_status == 0, result.problems
    assert all(game.final_fen for game in result.games)


def test_really_stops_early_and_leaves_nothing_running(program: str, describe: Describe) -> None:
    slow = (fake("A", "--think", "0.005"), fake("B", "--think", "0.005"))
    began = time.monotonic()
    result = play(describe(*slow, rounds=500, runner=program), lambda game: False)
    assert result.stopped_early
    assert result.exit_status == 0, result.problems
    assert time.monotonic() - began < 25
    assert not running_fakes()


def test_really_ends_with_ctrl_c(program: str, describe: Describe) -> None:
    # A shell that runs the tests in the background has the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    slow = (fake("A", "--think", "0.005"), fake("B", "--think", "0.005"))
    played: list[GameResult] = []

    def on_game(game: GameResult) -> bool:
        played.append(game)
        if len(played) == 1:
            # As from the terminal, at a moment when the runner waits for a line.
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        return True

    try:
        result = play(describe(*slow, rounds=500, runner=program), on_game)
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.interrupted
    assert 1 <= len(result.games) < 1000
    assert result.exit_status == 1
    assert not running_fakes()


def running_fakes() -> list[psutil.Process]:
    children = psutil.Process().children(recursive=True)
    fakes = [child for child in children if child.is_running() and str(FAKE) in child.cmdline()]
    return psutil.wait_procs(fakes, timeout=3)[1]


def test_the_dry_run_is_a_command_that_runs(program: str, tmp_path: Path, describe: Describe) -> None:
    book = describe().book
    assert book is not None
    main = Path(__file__).resolve().parents[2] / "uci_main.py"
    engine = f"cmd={sys.executable} {FAKE}"
    done = subprocess.run(
        [
            *(sys.executable, str(main), "match", "--runner", program, "--dry-run", "--book", book.file),
            *("--engine", engine, "name=A", "--engine", engine, "name=B", "--tc", "nodes=10", "--max-moves", "4"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    (tmp_path / "OPENINGS.epd").write_text(Path(book.file).read_text(encoding="utf-8"), encoding="utf-8")
    played = subprocess.run(done.stdout, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert played.returncode == 0, played.stdout
    assert len(list(read_games(tmp_path / "GAMES.pgn"))) == 2
