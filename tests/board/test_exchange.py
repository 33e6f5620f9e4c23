"""Static exchange evaluation against a plain negamax over python-chess's attackers."""

from __future__ import annotations

import random
from typing import Any

import chess
import numpy as np
import pytest

from engine.board.convert import encode, from_board
from engine.board.exchange import EXCHANGE_VALUES, captured_piece, see_ge
from engine.compiler.jit import subkernel
from search.theory import exchange as reference
from tests.board.board_kernels import exchange_value
from tests.board.board_positions import lively_move, scattered_position

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = EXCHANGE_VALUES.tolist()[1:]


def prove(rng: random.Random, board: chess.Board, moves: list[chess.Move]) -> None:
    position = from_board(board)
    for move in moves:
        expected = reference.exchange_value(board, move)
        code = np.int64(encode(board, move))
        thresholds = {expected, expected + 1, expected - 1, 0, 1, rng.randint(-2_500, 2_500)}
        for threshold in thresholds:
            found = see_ge(position, code, np.int64(threshold))
            assert bool(found) == (expected >= threshold), (board.fen(), move, expected, threshold)


def test_captures_of_games() -> None:
    rng = random.Random(1)
    captures = 0
    while captures < 6_000:
        board = chess.Board.from_chess960_pos(rng.randrange(960))
        for _ in range(120):
            legal = list(board.legal_moves)
            if not legal:
                break
            taking = [move for move in legal if board.is_capture(move)]
            prove(rng, board, taking)
            captures += len(taking)
            board.push(lively_move(rng, board, legal))


def test_all_moves_of_scattered_positions() -> None:
    rng = random.Random(2)
    for _ in range(400):
        board = scattered_position(rng, most=24)
        prove(rng, board, list(board.legal_moves))


CASES = [
    # (what, position, move, value)
    ("an undefended pawn", "1k1r4/1pp4p/p7/4p3/8/P5P1/1PP4P/2K1R3 w - - 0 1", "e1e5", PAWN),
    (
        "a defended pawn, lines behind lines",
        "1k1r3q/1ppn3p/p4b2/4p3/8/P2N2P1/1PP1R1BP/2K1Q3 w - - 0 1",
        "d3e5",
        PAWN - KNIGHT,
    ),
    ("pawn takes pawn, defended", "4k3/8/4p3/3p4/4P3/8/8/4K3 w - - 0 1", "e4d5", 0),
    ("pawn takes knight, defended", "4k3/8/4p3/3n4/4P3/8/8/4K3 w - - 0 1", "e4d5", KNIGHT - PAWN),
    ("queen takes defended pawn", "4k3/8/4p3/3p4/8/8/3Q4/4K3 w - - 0 1", "d2d5", PAWN - QUEEN),
    ("rook takes rook, a queen behind", "3qk3/3r4/8/8/8/8/3R4/3QK3 w - - 0 1", "d2d7", 0),
    ("rook takes pawn, a second rook behind", "3rk3/8/8/3p4/8/8/3R4/3RK3 w - - 0 1", "d2d5", PAWN),
    ("bishop takes pawn, a queen behind it", "4k3/6b1/5p2/8/3B4/2Q5/8/K7 w - - 0 1", "d4f6", PAWN),
    ("bishop takes pawn that the king defends", "8/8/4kp2/8/3B4/8/8/K7 w - - 0 1", "d4f6", PAWN - BISHOP),
    ("the king may not take back a defended piece", "8/8/4kp2/8/3B4/2Q5/8/K7 w - - 0 1", "d4f6", PAWN),
    ("the king takes last", "8/8/4k3/5r2/6P1/8/8/K7 w - - 0 1", "g4f5", ROOK - PAWN),
    ("en passant, undefended", "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", PAWN),
    ("en passant, taken back", "4k3/2p5/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 0),
    ("en passant opens the file for a rook", "3rk3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 0),
    ("promotion, undefended", "8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8q", QUEEN - PAWN),
    ("promotion, taken at once", "r6k/1P6/8/8/8/8/8/2K5 w - - 0 1", "b7b8q", -PAWN),
    ("promotion with capture", "r6k/1P6/8/8/8/8/8/2K5 w - - 0 1", "b7a8q", ROOK + QUEEN - PAWN),
    ("promotion with capture, taken back", "r1r4k/1P6/8/8/8/8/8/1K6 w - - 0 1", "b7a8n", ROOK - PAWN),
    ("a quiet move to a safe square", "4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "a1a5", 0),
    ("a quiet move into a pawn's reach", "4k3/8/1p6/8/8/8/8/R3K3 w - - 0 1", "a1a5", -ROOK),
    ("castling", "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1", "e1c1", 0),
    ("knight takes pawn, knight takes back, and so on", "4k3/8/5n2/3p4/8/2N1N3/8/4K3 w - - 0 1", "c3d5", PAWN),
    ("it does not pay to go on", "4k3/4p3/5q2/8/3R4/8/8/3QK3 w - - 0 1", "d4f4", -ROOK),
    ("two against one", "3r3k/8/8/3p4/8/2N2B2/8/K7 w - - 0 1", "c3d5", PAWN),
]


@pytest.mark.parametrize(("fen", "move", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_known_exchanges(fen: str, move: str, expected: int) -> None:
    board = chess.Board(fen)
    played = chess.Move.from_uci(move)
    assert played in board.legal_moves
    assert reference.exchange_value(board, played) == expected
    assert exchange_value(from_board(board), np.int64(encode(board, played))) == expected


@subkernel
def taken_by(position: Any, move: Any) -> Any:
    return captured_piece(position, move)


def test_captured_piece() -> None:
    rng = random.Random(4)
    for _ in range(300):
        board = scattered_position(rng, most=20)
        position = from_board(board)
        for move in board.legal_moves:
            captured = chess.PAWN if board.is_en_passant(move) else board.piece_type_at(move.to_square) or 0
            assert taken_by(position, np.int64(encode(board, move))) == captured
    castle = chess.Board("4k3/8/8/8/8/8/8/R3K3 w Q - 0 1")
    code = np.int64(encode(castle, chess.Move.from_uci("e1c1")))
    assert taken_by(from_board(castle), code) == 0  # the rook on the target square is the mover's own
