"""Tablebases and the opening book as options: good files, bad files, and when they are asked."""

from __future__ import annotations

import os
import random
import struct
import sys
from collections import Counter
from pathlib import Path

import chess
import chess.polyglot
import pytest

from engine.uci.book import Book
from tests.uci.conftest import PROJECT, Engine

TABLES = PROJECT / "tests" / "data" / "syzygy"
WON = "8/8/8/8/1k6/8/6PK/8 w - - 0 1"


# -- tablebases --------------------------------------------------------------------------------------------------------


def answer(engine: Engine) -> dict[str, str]:
    """The last info line."""
    engine.best("go depth 4")
    return engine.infos()[-1]


def centipawns(info: dict[str, str]) -> int:
    return int(info["score"].removeprefix("cp "))


def test_tables_are_found_used_and_taken_away(engine: Engine) -> None:
    said = engine.said(f"setoption name SyzygyPath value {TABLES}")
    assert said == ["info string tablebases: 10 files, up to 3 men"]
    engine.send(f"position fen {WON}", "setoption name UCI_ShowWDL value true")
    info = answer(engine)
    assert int(info["tbhits"]) == chess.Board(WON).legal_moves.count()
    assert " wdl 1000 0 0 " in info["line"]
    assert centipawns(info) > 19_000
    for option, value in (("SyzygyProbeLimit", "2"), ("SyzygyPath", "<empty>")):
        engine.send(f"setoption name {option} value {value}")
        info = answer(engine)
        assert info["tbhits"] == "0"
        assert centipawns(info) < 5_000


def test_several_folders_and_one_that_is_wrong(engine: Engine, tmp_path: Path) -> None:
    said = engine.said(f"setoption name SyzygyPath value {tmp_path};{TABLES}")
    assert said == [
        f"info string tablebases not used: {tmp_path}: contains no Syzygy tables (*.rtbw, *.rtbz)",
        "info string tablebases: 10 files, up to 3 men",
    ]


def test_the_fifty_move_rule_can_be_switched_off(engine: Engine) -> None:
    """Mate comes seven moves too late for the rule."""
    engine.send(f"setoption name SyzygyPath value {TABLES}", "position fen 8/8/8/8/4k3/8/8/R3K3 w - - 90 80")
    assert centipawns(answer(engine)) == 1
    engine.send("setoption name Syzygy50MoveRule value false")
    assert centipawns(answer(engine)) > 19_000


def test_a_damaged_table_costs_one_message(engine: Engine, tmp_path: Path) -> None:
    for file in TABLES.glob("*.rtb?"):
        (tmp_path / file.name).write_bytes(b"no table" if file.name == "KPvK.rtbw" else file.read_bytes())
    engine.send(f"setoption name SyzygyPath value {tmp_path}", f"position fen {WON}")
    engine.expect("info string tablebases: 10 files")
    engine.best("go depth 3")
    assert len([line for line in engine.lines if "tablebases not used: OSError" in line]) == 1
    answer(engine)
    assert not any("tables" in line for line in engine.lines)


def test_a_game_is_won_by_the_tables(engine: Engine) -> None:
    engine.send(f"setoption name SyzygyPath value {TABLES}")
    board = chess.Board("8/8/8/4k3/8/8/8/KR6 w - - 55 90")  # thirty-odd plies to mate, forty-five are left
    moves: list[str] = []
    while not board.is_game_over(claim_draw=True):
        position = f"position fen 8/8/8/4k3/8/8/8/KR6 w - - 55 90 moves {' '.join(moves)}"
        moves.append(engine.best(position, "go nodes 100"))
        board.push_uci(moves[-1])
    assert board.is_checkmate()


# -- the book ----------------------------------------------------------------------------------------------------------


def write_book(file: Path, entries: list[tuple[chess.Board, str, int]]) -> Path:
    """A Polyglot book of (position, move as king takes rook, weight)."""
    rows = []
    for board, text, weight in entries:
        move = chess.Move.from_uci(text)
        promotion = 0 if move.promotion is None else move.promotion - 1
        code = move.to_square | move.from_square << 6 | promotion << 12
        rows.append(struct.pack(">QHHI", chess.polyglot.zobrist_hash(board), code, weight, 0))
    file.write_bytes(b"".join(sorted(rows)))
    return file


@pytest.fixture
def book(tmp_path: Path) -> Path:
    start = chess.Board()
    return write_book(tmp_path / "a book.bin", [(start, "e2e4", 30), (start, "d2d4", 10), (start, "a2a3", 0)])


