"""Syzygy tablebases at the root: they rank the moves, so that the engine keeps the result and makes progress.

Only the positions after the root's moves are probed. python-chess decodes the tables in Python: a probe takes far
longer than the compiled search spends on a node, and it needs the interpreter, which the kernels do not use. Probes
within the tree would make the search slow.

For each position with few men the tables contain the result and DTZ: the number of plies in which the winner can force
a capture or a pawn move without losing the win. After such a move the count of the fifty-move rule starts again. To
win, it suffices to play moves that keep the win under that rule and bring the next capture or pawn move nearer; no
search is needed. So the root's moves are ranked, and a search for one line searches only the best ones:

    won in time     the nearer the next capture or pawn move, the better: such moves lead to mate in the end
    won too late    the fifty-move rule comes first: the fewer plies the better, because the other side may err
    drawn           all equal: the search chooses
    lost too late   the fifty-move rule should save us: the more plies the better
    lost            if the rule may still save us, the more plies the better; otherwise all equal: the search chooses

(The ranking by DTZ and halfmove clock is that of Ronald de Man's probing code, as used by Stockfish.) The DTZ of a
table may be a ply too small, so a move counts as won in time only if there is a ply to spare.

A damaged table can keep the decoder busy for ever, so a separate thread probes. The search waits for this thread only
as long as its time allows, and at most PROBE_PATIENCE for each probe.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import chess

from engine.board.draws import FIFTY_MOVES
from engine.files import user_path

#: A tablebase win scores TABLE_WIN centipawns, minus one for each ply of its DTZ if the DTZ is known.
TABLE_WIN: Final = 20_000
#: Scores of TABLE_BOUND or more are certain wins. A win that the fifty-move rule spoils has the score SPOILT.
TABLE_BOUND: Final = 10_000
SPOILT: Final = 1

#: Seconds that one probe may take. A slow disk needs tenths of a second.
PROBE_PATIENCE: Final = 3.0

#: Seconds between two calls of `should_stop` during a probe.
_LOOK: Final = 0.01

#: Seconds to wait for a thread to end after its probe was interrupted.
_FAREWELL: Final = 0.2

#: The distance between two classes of ranks (such as won in time and won too late). It exceeds every DTZ.
_CLASS: Final = 4096
#: The game ends at a halfmove clock of FIFTY_MOVES; one ply is kept in reserve because DTZ may be rounded down.
_LAST_SAFE: Final = FIFTY_MOVES - 1

#: The DTZ before a capture or pawn move, by python-chess's WDL value of that move: 2 is a win, 1 a win that the
#: fifty-move rule spoils, 0 a draw; losses are negative.
_BEFORE_ZEROING: Final = {-2: -1, -1: -FIFTY_MOVES - 1, 0: 0, 1: FIFTY_MOVES + 1, 2: 1}


@dataclass(frozen=True)
class Ranking:
    """The tables' ranking of the root's moves: the rank and the displayed score of each, and the number of probes."""

    ranks: dict[chess.Move, int]
    scores: dict[chess.Move, int]
    hits: int


class _Ended(BaseException):
    """Raised in a prober's thread to end its ranking: by `_on_probe` before a probe, or by `end` during one.

    It is a BaseException, so that no `except Exception` in the decoder catches it.
    """


class _Prober:
    """A ranking that runs on its own thread."""

    def __init__(self, work: Callable[[Callable[[], None]], Ranking | None]) -> None:
        """Starts `work`, which must call its argument before each probe. Raises RuntimeError if no thread can start."""
        self._work = work
        #: The time by `time.monotonic` when the current probe began.
        self._began = time.monotonic()
        self._is_unwanted = False
        self._ranking: Ranking | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="tablebase", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(_Ended):
            try:
                self._ranking = self._work(self._on_probe)
            except Exception as error:
                # A damaged file can make the decoder raise any exception.
                self._error = error

    def _on_probe(self) -> None:
        if self._is_unwanted:
            raise _Ended
        self._began = time.monotonic()

    def wait(self, should_stop: Callable[[], bool]) -> bool:
        """Returns True when the thread has ended, or False if `should_stop()` is true before that.

        In the latter case the thread ends before its next probe. Raises ValueError if one probe takes longer than
        PROBE_PATIENCE.
        """
        while self._is_busy(_LOOK):
            if time.monotonic() - self._began > PROBE_PATIENCE:
                self.end()
                raise ValueError(f"tablebases not used: a probe took more than {PROBE_PATIENCE:g} s")
            if should_stop():
                self._is_unwanted = True
                return False
        return True

    def result(self) -> Ranking | None:
        """Returns what `work` returned. Raises ValueError with a one-line message if a table cannot be read."""
        if self._error is not None:
            raise ValueError(f"tablebases not used: {type(self._error).__name__}: {self._error}")
        return self._ranking

    def end(self) -> bool:
        """Interrupts the current probe at its next step in Python; returns whether the thread ends within _FAREWELL."""
        if self._thread.is_alive() and self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(_Ended))
        return not self._is_busy(_FAREWELL)

    def _is_busy(self, seconds: float) -> bool:
        """Waits at most `seconds` for the thread to end; returns whether it still runs."""
        self._thread.join(seconds)
        return self._thread.is_alive()


class Tables:
    """Tables for up to `pieces` men; `source` is a `chess.syzygy.Tablebase` or an object with the same methods.

    `fifty_moves` says whether the fifty-move rule applies. Positions with more than `limit` men are not probed.
    """

    def __init__(self, source: Any, pieces: int, limit: int = 7, fifty_moves: bool = True) -> None:
        self._source = source
        self.pieces = pieces
        self.limit = limit
        self.fifty_moves = fifty_moves
        #: The last ranking. It may still run, if the search did not wait for it.
        self._prober: _Prober | None = None

    def close(self) -> None:
        """Closes the files. If a probe does not end, they stay open until the end of the process."""
        if self._prober is None or self._prober.end():
            self._source.close()

    def rank(
        self, board: chess.Board, moves: Sequence[chess.Move], should_stop: Callable[[], bool] = lambda: False
    ) -> Ranking | None:
        """Returns the ranking of legal `moves` on `board`, whose move stack counts for repetitions.

        Returns None if `board` has castling rights or too many men, if a table is missing, if no thread can be started,
        or if `should_stop()` is true before this ranking or an abandoned earlier one has ended. Raises ValueError with
        a one-line message if a table cannot be read or a probe takes longer than PROBE_PATIENCE.
        """
        if board.occupied.bit_count() > min(self.limit, self.pieces) or board.clean_castling_rights():
            return None
        # The tables reject positions with castling rights, even rights without effect.
        work = board.copy()
        work.castling_rights = chess.BB_EMPTY

        def search_tables(on_probe: Callable[[], None]) -> Ranking | None:
            for value in (self._by_distance, self._by_result):
                try:
                    ranks = {}
                    for move in moves:
                        if should_stop():
                            return None
                        on_probe()
                        after = work.copy()
                        after.push(move)
                        ranks[move] = value(after, work.halfmove_clock)
                    return Ranking(ranks, {move: _score(rank) for move, rank in ranks.items()}, len(ranks))
                except KeyError:
                    continue  # the table is missing, or only one of its two files is there
            return None

        if self._prober is not None and not self._prober.wait(should_stop):
            return None
        try:
            self._prober = _Prober(search_tables)
        except RuntimeError:
            return None
        return self._prober.result() if self._prober.wait(should_stop) else None

    def _by_distance(self, board: chess.Board, count: int) -> int:
        """Returns the rank, by DTZ, of the move just made; `count` is the halfmove clock before that move.

        Raises KeyError if a table for the position is missing.
        """
        return self._rank(self._distance(board), count)

    def _by_result(self, board: chess.Board, count: int) -> int:
        """Returns the rank, by WDL alone, of the move just made. Raises KeyError if the WDL table is missing."""
        ending = self._ending(board)
        wdl = -self._source.probe_wdl(board) if ending is None else ending
        return _CLASS * (wdl if self.fifty_moves else 2 * ((wdl > 0) - (wdl < 0)))

    def _ending(self, board: chess.Board) -> int | None:
        """Returns the WDL value, for the side that just moved, if the game is over by the rules, else None."""
        if board.is_checkmate():
            return 2
        is_over = board.is_stalemate() or board.is_insufficient_material() or board.is_repetition(3)
        return 0 if is_over or (self.fifty_moves and board.halfmove_clock >= FIFTY_MOVES) else None

    def _distance(self, board: chess.Board) -> int:
        """Returns the DTZ of the move just made, in plies, that move included; negative if it loses, 0 if it draws."""
        ending = self._ending(board)
        if ending is not None:
            return 1 if ending > 0 else 0
        if board.halfmove_clock == 0:
            return _BEFORE_ZEROING[-self._source.probe_wdl(board)]
        distance = -self._source.probe_dtz(board)
        return int(distance + (distance > 0) - (distance < 0))

    def _rank(self, distance: int, count: int) -> int:
        """Returns the rank of a move by its DTZ and by `count`, the halfmove clock before it; larger is better."""
        plies = abs(distance)
        # The DTZ of a capture or pawn move is exact, and so is that of a mate.
        in_time = not self.fifty_moves or plies == 1 or plies + count <= _LAST_SAFE
        if distance > 0:
            return 2 * _CLASS - plies if in_time else _CLASS - plies
        if distance < 0 and in_time:
            is_far = not self.fifty_moves or 2 * plies + count <= _LAST_SAFE
            return -2 * _CLASS + (0 if is_far else plies)
        return plies - _CLASS if distance < 0 else 0


def _score(rank: int) -> int:
    """Returns the score to show for a move with this `rank`, in centipawns; a higher rank never gets a lower score."""
    sign = (rank > 0) - (rank < 0)
    return sign * (SPOILT if abs(rank) <= _CLASS else TABLE_WIN - 2 * _CLASS + abs(rank))


def open_tables(path: str) -> tuple[Tables | None, int, list[str]]:
    """Opens the tables in the folders of `path`; returns them, the number of files, and one line per unusable folder.

    If no folder has files, the tables are None. Folders are separated by the system's separator (`:`, on Windows `;`)
    or by `;`. Files are opened when they are needed.
    """
    # Few users have tables, so the import waits until here and startup stays fast.
    import chess.syzygy

    source = chess.syzygy.Tablebase()
    problems: list[str] = []
    count = 0
    for folder in filter(None, map(str.strip, path.replace(";", os.pathsep).split(os.pathsep))):
        try:
            found = source.add_directory(str(user_path(folder)))
        except OSError as error:
            problems.append(f"{folder}: {error.strerror or error}")
            continue
        except ValueError as error:
            problems.append(str(error))
            continue
        if not found:
            problems.append(f"{folder}: contains no Syzygy tables (*.rtbw, *.rtbz)")
        count += found
    if not count:
        return None, 0, problems
    # A table named KQvKR is for four men.
    return Tables(source, max(len(name) - 1 for name in (*source.wdl, *source.dtz))), count, problems
