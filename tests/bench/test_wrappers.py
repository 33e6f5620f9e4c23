"""cutechess-cli and fastchess: recorded output everywhere, the programs themselves where they are on the PATH."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bench.adjudication import Adjudication, DrawRule, ResignRule
from bench.description import MatchDescription
from bench.engines import EngineSpec
from bench.pgn import read_games
from bench.play import pick_runner, play
from bench.results import GameResult, Termination
from bench.runners import external
from bench.runners.external import PROGRAMS, ExternalRunner, finished_game
from bench.schedule import make_plan
from bench.timecontrol import TimeControl
from engine.errors import CommandError
from tests.bench.fakes import FAKE, fake

RECORDED = Path(__file__).with_name("recorded")
Describe = Callable[..., MatchDescription]


@pytest.mark.parametrize(
    ("name", "termination", "faults"),
    [
        ("cutechess_crash", Termination.CRASH, 1),
        ("fastchess_crash", Termination.CRASH, 1),
        ("cutechess_time", Termination.TIME_FORFEIT, 1),
        ("fastchess_time", Termination.TIME_FORFEIT, 1),
        ("cutechess_illegal", Termination.ILLEGAL_MOVE, 6),
    ],
)
def test_reads_recorded_matches(name: str, termination: Termination, faults: int) -> None:
    lines = (RECORDED / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    games = [game for game in map(finished_game, lines) if game is not None]
    assert sorted(game.game for game in games) == list(range(6))
    for game in games:
        assert game.pair == game.game // 2
        assert (game.white == "Bad") == (game.game % 2 == 1)
    faulty = [game for game in games if game.faulty_engine]
    assert [(game.faulty_engine, game.termination) for game in faulty] == [("Bad", termination)] * faults
    assert "Bad: " in (faulty[0].fault or "")
    # The PGN file has the same games.
    written = list(read_games(RECORDED / f"{name}.pgn"))
    assert sorted((game.white, game.result, game.termination) for game in written if game.faulty_engine) == sorted(
        (game.white, game.result, game.termination) for game in faulty
    )


def test_an_unfinished_game_does_not_count() -> None:
    assert finished_game("Finished game 2 (B vs A): * {No result}") is None
    game = finished_game("Finished game 3 (A (new) vs B vs C): 1-0 {White mates}")
    assert game is not None
    assert (game.white, game.black) == ("A (new) vs B", "C")


@pytest.mark.parametrize("name", PROGRAMS)
def test_builds_the_exact_command(name: str, describe: Describe, tmp_path: Path) -> None:
    first = EngineSpec(
        "A",
        (sys.executable, "an engine.py", "--fast"),
        TimeControl.parse("40/60+0.6"),
        str(tmp_path),
        (("Move Overhead", "5"),),
        restart=True,
    )
    second = EngineSpec("B", (sys.executable,), TimeControl.parse("nodes=5000,depth=7"))
    rules = Adjudication(ResignRule(3, 400, True), DrawRule(40, 8, 10), 200, "tb")
    description = describe(first, second, rounds=7, concurrency=3, adjudication=rules, time_margin=0.02)
    words = shlex.split(ExternalRunner(name).command_line(make_plan(description)))
    is_cutechess = name == "cutechess"
    engines = words[1 : words.index("-games")]
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
        "-openings file=OPENINGS.epd format=epd order=sequential",
        "-concurrency 3",
        "-resign movecount=3 score=400 twosided=true",
        "-draw movenumber=40 movecount=8 score=10",
        "-maxmoves 200",
        "-tb tb -tbpieces 7",
        "-recover",
        "-pgnout GAMES.pgn fi" if is_cutechess else "-pgnout file=GAMES.pgn nodes=true",
    ):
        assert part in line
    tournament = describe(fake("A"), fake("B"), fake("C"), format="round-robin")
    line = ExternalRunner(name).command_line(make_plan(tournament))
    assert f"-tournament {'round-robin' if is_cutechess else 'roundrobin'} " in line


def test_picks_what_is_there(describe: Describe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def on_path(*programs: str) -> None:
        monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name in programs else None)

    on_path("fastchess", "cutechess-cli")
    assert pick_runner(describe(runner="auto")).name == "cutechess"
    on_path("fastchess")
    assert pick_runner(describe(runner="auto")).name == "fastchess"
    assert pick_runner(describe(runner="auto", pgn=str(tmp_path / "g"), resume=True)).name == "builtin"
    assert pick_runner(describe(runner="auto", hang_seconds=5.0)).name == "builtin"
    on_path()
    assert pick_runner(describe(runner="auto")).name == "builtin"
    with pytest.raises(CommandError, match="cutechess-cli is not on the PATH"):
        play(describe(runner="cutechess"))
    with pytest.raises(CommandError, match="only the built-in runner can resume"):
        play(describe(runner="fastchess", pgn=str(tmp_path / "g"), resume=True))


StandIn = Callable[[str], None]

#: A game of the engines A and B, as a match program writes it.
GAME = '[Event "Secateur match"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n[PlyCount "1"]\n\n1. e4 1-0\n\n'

#: A user's own game.
MINE = '[Event "Mine"]\n\n1. d4 1-0\n\n'

#: The shell commands after which $2 is the file for the games.
FIND_PGN = 'while [ "$1" != -pgnout ]; do shift; done'


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Writes a shell script that takes the place of cutechess-cli."""
    if os.name != "posix":
        pytest.skip("a shell script stands for the program")

    def write(lines: str) -> None:
        script = tmp_path / "cutechess-cli"
        script.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    return write