def test_the_book_is_played_with_its_weights(engine: Engine, book: Path) -> None:
    said = engine.said(f"setoption name BookFile value {book}", "setoption name OwnBook value true")
    assert said == [f"info string book '{book}': 3 moves"]
    go = "go wtime 1000 btime 1000"
    played = Counter(engine.best(go) for _ in range(60))
    assert not engine.infos()
    assert set(played) == {"e2e4", "d2d4"}
    assert played["e2e4"] > played["d2d4"]
    engine.send("setoption name Best Book Move value true")
    assert {engine.best(go) for _ in range(20)} == {"e2e4"}
    assert "info string book move e2e4, weight 30 of 40" in engine.lines


@pytest.mark.parametrize(
    ("go", "setup"),
    [
        ("go depth 2", "position startpos moves e2e4"),
        ("go infinite", "position startpos"),
        ("go searchmoves e2e4 d2d4 depth 2", "position startpos"),
        ("go mate 1 depth 2", "position startpos"),
        ("go depth 2", "setoption name UCI_AnalyseMode value true"),
        ("go depth 2", "setoption name MultiPV value 2"),
        ("go depth 2", "setoption name OwnBook value false"),
    ],
)
def test_the_book_is_not_asked(engine: Engine, book: Path, go: str, setup: str) -> None:
    engine.send(f"setoption name BookFile value {book}", "setoption name OwnBook value true", setup, go)
    engine.expect("info depth 1 ")
    engine.send("stop")
    engine.expect("bestmove")
    assert not any("book move" in line for line in engine.lines)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (None, "No such file or directory"),
        (b"", "is empty"),
        (bytes(reversed(range(160))), "not a Polyglot book"),
    ],
)
def test_a_bad_book_is_one_message(engine: Engine, tmp_path: Path, data: bytes | None, part: str) -> None:
    file = tmp_path / "bad.bin"
    if data is not None:
        file.write_bytes(data)
    (said,) = engine.said("setoption name OwnBook value true", f"setoption name BookFile value {file}")
    assert said.startswith(f"info string book not used: {file}: ")
    assert part in said
    engine.best("go depth 2")
    assert engine.infos()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_path_need_not_be_text(engine: Engine, book: Path, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/b\xfc\xffcher.bin"
    Path(os.fsdecode(name)).write_bytes(book.read_bytes())
    engine.send_bytes(b"setoption name BookFile value " + name + b"\n")
    (said,) = engine.said("setoption name OwnBook value true")
    assert said.endswith("/b\\udcfc\\udcffcher.bin': 3 moves")
    Path(os.fsdecode(name)).write_bytes(b"no book")
    engine.send_bytes(b"setoption name BookFile value " + name + b"\n")
    (said,) = engine.said()
    assert said.startswith(rf"info string book not used: {tmp_path}/b\udcfc\udcffcher.bin: ")


def test_castling_promotion_and_illegal_entries(tmp_path: Path) -> None:
    castling = chess.Board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    promotion = chess.Board("8/P6k/8/8/8/8/8/K7 w - - 0 1")
    wrong = chess.Board("8/8/8/8/8/8/7k/K7 w - - 0 1")
    other = chess.Board("4k3/8/8/8/8/8/8/RK5R w HA - 0 1", chess960=True)
    entries = [(castling, "e1h1", 5), (promotion, "a7a8n", 5), (wrong, "a1h8", 5), (other, "b1h1", 1)]
    book = Book(write_book(tmp_path / "book.bin", entries))
    rng = random.Random(1)
    for board, move in ((castling, "e1g1"), (promotion, "a7a8n"), (other, "b1h1")):
        found = book.choose(board, best=False, rng=rng)
        assert found is not None
        assert found.move == chess.Move.from_uci(move)
        assert found.move in board.legal_moves
    assert book.choose(wrong, best=True, rng=rng) is None
    book.close()


def test_the_book_does_not_repeat_positions_for_ever(tmp_path: Path) -> None:
    board = chess.Board()
    entries = []
    for text in ("g1f3", "g8f6", "f3g1", "f6g8"):
        entries.append((board.copy(), text, 1))
        board.push_uci(text)
    book = Book(write_book(tmp_path / "book.bin", entries))
    board = chess.Board()
    for _ in range(20):
        found = book.choose(board, best=True, rng=random.Random(1))
        if found is None:
            break
        board.push(found.move)
    assert len(board.move_stack) == 7
    assert not board.is_repetition(3)
    book.close()
