"""The built-in runner through its front door, and through the command line with signals and full disks."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from fakes import fake, room_for

from bench.adjudication import Adjudication
from bench.description import Book, MatchDescription
from bench.engines import EngineSpec
from bench.pgn import read_games, split_games
from bench.play import PlayError, play
from bench.results import GameResult
from bench.runners import builtin

MAIN = Path(__file__).resolve().parents[2] / "uci_main.py"
SHORT = Adjudication(max_moves=12)
Describe = Callable[..., MatchDescription]


def test_openings_are_paired_with_colours_swapped(describe: Describe) -> None:
    seen: list[GameResult] = []
    result = play(describe(rounds=3, adjudication=SHORT), lambda game: seen.append(game) or True)  # type: ignore[func-returns-value]
    assert [game.game for game in result.games] == list(range(6))
    assert sorted(game.game for game in seen) == list(range(6))
    for first, second in zip(result.games[::2], result.games[1::2], strict=True):
        assert first.pair == second.pair
        assert first.start_fen == second.start_fen
        assert (first.white, first.black) == (second.black, second.white)
    assert len({game.start_fen for game in result.games}) == 3
    assert result.exit_status == 0
    assert all(game.moves for game in seen)


def test_stops_when_asked_to(describe: Describe) -> None:
    result = play(describe(rounds=50, adjudication=SHORT), lambda game: False)
    assert result.stopped_early
    assert len(result.games) == 1
    assert result.exit_status == 0


def test_a_match_goes_on_after_faults_and_reports_each(describe: Describe) -> None:
    result = play(describe(fake("Good"), fake("Bad", "--fault", "crash"), rounds=2))
    assert [game.faulty_engine for game in result.games] == ["Bad"] * 4
    assert result.score("Good") == (4, 0, 0)
    assert result.exit_status == 1
    assert len(result.problems) == 4
    assert all("Bad engine process died" in problem for problem in result.problems)


def test_an_engine_that_does_not_start_is_reported_once(describe: Describe) -> None:
    result = play(describe(fake("Good"), fake("Bad", "--fault", "exit"), rounds=20))
    assert result.games == []
    assert len(result.problems) == 1
    assert "engine Bad exited at the start" in result.problems[0]
    assert result.exit_status == 1


def test_in_a_tournament_the_others_play_on(describe: Describe) -> None:
    engines = (fake("A"), fake("B", Threads="3"), fake("C", "--seed", "5"))
    result = play(describe(*engines, format="round-robin", rounds=1, adjudication=SHORT))
    assert [(game.white, game.black) for game in result.games] == [("A", "C"), ("C", "A")]
    assert "engine B refused its options: engine does not support option Threads" in result.problems[0]
    assert result.exit_status == 1


def test_resumes_what_is_missing_and_heals_a_cut_file(describe: Describe, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    description = describe(rounds=4, adjudication=SHORT, pgn=str(pgn))
    whole = play(description)
    games = list(split_games(pgn))
    data = pgn.read_bytes()
    # Five games and a half are left.
    pgn.write_bytes(data[: (games[5].start + games[5].end) // 2])
    kept = data[: games[5].start]
    handed: list[int] = []
    resumed = play(
        describe(rounds=4, adjudication=SHORT, pgn=str(pgn), resume=True), lambda game: not handed.append(game.game)
    )
    assert pgn.read_bytes().startswith(kept)
    assert sorted(handed) == list(range(8))
    assert [(game.game, game.white) for game in resumed.games] == [(game.game, game.white) for game in whole.games]
    assert len(list(read_games(pgn, moves=True))) == 8


def test_a_game_that_is_no_good_is_played_again_and_no_other(describe: Describe, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    whole = play(describe(rounds=4, adjudication=SHORT, pgn=str(pgn)))
    bad = list(split_games(pgn))[2]
    data = bytearray(pgn.read_bytes())
    text = data[bad.start : bad.end].decode()
    result = bad.tags["Result"]
    other = "1-0" if result != "1-0" else "0-1"
    data[bad.start : bad.end] = text.replace(f'[Result "{result}"]', f'[Result "{other}"]').encode()
    pgn.write_bytes(data)
    resumed = play(describe(rounds=4, adjudication=SHORT, pgn=str(pgn), resume=True))
    rows = [[(game.game, game.pair, game.white) for game in games] for games in (resumed.games, whole.games)]
    assert sorted(rows[0]) == sorted(rows[1])


def test_a_cut_within_the_last_newlines_loses_no_game(describe: Describe, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn)))
    pgn.write_bytes(pgn.read_bytes().rstrip())
    play(describe(rounds=2, adjudication=SHORT, pgn=str(pgn), resume=True))
    assert len(list(read_games(pgn, moves=True))) == 4


def test_another_match_is_neither_resumed_nor_overwritten(describe: Describe, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn)))
    data = pgn.read_bytes()
    with pytest.raises(PlayError, match="holds games already"):
        play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn)))
    with pytest.raises(PlayError, match=r"games\.pgn:1: this game is of another match"):
        play(describe(rounds=1, pgn=str(pgn), resume=True))
    assert pgn.read_bytes() == data
    play(describe(rounds=2, adjudication=SHORT, pgn=str(pgn), overwrite=True))
    assert len(list(read_games(pgn))) == 4


FOREIGN = {
    "text": b"my notes\nof many years\n",
    "text that ends like a game": b"I won 1-0",
    "CSV": b"name,value\r\na,1\r\n",
    "binary": bytes(range(256)) * 64,
    "TOML": b'[[engine]]\ncmd = "./secateur"\n',
    "tags of nobody": b'[Event "?"]\n[Site "?"]\n',
    "an unfinished game": b'[Event "Casual"]\n[Site "?"]\n[Result "*"]\n\n1. e4 e5 2. Nf3',
    "a finished game": b'[Event "Casual"]\n[Site "?"]\n[Result "1-0"]\n\n1. e4 e5 1-0\n\n',
}


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("mode", ["resume", "overwrite", "neither"])
def test_a_file_of_somebody_else_is_left_as_it_is(describe: Describe, tmp_path: Path, data: bytes, mode: str) -> None:
    pgn = tmp_path / "notes.txt"
    pgn.write_bytes(data)
    modes = {} if mode == "neither" else {mode: True}
    with pytest.raises(PlayError, match=r"notes\.txt"):
        play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn), **modes))
    assert pgn.read_bytes() == data
    assert list(tmp_path.glob("*notes*")) == [pgn]


def test_what_follows_or_precedes_our_games_is_left_as_it_is(describe: Describe, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn)))
    ours = pgn.read_bytes()
    first = next(split_games(pgn)).end
    for data in (
        ours + b"my notes\n",
        ours.rstrip() + b" { my notes",
        b"; my notes\n\n" + ours,
        ours[:first] + b"my notes\n\n" + ours[first:],
        ours[: first // 2] + b"\nmy notes\n",
        ours + FOREIGN["an unfinished game"],
        ours + FOREIGN["a finished game"],
        ours[: first // 2].replace(b"\n", b"\r\n"),
    ):
        pgn.write_bytes(data)
        with pytest.raises(PlayError, match=r"games\.pgn:( is there already and|\d+: )"):
            play(describe(rounds=2, adjudication=SHORT, pgn=str(pgn), resume=True))
        assert pgn.read_bytes() == data


def test_games_that_the_schedule_does_not_know_are_reported_and_none_is_played_in_their_place(
    describe: Describe, tmp_path: Path
) -> None:
    pgn = tmp_path / "games.pgn"
    play(describe(rounds=3, adjudication=SHORT, pgn=str(pgn)))
    games = sorted(split_games(pgn), key=lambda game: game.tags["Round"])
    pgn.write_text("".join(game.text for game in games), encoding="utf-8")
    games = list(split_games(pgn))
    lines = [game.line for game in games]
    text = [game.text for game in games]
    changes = {1: ("1.2", "1.1"), 2: ("2.1", "77.1"), 3: ("2.2", "2.3"), 4: ("3.1", "?"), 5: ("3.2", "0.0")}
    for number, (old, new) in changes.items():
        text[number] = text[number].replace(f'[Round "{old}"]', f'[Round "{new}"]')
    pgn.write_text("".join(text) + text[0], encoding="utf-8")
    result = play(describe(rounds=3, adjudication=SHORT, pgn=str(pgn), resume=True))
    problems = "\n".join(result.problems)
    assert len(result.problems) == 6, problems
    assert f"games.pgn:{lines[1]}: game 1.1 of B and A is not in the schedule" in problems
    assert f"games.pgn:{lines[2]}: game 77.1 of A and B is not in the schedule" in problems
    assert "game 1.1 of A and B is not in the schedule, or is there twice; it does not count" in problems
    assert [game.game for game in result.games] == list(range(6))
    assert result.exit_status == 1


def test_two_matches_never_write_to_one_file(describe: Describe, tmp_path: Path) -> None:
    pgn, link = tmp_path / "games.pgn", tmp_path / "link.pgn"
    link.symlink_to(pgn)
    refused: list[str] = []

    def other_match(game: GameResult) -> bool:
        for name in (pgn, link):
            for modes in ({"resume": True}, {"overwrite": True}):
                with pytest.raises(PlayError) as error:
                    play(describe(rounds=2, adjudication=SHORT, pgn=str(name), **modes))
                refused.append(str(error.value))
        return True

    play(describe(rounds=2, adjudication=SHORT, pgn=str(pgn)), other_match)
    assert len(refused) == 16
    assert all(
        line.endswith("games.pgn: another match is writing its games there") or "link.pgn" in line for line in refused
    )
    assert len(list(read_games(pgn))) == 4
    assert sorted(path.name for path in tmp_path.iterdir() if "pgn" in path.name) == ["games.pgn", "link.pgn"]


@pytest.mark.parametrize("mode", ["resume", "overwrite"])
def test_what_somebody_writes_to_the_file_meanwhile_stays(
    describe: Describe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    pgn = tmp_path / "games.pgn"
    play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn)))
    pgn.write_bytes(pgn.read_bytes()[:-20])
    really_unfit = builtin.unfit_engines

    def write_notes(*arguments: Any) -> dict[EngineSpec, str]:
        with pgn.open("ab") as file:
            file.write(b"\n; my notes\n")
        return really_unfit(*arguments)

    monkeypatch.setattr(builtin, "unfit_engines", write_notes)
    told: list[str] = []
    result = play(describe(rounds=2, adjudication=SHORT, pgn=str(pgn), **{mode: True}), on_problem=told.append)
    assert pgn.read_bytes().endswith(b"\n; my notes\n")
    beside = tmp_path / "games-2.pgn"
    problem = (
        f"{pgn}: cannot save a game: somebody changed it; it is left as it is; the games from now on are in {beside}"
    )
    assert told == [problem]
    assert result.problems[-1] == problem
    assert result.exit_status == 1
    assert len(list(read_games(beside))) == (3 if mode == "resume" else 4)


def test_a_file_that_appears_while_kernels_are_compiled_stays(
    describe: Describe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pgn = tmp_path / "games.pgn"
    monkeypatch.setattr("bench.play.compile_kernels", lambda *_: pgn.write_bytes(FOREIGN["a finished game"]))
    for modes, problem in (({}, "holds games already"), ({"overwrite": True}, "no match of Secateur wrote this game")):
        with pytest.raises(PlayError, match=problem):
            play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn), **modes))
        assert pgn.read_bytes() == FOREIGN["a finished game"]
        pgn.unlink()


def test_the_book_is_no_place_for_the_games(describe: Describe, tmp_path: Path) -> None:
    pgn, link = tmp_path / "book.pgn", tmp_path / "link.pgn"
    play(describe(rounds=2, adjudication=SHORT, pgn=str(pgn)))
    link.symlink_to(pgn)
    data = pgn.read_bytes()
    for name in (pgn, link):
        for modes in ({"overwrite": True}, {"resume": True}):
            with pytest.raises(PlayError, match=r"\.pgn: is the book; name another file for the games"):
                play(describe(adjudication=SHORT, pgn=str(name), book=Book(str(pgn)), **modes))
            assert pgn.read_bytes() == data


def test_other_games_behind_ours_are_not_overwritten(describe: Describe, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn)))
    ours = pgn.read_bytes()
    pgn.write_bytes(ours + FOREIGN["a finished game"] + ours)
    with pytest.raises(PlayError, match=r"games\.pgn:\d+: no match of Secateur wrote this game; name another file"):
        play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn), overwrite=True))
    assert pgn.read_bytes() == ours + FOREIGN["a finished game"] + ours
    unfinished = FOREIGN["an unfinished game"]
    pgn.write_bytes(ours + unfinished)
    with pytest.raises(PlayError, match=r"games\.pgn:\d+: no match of Secateur wrote this game; name another file"):
        play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn), overwrite=True))
    assert pgn.read_bytes() == ours + unfinished
    pgn.write_bytes(ours[:-30])  # a cut game of ours is no obstacle
    play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn), overwrite=True))
    assert len(list(read_games(pgn))) == 2


def test_earlier_games_are_dropped_only_for_a_new_one(describe: Describe, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn)))
    data = pgn.read_bytes()
    description = describe(rounds=1, pgn=str(pgn), overwrite=True)
    missing = replace(description.engines[0], command=("no-such-program",))
    with pytest.raises(PlayError, match="there is no program 'no-such-program'"):
        play(replace(description, engines=(missing, description.engines[1])))
    result = play(replace(description, engines=(fake("A", "--fault", "exit"), description.engines[1])))
    assert result.games == []
    assert pgn.read_bytes() == data


def test_a_broken_line_of_the_book_is_named_and_left_out(describe: Describe, tmp_path: Path) -> None:
    description = describe(adjudication=SHORT)
    assert description.book is not None
    path = Path(description.book.file)
    path.write_text(path.read_text(encoding="utf-8").replace("/8/2p5/4P3", "/9/2p5/4P3"), encoding="utf-8")
    result = play(description)
    assert len(result.games) == 4
    assert result.problems[0].startswith(f"{path}:2: ")
    assert result.exit_status == 1


# --------------------------------------------------------------------------------------------------------------
# The command
# --------------------------------------------------------------------------------------------------------------


def command(book: str, *arguments: str, fault: str = "") -> list[str]:
    engine = f"{sys.executable} {Path(__file__).with_name('fake_engine.py')}"
    return [
        *(sys.executable, str(MAIN), "match", "--runner", "builtin", "--book", book),
        *("--engine", f"cmd={engine} --think 0.002", "name=A"),
        *("--engine", f"cmd={engine} --seed 7 {fault}", "name=B"),
        *("--tc", "nodes=50", "--max-moves", "20", *arguments),
    ]


def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, timeout=60)


@pytest.fixture
def book_file(describe: Describe) -> str:
    book = describe().book
    assert book is not None
    return book.file


def test_the_command_prints_the_result(book_file: str) -> None:
    done = run(command(book_file, "--rounds", "2"))
    assert done.returncode == 0, done.stderr
    assert "A against B: 4 of 4 games" in done.stdout
    assert "games 4 of 4" in done.stderr


def test_the_command_prints_json(book_file: str) -> None:
    done = run(command(book_file, "--rounds", "1", "--json", "--quiet", fault="--fault illegal"))
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert [game["termination"] for game in answer["games"]] == ["illegal move"] * 2
    assert answer["engines"]["A"] == {"wins": 2, "draws": 0, "losses": 0}
    assert "game 1 (A - B): B illegal uci" in done.stderr


def test_games_that_a_full_disk_keeps_from_the_file_are_counted(describe: Describe, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    with room_for(100):
        result = play(describe(rounds=1, adjudication=SHORT, pgn=str(pgn)))
    assert result.problems == [f"{pgn}: cannot save a game: File too large (2 games are not in the file)"]
    assert len(result.games) == 2
    assert not pgn.exists()


def test_kill_9_loses_no_finished_game(book_file: str, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    arguments = command(book_file, "--rounds", "12", "--concurrency", "2", "--pgn", str(pgn), "--quiet")
    process = subprocess.Popen(arguments)
    saved = wait_for_games(pgn, 6)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    saved = max(saved, sum(game.is_complete for game in split_games(pgn)))
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive, "workers or engines outlived the match"
    kept = pgn.read_bytes()
    done = run([*arguments, "--resume", "--json"])
    assert done.returncode == 0, done.stderr
    assert pgn.read_bytes()[: len(kept)].startswith(kept[: len(kept) // 2])
    games = list(read_games(pgn, moves=True))
    assert 6 <= saved < 24, "the kill was to come in the middle"
    assert sorted((game.white, game.pair) for game in games) == sorted((name, p) for name in "AB" for p in range(12))
    assert len(json.loads(done.stdout)["games"]) == 24


def test_ctrl_c_keeps_what_is_finished(book_file: str, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    arguments = command(book_file, "--rounds", "50", "--pgn", str(pgn))
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_games(pgn, 2)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "of 100 games" in output
    assert f"interrupted; --resume goes on with {pgn}" in errors
    assert "Traceback" not in errors
    assert all(game.is_complete for game in split_games(pgn))
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive


def wait_for_games(pgn: Path, count: int) -> int:
    """Waits until so many games are in the file; returns how many there are."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = sum(game.is_complete for game in split_games(pgn)) if pgn.exists() else 0
        if found >= count:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{count} games were not finished in time")
