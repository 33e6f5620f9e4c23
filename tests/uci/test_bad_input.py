"""Bad input: one message that says what is wrong, and the last good position stays."""

from __future__ import annotations

import pytest

from tests.uci.conftest import Engine

GOOD = "position startpos moves d2d4 d7d5"
GOOD_FEN = "rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq - 0 2"


def complaint(engine: Engine, line: str) -> str:
    """Sends a line after a good position; returns the one message it causes. The position must be unharmed."""
    engine.said(GOOD)
    (message,) = engine.said(line)
    assert message.startswith("info string ")
    engine.send("d")
    assert engine.expect("Fen: ") == f"Fen: {GOOD_FEN}"
    engine.expect("Legal moves")
    return message


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "illegal position: no white king, no black king"),
        ("position fen kk5K/8/8/8/8/8/8/8 w - - 0 1", "too many kings"),
        ("position fen k7/8/8/8/8/8/8/K6P w - - 0 1", "pawns on backrank"),
        ("position fen k7/8/8/8/8/8/8/K6R q - - 0 1", "expected 'w' or 'b'"),
        ("position fen k7/8/8/8/8/8/8/K6R w KQkqX - 0 1", "castling"),
        ("position fen k7/8/8/8/8/8/8/K6R w - e9 0 1", "en passant"),
        ("position fen k7/8/8/8/8/8/8/K6R w - - x 1", "half"),
        ("position fen kR6/8/8/8/8/8/8/K7 w - - 0 1", "opposite check"),
        ("position startpos moves e2e4 e7e5 e4e5", "illegal move 'e4e5' (number 3"),
        ("position startpos moves e2e4 banana", "illegal move 'banana' (number 2"),
        (GOOD + " e1e3", "illegal move 'e1e3' (number 3"),
        ("joho", "unknown command 'joho'"),
        ("setoption name Hash value 0", "Hash must be 1 to"),
        ("go movetime -5", "go movetime: -5 is less than 1; using 1"),
        ("setoption name SyzygyPath value /no/such/folder", "tablebases not used: /no/such/folder: No such file"),
        ("setoption name Debug Log File value /no/such/folder/log", "Debug Log File not used: '/no/such/folder/log'"),
        ("debug maybe", "debug: expected 'on' or 'off', got 'maybe'"),
        ("bench 0", "bench: the depth must be 1 to 127 (got '0')"),
        ("position fen QQQQQQnk/Q5pp/Q6Q/Q6Q/Q6Q/Q6Q/Q6Q/KQQQQQQQ w - - 0 1", "too many white pieces"),
    ],
)
def test_one_message_and_the_position_kept(engine: Engine, line: str, part: str) -> None:
    if line.startswith("go"):
        engine.send(GOOD, line)
        assert part in engine.expect("info string")
        engine.best("stop")
    else:
        assert part in complaint(engine, line)


@pytest.mark.parametrize(("go", "endless"), [("go dpeth 3", True), ("go mate", True), ("go dpeth 3 depth 2", False)])
def test_a_mistyped_limit_is_no_silent_endless_search(engine: Engine, go: str, endless: bool) -> None:
    engine.send("position startpos", go)
    said = "info string go: no limit is left, so the search goes on until 'stop'"
    if endless:
        while engine.expect("info string") != said:
            pass
        engine.best("stop")
    else:
        engine.expect("bestmove")
        assert said not in engine.lines


def test_rights_without_rooks_are_reported_and_left_out(engine: Engine) -> None:
    (said,) = engine.said("position fen 4k3/8/8/8/8/8/8/4K3 w KQ - 0 1")
    assert "castling rights that do not fit" in said
    engine.best("go depth 3")


def test_an_en_passant_square_without_a_pawn_is_left_out(engine: Engine) -> None:
    (said,) = engine.said("position fen 4k3/8/8/3P4/8/8/8/4K3 w - e6 0 1")
    assert "en passant square that does not fit" in said
    engine.send("go perft 1")
    assert engine.expect("Nodes searched") == "Nodes searched: 6"
    assert "d5e6: 1" not in engine.lines


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("x" * 100_000, "(100000 characters)"),
        ("position startpos moves " + "e2e4 " * 20_000, "illegal move 'e2e4' (number 2"),
        (f"position fen {'8/' * 50_000}", "(100000 characters): expected 8 rows in position part of fen"),
    ],
    ids=["word", "moves", "FEN"],
)
def test_a_long_line_has_a_short_message(engine: Engine, line: str, part: str) -> None:
    message = complaint(engine, line)
    assert part in message
    assert len(message) < 300


def test_bytes_that_are_not_text(engine: Engine) -> None:
    engine.send_bytes(b"\xff\xfe\x00\x80 isready\n\x00\n\r\n\xc3(\n")
    said = engine.said()
    assert len(said) == 3
    assert all(line.startswith("info string unknown command") for line in said)


def test_carriage_returns_and_odd_spacing(engine: Engine) -> None:
    engine.send_bytes(b"  position   startpos \t moves  e2e4 \r\n go   depth  2 \r\n")
    assert engine.expect("bestmove").split()[1][1] in "78"