@pytest.mark.parametrize(("lines", "left"), [("echo sorry; exit 3", 2), (f'{FIND_PGN}; cat NEW >>"$2"', 1)])
def test_earlier_games_are_dropped_only_for_new_ones(
    describe: Describe, tmp_path: Path, stand_in: StandIn, lines: str, left: int
) -> None:
    pgn, new = tmp_path / "games.pgn", tmp_path / "new.pgn"
    pgn.write_text(2 * GAME, encoding="utf-8")
    new.write_text(GAME, encoding="utf-8")
    stand_in(lines.replace("NEW", str(new)))
    result = play(describe(runner="cutechess", pgn=str(pgn), overwrite=True))
    assert pgn.read_text(encoding="utf-8") == left * GAME
    kept = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("games-*.pgn")}
    assert kept == ({} if left == 2 else {"games-old.pgn": 2 * GAME})
    status, last = (3, "its last lines: sorry") if left == 2 else (0, "it printed nothing")
    ended = f"cutechess-cli ended with exit status {status} after 0 of 4 games; {last}"
    assert result.problems == [ended]


def test_unfinished_games_that_replace_nothing_are_kept(describe: Describe, tmp_path: Path, stand_in: StandIn) -> None:
    pgn = tmp_path / "games.pgn"
    pgn.write_text(GAME, encoding="utf-8")
    stand_in(f'{FIND_PGN}; echo "1. e4" >>"$2"')
    result = play(describe(runner="cutechess", pgn=str(pgn), overwrite=True))
    assert pgn.read_text(encoding="utf-8") == GAME
    assert result.problems[0].startswith(f"{pgn}: keeps its games; the unfinished new games are in ")
    assert Path(result.problems[0].rpartition(" in ")[2]).read_text(encoding="utf-8") == "1. e4\n"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_signals_end_the_program_and_the_games_are_named(
    describe: Describe, tmp_path: Path, stand_in: StandIn, name: str
) -> None:
    pgn, over = tmp_path / "games.pgn", tmp_path / "over"
    line = "Finished game 1 (A vs B): 1-0 {White mates}"
    stand_in(
        f'trap "touch {over}; exit 1" INT\n{FIND_PGN}\n'
        f'echo "1. e4 1-0" >>"$2"\necho "{line}"\nwhile :; do sleep 0.1; done'
    )
    before = signal.getsignal(signal.SIGTERM)

    def on_game(game: GameResult) -> bool:
        os.kill(os.getpid(), signal.Signals[name])
        return True

    result = play(describe(runner="cutechess", pgn=str(pgn)), on_game)
    assert over.exists()
    assert result.interrupted
    assert result.notes[-1] == f"interrupted; the finished games are in {pgn}"
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("earlier", [True, False])
def test_what_a_user_saves_during_a_match_stays(
    describe: Describe, tmp_path: Path, stand_in: StandIn, earlier: bool
) -> None:
    pgn = tmp_path / "games.pgn"
    if earlier:
        pgn.write_text(GAME, encoding="utf-8")
    place = tmp_path / ("games-2.pgn" if earlier else "games.pgn")
    stand_in(f"printf '{MINE}' >{place}; {FIND_PGN}; printf '{GAME}' >>\"$2\"")
    result = play(describe(runner="cutechess", pgn=str(pgn), overwrite=earlier))
    assert place.read_text(encoding="utf-8") == MINE
    written = pgn if earlier else tmp_path / "games-2.pgn"
    assert written.read_text(encoding="utf-8") == GAME
    if not earlier:
        problem = result.problems[0]
        assert problem.startswith(f"{pgn}: cannot be written: the file was changed by another program;")
        assert Path(problem.rpartition(" in ")[2]).read_text(encoding="utf-8") == GAME


