"""Connect Four on a board of any size: too large for minimax, with many transpositions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

#: Stones of the side to move and of the other. Each column has one bit a square from the bottom up, and one extra bit.
Position: TypeAlias = tuple[int, int]

#: The empty board.
START: Final[Position] = (0, 0)

#: More than any guess. A win is worth this less the stones on the board: the sooner, the better.
WIN: Final = 100_000

#: The value of an open line by the number of its stones.
_OPEN_LINE: Final = (0, 1, 4, 16, 64, 256, 1024)


class ConnectFour:
    """A `SearchGame`; a move is the number of a column."""

    def __init__(self, columns: int = 7, rows: int = 6, length: int = 4) -> None:
        if not (1 <= columns <= 16 and 1 <= rows <= 16 and 2 <= length < len(_OPEN_LINE)):
            raise ValueError(f"no Connect Four has {columns} columns, {rows} rows and lines of {length}")
        self.columns, self.rows, self.length = columns, rows, length
        self._height = rows + 1
        self._top = [1 << (column * self._height + rows - 1) for column in range(columns)]
        self._bottom = [1 << column * self._height for column in range(columns)]
        # Distance of the next square's bit: up, right, and the two diagonals.
        self._steps = (1, self._height, self._height + 1, self._height - 1)
        self._lines = self._all_lines()

    def moves(self, position: Position) -> Sequence[int]:
        """The columns that are not full, from the left; none when the last stone made a line."""
        mine, theirs = position
        if self.has_line(theirs):
            return ()
        stones = mine | theirs
        return [column for column in range(self.columns) if not stones & self._top[column]]

    def apply(self, position: Position, move: int) -> Position:
        """The position after a stone falls to the lowest free square of the column."""
        mine, theirs = position
        stones = mine | theirs
        # Adding the lowest bit carries through the stones of the column to the first free square.
        return theirs, mine | (stones + self._bottom[move]) & ~stones

    def value(self, position: Position) -> int:
        """Lost when the other side has a line, the later the better; otherwise drawn."""
        mine, theirs = position
        return (mine | theirs).bit_count() - WIN if self.has_line(theirs) else 0

    def key(self, position: Position) -> Position:
        """The position itself."""
        return position

    def guess(self, position: Position) -> int:
        """The lines that only one side can still complete; lines with more stones count more."""
        mine, theirs = position
        score = 0
        for line in self._lines:
            own, other = line & mine, line & theirs
            if not other:
                score += _OPEN_LINE[own.bit_count()]
            elif not own:
                score -= _OPEN_LINE[other.bit_count()]
        return score

    def has_line(self, stones: int) -> bool:
        """Whether some of these stones make a line."""
        for step in self._steps:
            run = stones
            for _ in range(self.length - 1):
                run &= run >> step
            if run:
                return True
        return False

    def draw(self, position: Position) -> str:
        """The board, the top row first; X began."""
        mine, theirs = position
        crosses, noughts = (mine, theirs) if mine.bit_count() == theirs.bit_count() else (theirs, mine)
        rows = []
        for row in range(self.rows - 1, -1, -1):
            bits = [1 << (column * self._height + row) for column in range(self.columns)]
            rows.append("".join("X" if bit & crosses else "O" if bit & noughts else "." for bit in bits))
        return "\n".join(rows)

    def _all_lines(self) -> tuple[int, ...]:
        """Every set of squares that wins."""
        lines = []
        for column in range(self.columns):
            for row in range(self.rows):
                for right, up in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    squares = [(column + i * right, row + i * up) for i in range(self.length)]
                    if all(0 <= x < self.columns and 0 <= y < self.rows for x, y in squares):
                        lines.append(sum(1 << (x * self._height + y) for x, y in squares))
        return tuple(lines)
