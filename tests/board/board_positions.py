"""Positions that the tests of this room run over."""

from __future__ import annotations

import random
from collections.abc import Iterator

import chess

#: The six positions of the Chess Programming Wiki's "Perft Results" and their counts from depth 1 on.
CLASSIC_PERFTS: dict[str, tuple[int, ...]] = {
    chess.STARTING_FEN: (20, 400, 8_902, 197_281, 4_865_609, 119_060_324),
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1": (
        *(48, 2_039, 97_862, 4_085_603, 193_690_690),
    ),
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1": (14, 191, 2_812, 43_238, 674_624, 11_030_083),
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": (6, 264, 9_467, 422_333, 15_833_292),
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": (44, 1_486, 62_379, 2_103_487, 89_941_194),
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10": (
        *(46, 2_079, 89_890, 3_894_594, 164_075_551),
    ),
}

#: Positions that hold something rare: (FEN, whether it is Chess960).
RARE_POSITIONS: tuple[tuple[str, bool], ...] = (
    *((fen, False) for fen in CLASSIC_PERFTS),
    # En passant: both pawns leave the king's rank; the capturer is pinned; the capture is the only way out of check.
    ("8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1", False),
    ("7k/8/8/8/3pP3/8/8/B3K3 b - e3 0 1", False),
    ("8/k7/8/8/3pP3/8/8/4K1B1 b - e3 0 1", False),
    ("8/8/8/2k5/3Pp3/8/8/4K3 b - d3 0 1", False),
    ("8/8/8/K2pP2r/8/8/8/7k w - d6 0 1", False),
    ("7k/8/8/3pP3/8/8/8/B6K w - d6 0 1", False),
    # Double check, and a check that nothing but the king answers.
    ("4k3/8/4r3/8/8/5n2/8/4K3 w - - 0 1", False),
    # Promotions on both wings, with captures, pinned and not.
    ("n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1", False),
    ("3rkr2/4P3/8/8/8/8/4p3/3RKR2 w - - 0 1", False),
    # Castling: attacked rook, attacked path, and a rook that unveils an attack when it castles.
    ("r3k2r/8/8/8/8/8/6b1/R3K2R w KQkq - 0 1", False),
    ("5k2/8/8/8/8/8/8/rR2K3 w B - 0 1", True),
    ("5k2/8/8/8/8/8/8/rRK5 w B - 0 1", True),
    ("1k6/8/8/8/8/8/8/2KR3R w H - 0 1", True),
    ("6k1/8/8/8/8/8/8/1KR1R3 w E - 0 1", True),
    ("6k1/8/8/8/8/8/8/1KR1R3 w C - 0 1", True),
    ("rkr5/8/8/8/8/8/8/5RKR w HFca - 0 1", True),
    ("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9", True),
    # 218 legal moves, the most that are known.
    ("R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1", False),
    # No legal move: mate, stalemate, mate as the clock reaches a hundred.
    ("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3", False),
    ("7k/5Q2/6K1/8/8/8/8/8 b - - 99 80", False),
    ("R6k/6pp/8/8/8/8/8/K7 b - - 100 90", False),
)


def lively_move(rng: random.Random, board: chess.Board, moves: list[chess.Move]) -> chess.Move:
    """A random move that is more often than not one of the rare kinds: castling, en passant, promotion."""
    if rng.random() < 0.6:
        rare = [move for move in moves if move.promotion or board.is_castling(move) or board.is_en_passant(move)]
        if rare:
            return rng.choice(rare)
    return rng.choice(moves)


def random_game(rng: random.Random, board: chess.Board, plies: int) -> Iterator[chess.Move]:
    """Yields up to `plies` legal moves, each before it is made on `board`."""
    for _ in range(plies):
        moves = list(board.legal_moves)
        if not moves:
            return
        move = lively_move(rng, board, moves)
        yield move
        board.push(move)


def scattered_position(rng: random.Random, most: int = 12) -> chess.Board:
    """A valid position of two kings and up to `most` other pieces anywhere: pins, forks and checks in quantity."""
    while True:
        board = chess.Board(None)
        squares = rng.sample(range(64), 2 + rng.randint(1, most))
        for color in chess.COLORS:
            board.set_piece_at(squares.pop(), chess.Piece(chess.KING, color))
        for square in squares:
            piece_type = rng.choice((1, 1, 1, 2, 3, 3, 4, 4, 5, 5))
            if piece_type == chess.PAWN and chess.square_rank(square) in (0, 7):
                piece_type = chess.ROOK
            board.set_piece_at(square, chess.Piece(piece_type, rng.random() < 0.5))
        board.turn = rng.random() < 0.5
        board.halfmove_clock = rng.choice((0, 3, 99, 100, 120))
        if rng.random() < 0.3:
            # A pawn that just moved two squares, with an enemy pawn beside it.
            file, step, rank = rng.randint(0, 6), rng.randint(0, 1), 4 if board.turn else 3
            board.set_piece_at(chess.square(file + step, rank), chess.Piece(chess.PAWN, not board.turn))
            board.set_piece_at(chess.square(file + 1 - step, rank), chess.Piece(chess.PAWN, board.turn))
            board.ep_square = chess.square(file + step, 5 if board.turn else 2)
            board.halfmove_clock = 0
        if board.is_valid():
            return board
