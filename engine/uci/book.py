"""The opening book: Polyglot files, read by python-chess."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import chess
import chess.polyglot

from engine.files import open_regular, shown

#: The approximate number of keys that are compared to check that a book is sorted.
_SAMPLES: Final = 1000


@dataclass(frozen=True)
class BookMove:
    """A move from the book, its weight, and the sum of the weights of all candidate moves."""

    move: chess.Move
    weight: int
    total: int

    def describe(self, board: chess.Board) -> str:
        """Describes the move, with castling in `board`'s notation, and its weight: `book move e2e4, weight 3 of 8`."""
        return f"book move {board.uci(self.move)}, weight {self.weight} of {self.total}"


class Book:
    """An open Polyglot book. The caller must close it."""

    def __init__(self, file: Path) -> None:
        """Opens a Polyglot book. Raises a ValueError that names `file` if it is unreadable or not a Polyglot book."""
        try:
            # Check the file's type: python-chess would wait for the writer of a pipe, or map a device into memory.
            open_regular(file).close()
            self._reader = chess.polyglot.open_reader(file)
        except OSError as error:
            why = error.strerror or "not a Polyglot book: the size is not a multiple of 16 bytes"
            raise ValueError(f"{shown(file)}: {why}") from None
        if not len(self._reader):
            self.close()
            raise ValueError(f"{shown(file)}: not a Polyglot book: the file is empty")
        if not self._is_sorted():
            self.close()
            raise ValueError(f"{shown(file)}: not a Polyglot book: the positions are not sorted")

    def _is_sorted(self) -> bool:
        count = len(self._reader)
        keys = [self._reader[index].key for index in range(0, count, max(1, count // _SAMPLES))]
        return keys == sorted(keys)

    def __len__(self) -> int:
        return len(self._reader)

    def close(self) -> None:
        """Closes the file."""
        self._reader.close()

    def choose(self, board: chess.Board, best: bool, rng: random.Random) -> BookMove | None:
        """Returns a legal book move for the position of `board`, or None if the book has none.

        With `best`, returns the move with the greatest weight; otherwise chooses at random, with probabilities in
        proportion to the weights. Ignores moves of weight 0 and moves that lead to a position for the third time.
        """
        entries = [entry for entry in self._reader.find_all(board) if not _repeats(board, entry.move)]
        if not entries:
            return None
        weights = [entry.weight for entry in entries]
        index = weights.index(max(weights)) if best else rng.choices(range(len(entries)), weights)[0]
        return BookMove(entries[index].move, weights[index], sum(weights))


def _repeats(board: chess.Board, move: chess.Move) -> bool:
    board.push(move)
    try:
        return board.is_repetition(3)
    finally:
        board.pop()
