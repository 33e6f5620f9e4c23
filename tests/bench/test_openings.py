"""Opening books: formats, compression, order, broken entries."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from pathlib import Path

import chess
import pytest

from bench.openings import Opening, load_openings, parse_position

ROOT = Path(__file__).resolve().parents[2]
SHARED_BOOKS = ROOT.parent / "shared" / "data" / "books"

AFTER_E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"

PGN = """[Event "?"]
[ECO "A07"]
[Result "*"]

1. Nf3 d5 2. g3 {a comment whose next line
[looks like a tag]} c6 *

[Event "?"]
[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]
[SetUp "1"]
[Result "*"]

1. e4 *
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_epd_and_fen_lines(tmp_path: Path) -> None:
    text = f'# comment\n\n{AFTER_E4}\nrnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - id "king\'s pawn";\n'
    openings = load_openings(write(tmp_path, "book.epd", text))
    assert [opening.name for opening in openings] == ["", "king's pawn"]
    assert [opening.fen for opening in openings] == [AFTER_E4, AFTER_E4]
    assert openings[0].moves == ()


def test_pgn_games(tmp_path: Path) -> None:
    book = write(tmp_path, "book.pgn", PGN)
    first, second = load_openings(book)
    assert first == Opening(chess.STARTING_FEN, ("g1f3", "d7d5", "g2g3", "c7c6"), "A07")
    assert second.fen == "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    assert second.board().fen(en_passant="fen") == "4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1"
    assert load_openings(book, plies=2)[0].moves == ("g1f3", "d7d5")


def test_compressed_files_hold_the_same_book(tmp_path: Path) -> None:
    plain = write(tmp_path, "book.pgn", PGN)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("__MACOSX/._book.pgn", "junk")
        archive.writestr("book.pgn", PGN)
    expected = load_openings(plain)
    assert load_openings(tmp_path / "a.zip") == expected
    for ending, module in (("gz", gzip), ("bz2", bz2), ("xz", lzma)):
        packed = tmp_path / f"book.pgn.{ending}"
        packed.write_bytes(module.compress(PGN.encode()))
        assert load_openings(packed) == expected


def test_random_order_depends_on_the_seed_alone(tmp_path: Path) -> None:
    board = chess.Board()
    lines = []
    for move in list(board.legal_moves):
        board.push(move)
        lines.append(board.fen())
        board.pop()
    book = write(tmp_path, "book.epd", "\n".join(lines))
    in_order = load_openings(book)
    one, two, again = (load_openings(book, "random", seed) for seed in (1, 2, 1))
    assert one == again
    assert one != two
    assert sorted(o.fen for o in one) == sorted(o.fen for o in in_order)
    assert load_openings(book, "random", 1, count=7) == one[:7]


def test_broken_entries_are_named_and_skipped(tmp_path: Path) -> None:
    text = f"{AFTER_E4}\nnot a position\n8/8/8/8/8/8/8/8 w - - 0 1\n7k/5KQ1/8/8/8/8/8/8 b - - 0 1\n{AFTER_E4}\n"
    book = write(tmp_path, "book.epd", text)
    problems: list[str] = []
    assert len(load_openings(book, problems=problems)) == 2
    assert [problem.split(": ")[0] for problem in problems] == [f"{book}:{line}" for line in (2, 3, 4)]
    assert "no legal moves" in problems[2]
    book = write(tmp_path, "book.pgn", PGN.replace("1. e4 *", "1. e5 *"))
    problems.clear()
    assert len(load_openings(book, problems=problems)) == 1
    assert problems == [f"{book}:8: illegal san: 'e5' in 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]


@pytest.mark.skipif(not SHARED_BOOKS.is_dir(), reason="the shared books are not on this machine")
@pytest.mark.parametrize("name", ["8moves_v3.pgn.zip", "noob_3moves.epd.zip", "UHO_4060_v4.epd.zip"])
def test_public_books_load(name: str) -> None:
    problems: list[str] = []
    openings = load_openings(SHARED_BOOKS / name, "random", 3, count=50, problems=problems)
    assert len(set(openings)) == 50
    assert not problems


@pytest.mark.parametrize(("name", "low", "high", "least"), [("balanced", -40, 40, 500), ("unbalanced", 90, 150, 300)])
def test_shipped_books(name: str, low: int, high: int, least: int) -> None:
    path = ROOT / "bench" / "books" / f"{name}.epd"
    problems: list[str] = []
    openings = load_openings(path, problems=problems)
    assert problems == []
    assert len({opening.board().epd() for opening in openings}) == len(openings) >= least
    for line in path.read_text(encoding="utf-8").splitlines():
        board, operations = parse_position(line)
        score = operations["ce"]
        assert isinstance(score, int)
        assert low <= (score if board.turn == chess.WHITE else -score) <= high
