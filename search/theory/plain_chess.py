"""Chess as a game for searches to a fixed depth, with the rules of python-chess and a simple evaluation.

This game serves for counting nodes; `chess_game` does not, because its quiescence search has no fixed depth. Repetition
and the fifty-move rule are omitted. So values do not depend on the history of a position, and a table can store them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

import chess

Key: TypeAlias = tuple[int, ...]

#: The value of a position for a side that is checkmated.
MATED: Final = -1_000_000

#: The usual values of pieces in centipawns, indexed by python-chess's piece types.
PIECE_VALUES: Final = (0, 100, 320, 330, 500, 900, 0)

#: The bonus in centipawns for each step between a piece and the nearest edge. Kings get no bonus.
_CENTRE_STEP: Final = 5

#: The number of steps from each square to the nearest edge: 0 at the edge, 3 in the middle.
CENTRALITY: Final = tuple(
    min(square % 8, 7 - square % 8, square // 8, 7 - square // 8) for square in range(len(chess.SQUARES))
)


def position_key(board: chess.Board) -> Key:
    """Returns a key of the pieces, side to move, castling rights, and en passant square (only if a pawn attacks it)."""
    ready = 0
    if board.ep_square is not None:
        ready = chess.BB_PAWN_ATTACKS[not board.turn][board.ep_square] & board.pawns & board.occupied_co[board.turn]
    return (
        *(board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings),
        *(board.occupied_co[chess.WHITE], board.turn, board.clean_castling_rights()),
        board.ep_square + 1 if ready and board.ep_square is not None else 0,
    )


class PlainChess:
    """Chess as a `SearchGame` whose only draws are stalemates; moves come in python-chess's order."""

    def moves(self, position: chess.Board) -> Iterable[chess.Move]:
        """Returns the legal moves."""
        return position.generate_legal_moves()

    def apply(self, position: chess.Board, move: chess.Move) -> chess.Board:
        """Returns a copy of the board after the move."""
        board = position.copy(stack=False)
        board.push(move)
        return board

    def value(self, position: chess.Board) -> int:
        """Returns MATED for checkmate or 0 for stalemate."""
        return MATED if position.is_check() else 0

    def key(self, position: chess.Board) -> Key:
        """Returns the state that the rules depend on, without the fifty-move clock and the history."""
        return position_key(position)

    def guess(self, position: chess.Board) -> int:
        """Returns the balance of material and centralisation in centipawns, from the view of the side to move."""
        score = 0
        for piece_type in chess.PIECE_TYPES:
            for color, sign in ((position.turn, 1), (not position.turn, -1)):
                squares = position.pieces_mask(piece_type, color)
                score += sign * PIECE_VALUES[piece_type] * squares.bit_count()
                if piece_type != chess.KING:
                    steps = sum(CENTRALITY[square] for square in chess.scan_forward(squares))
                    score += sign * _CENTRE_STEP * steps
        return score
