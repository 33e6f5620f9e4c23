"""Openings for OpenBench's data generation, asked for as its client does and read by its rules."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from pathlib import Path

import chess
import pytest

from bench.commands import genfens
from bench.openings import BookError, parse_plies, parse_position
from eval.network.format import shipped_network
from search.limits import Limits
from search.searcher import Game, Searcher

PROJECT = Path(__file__).resolve().parents[2]

#: The client gives up when no opening comes for so long.
LIMIT_SECONDS = 15

LINES = """\
rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2
rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - hmvc 1; fmvn 2;
r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3

nonsense
"""

GAMES = """\
[Event "?"]

1. e4 c5 *

[Event "?"]

1. d4 d5 2. c4 *
"""


def collect(text: str) -> list[str]:
    """The FENs that the client collects from a command's output."""
    return [line.split("genfens ")[1] for line in text.splitlines() if line.startswith("info string genfens ")]


def plies_of(board: chess.Board) -> int:
    return 2 * (board.fullmove_number - 1) + (board.turn == chess.BLACK)


def made(book: Path, count: int = 20, seed: int = 1, plies: str = "1-4") -> list[chess.Board]:
    """Openings from a book."""
    draw = genfens._from_book(book)
    fens = genfens.openings(count, seed, draw, parse_plies(plies), score=1000, nodes=200)
    return [chess.Board(fen, chess960="960" in book.name) for fen in fens]


def test_the_client_gets_its_openings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Both streams are one to the client, and neither is buffered if its user says so.
    done = subprocess.run(
        [sys.executable, "-u", str(PROJECT / "uci_main.py"), "genfens 12 seed 2147483646 book None ", "quit"],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    fens = collect(done.stdout)
    assert len(set(fens)) == 12
    for fen in fens:
        board = chess.Board(fen)
        assert len(fen.split()) == 6
        assert board.is_valid()
        assert not board.is_check()
        assert any(board.legal_moves)
    assert {plies_of(chess.Board(fen)) for fen in fens} == {8, 9}
    # Its words may also come one by one, and the same ones give the same openings. Each line is one write: a line of
    # the other stream may come between two.
    writes: list[str] = []
    monkeypatch.setattr(sys.stdout, "write", writes.append)
    began = time.process_time()
    assert genfens.main("12 seed 2147483646 book None".split()) == 0
    assert time.process_time() - began < LIMIT_SECONDS
    assert list(filter(None, writes)) == [f"{genfens.PREFIX} {fen}\n" for fen in fens]
    writes.clear()
    assert genfens.main("3 seed 5 book none --plies 4 --nodes 500 --score 80 quit".split()) == 0
    assert [plies_of(chess.Board(fen)) for fen in collect("".join(writes))] == [4, 4, 4]
    monkeypatch.setattr(sys, "stdout", None)  # the client has closed it
    assert genfens.main("1 seed 5 book None".split()) == 0


def test_openings_are_within_the_score() -> None:
    fens = list(genfens.openings(10, 3, lambda _: chess.Board(), (8, 9), score=60, nodes=500))
    loose = list(genfens.openings(10, 3, lambda _: chess.Board(), (8, 9), score=30_000, nodes=500))
    scores = []
    for fen in fens + loose:
        searcher = Searcher(genfens.HASH, network=shipped_network())
        info = searcher.search(Game(chess.Board(fen)), Limits(nodes=500)).info
        assert info is not None
        scores.append(abs(info.score))
    assert max(scores[:10]) <= 60 < max(scores[10:])


def test_a_book_is_gone_on_from(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    book.write_text(LINES, encoding="utf-8")
    boards = made(book)
    assert len({board.epd() for board in boards}) == 20
    # The lines end after 2, 3 and 4 plies; broken ones are passed over.
    assert {plies_of(board) for board in boards} <= set(range(3, 9))
    assert len({plies_of(board) for board in boards}) > 3
    exact = {board.epd() for board in made(book, count=3, plies="0")}
    assert exact == {parse_position(line)[0].epd() for line in LINES.splitlines() if "/" in line}
    assert [board.fen() for board in made(book, seed=1)] == [board.fen() for board in boards]
    assert [board.fen() for board in made(book, seed=2)] != [board.fen() for board in boards]


def test_a_pgn_book(tmp_path: Path) -> None:
    book = tmp_path / "book.pgn"
    book.write_text(GAMES, encoding="utf-8")
    assert {plies_of(board) for board in made(book, plies="1")} == {3, 4}
    packed = tmp_path / "book.pgn.gz"
    packed.write_bytes(gzip.compress(book.read_bytes()))
    assert [board.fen() for board in made(packed)] == [board.fen() for board in made(book)]


def test_chess960_is_told_by_the_book_s_name(tmp_path: Path) -> None:
    line = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9"
    book = tmp_path / "some_960.epd"
    book.write_text(line + "\n", encoding="utf-8")
    boards = made(book, count=10)
    assert all(board.is_valid() for board in boards)
    assert any(board.has_castling_rights(chess.WHITE) for board in boards)
    named_otherwise = tmp_path / "some.epd"
    named_otherwise.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(BookError, match=r"found 0 openings, .*; last error in the book: not a legal"):
        made(named_otherwise)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("5",), 2, "the following arguments are required: seed, S, book, None|FILE"),
        (("5", "sead", "1", "book", "None"), 2, "invalid choice: 'sead'"),
        (("0", "seed", "1", "book", "None"), 2, "N must be at least 1 (got 0)"),
        (("5", "seed", "1", "book", "None", "--plies", "9-8"), 2, "--plies 9-8: expected a number"),
        (("5", "seed", "1", "book", "None", "--nodes", "0"), 2, "--nodes must be at least 1 (got 0)"),
        (("5", "seed", "1", "book", "nowhere.epd"), 1, "secateur genfens: nowhere.epd: no such book"),
        (("5", "seed", "1", "book", "."), 1, "secateur genfens: .: cannot be read: is a folder, not a file"),
    ],
)
def test_mistakes_are_named(
    arguments: tuple[str, ...], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        done = genfens.main([*arguments, "quit"])
    except SystemExit as error:
        done = int(str(error.code))
    assert done == status
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_books_without_enough_openings(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    book.write_bytes(b"")
    with pytest.raises(BookError, match="the book is empty"):
        genfens._from_book(book)
    book.write_bytes(b"\xff\xfe\n" * 5)
    with pytest.raises(BookError, match=r"found 0 openings, .*; last error in the book: a position"):
        made(book)
    book.write_text(LINES.splitlines()[0] + "\n", encoding="utf-8")
    with pytest.raises(BookError, match="found 1 opening, then"):
        made(book, count=2, plies="0")
