"""Static exchange evaluation with python-chess: the gain of a move if both sides capture on its target square."""

from __future__ import annotations

import chess

from engine.board.exchange import EXCHANGE_VALUES


def exchange_value(board: chess.Board, move: chess.Move) -> int:
    """Returns the mover's gain in centipawns if both sides capture on the target square as long as capturing pays.

    Pieces have the values in EXCHANGE_VALUES. Both sides capture with their least valuable piece first. Pins and checks
    are ignored; a king does not capture a defended piece.
    """
    if board.is_castling(move):
        return 0
    occupied = board.occupied & ~chess.BB_SQUARES[move.from_square] | chess.BB_SQUARES[move.to_square]
    if board.is_en_passant(move):
        occupied &= ~chess.BB_SQUARES[move.to_square ^ 8]
        gain = worth(chess.PAWN)
    else:
        gain = worth(board.piece_type_at(move.to_square))
    standing = worth(board.piece_type_at(move.from_square))
    if move.promotion:
        standing = worth(move.promotion)
        gain += standing - worth(chess.PAWN)
    return gain - _recapture(board, move.to_square, standing, not board.turn, occupied)


def worth(piece_type: chess.PieceType | None) -> int:
    """Returns the value of a piece in exchanges, in centipawns, or 0 for no piece."""
    return int(EXCHANGE_VALUES[piece_type or 0])


def _recapture(board: chess.Board, square: chess.Square, standing: int, side: chess.Color, occupied: int) -> int:
    """Returns what `side` gains by capturing a piece worth `standing` on `square`, or 0 if capturing does not pay."""
    attackers = board.attackers_mask(side, square, occupied) & occupied
    if not attackers:
        return 0
    piece_type, taker = min((board.piece_type_at(taker) or 0, taker) for taker in chess.scan_forward(attackers))
    if piece_type == chess.KING and board.attackers_mask(not side, square, occupied) & occupied:
        return 0
    lifted = occupied & ~chess.BB_SQUARES[taker]
    return max(0, standing - _recapture(board, square, worth(piece_type), not side, lifted))
