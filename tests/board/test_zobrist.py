"""Zobrist keys against Polyglot's."""

from __future__ import annotations

import itertools
import random
from typing import Any

import chess
import chess.polyglot
import numpy as np

from engine.board.convert import encode, from_board, new_position
from engine.board.make import compute_keys, make_move
from engine.board.zobrist import TURN_KEY
from engine.memory import readable
from tests.board.board_positions import random_game


def keys_of(position: Any) -> tuple[int, ...]:
    """The key, the pawns' part of it, and each colour's."""
    return (int(position["key"]), int(position["pawn_key"]), *map(int, position["piece_keys"]))


def keys_from_scratch(position: Any) -> tuple[int, ...]:
    """The same, of a copy whose keys are computed anew."""
    copy = readable(np.array([position]))[0]
    copy["key"] = copy["pawn_key"] = copy["piece_keys"] = 1
    compute_keys(copy)
    return keys_of(copy)


def test_every_node_of_standard_games_has_polyglots_key() -> None:
    rng = random.Random(1)
    nodes = 0
    for _ in range(50):
        board = chess.Board()
        position, child = from_board(board), new_position()
        for move in random_game(rng, board, 160):
            assert int(position["key"]) == chess.polyglot.zobrist_hash(board)
            make_move(position, child, np.int64(encode(board, move)))
            position, child = child, position
            nodes += 1
        assert int(position["key"]) == chess.polyglot.zobrist_hash(board)
    assert nodes > 5_000


def test_parts_of_the_key_are_those_of_the_pieces() -> None:
    rng = random.Random(6)
    promotions = captures = 0
    for _ in range(100):
        board = chess.Board()
        position, child = from_board(board), new_position()
        for move in random_game(rng, board, 200):
            promotions += move.promotion is not None
            captures += board.is_capture(move)
            make_move(position, child, np.int64(encode(board, move)))
            position, child = child, position
        pawns = chess.polyglot.zobrist_hash(only(board, pawns=True, color=None)) ^ int(TURN_KEY)
        assert keys_of(position) == keys_from_scratch(position)
        assert int(position["pawn_key"]) == pawns
        for color in (chess.BLACK, chess.WHITE):
            pieces = chess.polyglot.zobrist_hash(only(board, pawns=False, color=color)) ^ int(TURN_KEY)
            assert int(position["piece_keys"][int(color)]) == pieces
    assert promotions > 100
    assert captures > 1_000


def only(board: chess.Board, *, pawns: bool, color: chess.Color | None) -> chess.Board:
    """A board, White to move, with nothing but the pawns or the other pieces, of one colour if given."""
    rest = chess.Board(None)
    for square, piece in board.piece_map().items():
        if (piece.piece_type == chess.PAWN) == pawns and color in (None, piece.color):
            rest.set_piece_at(square, piece)
    return rest


def test_rights_on_different_rooks_have_different_keys() -> None:
    for number in range(960):
        board = chess.Board.from_chess960_pos(number)
        rooks = list(chess.scan_forward(board.castling_rights))
        keys = set()
        for count in range(5):
            for kept in itertools.combinations(rooks, count):
                board.castling_rights = sum(chess.BB_SQUARES[rook] for rook in kept)
                keys.add(int(from_board(board)["key"]))
        assert len(keys) == 16
    # Polyglot has one key for the white king's side; here the rook makes the difference.
    inner, outer = (
        from_board(chess.Board(f"6k1/8/8/8/8/8/8/1KR1R3 w {right} - 0 1", chess960=True))["key"] for right in "CE"
    )
    assert inner != outer
