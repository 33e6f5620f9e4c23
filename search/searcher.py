"""The search as its users see it: a table and threads that search positions, one at a time, under limits.

Python decides, kernels compute: this module sets up the workers, decides between iterations whether to go on, and
turns what they found into moves, scores and times.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import chess

from engine.board.convert import decode, encode, write_board
from eval.network.format import Network
from search.deepening import MAX_DEPTH, NO_NODE_LIMIT, Deepening, Iteration, Root, set_root
from search.game import Game
from search.limits import DEFAULT_HASH, DEFAULT_OVERHEAD, DEFAULT_THREADS, Limits
from search.score import mate_distance
from search.table import GENERATIONS, allocate_table, hashfull
from search.threads import Helpers, vote
from search.timing import Alarm, TimeManager, budget_for
from search.worker import STOP, STOP_NOW, forget, new_worker, set_network, set_tunable

__all__ = ["MAX_DEPTH", "Game", "Info", "Result", "Searcher"]

#: Seconds that a search which has no move yet may go on after `stop`.
STOP_GRACE: Final = 0.03

#: A search with a hard limit below this many milliseconds is left to the main thread: waking the helpers and waiting
#: for their end costs more than they could find.
LEAST_TIME_FOR_HELP: Final = 5.0


@dataclass(frozen=True)
class Info:
    """What one finished iteration found: the fields of UCI's `info` line.

    `score` in centipawns from the side to move's view, or mate (see `search.score`); `nodes` of all threads; `seconds`
    since the start.
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
    """The outcome of a search: best move (None only when there is no legal move), expected reply, last info.

    `nodes` are those of all threads, `problems` what went wrong in helping threads, without harm to the result.
    """

    best: chess.Move | None
    ponder: chess.Move | None
    info: Info | None
    nodes: int
    seconds: float
    problems: tuple[str, ...] = ()


