"""Conversion of positions and moves between python-chess's classes and the kernels' records and integers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import chess
import numpy as np

from engine.board.make import complete_position
from engine.board.moves import (
    CAPTURE,
    CASTLING,
    DOUBLE_PUSH,
    EN_PASSANT,
    PROMOTION,
    QUIET,
)
from engine.board.position import NO_SQUARE, POSITION, WHITE
from engine.memory import allocate

#: The largest halfmove clock of a position record. A FEN may have a larger one, but by the
#: seventy-five-move rule, a game ends earlier.
MOST_HALFMOVES: Final = 200


def new_position() -> Any:
    """Returns a new position record in which every field is 0."""
    return allocate(POSITION, 1)[0]


def write_board(board: chess.Board, position: Any) -> None:
    """Writes a valid `board` into a position record. Caps the halfmove clock at MOST_HALFMOVES. Mutates `position`."""
    pieces = (board.occupied, board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings)
    position["pieces"] = np.array(pieces, np.uint64)
    position["colors"] = np.array([board.occupied_co[chess.BLACK], board.occupied_co[chess.WHITE]], np.uint64)
    position["castling"] = np.uint64(board.clean_castling_rights())
    position["turn"] = int(board.turn)
    position["halfmoves"] = min(board.halfmove_clock, MOST_HALFMOVES)
    squares = np.zeros(64, np.uint8)
    for square, piece in board.piece_map().items():
        squares[square] = piece.piece_type
    position["squares"] = squares
    position["ep_square"] = NO_SQUARE
    if board.ep_square is not None:
        ready = chess.BB_PAWN_ATTACKS[not board.turn][board.ep_square]
        if ready & board.pawns & board.occupied_co[board.turn]:
            position["ep_square"] = board.ep_square
    complete_position(position)


def from_board(board: chess.Board) -> Any:
    """Converts a valid `board`, standard or Chess960, to a new position record."""
    position = new_position()
    write_board(board, position)
    return position


def to_board(position: Any, chess960: bool = False) -> chess.Board:
    """Converts a position record to a `chess.Board`. The record has no full move number, so the board gets 1."""
    board = chess.Board(None, chess960=chess960)
    white = int(position["colors"][WHITE])
    for square in chess.SQUARES:
        piece_type = int(position["squares"][square])
        if piece_type:
            color = bool(white & chess.BB_SQUARES[square])
            board.set_piece_at(square, chess.Piece(piece_type, color))
    board.turn = bool(position["turn"])
    board.castling_rights = int(position["castling"])
    ep_square = int(position["ep_square"])
    board.ep_square = None if ep_square == NO_SQUARE else ep_square
    board.halfmove_clock = int(position["halfmoves"])
    return board


def encode(board: chess.Board, move: chess.Move) -> int:
    """Encodes a legal move of `board` (see `engine.board.moves`). Castling may be in Chess960 or standard notation."""
    target = move.to_square
    if board.is_castling(move):
        if not board.occupied_co[board.turn] & chess.BB_SQUARES[target]:
            # The king moves two squares, as in standard chess: the outermost rook that may castle takes part.
            rooks = board.clean_castling_rights() & chess.BB_RANKS[chess.square_rank(move.from_square)]
            kingside = chess.square_file(target) > chess.square_file(move.from_square)
            target = chess.msb(rooks) if kingside else chess.lsb(rooks)
        kind = CASTLING
    elif board.is_en_passant(move):
        kind = EN_PASSANT
    else:
        kind = CAPTURE if board.is_capture(move) else QUIET
        if move.promotion:
            kind |= PROMOTION | (move.promotion - chess.KNIGHT)
        elif board.piece_type_at(move.from_square) == chess.PAWN and abs(target - move.from_square) == 16:
            kind = DOUBLE_PUSH
    return move.from_square | target << 6 | kind << 12


def decode(move: int, chess960: bool = False) -> chess.Move:
    """Decodes a move. If `chess960`, castling becomes king takes rook; otherwise the king's move to file c or g.

    Equal arguments give the same object, so do not modify it.
    """
    return _decode(int(move), chess960)


# Each iteration of a search decodes its line again.
@lru_cache(maxsize=1 << 14)
def _decode(move: int, chess960: bool) -> chess.Move:
    origin, target, kind = move & 63, move >> 6 & 63, move >> 12 & 15
    if kind == CASTLING and not chess960:
        target = (origin & 56) | (6 if target > origin else 2)
    promotion = (kind & 3) + chess.KNIGHT if kind & PROMOTION else None
    return chess.Move(origin, target, promotion)
