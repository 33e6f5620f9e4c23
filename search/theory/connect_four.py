"""Connect Four, a game with many transpositions, on boards of many sizes. The usual board is too large for minimax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

#: The stones of the side to move and of the other side, as bits. A column has a bit for each
#: square, from the bottom up, and a spare bit at the top, which is always 0.
Position: TypeAlias = tuple[int, int]

#: The empty board.
START: Final[Position] = (0, 0)

#: Greater than any guess. A win is worth WIN minus the number of stones on the board, so a faster win is worth more.
WIN: Final = 100_000

#: The value of a line that only one side can still complete, indexed by the number of that side's stones on it.
_OPEN_LINE: Final = (0, 1, 4, 16, 64, 256, 1024)


class ConnectFour:
    """Connect Four as a `SearchGame`; a move is a column, from 0 at the left. Raises ValueError for invalid sizes."""

    def __init__(self, columns: int = 7, rows: int = 6, length: int = 4) -> None:
        if not (1 <= columns <= 16 and 1 <= rows <= 16 and 2 <= length < len(_OPEN_LINE)):
            raise ValueError(f"cannot play Connect Four with {columns} columns, {rows} rows and lines of {length}")
        self.columns, self.rows, self.length = columns, rows, length
        self._height = rows + 1
        self._top = [1 << (column * self._height + rows - 1) for column in range(columns)]
        self._bottom = [1 << column * self._height for column in range(columns)]
        # Distances in bits to the next square: up, right, and along the two diagonals.
        self._steps = (1, self._height, self._height + 1, self._height - 1)
        self.lines = self._all_lines()

    def moves(self, position: Position) -> Sequence[int]:
        """Returns the columns that are not full, from the left; none if the last stone completed a line."""
        mine, theirs = position
        if self.has_line(theirs):
            return ()
        stones = mine | theirs
        return [column for column in range(self.columns) if not stones & self._top[column]]

    def apply(self, position: Position, move: int) -> Position:
        """Returns the position after the mover's stone falls to the lowest free square of the column."""
        mine, theirs = position
        stones = mine | theirs
        # Adding the column's lowest bit carries through the stones of the column to the first free square.
        return theirs, mine | (stones + self._bottom[move]) & ~stones

    def value(self, position: Position) -> int:
        """Returns the value of a loss if the other side has a line (a later loss is worth more), or 0 for a draw."""
        mine, theirs = position
        return (mine | theirs).bit_count() - WIN if self.has_line(theirs) else 0

    def key(self, position: Position) -> Position:
        """Returns the position itself."""
        return position

    def guess(self, position: Position) -> int:
        """Returns the total value of lines that only one side can complete; the opponent's lines count negatively."""
        mine, theirs = position
        score = 0
        for line in self.lines:
            own, other = line & mine, line & theirs
            if not other:
                score += _OPEN_LINE[own.bit_count()]
            elif not own:
                score -= _OPEN_LINE[other.bit_count()]
        return score

    def squares(self, position: Position, move: int) -> tuple[int, int]:
        """Returns the square that a move fills and the square above, which it makes playable (0 if none), as bits."""
        mine, theirs = position
        stones = mine | theirs
        filled = (stones + self._bottom[move]) & ~stones
        return filled, 0 if filled & self._top[move] else filled << 1

    def name(self, move: int) -> str:
        """Returns the letter of a column, from a at the left."""
        return "abcdefghijklmnop"[move]

    def read(self, text: str) -> Position:
        """Returns the position after moves in these columns, such as `dde`. Raises ValueError if one is illegal."""
        position = START
        for number, letter in enumerate(text, start=1):
            moves = {self.name(move): move for move in self.moves(position)}
            if letter not in moves:
                raise ValueError(f"move {number} of '{text}' is not a free column of a game that goes on")
            position = self.apply(position, moves[letter])
        return position

    def has_line(self, stones: int) -> bool:
        """Returns whether some of `stones`, the stones of one side, form a line."""
        for step in self._steps:
            run = stones
            for _ in range(self.length - 1):
                run &= run >> step
            if run:
                return True
        return False

    def draw(self, position: Position) -> str:
        """Returns the board as text, top row first; X moved first, and empty squares are dots."""
        mine, theirs = position
        crosses, noughts = (mine, theirs) if mine.bit_count() == theirs.bit_count() else (theirs, mine)
        rows = []
        for row in range(self.rows - 1, -1, -1):
            bits = [1 << (column * self._height + row) for column in range(self.columns)]
            rows.append("".join("X" if bit & crosses else "O" if bit & noughts else "." for bit in bits))
        return "\n".join(rows)

    def _all_lines(self) -> tuple[int, ...]:
        """Returns every set of squares that forms a line, as bits."""
        lines = []
        for column in range(self.columns):
            for row in range(self.rows):
                for right, up in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    squares = [(column + i * right, row + i * up) for i in range(self.length)]
                    if all(0 <= x < self.columns and 0 <= y < self.rows for x, y in squares):
                        lines.append(sum(1 << (x * self._height + y) for x, y in squares))
        return tuple(lines)
