"""Tic-tac-toe: a game small enough to search to the end, but large enough to show what pruning and a table save."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

#: The squares of the side to move and of the other side, as bits: bit 0 is the upper left, bit 8 the lower right.
Position: TypeAlias = tuple[int, int]

#: The empty board.
START: Final[Position] = (0, 0)

#: The value of a won game for the winner; guesses are always smaller.
WIN: Final = 10

#: The rows, columns and diagonals, as bits.
LINES: Final = (
    *(0b111 << 3 * row for row in range(3)),
    *(0b001_001_001 << column for column in range(3)),
    *(0b100_010_001, 0b001_010_100),
)


class TicTacToe:
    """Tic-tac-toe as a `SearchGame`; a move is the number of a square."""

    lines, length = LINES, 3

    def squares(self, position: Position, move: int) -> tuple[int, int]:
        """Returns the square that a move fills, as a bit, and 0: no move makes another square playable."""
        return 1 << move, 0

    def name(self, move: int) -> str:
        """Returns the name of a square, from a3 (the upper left) to c1."""
        return f"{'abc'[move % 3]}{3 - move // 3}"

    def read(self, text: str) -> Position:
        """Returns the position of a board such as `XX./OO./...`; X moved first. Raises ValueError if it is invalid."""
        cells = text.replace("/", "")
        crosses, noughts = (sum(1 << square for square, cell in enumerate(cells) if cell == sign) for sign in "XO")
        is_even = crosses.bit_count() == noughts.bit_count()
        if not re.fullmatch(r"[XO.]{3}(/[XO.]{3}){2}", text) or crosses.bit_count() - noughts.bit_count() not in (0, 1):
            raise ValueError(f"'{text}' is not a board of tic-tac-toe such as XX./OO./...")
        return (crosses, noughts) if is_even else (noughts, crosses)

    def moves(self, position: Position) -> Sequence[int]:
        """Returns the free squares, row by row; none if the last move made three in a row."""
        mine, theirs = position
        if has_line(theirs):
            return ()
        return [square for square in range(9) if not (mine | theirs) >> square & 1]

    def apply(self, position: Position, move: int) -> Position:
        """Returns the position after the move, with the other side to move."""
        mine, theirs = position
        return theirs, mine | 1 << move

    def value(self, position: Position) -> int:
        """Returns -WIN if the other side has three in a row, otherwise 0 for a draw."""
        return -WIN if has_line(position[1]) else 0

    def key(self, position: Position) -> Position:
        """Returns the position itself."""
        return position

    def guess(self, position: Position) -> int:
        """Returns the number of lines that the side to move can still complete, minus the number for the other side."""
        mine, theirs = position
        return sum((not line & theirs) - (not line & mine) for line in LINES)


def has_line(squares: int) -> bool:
    """Returns whether these squares contain three in a row."""
    return any(line & squares == line for line in LINES)
