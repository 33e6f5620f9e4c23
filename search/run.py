"""The state of one search, from its limits to its result."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import chess

from engine.board.convert import decode, encode, write_board
from engine.board.moves import NO_MOVE
from search.deepening import Deepening, Iteration, Root, set_root
from search.endings import Endings, men_of
from search.game import Game
from search.info import Info, Progress, Result
from search.kernels.score import NO_SCORE, mate_distance
from search.kernels.transposition import hashfull
from search.kernels.worker import set_tunables, tunables_of
from search.limits import MAX_DEPTH, NO_NODE_LIMIT, Limits
from search.oversight import blind_spots, seen
from search.strength import FIRST_NODES, Level
from search.tablebase import Ranking, Tables
from search.threads import Helpers
from search.timing import TimeManager, budget_for
from search.tunables import namespace, plain

#: If the hard limit is below this many milliseconds, only the main thread searches, unless the search ponders. Waking
#: the helpers and waiting for them to end would cost more time than they save.
LEAST_TIME_FOR_HELP: Final = 5.0

#: Probing a tablebase may take some milliseconds a move. If the hard limit is below LEAST_TIME_FOR_TABLES milliseconds,
#: the tablebase is not probed. If probing takes more than SHARE_FOR_TABLES of that limit, the search uses no tablebase.
LEAST_TIME_FOR_TABLES: Final = 50.0
SHARE_FOR_TABLES: Final = 0.4

#: A step in solving an ending takes some milliseconds. If the hard limit is below LEAST_TIME_FOR_ENDINGS milliseconds,
#: no ending is solved. Solving takes at most SHARE_FOR_ENDINGS of the planned time, and at most MOST_FOR_ENDINGS
#: milliseconds after each iteration, so that the user sees reports meanwhile.
LEAST_TIME_FOR_ENDINGS: Final = 50.0
SHARE_FOR_ENDINGS: Final = 0.5
MOST_FOR_ENDINGS: Final = 1000.0


@dataclass(frozen=True)
class Request:
    """The arguments of a search; see `search.searcher.Searcher.search`. `start` is a time by `time.perf_counter`.

    `rng` draws what the level overlooks.
    """

    game: Game
    limits: Limits
    start: float
    overhead: int
    ponders: bool = False
    lines: int = 1
    level: Level | None = None
    on_info: Callable[[Info], None] | None = None
    on_progress: Callable[[Progress], None] | None = None
    rng: random.Random = field(default_factory=random.Random)


class SearchRun:
    """The state of one search, which runs on the calling thread. Other threads may call `report` meanwhile.

    `worker` is the main thread's WORKER record, `tt` is ENTRY[n], and `generation` is the generation of new TT entries.
    """

    def __init__(
        self,
        request: Request,
        worker: Any,
        helpers: Helpers,
        tt: Any,
        generation: int,
        tables: Tables | None,
        endings: Endings,
    ) -> None:
        self.request = request
        self._worker, self._helpers, self._tt = worker, helpers, tt
        self._generation = generation
        self._tables = tables
        self._endings: Endings | None = endings if _may_solve(request) else None
        # The milliseconds spent on the ending so far.
        self._solving = 0.0
        self._values = tunables_of(worker)
        tune = namespace(self._values)
        limits = request.limits
        self.budget = budget_for(limits, request.overhead, tune, request.ponders, request.game.board.fullmove_number)
        self.manager = TimeManager(self.budget, tune, limits.ponder)
        self._chess960 = request.game.board.chess960
        self._ranking: Ranking | None = None
        self._root_count = 0
        # Depth and number of the last reported root move.
        self._reported = (0, 0)
        self._last: Info | None = None
        #: Whether the last iteration is the solution of an ending, which no helper can improve.
        self.is_solved = False
        #: One line for each failure that did not end the search.
        self.problems: list[str] = []

    def elapsed(self) -> float:
        """Returns the milliseconds since the `start` of the request."""
        return 1000 * (time.perf_counter() - self.request.start)

    # -- searching ---------------------------------------------------------------------------------------------

    def search(self, legal: Sequence[chess.Move]) -> Iteration:
        """Searches those `legal` moves that `_root` selects; returns the main thread's last iteration.

        The helpers may continue to search until `Helpers.gather` stops them.
        """
        limits = self.request.limits
        root = self._root(legal)
        own_nodes, help_nodes = self._node_limits()
        write_board(self.request.game.board, self._worker["stack"][0]["position"])
        set_root(self._worker, root, own_nodes)
        self._root_count = len(root.moves)
        if limits.sure_depth() > 0:
            set_tunables(self._worker, plain())
        try:
            return self._deepen(root, help_nodes)
        finally:
            if limits.sure_depth() > 0:
                set_tunables(self._worker, self._values)

    def result(self, nodes: int) -> Result:
        """Returns the result with the last reported best line. `nodes` is the node count of all threads."""
        assert self._last is not None, "nothing was found"
        line = self._last.pv
        return Result(
            best=line[0],
            ponder=line[1] if len(line) > 1 else None,
            info=self._last,
            nodes=nodes,
            seconds=self.elapsed() / 1000,
            problems=tuple(self.problems),
        )

    def tell(self, found: Iteration, nodes: int) -> None:
        """Reports the requested lines of an iteration, with `nodes` as the node count; `result` uses the first line."""
        circumstances = self._circumstances()
        shown = enumerate(found.lines, start=1)
        infos = [self._info(line, number, nodes, circumstances) for number, line in shown]
        self._last = infos[0]
        if self.request.on_info is not None:
            for info in infos:
                self.request.on_info(info)

    def _root(self, legal: Sequence[chess.Move]) -> Root:
        """Sets `_ranking`; returns the root, without lower-ranked moves if one line is wanted or a level is set."""
        request = self.request
        moves = _chosen(request.game.board, legal, request.limits)
        self._ranking = self._rank(moves)
        ranks = None
        if self._ranking is not None:
            known = self._ranking.ranks
            if request.lines == 1 or request.level is not None:
                moves = [move for move in moves if known[move] == max(known.values())]
            ranks = {encode(request.game.board, move): known[move] for move in moves}
        codes = self._seen([encode(request.game.board, move) for move in moves])
        return Root(
            keys=request.game.keys,
            moves=codes,
            generation=self._generation,
            deepest=request.limits.deepest(MAX_DEPTH),
            lines=min(request.lines, len(codes)),
            is_partial=len(codes) < len(legal),
            ranks=ranks,
        )

    def _seen(self, codes: list[int]) -> list[int]:
        """Draws what the level overlooks; returns those of the root's moves (as kernels encode them) that it sees."""
        level, board = self.request.level, self.request.game.board
        self._worker["overlooks"] = 0
        if level is None or not level.oversight:
            return codes
        self._worker["overlooks"] = 1
        self._worker["blind"] = blind_spots(level, int(board.turn), self.request.rng)
        return seen(board, codes, self._worker["blind"])

    def _rank(self, moves: Sequence[chess.Move]) -> Ranking | None:
        """Returns the tablebase's ranking of `moves`, or None if it is not probed, has none or fails.

        If it fails, adds the error to `problems`. A search for a mate does not probe it: moves with the least DTZ lead
        to a capture or a pawn move, and need not lead to the nearest mate.
        """
        tables, deadline = self._tables, self.manager.deadline
        if (
            tables is None
            or len(moves) < 2
            or deadline() < LEAST_TIME_FOR_TABLES
            or self.request.limits.mate is not None
        ):
            return None

        def should_stop() -> bool:
            return bool(self._worker["stop"]) or self.elapsed() > SHARE_FOR_TABLES * deadline()

        try:
            return tables.rank(self.request.game.board, list(moves), should_stop)
        except ValueError as error:
            self.problems.append(str(error))
            return None

    def _node_limits(self) -> tuple[int, int]:
        """Returns the node limits of the main thread and of each helper; 0 for the helpers means that none searches.

        No kernel sees the nodes of other threads, so each thread gets a share. The shares add up to the limit. If a
        slow thread does not use up its share, no other thread does. At a limited strength there are no helpers. The
        level's limit applies from the second iteration on, so that even the weakest level can search every move.
        """
        limits, level = self.request.limits, self.request.level
        nodes = NO_NODE_LIMIT if limits.nodes is None else max(1, limits.nodes)
        if level is not None:
            return min(nodes, max(level.nodes, FIRST_NODES)), 0
        helpers = len(self._helpers)
        if helpers == 0 or not (limits.ponder or self.budget.hard >= LEAST_TIME_FOR_HELP):
            return nodes, 0
        if limits.nodes is None:
            return nodes, nodes
        share = nodes // (1 + helpers)
        return nodes - share * helpers, share

    def _deepen(self, root: Root, help_nodes: int) -> Iteration:
        """Runs iterations until a limit ends the search; returns the last one."""
        worker, level, sure_depth = self._worker, self.request.level, self.request.limits.sure_depth()
        # Helpers search as the main thread does when they start: all without pruning, or all as usual.
        help_depth = sure_depth if 0 < sure_depth < root.deepest else 1
        deepening = Deepening(worker, self._tt, root, self._window_failed)
        found: Iteration | None = None
        for found in deepening.iterations():
            if found.depth == sure_depth and found.complete:
                set_tunables(worker, self._values)
            if found.depth == help_depth and found.complete and help_nodes:
                # Helpers start only after a move to play is found: on a busy machine they could delay this thread.
                first = deepening.completed(found)
                deepening.team = self._helpers.start(worker, self._tt, root, help_nodes, first)
            if found.depth == 1 and level is not None:
                # From here on, the level's limit applies (see `_node_limits`).
                worker["node_limit"] = min(int(worker["node_limit"]), level.nodes)
            if found.score == NO_SCORE:
                break
            self.tell(found, self._nodes())
            if not found.complete or worker["stop"]:
                return found
            # More time cannot change the only move, and hardly a mate that is nearer than the depth searched.
            mate = mate_distance(found.score)
            is_settled = len(root.moves) == 1 or (mate is not None and found.depth > 2 * abs(mate) + 2)
            self.manager.iteration_done(found.depth, found.score, found.line[0], deepening.effort, is_settled)
            if self._is_enough(mate, is_settled) or self.manager.is_over(self.elapsed()):
                return found
            solution = self._solve()
            if solution is not None:
                self.is_solved = True
                self.tell(solution, self._nodes())
                return solution
        else:
            if found is not None:
                return found
        # The first iteration did not end. Play its best move so far, or else a move of the best rank; show static_eval
        # or 0.
        static_eval = int(worker["stack"][0]["static_eval"])
        line = (max(root.moves, key=root.rank),) if found is None else found.line
        found = Iteration(1, 0 if static_eval == NO_SCORE else static_eval, line, complete=False)
        self.tell(found, int(worker["nodes"]))
        return found

    def _solve(self) -> Iteration | None:
        """Continues to solve the ending on the board, if it is one and there is time; returns its lines if known."""
        deadline = self.manager.deadline()
        if self._endings is None or deadline < LEAST_TIME_FOR_ENDINGS:
            return None
        start = self.elapsed()
        # While the engine ponders, there is no deadline, and the plan does not count yet.
        planned = deadline if deadline == math.inf else min(self.manager.soft(), deadline)
        end = min(start + min(SHARE_FOR_ENDINGS * planned - self._solving, MOST_FOR_ENDINGS), planned)

        def should_stop() -> bool:
            return bool(self._worker["stop"]) or self.elapsed() >= end

        try:
            return self._endings.solve(self.request.game.board, self.request.lines, should_stop)
        except MemoryError:
            self._endings = None  # the search needs no table
            return None
        finally:
            self._solving += self.elapsed() - start

    def _is_enough(self, mate: int | None, is_settled: bool) -> bool:
        """Returns whether a limit by mate or nodes ends the search after an iteration."""
        limits = self.request.limits
        if limits.infinite:
            return False
        if limits.mate is not None and mate is not None:
            # A side that is certain to be mated will not find the wanted mate.
            return 0 < mate <= limits.mate or (mate < 0 and is_settled)
        return bool(self._worker["nodes"] >= self._worker["node_limit"])

    # -- reports -----------------------------------------------------------------------------------------------

    def report(self) -> None:
        """Reports the current root move, if it is new, and makes the kernel return after windows that fail.

        The kernel runs meanwhile; `search.threads` says which fields of the worker may be read.
        """
        if self._root_count == 0:
            return  # the worker still has the last search's root
        worker = self._worker
        worker["reports"] = 1
        frame = worker["stack"][0]
        number = int(frame["tried_count"])
        at = (int(worker["root_depth"]), number)
        # The kernel may write the count before the move.
        code = int(frame["tried"][number - 1]) if number else NO_MOVE
        if code != NO_MOVE and at != self._reported and self.request.on_progress is not None:
            self._reported = at
            # The worker's root moves exclude the first moves of better lines and, with a ranking, moves of lower rank.
            skipped = 0 if self._ranking is not None else self._root_count - int(worker["root_count"])
            move = decode(code, self._chess960)
            number = min(number + skipped, self._root_count)
            self.request.on_progress(Progress(at[0], move, number, self._nodes(), *self._circumstances()))

    def _window_failed(self, failed: Iteration, number: int) -> None:
        """Reports the failed window of line `number` unless the moves have a ranking."""
        if self.request.on_info is not None and self._ranking is None:
            self.request.on_info(self._info(failed, number, self._nodes(), self._circumstances()))

    def _nodes(self) -> int:
        """Returns the number of nodes that all threads have searched so far."""
        return int(self._worker["nodes"]) + self._helpers.nodes()

    def _circumstances(self) -> tuple[float, int, int]:
        """Returns the seconds since the start, `hashfull` in permille, and the number of tablebase probes."""
        hits = 0 if self._ranking is None else self._ranking.hits
        full = int(hashfull(self._tt, self._generation))
        return self.elapsed() / 1000, full, hits

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


def _may_solve(request: Request) -> bool:
    """Returns whether the search has an ending to solve, and no limit but time.

    A limit by depth or nodes gives the same result on every machine, and `go mate` has its own limits. `search_moves`
    or a level may exclude the best move.
    """
    limits = request.limits
    others = (limits.depth, limits.nodes, limits.mate, limits.search_moves, request.level)
    return all(other is None for other in others) and men_of(request.game.board) is not None


def _chosen(board: chess.Board, moves: Sequence[chess.Move], limits: Limits) -> list[chess.Move]:
    """Returns the legal `moves` that the limits allow, in their order; all moves if the limits allow none."""
    if limits.search_moves is None:
        return list(moves)
    chosen = [move for move in moves if board.uci(move) in limits.search_moves]
    return chosen or list(moves)
