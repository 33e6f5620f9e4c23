"""The built-in runner through its front door, and through the command line with signals and full disks."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.adjudication import Adjudication
from bench.cluster import Outcome
from bench.description import Book, MatchDescription
from bench.engines import EngineSpec
from bench.pgn import read_games, split_games
from bench.play import play
from bench.results import GameResult, MatchResult
from bench.runners import base, builtin
from engine.errors import CommandError
from tests.bench.fakes import BOOK, FAKE, fake, room_for

MAIN = Path(__file__).resolve().parents[2] / "uci_main.py"
SHORT = Adjudication(max_moves=12)
Describe = Callable[..., MatchDescription]


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch, engines_closed: None) -> None:
    """Games are played in this process, whose engines keep running from test to test."""

    def map_here(function: Callable[[Any], Any], items: Iterable[Any], *_: Any, **__: Any) -> Iterator[Any]:
        for item in items:
            yield Outcome(item, function(item))

    monkeypatch.setattr(base, "map_unordered", map_here)
    monkeypatch.setattr(builtin, "map_unordered", map_here)


@pytest.fixture
def play_in(describe: Describe, tmp_path: Path, in_process: None) -> Callable[..., MatchResult]:
    """Plays a match of so many rounds into `games.pgn`."""

    def play_here(rounds: int, on_game: Callable[[GameResult], bool] = lambda _: True, **fields: Any) -> MatchResult:
        fields = {"pgn": str(tmp_path / "games.pgn"), "adjudication": SHORT} | fields
        return play(describe(rounds=rounds, **fields), on_game)

    return play_here


@pytest.fixture
def pgn(tmp_path: Path) -> Path:
    return tmp_path / "games.pgn"


def test_openings_are_paired_with_colours_swapped(describe: Describe) -> None:
    seen: list[GameResult] = []

    def on_game(game: GameResult) -> bool:
        seen.append(game)
        return True

    result = play(describe(rounds=3, adjudication=SHORT), on_game)
    assert [game.game for game in result.games] == list(range(6))
    assert sorted(game.game for game in seen) == list(range(6))
    for first, second in zip(result.games[::2], result.games[1::2], strict=True):
        assert first.pair == second.pair
        assert first.start_fen == second.start_fen
        assert (first.white, first.black) == (second.black, second.white)
    assert len({game.start_fen for game in result.games}) == 3
    assert result.exit_status == 0
    assert all(game.moves for game in seen)


@pytest.mark.usefixtures("in_process")
def test_an_engine_that_cannot_play_is_reported_once_and_the_others_play(describe: Describe) -> None:
    engines = (fake("A"), fake("B", Threads="3"), fake("C", "--seed", "5"))
    result = play(describe(*engines, format="round-robin", rounds=2, adjudication=SHORT))
    assert [(game.white, game.black) for game in result.games] == [("A", "C"), ("C", "A")] * 2
    assert len(result.problems) == 1
    assert "engine B refused its options: engine does not support option Threads" in result.problems[0]
    assert result.exit_status == 1


def test_resumes_what_is_missing_and_drops_half_a_game(play_in: Callable[..., MatchResult], pgn: Path) -> None:
    whole = play_in(4)
    games = list(split_games(pgn))
    data = pgn.read_bytes()
    pgn.write_bytes(data[: (games[5].start + games[5].end) // 2])
    handed: list[int] = []

    def on_game(game: GameResult) -> bool:
        handed.append(game.game)
        return True

    resumed = play_in(4, on_game, resume=True)
    assert pgn.read_bytes().startswith(data[: games[5].start])
    assert sorted(handed) == list(range(8))
    assert [(game.game, game.white) for game in resumed.games] == [(game.game, game.white) for game in whole.games]
    # A file that was cut within the last newlines lacks no game.
    pgn.write_bytes(pgn.read_bytes().rstrip())
    play_in(5, resume=True)
    assert [raw.parse().errors for raw in split_games(pgn)] == [[]] * 10


def test_another_match_is_neither_resumed_nor_overwritten(play_in: Callable[..., MatchResult], pgn: Path) -> None:
    play_in(1)
    data = pgn.read_bytes()
    with pytest.raises(CommandError, match="contains games; pass --resume"):
        play_in(1)
    with pytest.raises(CommandError, match=r"games\.pgn:1: this game was not written by this match"):
        play_in(1, resume=True, adjudication=Adjudication())
    assert pgn.read_bytes() == data
    play_in(2, overwrite=True)
    assert len(list(read_games(pgn))) == 4
    assert pgn.with_stem("games-old").read_bytes() == data


FOREIGN = {
    "text": b"my notes\nof many years\n",
    "binary": bytes(range(256)) * 64,
    "an unfinished game": b'[Event "Casual"]\n[Site "?"]\n[Result "*"]\n\n1. e4 e5 2. Nf3',
    "a finished game": b'[Event "Casual"]\n[Site "?"]\n[Result "1-0"]\n\n1. e4 e5 1-0\n\n',
    "a game of an event of this name": b'[Event "Secateur match"]\n[White "A"]\n[Black "Carlsen"]\n\n1. e4 e5 1-0\n\n',
    "a game of these players": b'[Event "Secateur match"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 1-0\n\n',
    "half a game of this name": b'[Event "Secateur match"]\n[White "Carlsen"]\n[Black "A"]\n\n1. e4 e5',
}


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("mode", ["resume", "overwrite", "neither"])
def test_a_file_of_somebody_else_is_left_as_it_is(
    play_in: Callable[..., MatchResult], tmp_path: Path, data: bytes, mode: str
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_bytes(data)
    modes = {} if mode == "neither" else {mode: True}
    if mode == "overwrite" and data.startswith(b"["):
        play_in(1, pgn=str(notes), **modes)
        notes = notes.rename(tmp_path / "games.txt").with_name("notes-old.txt")
    else:
        with pytest.raises(CommandError, match=r"notes\.txt"):
            play_in(1, pgn=str(notes), **modes)
    assert notes.read_bytes() == data
    assert list(tmp_path.glob("*notes*")) == [notes]


def test_what_stands_among_our_games_is_not_resumed(play_in: Callable[..., MatchResult], pgn: Path) -> None:
    play_in(1)
    ours = pgn.read_bytes()
    first = next(split_games(pgn)).end
    for data in (
        ours + b"my notes\n",
        ours + FOREIGN["a game of these players"],
        b"; my notes\n\n" + ours,
        ours[:first] + b"my notes\n\n" + ours[first:],
        ours + FOREIGN["an unfinished game"],
        ours + FOREIGN["half a game of this name"],
        ours + FOREIGN["a finished game"] + ours,
    ):
        pgn.write_bytes(data)
        with pytest.raises(CommandError, match=r"games\.pgn:( already exists and|\d+: )"):
            play_in(2, resume=True)
        assert pgn.read_bytes() == data


#: Whatever a user may have done to a file of games.
EDITS: dict[str, Callable[[bytes], bytes]] = {
    "a comment under the tags": lambda ours: ours.replace(b"]\n\n", b"]\n\n{ A fine game. } ", 1),
    "a line that begins with a semicolon": lambda ours: ours.replace(b"]\n\n", b"]\n\n; see my book\n", 1),
    "a line that begins with a percent sign": lambda ours: ours.replace(b"\n[Site", b"\n% my notes\n[Site", 1),
    "text after a tag": lambda ours: ours.replace(b'"?"]', b'"?"] ; in Paris', 1),
    "a comment after the last move": lambda ours: ours.rstrip()[:-3] + b"{ He resigned too early. } 1-0\n\n",
    "another site": lambda ours: ours.replace(b'[Site "?"]', b'[Site "Paris"]', 1),
    "another result": lambda ours: ours.replace(b"1/2-1/2", b"1-0"),
    "other players": lambda ours: ours.replace(b'"A"', b'"Carlsen"'),
    "a glyph": lambda ours: ours.replace(b"1... ", b"$1 ", 1),
    "half a game": lambda ours: ours[:-30],
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_what_is_overwritten_stays_beside(
    play_in: Callable[..., MatchResult], pgn: Path, edit: Callable[[bytes], bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    play_in(1)
    data = edit(pgn.read_bytes())
    assert data != pgn.read_bytes()
    for name in ("games-old", "games-old-2"):
        pgn.write_bytes(data)
        pgn.chmod(0o640)
        capfd.readouterr()
        play_in(1, overwrite=True)
        assert len(list(read_games(pgn))) == 2
        old = pgn.with_stem(name)
        assert old.read_bytes() == data
        assert old.stat().st_mode & 0o777 == 0o640
        assert capfd.readouterr().err == f"note: {pgn}: the old contents are in {old}\n"


def test_what_is_cut_off_stays_beside(
    play_in: Callable[..., MatchResult], pgn: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    play_in(2)
    ours, last = pgn.read_bytes(), list(split_games(pgn))[-1]
    cut = last.data[: last.data.index(b"1... ") + 12]
    for data in (
        cut + b" 2. exd5 Qxd5 3. Nc3",
        cut.replace(b'[Opening "', b'[Opening "My pet line: ') + b" 2. exd5 Qxd5",
        cut + b" { a nice move } 40. ",
        cut.replace(b"[Date", b'[Annotator "me"]\n[Date'),
        cut + b" interesting",
    ):
        for path in pgn.parent.glob("games-*"):
            path.unlink()
        pgn.write_bytes(ours[: last.start] + data)
        capfd.readouterr()
        result = play_in(2, resume=True)
        old = pgn.with_stem("games-old")
        assert old.read_bytes() == data
        assert capfd.readouterr().err == f"note: {pgn}: the dropped end is in {old}\n"
        assert result.notes == [f"{pgn}:{last.line}: the unfinished last game is dropped"]
        assert len(list(read_games(pgn))) == 4
        assert pgn.read_bytes().startswith(ours[: last.start])


def test_games_that_the_schedule_does_not_know_are_reported_and_none_is_played_in_their_place(
    play_in: Callable[..., MatchResult], pgn: Path
) -> None:
    play_in(3)
    games = list(split_games(pgn))
    text = [game.text for game in games]
    changes = {1: ("1.2", "1.1"), 2: ("2.1", "77.1"), 3: ("2.2", "2.3"), 4: ("3.1", "?")}
    for number, (old, new) in changes.items():
        text[number] = text[number].replace(f'[Round "{old}"]', f'[Round "{new}"]')
    result = games[5].tags["Result"]  # and a game whose tag contradicts its moves
    text[5] = text[5].replace(f'[Result "{result}"]', f'[Result "{"1-0" if result != "1-0" else "0-1"}"]')
    pgn.write_text("".join(text) + text[0], encoding="utf-8")
    resumed = play_in(3, resume=True)
    problems = "\n".join(resumed.problems)
    assert len(resumed.problems) == 6, problems
    assert f"games.pgn:{games[1].line}: game 1.1 of B and A is not in the schedule" in problems
    assert f"games.pgn:{games[2].line}: game 77.1 of A and B is not in the schedule" in problems
    assert "game 1.1 of A and B is not in the schedule or appears twice; it is not counted" in problems
    assert f"games.pgn:{games[5].line}: the Result tag is" in problems
    assert [game.game for game in resumed.games] == list(range(6))
    assert resumed.exit_status == 1


@pytest.mark.parametrize("first_mode", ["", "resume", "overwrite"])
def test_two_matches_never_write_to_one_file(
    play_in: Callable[..., MatchResult], tmp_path: Path, pgn: Path, first_mode: str
) -> None:
    """Not even when the first has replaced the file to drop games."""
    link = tmp_path / "link.pgn"
    link.symlink_to(pgn)
    if first_mode:
        play_in(1)
        pgn.write_bytes(pgn.read_bytes()[:-20])
    refused: list[str] = []

    def other_match(game: GameResult) -> bool:
        for name in (pgn, link):
            for mode in ("resume", "overwrite"):
                with pytest.raises(CommandError, match="another match is writing to this file"):
                    play_in(2, pgn=str(name), **{mode: True})
                refused.append(mode)
        return True

    play_in(2, other_match, **({first_mode: True} if first_mode else {}))
    assert len(refused) == 16
    assert len(list(read_games(pgn))) == 4
    names = ["games-old.pgn", "games.pgn", "link.pgn"]
    assert sorted(path.name for path in tmp_path.glob("*.pgn")) == names if first_mode else names[1:]


@pytest.mark.parametrize("mode", ["resume", "overwrite"])
def test_what_somebody_writes_to_the_file_meanwhile_stays(
    play_in: Callable[..., MatchResult], tmp_path: Path, pgn: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    play_in(1)
    pgn.write_bytes(pgn.read_bytes()[:-20])

    def write_notes(*_: Any) -> dict[EngineSpec, str]:
        with pgn.open("ab") as file:
            file.write(b"\n; my notes\n")
        return {}

    monkeypatch.setattr(builtin, "unfit_engines", write_notes)
    result = play_in(2, **{mode: True})
    assert pgn.read_bytes().endswith(b"\n; my notes\n")
    beside = tmp_path / "games-2.pgn"
    assert result.problems[-1] == (
        f"{pgn}: cannot save a game: the file was changed by another program; it is left unchanged; "
        f"further games go to {beside}"
    )
    assert result.exit_status == 1
    assert len(list(read_games(beside))) == (3 if mode == "resume" else 4)


def test_a_file_that_appears_while_kernels_are_compiled_stays(
    play_in: Callable[..., MatchResult], pgn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.play.compile_kernels", lambda *_: pgn.write_bytes(FOREIGN["a finished game"]))
    with pytest.raises(CommandError, match="contains games"):
        play_in(1)
    assert pgn.read_bytes() == FOREIGN["a finished game"]


def test_the_book_is_no_place_for_the_games(play_in: Callable[..., MatchResult], tmp_path: Path, pgn: Path) -> None:
    play_in(1)
    link = tmp_path / "link.pgn"
    link.symlink_to(pgn)
    data = pgn.read_bytes()
    for name in (pgn, link):
        for mode in ("overwrite", "resume"):
            with pytest.raises(CommandError, match=r"\.pgn is the book; name another file for the games"):
                play_in(1, pgn=str(name), book=Book(str(pgn)), **{mode: True})
            assert pgn.read_bytes() == data


def test_earlier_games_are_dropped_only_for_a_new_one(
    play_in: Callable[..., MatchResult], describe: Describe, pgn: Path
) -> None:
    play_in(1)
    data = pgn.read_bytes()
    description = describe(rounds=1, pgn=str(pgn), overwrite=True, adjudication=SHORT)
    missing = replace(description.engines[0], command=("no-such-program",))
    with pytest.raises(CommandError, match="there is no program 'no-such-program'"):
        play(replace(description, engines=(missing, description.engines[1])))
    result = play(replace(description, engines=(fake("A", "--fault", "exit"), description.engines[1])))
    assert result.games == []
    assert result.exit_status == 1
    with room_for(100):
        result = play(description)
    assert result.problems == [f"{pgn}: cannot save a game: File too large; 2 games not saved"]
    assert len(result.games) == 2
    assert pgn.read_bytes() == data


def test_a_game_that_is_dropped_is_reported(play_in: Callable[..., MatchResult], pgn: Path) -> None:
    play_in(1)
    ours = pgn.read_bytes()
    pgn.write_bytes(ours[:-30])
    last = list(split_games(pgn))[-1]
    result = play_in(1, resume=True)
    assert result.notes == [f"{pgn}:{last.line}: the unfinished last game is dropped"]
    assert not result.problems
    pgn.write_bytes(ours[:-30].replace(b'[MatchId "', b'[MatchId "0'))
    with pytest.raises(CommandError, match=r"games\.pgn:\d+: this game was not written by this match"):
        play_in(1, resume=True)


def test_games_that_cannot_be_saved_are_told_at_once_and_saved_elsewhere(
    describe: Describe, in_process: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, here = tmp_path / "folder", tmp_path / "here"
    folder.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    pgn = folder / "games.pgn"
    told: list[str] = []

    def on_game(game: GameResult) -> bool:
        if game.game == 0:
            assert not told
            folder.rename(tmp_path / "moved")
        return True

    result = play(describe(rounds=2, pgn=str(pgn), adjudication=SHORT), on_game, told.append)
    assert told[0].startswith(f"{pgn}: cannot save a game: ")
    assert result.problems == [f"{told[0]}; the 3 unsaved games went to games-2.pgn"]
    assert [game.game for game in read_games(here / "games-2.pgn")] == [0, 1, 2]
    assert len(list(read_games(tmp_path / "moved" / "games.pgn"))) == 1


@pytest.mark.parametrize("resume", [True, False])
def test_an_interrupted_match_without_saved_games_does_not_advise_to_resume(
    play_in: Callable[..., MatchResult], pgn: Path, monkeypatch: pytest.MonkeyPatch, resume: bool
) -> None:
    play_in(1)

    def interrupted(*_: Any, **__: Any) -> Iterator[Any]:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(builtin, "map_unordered", interrupted)
    result = play_in(2, **{"resume" if resume else "overwrite": True})
    assert result.notes == [f"interrupted; --resume continues {pgn}" if resume else "interrupted"]


def test_a_match_that_cannot_begin_leaves_no_empty_file(describe: Describe, tmp_path: Path, pgn: Path) -> None:
    play(describe(fake("A", "--fault", "no-uciok"), EngineSpec("B", ("/bin/false",)), pgn=str(pgn), rounds=1))
    assert not pgn.exists()


def test_a_broken_line_of_the_book_is_named_and_left_out(play_in: Callable[..., MatchResult], tmp_path: Path) -> None:
    path = tmp_path / "broken.epd"
    path.write_text(BOOK.replace("/8/2p5/4P3", "/9/2p5/4P3"), encoding="utf-8")
    result = play_in(2, book=Book(str(path)))
    assert len(result.games) == 4
    assert result.problems[0].startswith(f"{path}:2: ")
    assert result.exit_status == 1


def command(folder: Path, *arguments: str, fault: str = "") -> list[str]:
    book, engine = folder / "book.epd", f"{sys.executable} {FAKE}"
    book.write_text(BOOK, encoding="utf-8")
    return [
        *(sys.executable, str(MAIN), "match", "--runner", "builtin", "--book", str(book)),
        *("--engine", f"cmd={engine} --think 0.002", "name=A"),
        *("--engine", f"cmd={engine} --seed 7 {fault}", "name=B"),
        *("--tc", "nodes=50", "--max-moves", "20", *arguments),
    ]


def test_the_command_prints_json_progress_and_faults(tmp_path: Path) -> None:
    arguments = command(tmp_path, "--rounds", "1", "--json", fault="--fault illegal")
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert [game["termination"] for game in answer["games"]] == ["illegal move"] * 2
    assert answer["engines"]["A"] == {"wins": 2, "draws": 0, "losses": 0}
    assert "game 1 (A - B): B illegal uci" in done.stderr
    assert "games 2 of 2" in done.stderr


def test_kill_9_loses_no_finished_game(tmp_path: Path, pgn: Path) -> None:
    arguments = command(tmp_path, "--rounds", "12", "--concurrency", "2", "--pgn", str(pgn), "--quiet")
    process = subprocess.Popen(arguments)
    wait_for_games(pgn, 6)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    saved = sum(game.is_complete for game in split_games(pgn))
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive, "workers or engines outlived the match"
    kept = pgn.read_bytes()
    done = subprocess.run([*arguments, "--resume"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "A against B: 24 of 24 games" in done.stdout
    assert pgn.read_bytes()[: len(kept)].startswith(kept[: len(kept) // 2])
    games = list(read_games(pgn))
    assert 6 <= saved < 24, "the kill was to come in the middle"
    assert sorted((game.white, game.pair) for game in games) == sorted((name, p) for name in "AB" for p in range(12))


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, pgn: Path) -> None:
    arguments = command(tmp_path, "--rounds", "50", "--pgn", str(pgn))
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_games(pgn, 2)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "of 100 games" in output
    assert errors.endswith(f"note: interrupted; --resume continues {pgn}\n")
    assert "Traceback" not in errors
    assert all(game.is_complete for game in split_games(pgn))
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive


def wait_for_games(pgn: Path, count: int) -> None:
    """Waits until so many games are in the file."""
    deadline = time.monotonic() + 120
    while not pgn.exists() or sum(game.is_complete for game in split_games(pgn)) < count:
        assert time.monotonic() < deadline, f"{count} games were not finished in time"
        time.sleep(0.02)
