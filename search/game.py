"""A position with the game that led to it."""

from __future__ import annotations

from typing import Final

import chess
import numpy as np

from engine.board.convert import new_position, write_board

#: Status flags of positions that the engine refuses. Other flaws are accepted or repaired.
FATAL_STATUS: Final = (
    chess.STATUS_NO_WHITE_KING
    | chess.STATUS_NO_BLACK_KING
    | chess.STATUS_TOO_MANY_KINGS
    | chess.STATUS_PAWNS_ON_BACKRANK
    | chess.STATUS_TOO_MANY_WHITE_PIECES
    | chess.STATUS_TOO_MANY_BLACK_PIECES
    | chess.STATUS_TOO_MANY_WHITE_PAWNS
    | chess.STATUS_TOO_MANY_BLACK_PAWNS
    | chess.STATUS_OPPOSITE_CHECK
    | chess.STATUS_EMPTY
)


class Game:
    """A position with the game that led to it, and the Zobrist keys by which repetitions of its positions are found.

    Copies `board` with its moves; None means the initial position. Raises ValueError if the position before the first
    move is illegal (see FATAL_STATUS).
    """

    def __init__(self, board: chess.Board | None = None) -> None:
        board = chess.Board() if board is None else board
        self.board = board.root()
        # Marks of promoted pieces ("Q~") belong to crazyhouse, and python-chess does not count a king with such a mark.
        self.board.promoted = chess.BB_EMPTY
        fatal = self.board.status() & FATAL_STATUS
        if fatal:
            raise ValueError(f"illegal position: {status_text(fatal)}")
        if self.board.status() & chess.STATUS_INVALID_EP_SQUARE:
            self.board.ep_square = None
        self._position = new_position()
        self.keys: list[np.uint64] = [self._key()]
        for move in board.move_stack:
            self.push(move)

    def _key(self) -> np.uint64:
        write_board(self.board, self._position)
        return np.uint64(self._position["key"])

    def push(self, move: chess.Move) -> None:
        """Plays `move`, which must be legal."""
        self.board.push(move)
        self.keys.append(self._key())

    def pop(self) -> None:
        """Takes back the last move."""
        self.board.pop()
        self.keys.pop()


def status_text(status: chess.Status) -> str:
    """Returns a python-chess status in words, such as 'no white king, opposite check'."""
    names = [flag.name or "" for flag in chess.Status if flag and flag & status]
    return ", ".join(name.lower().replace("_", " ").removeprefix("status ") for name in names)
