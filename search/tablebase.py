"""Endgame tables (Syzygy, read by python-chess) at the root: which moves keep the result, and make progress.

The root is the only place where they are asked. python-chess decodes them in Python: a probe takes far longer than the
compiled search spends on a node, and it needs the interpreter, which the kernels run without. Probes within the tree
would cost the search its speed.

The tables know of each position with few men whether it is won, and DTZ: in how many plies a capture or a pawn move can
be forced on the way, after which the count of the fifty-move rule begins anew. A won game is won by moves after which
it is still won in time, each of them bringing the next capture or pawn move nearer; no search is needed for that. So
the root's moves are ranked, and only the best ones are searched:

    won in time     the nearer the next capture or pawn move, the better: that ends in mate
    won too late    by the fifty-move rule: the fewer plies the better, for the other side may err
    drawn           all alike: the search chooses
    lost too late   the rule will save us: the more plies the better
    lost            all alike, and the search chooses, as long as the count is far from saving us; then the longest

(Ranking of root moves by DTZ and count: Ronald de Man's probing code, as used by Stockfish.) DTZ may be one ply short,
which is why a win is only relied on with a ply to spare.

A damaged table can keep the decoder busy for ever. So a thread of its own probes, and the search waits for it only so
long: for as long as its time allows, and for PROBE_PATIENCE without any answer.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

import chess

from engine.board.draws import FIFTY_MOVES
from engine.files import user_path

#: Score in centipawns of a position that is won by the tables, less one for each ply to the next capture or pawn move.
TABLE_WIN: Final = 20_000
#: Scores from here on are certain wins; what the fifty-move rule spoils is shown as SPOILT: a draw, but whose?
TABLE_BOUND: Final = 10_000
SPOILT: Final = 1

#: Seconds that one probe may take. A slow disk needs tenths.
PROBE_PATIENCE: Final = 3.0

#: Seconds between two looks at whether the search is to stop while a table is probed.
_LOOK: Final = 0.01

#: Seconds after which a probe that was ended is left to itself.
_FAREWELL: Final = 0.2

#: Distance between two classes of ranks, more than any DTZ.
_CLASS: Final = 4096
#: The game ends at FIFTY_MOVES; one ply is kept in reserve because DTZ may be rounded down.
_LAST_SAFE: Final = FIFTY_MOVES - 1

#: Result by WDL value, as python-chess gives them: -2 lost, -1 lost but for the fifty-move rule, 0, 1, 2; and the DTZ
#: before a capture or pawn move with that result.
_BEFORE_ZEROING: Final = {-2: -1, -1: -FIFTY_MOVES - 1, 0: 0, 1: FIFTY_MOVES + 1, 2: 1}


class Source(Protocol):
    """What is asked: `chess.syzygy.Tablebase`, or something that answers like it."""

    def probe_wdl(self, board: chess.Board) -> int:
        """-2 to 2; raises KeyError for a position that is in no table."""

    def probe_dtz(self, board: chess.Board) -> int:
        """Plies to the next capture or pawn move, negative when losing; raises KeyError."""


@dataclass(frozen=True)
class Ranking:
    """What the tables say of the root's moves: how good each is, the score to show for it, and the probes that took."""

    ranks: dict[chess.Move, int]
    scores: dict[chess.Move, int]
    hits: int


class _Ended(BaseException):
    """Ends a probe from another thread. No `except Exception` of a decoder catches it."""


class _Prober:
    """One ranking on a thread of its own."""

    def __init__(self, work: Callable[[Callable[[], None]], Ranking | None]) -> None:
        """Begins `work(on_probe)`, which calls `on_probe` before each probe. Raises RuntimeError without a thread."""
        self._work = work
        #: When the probe under way began.
        self._began = time.monotonic()
        self._is_unwanted = False
        self._ranking: Ranking | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="endgame tables", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(_Ended):
            try:
                self._ranking = self._work(self._on_probe)
            except Exception as error:
                # What a damaged file does to a decoder is not to be foreseen.
                self._error = error

    def _on_probe(self) -> None:
        if self._is_unwanted:
            raise _Ended
        self._began = time.monotonic()

    def wait(self, should_stop: Callable[[], bool]) -> bool:
        """Waits for the ranking; False when `should_stop` says so first, and then it ends before its next probe.

        Raises ValueError when one probe takes longer than PROBE_PATIENCE.
        """
        while self._is_busy(_LOOK):
            if time.monotonic() - self._began > PROBE_PATIENCE:
                self.end()
                raise ValueError(f"endgame tables not used: a probe takes more than {PROBE_PATIENCE:g} s")
            if should_stop():
                self._is_unwanted = True
                return False
        return True

    def result(self) -> Ranking | None:
        """What it found. Raises ValueError, in one line, when a table cannot be read."""
        if self._error is not None:
            raise ValueError(f"endgame tables not used: {type(self._error).__name__}: {self._error}")
        return self._ranking

    def end(self) -> bool:
        """Ends a probe that is under way, wherever it is in Python code; whether it has ended."""
        if self._thread.is_alive() and self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(_Ended))
        return not self._is_busy(_FAREWELL)

    def _is_busy(self, seconds: float) -> bool:
        """Whether the thread still runs after so long a wait."""
        self._thread.join(seconds)
        return self._thread.is_alive()


