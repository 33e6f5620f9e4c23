"""Chess to a fixed depth on python-chess: its rules, and a guess that a beginner would make.

For counting nodes, where the game of `chess_game` with its quiescence would blur what a depth is. Repetition and the
fifty-move rule are left out: what a position is worth does not depend on how it came about, so it can be remembered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

import chess

Key: TypeAlias = tuple[int, ...]

#: What being mated is worth.
MATED: Final = -1_000_000

#: Centipawns, by python-chess's numbers of pieces: the usual rule of thumb.
PIECE_VALUES: Final = (0, 100, 320, 330, 500, 900, 0)

#: Centipawns that a step towards the centre is worth to a piece.
_CENTRE_STEP: Final = 5

#: Steps to the edge at most, of each square: 0 at the rim, 3 in the middle.
_CENTRALITY: Final = tuple(
    min(square % 8, 7 - square % 8, square // 8, 7 - square // 8) for square in range(len(chess.SQUARES))
)


def position_key(board: chess.Board) -> Key:
    """Pieces, side to move, castling rights, and the en passant square where a pawn stands ready to capture there."""
    ready = 0
    if board.ep_square is not None:
        ready = chess.BB_PAWN_ATTACKS[not board.turn][board.ep_square] & board.pawns & board.occupied_co[board.turn]
    return (
        *(board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings),
        *(board.occupied_co[chess.WHITE], board.turn, board.clean_castling_rights()),
        board.ep_square + 1 if ready and board.ep_square is not None else 0,
    )


class PlainChess:
    """The rules of chess as a `SearchGame`; moves come as python-chess makes them."""

    def moves(self, position: chess.Board) -> Iterable[chess.Move]:
        """The legal moves."""
        return position.generate_legal_moves()

    def apply(self, position: chess.Board, move: chess.Move) -> chess.Board:
        """A copy of the board with the move made."""
        board = position.copy(stack=False)
        board.push(move)
        return board

    def value(self, position: chess.Board) -> int:
        """Mate or stalemate."""
        return MATED if position.is_check() else 0

    def key(self, position: chess.Board) -> Key:
        """What the rules look at, but for the clock and the past."""
        return position_key(position)

    def guess(self, position: chess.Board) -> int:
        """Material and a taste for the centre, centipawns."""
        score = 0
        for piece_type in chess.PIECE_TYPES:
            for color, sign in ((position.turn, 1), (not position.turn, -1)):
                squares = position.pieces_mask(piece_type, color)
                score += sign * PIECE_VALUES[piece_type] * squares.bit_count()
                if piece_type != chess.KING:
                    steps = sum(_CENTRALITY[square] for square in chess.scan_forward(squares))
                    score += sign * _CENTRE_STEP * steps
        return score
