"""The search as its users see it: a table and threads that search positions, one at a time, under limits.

Python decides, kernels compute: this module sets up the workers, decides between iterations whether to go on, and
turns what they found into moves, scores and times.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import chess

from engine.board.convert import decode, encode, write_board
from engine.board.moves import NO_MOVE
from eval.network.format import Network
from search.deepening import MAX_DEPTH, NO_NODE_LIMIT, Deepening, Iteration, Root, set_root
from search.game import Game
from search.info import Info, Progress, Result
from search.kernels.score import NO_SCORE, mate_distance
from search.kernels.transposition import GENERATIONS, allocate_table, hashfull
from search.kernels.worker import STOP, STOP_NOW, forget, new_worker, set_network, set_tunables, tunables_of
from search.limits import DEFAULT_HASH, DEFAULT_OVERHEAD, DEFAULT_THREADS, Limits
from search.strength import FIRST_NODES, Level, choose
from search.tablebase import Ranking, Tables
from search.threads import Helpers, vote
from search.timing import LAST_GRACE, Alarm, Budget, TimeManager, budget_for
from search.tunables import namespace, plain

__all__ = ["MAX_DEPTH", "Game", "Info", "Progress", "Result", "Searcher"]

#: A search with a hard limit below this many milliseconds is left to the main thread: waking the helpers and waiting
#: for their end costs more than they could find.
LEAST_TIME_FOR_HELP: Final = 5.0

#: Reading endgame tables takes up to some milliseconds a move. With a hard limit below this many milliseconds there is
#: no time for that; otherwise it may take this share of it, and is given up then for the search.
LEAST_TIME_FOR_TABLES: Final = 50.0
SHARE_FOR_TABLES: Final = 0.4

#: Seconds after which a search reports what it is at and windows that fail, and how often it looks whether there is
#: something new. Before that, it would be more than anyone can read.
REPORT_AFTER: Final = 3.0
REPORT_EVERY: Final = 0.1


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
        self._reporter = Alarm(self._report)
        self._on_info: Callable[[Info], None] | None = None
        self._on_progress: Callable[[Progress], None] | None = None
        self._reported = (0, 0)
        # The running search's start and time manager, and when `ponder_hit` was called: under this lock, because that
        # may come at any moment, also before the search begins.
        self._lock = threading.Lock()
        self._time: TimeManager | None = None
        self._start = 0.0
        self._hit_at: float | None = None
        self._network: Network | None = None
        self._tables: Tables | None = None
        # Of the running search: its notation, what endgame tables say of the root's moves, how many those are, and how
        # many lines are shown.
        self._chess960 = False
        self._ranking: Ranking | None = None
        self._root_count = 0
        self._shown = 1
        #: What a weaker player's choices are drawn from; seeded, it makes the same ones again.
        self.rng = random.Random()
        self._level: Level | None = None
        self.set_network(network)
        self.resize_threads(threads)

    # -- control -----------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends the running search as soon as it has a move to return, LAST_GRACE milliseconds later in any case."""
        self._stop_within(LAST_GRACE / 1000)

    def _stop_within(self, seconds: float) -> None:
        self._worker["stop"] = max(int(self._worker["stop"]), STOP)
        self._helpers.stop()
        # Without a thread for the alarm the search ends with its first iteration.
        with suppress(RuntimeError):
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
        if deadline is None:
            return
        try:
            self._alarm.set(deadline / 1000 - (time.perf_counter() - self._start))
        except RuntimeError:
            # Nobody can end the search in time: the first iteration is all it gets.
            self._worker["stop"] = STOP

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

    def reserve_threads(self) -> None:
        """Starts the threads that time searches and report on them, which otherwise begin with the first need.

        Call it before memory gets scarce. Raises RuntimeError when the system does not give the threads.
        """
        self._alarm.start()
        self._reporter.start()

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

    def set_tables(self, tables: Tables | None) -> None:
        """Asks these endgame tables about root positions from now on, or none."""
        self._tables = tables

    def set_tunable(self, name: str, value: int) -> None:
        """Changes a number of the search (see `search.tunables`). Raises KeyError when there is none of that name."""
        set_tunables(self._worker, {name: value})

    def close(self) -> None:
        """Ends the threads that wait for the next search. It may still search, alone."""
        self._helpers.resize(0)
        self._alarm.close()
        self._reporter.close()

    # -- searching ---------------------------------------------------------------------------------------------

    def search(
        self,
        game: Game,
        limits: Limits,
        on_info: Callable[[Info], None] | None = None,
        overhead: int = DEFAULT_OVERHEAD,
        ponders: bool = False,
        start: float | None = None,
        lines: int = 1,
        on_progress: Callable[[Progress], None] | None = None,
        level: Level | None = None,
    ) -> Result:
        """Searches until a limit is reached or `stop` is called.

        `on_info` gets every finished iteration, its `lines` best lines one after the other; from REPORT_AFTER seconds
        on also windows that failed, and `on_progress`, on another thread, each root move. `overhead` (ms) is kept back
        from the clock. `ponders` says that this game is played with thinking on the opponent's time. `start` is when
        the clock began to run, as of `time.perf_counter`; by default now.

        With a `level` it plays no better than that, on one thread, and ends when the level's nodes are searched. If it
        does not take the best line, the lines are reported once more, the one it takes first. Endgame tables are
        obeyed as always.
        """
        start = time.perf_counter() if start is None else start
        values = tunables_of(self._worker)
        tune = namespace(values)
        budget = budget_for(limits, overhead, tune, ponders)
        manager = TimeManager(budget, tune, limits.ponder)
        legal = list(game.board.legal_moves)
        if not legal:
            return Result(None, None, None, 0, time.perf_counter() - start)
        with self._lock:
            self._start, self._time = start, manager
            if self._worker["stop"]:
                self._stop_within(LAST_GRACE / 1000)
            elif limits.ponder and self._hit_at is not None:
                self._begin_clock(manager, self._hit_at)
            else:
                self._set_alarm(manager)
        self._play_as(level)
        moves = _chosen(game.board, legal, limits)
        self._ranking, problems = self._rank(game.board, moves, budget)
        if self._ranking is not None and (lines == 1 or level is not None):
            best_rank = max(self._ranking.ranks.values())
            moves = [move for move in moves if self._ranking.ranks[move] == best_rank]
        self._shown = lines
        searched = lines if level is None else max(lines, level.lines)
        root = self._root(game, moves, len(moves) < len(legal), limits, min(searched, len(moves)))
        has_time = limits.ponder or budget.hard is None or budget.hard >= LEAST_TIME_FOR_HELP
        own_nodes, help_nodes = self._share_nodes(limits, has_time, level)
        write_board(game.board, self._worker["stack"][0]["position"])
        set_root(self._worker, root, own_nodes)
        self._begin_reports(game, len(moves), budget, on_info, on_progress)
        if limits.leaves_nothing_out():
            set_tunables(self._worker, plain())
        try:
            found, info = self._deepen(limits, root, manager, help_nodes, level)
        finally:
            if limits.leaves_nothing_out():
                set_tunables(self._worker, values)
            self._reporter.clear()
            others, errors, helped = self._helpers.gather()
            with self._lock:
                self._time = None
            self.arm()
        nodes = int(self._worker["nodes"]) + helped
        best = self._answer(found, others, level)
        if best is not found:
            info, *rest = self._infos(best, nodes)
            if on_info is not None:
                for one in (info, *rest):
                    on_info(one)
        line = info.pv
        problems += [f"a search thread failed: {type(error).__name__}: {error}" for error in errors]
        return Result(
            best=line[0],
            ponder=line[1] if len(line) > 1 else None,
            info=info,
            nodes=nodes,
            seconds=time.perf_counter() - start,
            problems=tuple(problems),
        )

    def _play_as(self, level: Level | None) -> None:
        """Forgets what a search of another strength has left behind before a weaker player could make use of it."""
        if level is not None and level != self._level:
            self.new_game()
        self._level = level

    def _answer(self, found: Iteration, others: list[Iteration], level: Level | None) -> Iteration:
        """The iteration whose line is played: that of the threads' vote, or of a weaker player's choice.

        Mates that such a player has seen are no matter of taste: the shortest is played, and the longest suffered.
        """
        if level is None:
            return found if found.others else vote([found, *others], int(self._worker["tune"]["vote_base"]))
        if mate_distance(found.score) is not None:
            return found
        return found.led_by(choose([found.score - line.score for line in found.lines], level, self.rng))

    def _rank(self, board: chess.Board, moves: list[chess.Move], budget: Budget) -> tuple[Ranking | None, list[str]]:
        """What endgame tables say of the moves, and what went wrong; tables that cannot be read are not asked again."""
        if self._tables is None or len(moves) < 2 or (budget.hard is not None and budget.hard < LEAST_TIME_FOR_TABLES):
            return None, []
        deadline = None if budget.hard is None else self._start + SHARE_FOR_TABLES * budget.hard / 1000

        def should_stop() -> bool:
            return bool(self._worker["stop"]) or (deadline is not None and time.perf_counter() > deadline)

        try:
            return self._tables.rank(board, moves, should_stop), []
        except ValueError as error:
            self._tables = None
            return None, [str(error)]

    def _root(self, game: Game, moves: list[chess.Move], is_partial: bool, limits: Limits, lines: int) -> Root:
        """The root of the next search, which begins a new generation of the table."""
        self._generation = (self._generation + 1) % GENERATIONS
        codes = [encode(game.board, move) for move in moves]
        ranks = None
        if self._ranking is not None:
            ranks = {code: self._ranking.ranks[move] for code, move in zip(codes, moves, strict=True)}
        return Root(game.keys, codes, self._generation, limits.deepest(MAX_DEPTH), lines, is_partial, ranks)

    def _share_nodes(self, limits: Limits, has_time: bool, level: Level | None) -> tuple[int, int]:
        """Node limits of the main thread and of each helper (0: it is not wanted).

        No kernel can add up the nodes of others, so each gets its share. The sum never exceeds the limit; what a slow
        thread leaves of its share is not searched. A weaker player has no help, and a limit of its own from the second
        iteration on: even the weakest looks at every move once.
        """
        nodes = NO_NODE_LIMIT if limits.nodes is None else max(1, limits.nodes)
        if level is not None:
            return min(nodes, max(level.nodes, FIRST_NODES)), 0
        if limits.nodes is None:
            return nodes, nodes if has_time else 0
        share = nodes // self.threads if has_time else 0
        return nodes - share * (self.threads - 1), share

    def _deepen(
        self, limits: Limits, root: Root, manager: TimeManager, help_nodes: int, level: Level | None
    ) -> tuple[Iteration, Info]:
        """One iteration after the other until a limit says stop; returns the last. Helpers are left searching."""
        worker = self._worker
        deepening = Deepening(worker, self._table, self._window_failed)
        found: Iteration | None = None
        info: Info | None = None
        for found in deepening.of_root(root):
            if found.depth == 1 and found.complete and help_nodes:
                # Not before there is a move to answer with: on a busy machine they might keep this thread from it.
                self._helpers.start(worker, self._table, root, help_nodes)
            if found.depth == 1 and level is not None:
                # From here on its own limit counts (see `_share_nodes`).
                worker["node_limit"] = min(int(worker["node_limit"]), level.nodes)
            if found.depth == 1 and not found.complete and not found.others:
                break
            info, *others = self._infos(found, int(worker["nodes"]) + self._helpers.nodes())
            if self._on_info is not None:
                for one in (info, *others):
                    self._on_info(one)
            if not found.complete or worker["stop"]:
                break
            # An only move needs no thought, nor does a mate that is searched to its end.
            mate = mate_distance(found.score)
            is_settled = len(root.moves) == 1 or (mate is not None and found.depth > 2 * abs(mate) + 2)
            effort = deepening.best_move_effort()
            manager.iteration_done(found.depth, found.score, found.line[0], effort, is_settled)
            if self._is_enough(mate, is_settled, limits) or manager.is_over(1000 * (time.perf_counter() - self._start)):
                break
        if found is None or info is None:
            # There was no time for a first iteration: the best is what it looked at, the score what meets the eye.
            evaluation = int(worker["stack"][0]["static_eval"])
            line = (root.moves[0],) if found is None else found.line
            found = Iteration(1, 0 if evaluation == NO_SCORE else evaluation, line, complete=False)
            info = self._infos(found, int(worker["nodes"]))[0]
            if self._on_info is not None:
                self._on_info(info)
        return found, info

    def _is_enough(self, mate: int | None, is_settled: bool, limits: Limits) -> bool:
        """Whether a limit other than time ends the search between iterations."""
        if limits.infinite:
            return False
        if limits.mate is not None and mate is not None:
            # Who is mated for certain will mate nobody.
            return 0 < mate <= limits.mate or (mate < 0 and is_settled)
        return bool(self._worker["nodes"] >= self._worker["node_limit"])

    # -- reports -----------------------------------------------------------------------------------------------

    def _begin_reports(
        self,
        game: Game,
        root_count: int,
        budget: Budget,
        on_info: Callable[[Info], None] | None,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        """Readies what reports are made from; the reporter is only woken for searches that may last long enough."""
        self._chess960, self._root_count = game.board.chess960, root_count
        self._on_info, self._on_progress = on_info, on_progress
        self._reported = (0, 0)
        if on_progress is not None and (budget.hard is None or budget.hard > 1000 * REPORT_AFTER):
            with suppress(RuntimeError):  # without a thread there are fewer reports
                self._reporter.set(REPORT_AFTER - (time.perf_counter() - self._start))

    def _report(self) -> None:
        """The search has lasted long: says what it is at, if that is new, and asks it for windows that fail.

        The kernel is running meanwhile; `search.threads` says what may be read of it.
        """
        worker = self._worker
        worker["reports"] = 1
        frame = worker["stack"][0]
        number = int(frame["tried_count"])
        at = (int(worker["root_depth"]), number)
        # The count may be there before the move that it counts.
        code = int(frame["tried"][number - 1]) if number else NO_MOVE
        if code != NO_MOVE and at != self._reported and self._on_progress is not None:
            self._reported = at
            # Moves of better lines are left out of the root's.
            skipped = self._root_count - int(worker["root_count"])
            move = decode(code, self._chess960)
            nodes = int(worker["nodes"]) + self._helpers.nodes()
            number = min(number + skipped, self._root_count)
            self._on_progress(Progress(at[0], move, number, nodes, *self._circumstances()))
        self._reporter.set(REPORT_EVERY)

    def _window_failed(self, failed: Iteration, number: int) -> None:
        """Reports a bound of a line that is shown, unless endgame tables know better."""
        if self._on_info is not None and self._ranking is None and number <= self._shown:
            nodes = int(self._worker["nodes"]) + self._helpers.nodes()
            self._on_info(self._info(failed, number, nodes, self._circumstances()))

    def _circumstances(self) -> tuple[float, int, int]:
        """Seconds since the start, permille of the table that is used, probes of endgame tables."""
        hits = 0 if self._ranking is None else self._ranking.hits
        return time.perf_counter() - self._start, int(hashfull(self._table, self._generation)), hits

    def _infos(self, found: Iteration, nodes: int) -> list[Info]:
        """The lines of an iteration that are shown, in their order."""
        circumstances = self._circumstances()
        shown = enumerate(found.lines[: self._shown], start=1)
        return [self._info(line, number, nodes, circumstances) for number, line in shown]

    def _info(self, found: Iteration, number: int, nodes: int, circumstances: tuple[float, int, int]) -> Info:
        seconds, full, hits = circumstances
        pv = tuple(decode(move, self._chess960) for move in found.line)
        score, is_known = found.score, False
        if self._ranking is not None and mate_distance(score) is None:
            score, is_known = self._ranking.scores[pv[0]], True
        return Info(
            depth=found.depth,
            selective_depth=found.selective_depth,
            score=score,
            nodes=nodes,
            seconds=seconds,
            hashfull=full,
            pv=pv,
            tb_hits=hits,
            number=number,
            bound=found.bound,
            is_known=is_known,
        )


def _chosen(board: chess.Board, moves: list[chess.Move], limits: Limits) -> list[chess.Move]:
    """Those of the legal `moves` that the limits leave, in their order; all when none is left."""
    if limits.search_moves is None:
        return moves
    chosen = [move for move in moves if board.uci(move) in limits.search_moves]
    return chosen or moves
