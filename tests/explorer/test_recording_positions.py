"""Positions in the forms that users give them."""

from __future__ import annotations

import chess
import pytest

from search.explorer.positions import PositionError, read_board, replay

GAME = """[Event "A game"]
[White "One"]
[Black "Other"]

1. e4 e5 2. Nf3 { quite usual } Nc6 (2... d6 3. d4) 3. Bb5 a6 *
"""
FROM_BLACK = """[FEN "4k3/8/8/8/8/8/4p3/4K3 b - - 0 40"]
[SetUp "1"]

40... Kd7 41. Kxe2 *
"""


@pytest.mark.parametrize("text", ["", "startpos", " startpos\n", chess.STARTING_FEN])
def test_the_start_position(text: str) -> None:
    assert read_board(text).fen() == chess.STARTING_FEN


def test_a_fen_with_moves() -> None:
    assert read_board("startpos moves e2e4 e7e5").peek() == chess.Move.from_uci("e7e5")
    assert read_board("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1 moves e2e4").piece_at(chess.E4) is not None


def test_castling_rights_may_ask_for_chess960() -> None:
    assert read_board("4k3/8/8/8/8/8/8/RK5R w HA - 0 1").chess960
    assert not read_board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1").chess960


@pytest.mark.parametrize(
    ("after", "last"),
    [(None, "a7a6"), ("3b", "a7a6"), ("3...", "a7a6"), ("3", "f1b5"), ("3w", "f1b5"), ("2.", "g1f3"), ("2b", "b8c6")],
)
def test_a_move_of_a_game_is_chosen(after: str | None, last: str) -> None:
    assert read_board(GAME, after).peek().uci() == last


def test_the_start_of_a_game_is_chosen() -> None:
    assert not read_board(GAME, "0").move_stack
    assert read_board(FROM_BLACK, "0").fen() == "4k3/8/8/8/8/8/4p3/4K3 b - - 0 40"
    assert read_board(FROM_BLACK, "40b").peek().uci() == "e8d7"
    assert read_board(FROM_BLACK).peek().uci() == "e1e2"


@pytest.mark.parametrize(
    ("text", "after", "message"),
    [
        ("8/8/8/8/8/8/8/8 w - - 0 1", None, "illegal position: no white king"),
        ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", None, "illegal position: opposite check"),
        ("4k3/8/8/8/8/8/8/4K3 x - - 0 1", None, "bad FEN '4k3/8/8/8/8/8/8/4K3 x - - 0 1': "),
        ("4k3/8/8/8/8/8/8/4K4 w - - 0 1", None, "bad FEN "),
        ("startpos moves e2e4 e2e4", None, "illegal move 'e2e4' (number 2 in the list of moves)"),
        ("startpos moves e2e9", None, "illegal move 'e2e9' (number 1 in the list of moves)"),
        (chess.STARTING_FEN, "3w", "a move can be chosen only in a PGN"),
        ("hello world", None, "neither a FEN nor a PGN: 'hello world'"),
        ("x" * 200, None, "neither a FEN nor a PGN: 'xxx"),
        (GAME, "4w", "there is no move 4w in the game, whose last move is 3... a6"),
        (GAME, "x", "bad move 'x': expected a move number, then w or b, such as 23w"),
        (GAME.replace("Bb5", "Bb6"), None, "bad PGN: illegal san: 'Bb6'"),
        (GAME.replace("[Event", '[FEN "nonsense"]\n[Event'), None, "bad PGN: "),
        (GAME.replace("[Event", '[Variant "Atomic"]\n[Event'), None, "bad PGN: the variant 'Atomic' is not supported"),
    ],
)
def test_what_is_no_position_is_refused_in_one_line(text: str, after: str | None, message: str) -> None:
    with pytest.raises(PositionError) as refused:
        read_board(text, after)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 250


def test_a_recorded_game_may_pass() -> None:
    game = replay(chess.STARTING_FEN, ["e2e4", "0000", "d2d4"], chess960=False)
    assert game.board.turn == chess.BLACK
    assert len(game.keys) == 4
    with pytest.raises(PositionError, match=r"illegal move 'e2e5' \(number 1 in the list of moves\)"):
        replay(chess.STARTING_FEN, ["e2e5"], chess960=False)