class Searcher:
    """A transposition table, a worker for the calling thread and helpers: searches positions, one at a time.

    `search` blocks without holding the GIL in the kernels; `stop` and `ponder_hit` may be called from any thread.
    """

    def __init__(
        self, hash_mebibytes: int = DEFAULT_HASH, threads: int = DEFAULT_THREADS, network: Network | None = None
    ) -> None:
        """Evaluates with `network`, classically without one.

        Raises MemoryError or RuntimeError when the system does not give the memory or the threads.
        """
        self._table = allocate_table(hash_mebibytes)
        self._worker = new_worker()
        self._helpers = Helpers()
        self._generation = 0
        self._alarm = Alarm(self._time_is_up)
        # The running search's start and time manager, and when `ponder_hit` was called: under this lock, because that
        # may come at any moment, also before the search begins.
        self._lock = threading.Lock()
        self._time: TimeManager | None = None
        self._start = 0.0
        self._hit_at: float | None = None
        self._network: Network | None = None
        self.set_network(network)
        self.resize_threads(threads)

    # -- control -----------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends the running search as soon as it has a move to return, STOP_GRACE seconds from now at the latest."""
        self._stop_within(STOP_GRACE)

    def _stop_within(self, seconds: float) -> None:
        self._worker["stop"] = max(int(self._worker["stop"]), STOP)
        self._helpers.stop()
        self._alarm.set(seconds)

    def _time_is_up(self) -> None:
        """The alarm has rung: for the first time at the hard limit, for the second when there is no patience left."""
        manager = self._time
        if self._worker["stop"] or manager is None:
            self._worker["stop"] = STOP_NOW
        else:
            self._stop_within(manager.grace() / 1000)

    def ponder_hit(self) -> None:
        """The opponent has played the expected move: a search that ponders goes on, on our clock."""
        now = time.perf_counter()
        with self._lock:
            self._hit_at = now
            if self._time is not None:
                self._begin_clock(self._time, now)

    def _begin_clock(self, manager: TimeManager, now: float) -> None:
        """Tells the running search that the pondering is over. Under the lock."""
        elapsed = 1000 * (now - self._start)
        manager.ponder_hit(elapsed)
        if manager.is_over(elapsed):
            self.stop()
        elif not self._worker["stop"]:
            self._set_alarm(manager)

    def _set_alarm(self, manager: TimeManager) -> None:
        deadline = manager.deadline()
        if deadline is not None:
            self._alarm.set(deadline / 1000 - (time.perf_counter() - self._start))

    def arm(self) -> None:
        """Forgets calls of `stop` and `ponder_hit` that came too late for the last search.

        Call it before `search` is started on another thread; a call in between is not lost then.
        """
        self._alarm.clear()
        self._worker["stop"] = 0
        self._hit_at = None

    # -- between searches --------------------------------------------------------------------------------------

    def resize(self, hash_mebibytes: int) -> None:
        """Replaces the table by an empty one. Raises MemoryError and keeps the old one when there is no memory."""
        self._table = allocate_table(hash_mebibytes)

    @property
    def threads(self) -> int:
        """Number of threads that search, the caller's included."""
        return 1 + len(self._helpers)

    def resize_threads(self, threads: int) -> None:
        """Searches with this many threads from now on, at least 1.

        Keeps those that it got when it raises MemoryError or RuntimeError because the system gives no more.
        """
        self._helpers.resize(threads - 1)

    def new_game(self) -> None:
        """Forgets everything learnt: the next search runs as in a fresh process."""
        try:
            # New pages from the system are zero already; clearing gigabytes by hand takes seconds.
            self._table = allocate_table(self._table.nbytes >> 20)
        except MemoryError:
            self._table["word"] = 0
        forget(self._worker)
        self._helpers.forget()
        self._generation = 0

    @property
    def network(self) -> Network | None:
        """What positions are evaluated with; None is the classical evaluation."""
        return self._network

    def set_network(self, network: Network | None) -> None:
        """Evaluates with `network` from now on, or classically; forgets what was learnt with another evaluation."""
        if network is self._network:
            return
        record = None if network is None else network.record()
        set_network(self._worker, record)
        self._helpers.set_network(record)
        self._network = network
        self.new_game()

    def set_tunable(self, name: str, value: int) -> None:
        """Changes a number of the search (see `search.tunables`). Raises KeyError when there is none of that name."""
        set_tunable(self._worker, name, value)

    def close(self) -> None:
        """Ends the threads that wait for the next search. It may still search, alone."""
        self._helpers.resize(0)
        self._alarm.close()

    # -- searching ---------------------------------------------------------------------------------------------

    def search(
        self,
        game: Game,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        overhead: int = DEFAULT_OVERHEAD,
        ponders: bool = False,
        start: float | None = None,
    ) -> Result:
        """Searches until a limit is reached or `stop` is called; `on_info` gets every finished iteration.

        `overhead` (ms) is kept back from the clock. `ponders` says that this game is played with thinking on the
        opponent's time. `start` is when the clock began to run, as of `time.perf_counter`; by default now.
        """
        start = time.perf_counter() if start is None else start
        tune = self._worker["tune"].tolist()
        budget = budget_for(limits, overhead, tune, ponders)
        manager = TimeManager(budget, tune, limits.ponder)
        moves = list(game.board.legal_moves)
        if not moves:
            return Result(None, None, None, 0, time.perf_counter() - start)
        with self._lock:
            self._start, self._time = start, manager
            if self._worker["stop"]:
                self._alarm.set(STOP_GRACE)
            elif limits.ponder and self._hit_at is not None:
                self._begin_clock(manager, self._hit_at)
            else:
                self._set_alarm(manager)
        codes = [encode(game.board, move) for move in _chosen(game.board, moves, limits)]
        self._generation = (self._generation + 1) % GENERATIONS
        deepest = MAX_DEPTH if limits.depth is None else min(max(limits.depth, 1), MAX_DEPTH)
        root = Root(game.keys, codes, self._generation, deepest)
        has_help = limits.ponder or budget.hard is None or budget.hard >= LEAST_TIME_FOR_HELP
        own_nodes, help_nodes = self._share_nodes(limits, has_help)
        write_board(game.board, self._worker["frames"][0]["position"])
        set_root(self._worker, root, own_nodes)
        try:
            found, info = self._deepen(game, limits, root, manager, on_info, help_nodes)
        finally:
            others, errors, helped = self._helpers.gather()
            with self._lock:
                self._time = None
            self.arm()
        nodes = int(self._worker["nodes"]) + helped
        if found is not None and (best := vote([found, *others], tune)) is not found:
            info = self._info(best, game, nodes)
            if on_info is not None:
                on_info(info)
        line = info.pv if info is not None and info.pv else (_chosen(game.board, moves, limits)[0],)
        return Result(
            best=line[0],
            ponder=line[1] if len(line) > 1 else None,
            info=info,
            nodes=nodes,
            seconds=time.perf_counter() - start,
            problems=tuple(f"a search thread failed: {type(error).__name__}: {error}" for error in errors),
        )

    def _share_nodes(self, limits: Limits, has_help: bool) -> tuple[int, int]:
        """Node limits of the main thread and of each helper (0: it is not wanted).

        No kernel can add up the nodes of others, so each gets its share. The sum never exceeds the limit; what a slow
        thread leaves of its share is not searched.
        """
        if limits.nodes is None:
            return NO_NODE_LIMIT, NO_NODE_LIMIT if has_help else 0
        nodes = max(1, limits.nodes)
        share = nodes // self.threads if has_help else 0
        return nodes - share * (self.threads - 1), share

    def _deepen(
        self,
        game: Game,
        limits: Limits,
        root: Root,
        manager: TimeManager,
        on_info: Callable[[Info], None] | None,
        help_nodes: int,
    ) -> tuple[Iteration | None, Info | None]:
        """One iteration after the other until a limit says stop; returns the last. Helpers are left searching."""
        worker = self._worker
        deepening = Deepening(worker, self._table)
        found: Iteration | None = None
        info: Info | None = None
        for found in deepening.iterations(root.deepest):
            if found.depth == 1 and found.complete and help_nodes:
                # Not before there is a move to answer with: on a busy machine they might keep this thread from it.
                self._helpers.start(worker, self._table, root, help_nodes)
            info = self._info(found, game, int(worker["nodes"]) + self._helpers.nodes())
            if on_info is not None and (found.complete or found.depth > 1):
                on_info(info)
            if not found.complete or worker["stop"]:
                break
            # An only move needs no thought, nor does a mate that is searched to its end.
            is_settled = int(worker["root_count"]) == 1 or (
                info.mate is not None and info.depth > 2 * abs(info.mate) + 2
            )
            effort = deepening.best_move_effort()
            manager.iteration_done(found.depth, found.score, found.line[0], effort, is_settled)
            if self._is_enough(info, limits) or manager.is_over(1000 * (time.perf_counter() - self._start)):
                break
        return found, info

    def _is_enough(self, info: Info, limits: Limits) -> bool:
        """Whether a limit other than time ends the search between iterations."""
        if limits.infinite:
            return False
        if limits.mate is not None and info.mate is not None and 0 < info.mate <= limits.mate:
            return True
        return bool(self._worker["nodes"] >= self._worker["node_limit"])

    def _info(self, found: Iteration, game: Game, nodes: int) -> Info:
        return Info(
            depth=found.depth,
            selective_depth=int(self._worker["selective_depth"]),
            score=found.score,
            nodes=nodes,
            seconds=time.perf_counter() - self._start,
            hashfull=int(hashfull(self._table, self._generation)),
            pv=tuple(decode(move, game.board.chess960) for move in found.line),
        )


def _chosen(board: chess.Board, moves: list[chess.Move], limits: Limits) -> list[chess.Move]:
    """Those of the legal `moves` that the limits leave, in their order; all when none is left."""
    if limits.search_moves is None:
        return moves
    chosen: list[Any] = [move for move in moves if board.uci(move) in limits.search_moves]
    return chosen or moves