class Tables:
    """Tables for positions with up to `pieces` men.

    `fifty_moves` says whether the fifty-move rule is played; `limit` leaves out positions with more men than that.
    """

    def __init__(self, source: Source, pieces: int, limit: int = 7, fifty_moves: bool = True) -> None:
        self._source = source
        self.pieces = pieces
        self.limit = limit
        self.fifty_moves = fifty_moves
        #: A ranking that the search has not waited for.
        self._prober: _Prober | None = None

    def close(self) -> None:
        """Closes the files. Those that a probe does not let go of stay open until the end of the process."""
        is_free = self._prober is None or self._prober.end()
        close = getattr(self._source, "close", None)
        if close is not None and is_free:
            close()

    def rank(
        self, board: chess.Board, moves: Sequence[chess.Move], should_stop: Callable[[], bool] = lambda: False
    ) -> Ranking | None:
        """Ranks legal `moves` of a position with its history; None when the tables do not have it.

        Takes milliseconds a move; None, too, once `should_stop` says so, and while a ranking that was given up is still
        busy with its probe. Raises ValueError, in one line, when a table cannot be read or keeps a probe busy for
        PROBE_PATIENCE.
        """
        if board.occupied.bit_count() > min(self.limit, self.pieces) or board.clean_castling_rights():
            return None
        # Rights that are none would keep the tables from answering.
        work = board.copy()
        work.castling_rights = chess.BB_EMPTY

        def search_tables(on_probe: Callable[[], None]) -> Ranking | None:
            for value in (self._by_distance, self._by_result):
                try:
                    return _ranking(work, moves, value, should_stop, on_probe)
                except KeyError:
                    continue  # the table is missing, or only half of it is there
            return None

        if self._prober is not None and not self._prober.wait(should_stop):
            return None
        try:
            self._prober = _Prober(search_tables)
        except RuntimeError:
            return None
        return self._prober.result() if self._prober.wait(should_stop) else None

    def _by_distance(self, board: chess.Board, move: chess.Move) -> int:
        """Rank of a move by DTZ. Raises KeyError when a table for that is missing."""
        count = board.halfmove_clock
        return self._rank(self._distance_after(board, move), count)

    def _by_result(self, board: chess.Board, move: chess.Move) -> int:
        """Rank of a move by its result alone, where there are tables for no more. Raises KeyError."""
        board.push(move)
        try:
            ending = self._ending(board)
            wdl = -self._source.probe_wdl(board) if ending is None else ending
        finally:
            board.pop()
        return _CLASS * (wdl if self.fifty_moves else 2 * ((wdl > 0) - (wdl < 0)))

    def _ending(self, board: chess.Board) -> int | None:
        """The WDL value, for who just moved, of a game that is over by the rules; None when it is not."""
        if board.is_checkmate():
            return 2
        is_over = board.is_stalemate() or board.is_insufficient_material() or board.is_repetition(3)
        return 0 if is_over or (self.fifty_moves and board.halfmove_clock >= FIFTY_MOVES) else None

    def _distance_after(self, board: chess.Board, move: chess.Move) -> int:
        """DTZ of a move: plies, itself included, to the next capture or pawn move (or mate); negative when it loses."""
        board.push(move)
        try:
            ending = self._ending(board)
            if ending is not None:
                return 1 if ending > 0 else 0
            if board.halfmove_clock == 0:
                return _BEFORE_ZEROING[-self._source.probe_wdl(board)]
            distance = -self._source.probe_dtz(board)
            return distance + (distance > 0) - (distance < 0)
        finally:
            board.pop()

    def _rank(self, distance: int, count: int) -> int:
        """How good a move of that DTZ is with `count` plies on the fifty-move rule's clock."""
        plies = abs(distance)
        in_time = not self.fifty_moves or plies + count <= _LAST_SAFE
        if distance > 0:
            return 2 * _CLASS - plies if in_time else _CLASS - plies
        if distance < 0 and in_time:
            is_far = not self.fifty_moves or 2 * plies + count <= _LAST_SAFE
            return -2 * _CLASS + (0 if is_far else plies)
        return plies - _CLASS if distance < 0 else 0


def _ranking(
    board: chess.Board,
    moves: Sequence[chess.Move],
    value: Callable[[chess.Board, chess.Move], int],
    should_stop: Callable[[], bool],
    on_probe: Callable[[], None],
) -> Ranking | None:
    """The moves by their `value`, and the scores that go with it: better ranks have better scores. None if stopped."""
    ranks = {}
    for move in moves:
        if should_stop():
            return None
        on_probe()
        ranks[move] = value(board, move)
    return Ranking(ranks, {move: _score(rank) for move, rank in ranks.items()}, len(ranks))


def _score(rank: int) -> int:
    """The score to show for a move of that rank, centipawns."""
    sign = (rank > 0) - (rank < 0)
    return sign * (SPOILT if abs(rank) <= _CLASS else TABLE_WIN - 2 * _CLASS + abs(rank))


def open_tables(path: str) -> tuple[Tables | None, int, list[str]]:
    """The tables in the folders that `path` lists; the number of files, and a line for each folder that is no use.

    Folders are separated as the system separates them (`:`, on Windows `;`) or by `;`. Files are only opened when they
    are needed.
    """
    # Few have tables, and everyone wants a quick start.
    import chess.syzygy

    source = chess.syzygy.Tablebase()
    problems: list[str] = []
    count = 0
    for folder in _folders(path):
        try:
            found = source.add_directory(str(user_path(folder)))
        except OSError as error:
            problems.append(f"{folder}: {error.strerror or error}")
            continue
        except ValueError as error:
            problems.append(str(error))
            continue
        if not found:
            problems.append(f"{folder}: holds no Syzygy tables (*.rtbw, *.rtbz)")
        count += found
    if not count:
        return None, 0, problems
    return Tables(source, max(_men(name) for name in (*source.wdl, *source.dtz))), count, problems


def _folders(path: str) -> Iterable[str]:
    """The folders of a path, as they are named there."""
    for part in path.replace(";", os.pathsep).split(os.pathsep):
        if part.strip():
            yield part.strip()


def _men(name: str) -> int:
    """Men on the board of a table called KQvKR."""
    return len(name) - 1