@pytest.mark.parametrize("earlier", [True, False])
def test_what_a_user_saves_while_the_engines_are_checked_stays(
    describe: Describe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_in: StandIn, earlier: bool
) -> None:
    pgn = tmp_path / "games.pgn"
    if earlier:
        pgn.write_text(GAME, encoding="utf-8")
    stand_in(f"{FIND_PGN}; printf '{GAME}' >>\"$2\"")

    def save(*_: object) -> dict[EngineSpec, str]:
        pgn.write_text(MINE, encoding="utf-8")
        return {}

    monkeypatch.setattr(external, "unfit_engines", save)
    result = play(describe(runner="cutechess", pgn=str(pgn), overwrite=earlier))
    assert pgn.read_text(encoding="utf-8") == MINE
    assert (tmp_path / "games-2.pgn").read_text(encoding="utf-8") == GAME
    assert result.problems[0].startswith(f"{pgn}: cannot be written: the file was changed by another program;")


@pytest.mark.parametrize("later", [True, False])
def test_games_that_a_user_moves_away_during_a_match_are_saved(
    describe: Describe, tmp_path: Path, stand_in: StandIn, later: bool
) -> None:
    pgn, away = tmp_path / "games.pgn", tmp_path / "away"
    lines = f'{FIND_PGN}; printf \'{GAME}\' >>"$2"; mv "$2" {away}'
    stand_in(f"{lines}; printf '{GAME.replace('1-0', '0-1')}' >>\"$2\"" if later else lines)
    result = play(describe(runner="cutechess", pgn=str(pgn)))
    assert [found.result for found in read_games(pgn)] == (["1-0", "0-1"] if later else ["1-0"])
    assert away.read_text(encoding="utf-8") == GAME
    assert result.problems == ["cutechess-cli ended with exit status 0 after 0 of 4 games; it printed nothing"]


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if shutil.which(PROGRAMS[name]) is None:
        pytest.skip(f"{PROGRAMS[name]} is not on the PATH")
    return name


def test_really_plays_and_survives_a_crash(program: str, describe: Describe, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    bad = fake("Bad one", "--seed", "9", "--fault", "crash", "--marker", str(tmp_path / "a marker"), Hash="64")
    rules = Adjudication(max_moves=8)
    result = play(describe(fake("A"), bad, rounds=3, runner=program, pgn=str(pgn), adjudication=rules))
    assert [game.game for game in result.games] == list(range(6))
    assert [(game.faulty_engine, game.termination) for game in result.games if game.faulty_engine] == [
        ("Bad one", Termination.CRASH)
    ]
    assert result.exit_status == 1
    games = list(read_games(pgn))
    assert len(games) == 6
    assert len({game.start_fen for game in games}) == 3


def test_really_loses_on_time(program: str, describe: Describe, tmp_path: Path) -> None:
    slow = fake("Slow", "--fault", "slow", "--marker", str(tmp_path / "m"), limit="movetime=0.05")
    rules = Adjudication(max_moves=6)
    result = play(describe(fake("A"), slow, rounds=1, runner=program, time_margin=0.2, adjudication=rules))
    assert [game.faulty_engine for game in result.games if game.termination == Termination.TIME_FORFEIT] == ["Slow"]
    assert result.exit_status == 1


@pytest.mark.parametrize("how", ["stopped", "Ctrl-C"])
def test_really_ends_early_and_leaves_nothing_running(
    program: str, how: str, describe: Describe, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A shell that runs the tests in the background has the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    slow = (fake("A", "--think", "0.005"), fake("B", "--think", "0.005"))

    timers = [threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))] if how == "Ctrl-C" else []

    def on_game(game: GameResult) -> bool:
        if timers:  # as from the terminal, at a moment when the runner waits for a line
            timers.pop().start()
        return how == "Ctrl-C"

    try:
        result = play(describe(*slow, rounds=500, runner=program), on_game)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (result.interrupted, result.stopped_early) == (how == "Ctrl-C", how == "stopped")
    assert 1 <= len(result.games) < 1000
    assert result.exit_status == (how == "Ctrl-C")
    children = psutil.Process().children(recursive=True)
    fakes = [child for child in children if child.is_running() and str(FAKE) in child.cmdline()]
    assert not psutil.wait_procs(fakes, timeout=3)[1]


def test_the_dry_run_is_a_command_that_runs(program: str, tmp_path: Path, describe: Describe) -> None:
    book = describe().book
    assert book is not None
    main = Path(__file__).resolve().parents[2] / "uci_main.py"
    engine = f"cmd={sys.executable} {FAKE}"
    command = [
        *(sys.executable, str(main), "match", "--runner", program, "--dry-run", "--book", book.file),
        *("--engine", engine, "name=A", "--engine", engine, "name=B", "--tc", "nodes=10", "--max-moves", "4"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shutil.copy(book.file, tmp_path / "OPENINGS.epd")
    played = subprocess.run(done.stdout, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert played.returncode == 0, played.stdout
    assert len(list(read_games(tmp_path / "GAMES.pgn"))) == 2
