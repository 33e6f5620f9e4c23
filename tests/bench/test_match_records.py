"""`match --plot` and `match --ledger`: checked before the games, written after them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import plots, records
from bench.commands import match
from bench.description import Book, MatchDescription
from bench.live import LiveView
from bench.results import GameResult, MatchResult, Termination
from bench.schedule import make_plan
from tests.bench.fakes import BOOK, FAKE, fake

pytest.importorskip("matplotlib", reason="plots need Matplotlib")


def arguments(folder: Path, *more: str) -> list[str]:
    book = folder / "book.epd"
    book.write_text(BOOK, encoding="utf-8")
    engines = [part for name in "AB" for part in ("--engine", f"cmd={sys.executable} {FAKE}", f"name={name}")]
    settings = ["--each", "nodes=50", "--rounds", "2", "--book", str(book), "--runner", "builtin", "--max-moves", "20"]
    return [*engines, *settings, "--quiet", *more]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "ledger"
    folder.mkdir()
    monkeypatch.setattr(records, "LEDGER", folder)
    return folder


def test_a_match_is_drawn_and_recorded(tmp_path: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits = iter(["before", "after"])  # the record names the commit that began to play
    monkeypatch.setattr(records, "current_commit", lambda: next(commits))
    picture = tmp_path / "match.png"
    more = ["--plot", str(picture), "--ledger", "two-fakes", "--what", "nothing at all"]
    assert match.main(arguments(tmp_path, *more)) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    record = json.loads((ledger / "two-fakes.json").read_text(encoding="utf-8"))
    assert record["games"] == 4
    assert record["engines"] == ["A", "B"]
    assert record["commits"] == ["before"]
    assert record["book"] == "book.epd"
    assert record["verdict"] == "measured"


def test_a_match_that_cannot_be_drawn_is_recorded(
    tmp_path: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object) -> None:
        raise plots.PlotError("no space")

    monkeypatch.setattr(plots, "plot_match", fail)
    more = ["--plot", str(tmp_path / "match.png"), "--ledger", "two-fakes", "--what", "nothing at all"]
    assert match.main(arguments(tmp_path, *more)) == 1
    assert "no space" in capsys.readouterr().err
    assert (ledger / "two-fakes.json").exists()


@pytest.mark.parametrize("interrupted", [True, False])
def test_what_was_not_played_to_its_end_is_not_recorded(
    tmp_path: Path,
    ledger: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    interrupted: bool,
) -> None:
    games = [GameResult(0, 0, "A", "B", "1-0"), GameResult(1, 0, "B", "A", "1/2-1/2")]
    partial = MatchResult(("A", "B"), games, 4, interrupted=interrupted)
    monkeypatch.setattr(match, "play_shown", lambda *_: partial)
    assert match.main(arguments(tmp_path, "--ledger", "two-fakes", "--what", "half", "--pgn", "games.pgn")) == 1
    assert list(ledger.iterdir()) == []
    assert "two-fakes is not recorded: 2 of 4 games were played" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["two\nlines", "not UTF-8: \udcff", "\x1b[31m"])
@pytest.mark.parametrize("option", ["--what", "--note", "--commit"])
def test_texts_that_break_the_table_are_refused_before_any_game(
    tmp_path: Path, ledger: Path, capsys: pytest.CaptureFixture[str], option: str, text: str
) -> None:
    given = ["--ledger", "two-fakes", *(() if option == "--what" else ("--what", "x")), option, text]
    with pytest.raises(SystemExit) as ended:
        match.main(arguments(tmp_path, *given))
    assert ended.value.code == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    assert f"argument {option}: expected one line of printable UTF-8 text" in errors
    assert not list(ledger.iterdir())


@pytest.mark.parametrize("quiet", [True, False])
def test_an_engine_that_cannot_play_is_told_at_once(quiet: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with LiveView(("A", "B"), 2, quiet=quiet) as view:
        view.add_problem("engine A cannot be started")
        assert capsys.readouterr().err == "engine A cannot be started\n"
        view.add(GameResult(0, 0, "A", "B", "0-1", Termination.CRASH))
        assert len(view.told) == 2 - quiet


def test_the_name_of_a_book_is_printable() -> None:
    description = MatchDescription((fake("A"), fake("B")), book=Book("books/b\udcff\n.epd"))
    assert records.circumstances_of(description)["book"] == "b\\udcff\\n.epd"


@pytest.mark.parametrize(
    ("limit", "rounds", "is_told"), [("nodes=50", 4, True), ("nodes=50", 3, False), ("5+1", 4, False)]
)
def test_games_that_are_played_again_are_told(
    describe: Callable[..., MatchDescription], limit: str, rounds: int, is_told: bool
) -> None:
    repeats = make_plan(describe(fake("A", limit=limit), fake("B", limit=limit), rounds=rounds)).repeats
    assert (repeats is not None) == is_told
    assert repeats is None or repeats.startswith(f"{rounds} pairs share 3 openings: most engines ")


@pytest.mark.parametrize(
    ("more", "status", "part"),
    [
        (["--ledger", "x"], 2, "--ledger requires --what"),
        (["--plot", "picture.txt"], 2, "picture.txt"),
        (["--pgn", "new/"], 2, "pgn 'new/' names a folder, not a file"),
    ],
)
def test_what_cannot_be_kept_is_told_before_the_games(
    tmp_path: Path, ledger: Path, capsys: pytest.CaptureFixture[str], more: list[str], status: int, part: str
) -> None:
    assert match.main(arguments(tmp_path, *more)) == status
    output = capsys.readouterr()
    assert part in output.err
    assert output.out == ""
