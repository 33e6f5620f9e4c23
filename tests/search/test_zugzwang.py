"""Zugzwang: the trebuchet. Each king attacks one pawn and guards the other, and the side to move loses its pawn."""

from __future__ import annotations

import chess
import pytest

from search.limits import Limits
from search.searcher import Searcher
from tests.search.games import game, last_info

#: White pawn and king, black king; the black pawn stands before the white one.
TREBUCHETS = [
    (chess.E4, chess.D5, chess.F4),
    (chess.E4, chess.F5, chess.D4),
    (chess.B4, chess.A5, chess.C4),
    (chess.B4, chess.C5, chess.A4),
    (chess.F3, chess.E4, chess.G3),
    (chess.F3, chess.G4, chess.E3),
]

#: The squares around D5 and F4 from which no other move wins than the one to that square.
AROUND_D5 = [chess.C4, chess.C5, chess.C6, chess.D6, chess.E6]
AROUND_F4 = [chess.E3, chess.F3, chess.G3, chess.G4, chess.G5]


def position(turn: chess.Color, pawn: chess.Square, white: chess.Square, black: chess.Square) -> chess.Board:
    board = chess.Board(None)
    board.set_piece_map(
        {
            pawn: chess.Piece.from_symbol("P"),
            pawn + 8: chess.Piece.from_symbol("p"),
            white: chess.Piece.from_symbol("K"),
            black: chess.Piece.from_symbol("k"),
        }
    )
    board.turn = turn
    return board


def searched(searcher: Searcher, board: chess.Board, depth: int) -> tuple[str, int]:
    """Move and score of a search from scratch."""
    searcher.new_game()
    result = searcher.search(game(board.fen()), Limits(depth=depth))
    return str(result.best), last_info(result).score


@pytest.mark.parametrize("turn", chess.COLORS)
@pytest.mark.parametrize(("pawn", "white", "black"), TREBUCHETS)
def test_the_side_to_move_loses(
    searcher: Searcher, turn: chess.Color, pawn: chess.Square, white: chess.Square, black: chess.Square
) -> None:
    for depth in range(3, 9):
        assert searched(searcher, position(turn, pawn, white, black), depth)[1] < 0, depth


@pytest.mark.parametrize("depth", [4, 6, 8])
def test_the_only_move_that_wins_leaves_the_other_side_in_zugzwang(searcher: Searcher, depth: int) -> None:
    boards = [position(chess.WHITE, chess.E4, square, chess.F4) for square in AROUND_D5]
    boards += [position(chess.BLACK, chess.E4, chess.D5, square) for square in AROUND_F4]
    for board in boards:
        move, score = searched(searcher, board, depth)
        assert (move[2:], score > 0) == ("d5" if board.turn else "f4", True), board.fen()
