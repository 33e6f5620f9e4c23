"""The generator of openings, and the books that were made with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import pytest
from fakes import FAKE

from bench.commands import book
from bench.openings import load_openings, parse_position
from engine.files import locked

HERE = Path(__file__).parent
BOOKS = HERE.parents[1] / "bench" / "books"


def make(tmp_path: Path, name: str, *arguments: object) -> tuple[int, Path]:
    table = tmp_path / "table.json"
    table.write_text("{}")
    engine = [f"cmd={sys.executable}", f"arg={HERE / 'table_engine.py'}", f"arg={table}", "name=Table"]
    path = tmp_path / name
    return book.main([str(path), "--engine", *engine, *map(str, arguments)]), path


def scores(path: Path) -> list[int]:
    """White's score of each line."""
    found = []
    for line in path.read_text().splitlines():
        board, operations = parse_position(line)
        score = operations["ce"]
        assert isinstance(score, int)
        found.append(score if board.turn == chess.WHITE else -score)
    return found


def test_openings_lie_in_the_window_and_are_different(tmp_path: Path) -> None:
    status, path = make(tmp_path, "book.epd", "--count", 30, "--window", 20, 60, "--plies", "5-6")
    assert status == 0
    assert all(20 <= score <= 60 for score in scores(path))
    openings = load_openings(path)
    assert len({opening.board().epd() for opening in openings}) == 30
    plies = {2 * (board.fullmove_number - 1) + (board.turn == chess.BLACK) for board in (o.board() for o in openings)}
    assert plies == {5, 6}


def test_the_seed_alone_makes_the_book(tmp_path: Path) -> None:
    books = [
        make(tmp_path, f"{number}.epd", "--count", 12, "--seed", seed, "--concurrency", workers)[1].read_text()
        for number, (seed, workers) in enumerate(((1, 1), (1, 3), (2, 1)))
    ]
    assert books[0] == books[1]
    assert books[0] != books[2]


def test_random_positions_are_playable() -> None:
    boards = [book.random_position(3, index, (8, 8)) for index in range(200)]
    kept = [board for board in boards if board is not None]
    assert len(kept) > 150
    assert all(not board.is_check() and any(board.legal_moves) and len(board.move_stack) == 8 for board in kept)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plies", "x"], "--plies x"),
        (["--plies", "9-8"], "--plies 9-8"),
        (["--window", "50", "40"], "lower one"),
        (["--count", "0"], "at least 1"),
        (["--nodes", "0"], "'nodes=0' is no time control"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, path = make(tmp_path, "book.epd", *arguments)
    assert status == 2
    assert message in capsys.readouterr().err
    assert not path.exists()


def test_a_book_is_not_replaced_by_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "book.epd"
    path.write_bytes((BOOKS / "balanced.epd").read_bytes())
    assert make(tmp_path, "book.epd")[0] == 1
    assert "--overwrite replaces it" in capsys.readouterr().err
    assert path.read_bytes() == (BOOKS / "balanced.epd").read_bytes()
    path.write_text("mine")
    for more in ([], ["--overwrite"]):
        assert make(tmp_path, "book.epd", *more)[0] == 1
        assert "is there already and is no book" in capsys.readouterr().err
        assert path.read_text() == "mine"


def test_a_book_that_comes_to_nothing_leaves_the_old_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "book.epd"
    path.write_bytes((BOOKS / "balanced.epd").read_bytes())
    crash = [f"cmd={sys.executable}", f"arg={FAKE}", "arg=--fault", "arg=crash", "arg=--at", "arg=1"]
    broken = ["--overwrite", "--engine", *crash, "name=Broken"]
    assert make(tmp_path, "book.epd", *broken)[0] == 1
    assert capsys.readouterr().err.endswith("; nothing was written\n")
    assert path.read_bytes() == (BOOKS / "balanced.epd").read_bytes()
    assert make(tmp_path, "none.epd", *broken)[0] == 1
    assert not (tmp_path / "none.epd").exists()
    with locked(path):
        assert make(tmp_path, "book.epd", "--overwrite")[0] == 1
    assert f"{path}: is in use by another process" in capsys.readouterr().err


def test_an_interrupted_book_has_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lines(*arguments: object) -> Iterator[tuple[int, str]]:
        yield 1, chess.Board().epd(ce=3)
        raise KeyboardInterrupt

    monkeypatch.setattr(book, "_lines", lines)
    status, path = make(tmp_path, "book.epd")
    assert status == 1
    assert capsys.readouterr().err == f"secateur book: interrupted; {path} has 1 of 500 openings\n"
    assert path.read_text() == chess.Board().epd(ce=3) + "\n"
    assert make(tmp_path, "book.epd", "--overwrite")[0] == 1
    assert "nothing was written" in capsys.readouterr().err


def test_a_broken_engine_is_given_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _ = make(tmp_path, "book.epd", "--engine", "cmd=false", "name=Broken")
    assert status == 1
    assert "engine Broken exited at the start (exit status 1); it said nothing" in capsys.readouterr().err
    assert not (tmp_path / "book.epd").exists()


@pytest.mark.parametrize(("name", "least"), [("balanced", 500), ("unbalanced", 300)])
def test_shipped_books(name: str, least: int) -> None:
    path = BOOKS / f"{name}.epd"
    problems: list[str] = []
    openings = load_openings(path, problems=problems)
    assert problems == []
    assert len({opening.board().epd() for opening in openings}) == len(openings) >= least
    low, high = book.WINDOWS[name]
    assert all(low <= score <= high for score in scores(path))


@pytest.mark.parametrize("there", [False, True])
def test_what_somebody_puts_in_the_place_of_the_book_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], there: bool
) -> None:
    path, mine = tmp_path / "book.epd", tmp_path / "mine"
    line = chess.Board().epd()
    mine.write_text(f"{line} ce 1;\n")
    if there:
        path.write_text(f"{line} ce 2;\n")
    really_lines = book._lines

    def lines(*arguments: Any) -> Iterator[tuple[int, str]]:
        yield from really_lines(*arguments)
        mine.replace(path)

    monkeypatch.setattr(book, "_lines", lines)
    assert make(tmp_path, "book.epd", "--count", 2, "--quiet", "--overwrite")[0] == 1
    assert path.read_text() == f"{line} ce 1;\n"
    beside = tmp_path / "book-2.epd"
    told = f"{path}: another file took its place; it is left as it is; its new contents are in {beside}"
    assert capsys.readouterr().err == f"secateur book: {told}\n"
    assert len(load_openings(beside)) == 2
