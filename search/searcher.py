"""Iterative deepening with aspiration windows around the compiled search.

Python decides, kernels compute: this module sets up the worker record, calls `search_root` once an iteration and
window, and turns what it leaves behind into moves, scores and times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import chess
import numpy as np

from engine.board.convert import decode, encode, new_position, write_board
from search.alphabeta import search_root
from search.limits import DEFAULT_HASH, DEFAULT_OVERHEAD, MAX_PLY, Limits
from search.score import INFINITE, MATE_BOUND, mate_distance
from search.table import GENERATIONS, allocate_table, hashfull
from search.timing import Alarm, Budget, budget_for
from search.worker import GAME_KEYS, NO_CONTINUATION, STOP, STOP_NOW, forget, new_worker, set_tunable

#: Seconds that a search which has no move yet may go on after `stop`.
STOP_GRACE: Final = 0.03

#: From this depth on the first window is this wide on either side of the last score; it grows by the factor.
ASPIRATION_DEPTH: Final = 4
ASPIRATION_WINDOW: Final = 20
ASPIRATION_GROWTH: Final = 2

MAX_DEPTH: Final = MAX_PLY - 1
_NO_NODE_LIMIT: Final = 1 << 62


@dataclass(frozen=True)
class Info:
    """What one finished iteration found: the fields of UCI's `info` line.

    `score` in centipawns from the side to move's view, or mate (see `search.score`); `seconds` since the start.
    """

    depth: int
    selective_depth: int
    score: int
    nodes: int
    seconds: float
    hashfull: int
    pv: tuple[chess.Move, ...]

    @property
    def mate(self) -> int | None:
        """Full moves to mate, negative when being mated, None without a mate."""
        return mate_distance(self.score)

    @property
    def nodes_per_second(self) -> int:
        """Nodes per second since the start of the search."""
        return int(self.nodes / max(self.seconds, 1e-6))


@dataclass(frozen=True)
class Result:
    """The outcome of a search: best move (None only when there is no legal move), expected reply, last info."""

    best: chess.Move | None
    ponder: chess.Move | None
    info: Info | None
    nodes: int
    seconds: float


#: What no game can be played from. Castling rights and en passant squares that do not fit are left out instead.
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
    """A position with the game that led to it, and the Zobrist keys that repetitions are told by.

    Raises ValueError when the board breaks the rules of chess in a way that the engine cannot play from.
    """

    def __init__(self, board: chess.Board | None = None) -> None:
        board = chess.Board() if board is None else board
        self.board = board.root()
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
        """Plays a legal move."""
        self.board.push(move)
        self.keys.append(self._key())

    def pop(self) -> None:
        """Takes the last move back."""
        self.board.pop()
        self.keys.pop()


def status_text(status: chess.Status) -> str:
    """A python-chess status in words: 'no white king, opposite check'."""
    names = [flag.name or "" for flag in chess.Status if flag and flag & status]
    return ", ".join(name.lower().replace("_", " ").removeprefix("status ") for name in names)


class Searcher:
    """A transposition table and a worker: searches positions, one at a time.

    `search` blocks without holding the GIL in the kernels; `stop` may be called from any thread.
    """

    def __init__(self, hash_mebibytes: int = DEFAULT_HASH) -> None:
        self._table = allocate_table(hash_mebibytes)
        self._worker = new_worker()
        self._generation = 0
        self._chess960 = False
        self._candidate: tuple[chess.Move, ...] = ()
        self._alarm = Alarm(self._stop_now)

    def stop(self) -> None:
        """Ends the running search as soon as it has a move to return, STOP_GRACE seconds from now at the latest."""
        self._worker["stop"] = max(int(self._worker["stop"]), STOP)
        self._alarm.set(STOP_GRACE)

    def _stop_now(self) -> None:
        self._worker["stop"] = STOP_NOW

    def arm(self) -> None:
        """Forgets earlier calls of `stop`. Call it before `search` is started on another thread, so that a stop in
        between is not lost.
        """
        self._alarm.clear()
        self._worker["stop"] = 0

    def resize(self, hash_mebibytes: int) -> None:
        """Replaces the table by an empty one. Raises MemoryError and keeps the old one when there is no memory."""
        self._table = allocate_table(hash_mebibytes)

    def new_game(self) -> None:
        """Forgets everything learnt: the next search runs as in a fresh process."""
        # New pages from the system are zero already; clearing gigabytes by hand takes seconds.
        mebibytes = self._table.nbytes >> 20
        del self._table
        self._table = allocate_table(mebibytes)
        forget(self._worker)
        self._generation = 0

    def set_tunable(self, name: str, value: int) -> None:
        """Changes a number of the search (see `search.tunables`). Raises KeyError when there is none of that name."""
        set_tunable(self._worker, name, value)

    def _set_root(self, game: Game, limits: Limits) -> list[chess.Move]:
        """Loads the root into the worker; returns the root moves in the order of the generator."""
        worker = self._worker
        board = game.board
        self._chess960 = board.chess960
        write_board(board, worker["frames"][0]["position"])
        keys = game.keys[-GAME_KEYS:]
        worker["keys"][: len(keys)] = keys
        worker["root_index"] = len(keys) - 1
        moves = list(board.legal_moves)
        if limits.search_moves is not None:
            chosen = [move for move in moves if board.uci(move) in limits.search_moves]
            moves = chosen or moves
        worker["root_moves"][: len(moves)] = [encode(board, move) for move in moves]
        worker["root_count"] = len(moves)
        self._generation = (self._generation + 1) % GENERATIONS
        worker["generation"] = self._generation
        worker["nodes"] = 0
        worker["node_limit"] = _NO_NODE_LIMIT if limits.nodes is None else max(1, limits.nodes)
        worker["frames"]["killers"] = 0
        worker["frames"]["move"] = 0
        worker["frames"]["excluded"] = 0
        worker["frames"]["continuation"] = NO_CONTINUATION
        return moves

    def search(
        self,
        game: Game,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        overhead: int = DEFAULT_OVERHEAD,
    ) -> Result:
        """Searches until a limit is reached or `stop` is called; `on_info` gets every finished iteration.

        Call `arm` first when an earlier search was stopped. `overhead` (ms) is kept back from the clock.
        """
        start = time.perf_counter()
        budget = budget_for(limits, overhead)
        moves = self._set_root(game, limits)
        if not moves:
            return Result(None, None, None, 0, time.perf_counter() - start)
        if self._worker["stop"]:
            self._alarm.set(STOP_GRACE)
        elif budget.hard is not None:
            self._alarm.set(budget.hard / 1000 - (time.perf_counter() - start))
        try:
            info = self._deepen(game, limits, budget, start, on_info)
        finally:
            self._alarm.clear()
        nodes = int(self._worker["nodes"])
        seconds = time.perf_counter() - start
        line = info.pv if info is not None and info.pv else (moves[0],)
        return Result(line[0], line[1] if len(line) > 1 else None, info, nodes, seconds)

    def _deepen(
        self,
        game: Game,
        limits: Limits,
        budget: Budget,
        start: float,
        on_info: Callable[[Info], None] | None,
    ) -> Info | None:
        """One iteration after the other until a limit says stop; returns the last info."""
        worker = self._worker
        last: Info | None = None
        deepest = MAX_DEPTH if limits.depth is None else min(max(limits.depth, 1), MAX_DEPTH)
        for depth in range(1, deepest + 1):
            worker["selective_depth"] = 0
            # The first iteration takes microseconds as a rule and owes its caller a move.
            worker["patience"] = STOP if depth == 1 else 0
            score = self._search_window(depth, last)
            seconds = time.perf_counter() - start
            pv = self._principal_variation(self._chess960)
            if worker["aborted"]:
                # A move that had already beaten the last iteration's best still counts.
                pv = pv or self._candidate
                if pv and (last is None or pv[0] != last.pv[0]):
                    last = self._info(depth, score if last is None else last.score, seconds, pv)
                    if on_info is not None and last.depth > 1:
                        on_info(last)
                break
            last = self._info(depth, score, seconds, pv)
            if on_info is not None:
                on_info(last)
            self._order_root_moves()
            if worker["stop"] or self._is_enough(last, limits, budget, seconds):
                break
        return last

    def _search_window(self, depth: int, last: Info | None) -> int:
        """Searches one depth, widening the window around the last score until the value lies inside it."""
        worker = self._worker
        worker["aborted"] = 0
        self._candidate = ()
        width = ASPIRATION_WINDOW
        if last is None or depth < ASPIRATION_DEPTH or abs(last.score) >= MATE_BOUND:
            alpha, beta = -INFINITE, INFINITE
        else:
            alpha, beta = max(last.score - width, -INFINITE), min(last.score + width, INFINITE)
        while True:
            worker["frames"][0]["pv_length"] = 0
            score = int(search_root(worker, self._table, depth, alpha, beta))
            if worker["aborted"]:
                return score
            width *= ASPIRATION_GROWTH
            if score <= alpha:
                # Pull beta in as well: the true value is below, and a narrow window is quicker.
                beta = (alpha + beta) // 2
                alpha = max(score - width, -INFINITE)
            elif score >= beta:
                # What beat the window is the move to play unless the wider one finds a better, and is looked at first.
                self._candidate = self._principal_variation(self._chess960)
                self._order_root_moves()
                beta = min(score + width, INFINITE)
            else:
                return score

    def _is_enough(self, info: Info, limits: Limits, budget: Budget, seconds: float) -> bool:
        """Whether to stop between iterations."""
        if limits.is_unbounded():
            return False
        worker = self._worker
        if limits.mate is not None and info.mate is not None and 0 < info.mate <= limits.mate:
            return True
        if limits.nodes is not None and worker["nodes"] >= limits.nodes:
            return True
        if budget.soft is None:
            return False
        # A clock is running: an only move needs no thought, nor does a mate that is searched to its end.
        if worker["root_count"] == 1 or (info.mate is not None and info.depth > 2 * abs(info.mate) + 2):
            return True
        return seconds * 1000 >= budget.soft

    def _order_root_moves(self) -> None:
        """Best move first, then by the nodes each took: what was hard to refute is looked at early."""
        worker = self._worker
        count = int(worker["root_count"])
        best = worker["frames"][0]["pv"][0]
        # After a fail high the rest was not searched; it keeps its order, behind.
        searched = worker["root_moves"][:count].copy()
        nodes = worker["root_nodes"][:count].copy()
        nodes[searched == best] = _NO_NODE_LIMIT
        worker["root_moves"][:count] = searched[np.argsort(-nodes, kind="stable")]

    def _principal_variation(self, chess960: bool) -> tuple[chess.Move, ...]:
        frame = self._worker["frames"][0]
        return tuple(decode(move, chess960) for move in frame["pv"][: frame["pv_length"]].tolist())

    def _info(self, depth: int, score: int, seconds: float, pv: tuple[chess.Move, ...]) -> Info:
        worker = self._worker
        return Info(
            depth=depth,
            selective_depth=int(worker["selective_depth"]),
            score=score,
            nodes=int(worker["nodes"]),
            seconds=seconds,
            hashfull=int(hashfull(self._table, self._generation)),
            pv=pv,
        )
