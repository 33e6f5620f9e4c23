"""Exact play in endings of three or four men without pawns: the search solves them when it meets one at the root.

An ending is solved once in a game, with a share of the time of each search, and then stays in memory: 5 MiB for four
men, twice as much while it is being solved. The search then knows the distance to mate, the best defence and the whole
line. It needs no files, unlike tablebases (`search.tablebase`), which rank moves by the distance to a capture or pawn
move instead. The compiled part is in `search.kernels.retrograde`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import chess
import numpy as np

from engine.board.convert import encode
from engine.board.draws import FIFTY_MOVES
from engine.memory import allocate
from search.deepening import Iteration
from search.kernels.retrograde import ENDING, KING_COUNT, KING_INDEX, solve_entries
from search.kernels.score import DRAW, MATE

#: The most men of an ending, with the kings.
MOST_MEN: Final = 4

#: How many entries of a table a call of the kernel handles, in at most a few milliseconds.
STEP: Final = 1 << 15

#: How many endings stay in memory.
KEPT: Final = 4

#: The type and colour of each man except the kings, sorted in descending order.
Men = tuple[tuple[chess.PieceType, chess.Color], ...]


def men_of(board: chess.Board) -> Men | None:
    """Returns the men of `board` except the kings, or None unless it is an ending that can be solved and won.

    Such an ending has one or two of these men, no pawns and no castling rights, and not only a bishop or a knight.
    """
    if not 3 <= board.occupied.bit_count() <= MOST_MEN or board.pawns or board.clean_castling_rights():
        return None
    men = tuple((piece_type, color) for piece_type, color, _ in _placed(board))
    return men if _can_mate(men) else None


def _placed(board: chess.Board) -> list[tuple[chess.PieceType, chess.Color, chess.Square]]:
    """Returns type, colour and square of each man except the kings, in descending order."""
    men = ((piece.piece_type, piece.color, square) for square, piece in board.piece_map().items())
    return sorted((man for man in men if man[0] != chess.KING), reverse=True)


def _can_mate(men: Men) -> bool:
    """Returns whether there are `men`, and not only a bishop or a knight."""
    return len(men) > 1 or bool(men and men[0][0] >= chess.ROOK)


class Ending:
    """An ending, which is solved step by step. No two threads may use it at once."""

    def __init__(self, men: Men) -> None:
        """Prepares the ending of two kings and `men`. Raises MemoryError if there is too little memory."""
        count = 2 + len(men)
        self._men = men
        self._record = allocate(ENDING, 1)[0]
        self._record["count"] = count
        self._record["pieces"][:count] = [chess.KING, chess.KING, *(piece_type for piece_type, _ in men)]
        self._record["colors"][:count] = [chess.WHITE, chess.BLACK, *(color for _, color in men)]
        size = 2 * KING_COUNT * 64 ** (count - 1)
        #: The values of all positions, uint8[size] (see `search.kernels.retrograde`).
        self.values = allocate(np.dtype(np.uint8), size)
        self._captures = allocate(np.dtype(np.uint8), size)
        # The endings after a capture, by the man that is left, if that man can mate.
        rests = {men[:1], men[1:]} if len(men) > 1 else set()
        self._rests = {rest: Ending(rest) for rest in rests if _can_mate(rest)}
        # The level in progress, its next entry, and how many positions it has solved; the last level with captures.
        self._plies = self._next = self._solved = self._last_capture = 0
        #: Whether every position is solved.
        self.complete = False

    def advance(self) -> None:
        """Solves a little more: at most some milliseconds. The ending must not be complete."""
        for rest in self._rests.values():
            if not rest.complete:
                rest.advance()
                return
        tables = (self.values, self._captures, self._table(self._men[1:]), self._table(self._men[:1]))
        last = min(self._next + STEP, self.values.size)
        found = int(solve_entries(self._record, self._next, last, self._plies, *tables))
        if self._plies == 0:
            self._last_capture = max(self._last_capture, found)
        else:
            self._solved += found
        self._next = last
        if last < self.values.size:
            return
        self.complete = self._plies > 0 and self._solved == 0 and self._plies >= self._last_capture
        if self.complete:
            self._captures = self._captures[:0].copy()
        self._next = self._solved = 0
        self._plies += 1

    def _table(self, rest: Men) -> Any:
        return self._rests[rest].values if rest in self._rests else np.zeros(0, np.uint8)

    def value(self, board: chess.Board) -> int:
        """Returns the value of `board`, whose men are those of this ending, or fewer; 0 if drawn or not solved yet."""
        placed = _placed(board)
        men = tuple((piece_type, color) for piece_type, color, _ in placed)
        if men != self._men:
            return self._rests[men].value(board) if men in self._rests else 0
        kings = (board.king(chess.WHITE), board.king(chess.BLACK))
        squares = [square for square in (*kings, *(square for *_, square in placed)) if square is not None]
        mirror = (7 if squares[0] & 4 else 0) ^ (56 if squares[0] & 32 else 0)
        squares = [square ^ mirror for square in squares]
        if chess.square_rank(squares[0]) > chess.square_file(squares[0]):
            squares = [chess.square(chess.square_rank(square), chess.square_file(square)) for square in squares]
        index = int(board.turn) * KING_COUNT + int(KING_INDEX[squares[0]])
        for square in squares[1:]:
            index = index * 64 + square
        return int(self.values[index])


class Endings:
    """The endings that a searcher has met in a game."""

    def __init__(self) -> None:
        self._endings: dict[Men, Ending] = {}

    def solve(self, board: chess.Board, lines: int, should_stop: Callable[[], bool]) -> Iteration | None:
        """Returns up to `lines` best moves of `board`, best first, each with its score and its line up to the mate.

        If a move draws, the line is only that move. The depth of each is the length of its line. When `should_stop()`
        is true, lines end after two moves, and solving stops. Returns None if the value is not known by then; if the
        position is drawn, because a search chooses better among equal moves; if the fifty-move rule may come before the
        mate; and if the best move repeats a position for the third time. Raises MemoryError if there is too little
        memory for the ending.
        """
        men = men_of(board)
        if men is None:
            return None
        ending = self._get(men)
        # The nearest mates are solved first. Other lines may be mates that are further away.
        while not ending.complete and (lines > 1 or not ending.value(board)):
            if should_stop():
                return None
            ending.advance()
        value = ending.value(board)
        if value == 0:
            return None
        work = board.copy()
        found = []
        for move in board.legal_moves:
            work.push(move)
            after = ending.value(work)
            if work.is_repetition(3) or work.halfmove_clock + after - 1 > FIFTY_MOVES:
                after = 0
            work.pop()
            found.append((_score(after), move, after))
        found.sort(key=lambda one: one[0], reverse=True)
        if found[0][2] != value - 1:
            return None
        first, *others = (_line(ending, board, *one, should_stop) for one in found[:lines])
        return replace(first, others=tuple(others))

    def _get(self, men: Men) -> Ending:
        """Returns the ending of `men`, which is now the most recently used one.

        If there are too many, forgets the least recently used one.
        """
        if men not in self._endings and len(self._endings) == KEPT:
            del self._endings[next(iter(self._endings))]
        ending = self._endings.pop(men, None) or Ending(men)
        self._endings[men] = ending
        return ending


def _score(after: int) -> int:
    """Returns the score of a move that leads to a position with the value `after`, from the mover's view."""
    if after == 0:
        return DRAW
    # An odd value means that the opponent is mated, `after` plies from the root.
    return MATE - after if after % 2 else after - MATE


def _line(
    ending: Ending, board: chess.Board, score: int, move: chess.Move, after: int, should_stop: Callable[[], bool]
) -> Iteration:
    """Returns the line of best play that begins with `move`, as an iteration; `after` is the value after `move`."""
    work = board.copy(stack=False)
    line = [encode(work, move)]
    work.push(move)
    for value in range(after - 1, 0, -1):
        if len(line) > 1 and should_stop():
            break
        for reply in work.legal_moves:
            code = encode(work, reply)
            work.push(reply)
            if ending.value(work) == value:
                line.append(code)
                break
            work.pop()
    return Iteration(len(line), score, tuple(line), selective_depth=len(line))
