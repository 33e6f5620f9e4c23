"""Positions and moves of python-chess to kernel records and back."""

from __future__ import annotations

import random

import chess
import pytest

from engine.board import moves
from engine.board.convert import MOST_HALFMOVES, decode, encode, from_board, to_board
from engine.board.position import NO_SQUARE, OCCUPIED
from tests.board.board_kernels import fields
from tests.board.board_positions import RARE_POSITIONS, random_game, scattered_position


def kept(board: chess.Board) -> chess.Board:
    """`board` without what a record does not keep: history, move number, rights and en passant squares of no use."""
    board = board.copy(stack=False)
    board.castling_rights = board.clean_castling_rights()
    if board.ep_square is not None and not (
        board.attackers_mask(board.turn, board.ep_square) & board.pawns & board.occupied_co[board.turn]
    ):
        board.ep_square = None
    board.fullmove_number = 1
    return board


def assert_written(board: chess.Board) -> None:
    position = from_board(board)
    assert int(position["pieces"][OCCUPIED]) == board.occupied
    for piece_type in chess.PIECE_TYPES:
        white, black = (board.pieces_mask(piece_type, color) for color in (chess.WHITE, chess.BLACK))
        assert int(position["pieces"][piece_type]) == white | black
    assert position["colors"].tolist() == [board.occupied_co[chess.BLACK], board.occupied_co[chess.WHITE]]
    assert position["squares"].tolist() == [board.piece_type_at(square) or 0 for square in chess.SQUARES]
    assert int(position["castling"]) == board.clean_castling_rights()
    assert int(position["turn"]) == board.turn
    assert int(position["halfmoves"]) == board.halfmove_clock
    assert int(position["ep_square"]) == (NO_SQUARE if kept(board).ep_square is None else board.ep_square)
    back = to_board(position, board.chess960)
    assert back == kept(board)
    assert back.chess960 == board.chess960
    assert fields(from_board(back)) == fields(position)


@pytest.mark.parametrize(("fen", "chess960"), RARE_POSITIONS)
def test_rare_positions_survive_the_round_trip(fen: str, chess960: bool) -> None:
    board = chess.Board(fen, chess960=chess960)
    assert board.is_valid()
    assert_written(board)


def test_played_and_scattered_positions_survive_the_round_trip() -> None:
    rng = random.Random(2)
    for number in range(0, 960, 32):
        board = chess.Board.from_chess960_pos(number)
        for _ in random_game(rng, board, 40):
            assert_written(board)
        assert_written(scattered_position(rng))


def test_a_halfmove_clock_beyond_all_games_is_cut() -> None:
    for claimed in (MOST_HALFMOVES, 300, 10**30):
        board = chess.Board(f"4k3/8/8/8/8/8/8/4K2R w K - {claimed} 400")
        assert int(from_board(board)["halfmoves"]) == MOST_HALFMOVES


def test_en_passant_square_is_kept_only_beside_an_enemy_pawn() -> None:
    board = chess.Board()
    board.push_san("e4")
    assert board.ep_square == chess.E3
    assert int(from_board(board)["ep_square"]) == NO_SQUARE
    for san in ("a6", "e5", "d5"):
        board.push_san(san)
    assert int(from_board(board)["ep_square"]) == chess.D6
    # Even when the capture is not legal, as in Polyglot's keys.
    pinned = chess.Board("8/8/8/K2pP2r/8/8/8/7k w - d6 0 1")
    assert not any(pinned.is_en_passant(move) for move in pinned.legal_moves)
    assert int(from_board(pinned)["ep_square"]) == chess.D6


@pytest.mark.parametrize("chess960", [False, True])
@pytest.mark.parametrize(
    ("turn", "two_squares", "takes_rook"),
    [("w", "e1g1", "e1h1"), ("w", "e1c1", "e1a1"), ("b", "e8g8", "e8h8"), ("b", "e8c8", "e8a8")],
)
def test_encode_takes_both_castling_notations(turn: str, two_squares: str, takes_rook: str, chess960: bool) -> None:
    board = chess.Board(f"r3k2r/8/8/8/8/8/8/R3K2R {turn} KQkq - 0 1", chess960=chess960)
    rook = chess.Move.from_uci(takes_rook)
    expected = rook.from_square | rook.to_square << 6 | moves.CASTLING << 12
    assert encode(board, chess.Move.from_uci(two_squares)) == encode(board, rook) == expected
    assert decode(expected) == chess.Move.from_uci(two_squares)
    assert decode(expected, chess960=True) == rook


def test_encode_in_chess960_names_the_rook_with_the_right() -> None:
    # An outer rook without a right stands beyond the inner one that has it.
    board = chess.Board("6k1/8/8/8/8/8/8/1KR4R w C - 0 1", chess960=True)
    assert encode(board, chess.Move.from_uci("b1g1")) == encode(board, chess.Move.from_uci("b1c1"))
    assert decode(encode(board, chess.Move.from_uci("b1g1")), chess960=True) == chess.Move.from_uci("b1c1")


def test_decode_undoes_encode() -> None:
    rng = random.Random(4)
    for number in range(40):
        chess960 = number % 2 == 1
        board = chess.Board.from_chess960_pos(24 * number) if chess960 else chess.Board()
        for _ in random_game(rng, board, 80):
            for move in board.legal_moves:
                code = encode(board, move)
                assert 0 < code < 1 << 16
                assert decode(code, chess960) == move
