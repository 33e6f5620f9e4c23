"""The part of the session that needs python-chess, NumPy and Numba. The loader's thread imports this module."""

from __future__ import annotations

import math
import os
import platform
import threading
from collections.abc import Callable
from dataclasses import replace

import chess
import numpy as np

from engine.compiler import jit, library
from engine.files import quoted
from engine.uci.equipment import Equipment
from engine.uci.infos import info_line, progress_line
from engine.uci.options import OptionValues
from engine.uci.output import Output
from engine.uci.parse import GoCommand
from engine.uci.positions import parse_move
from engine.uci.tasks import Task
from eval.report import evaluation_report
from search.benchmark import DEFAULT_DEPTH, run_benchmark
from search.limits import MAX_PLY, Clock, Limits
from search.perft import Counter
from search.searcher import Game, Searcher
from search.timing import budget_for
from search.tunables import defaults, namespace


def rehearse() -> None:
    """Runs two short searches and formats their reports, because a process's first ones take about 10 ms longer."""
    searcher = Searcher(1)
    game = Game()
    for _ in range(2):
        result = searcher.search(game, Limits(depth=3, clock=Clock(1000)))
        if result.info is not None:
            info_line(result.info, game.board, show_wdl=True)
    searcher.close()


def remarks() -> list[str]:
    """Returns the problems with precompiled kernels and the kernel cache, one line each; [] if there are none."""
    if library.is_any_built() or os.environ.get(library.KERNELS_VARIABLE):
        return jit.remarks()
    problem = jit.cache_problem()
    return [] if problem is None else [problem]


def compiler_report() -> str:
    """Returns the answer to `compiler`: the kernels' compiler, the processor features in use and software versions."""
    vectors = {0: "none", 128: "NEON", 256: "AVX2", 512: "AVX-512"}[jit.VECTOR_BITS]
    return (
        f"{jit.compiler_report()}\n"
        f"Processor: sliding attacks by {'PEXT' if jit.USE_PEXT else 'magic multiplication'}, vectors: {vectors}\n"
        f"Run by {platform.python_implementation()} {platform.python_version()} on {platform.platform()}, "
        f"with NumPy {np.__version__} and python-chess {chess.__version__}"
    )


def search_limits(command: GoCommand, board: chess.Board, complain: Callable[[str], None]) -> Limits:
    """Returns the limits of a `go` command for the position of `board`.

    Ignores illegal search moves, and calls `complain` with a message about each. If no search move is legal,
    all moves are searched.
    """
    limits = command.limits(board.turn)
    if limits.search_moves is None:
        return limits
    legal = []
    for text in limits.search_moves:
        try:
            legal.append(board.uci(parse_move(board, text)))
        except ValueError:
            complain(f"go searchmoves: {quoted(text)} is not a legal move")
    return replace(limits, search_moves=tuple(legal) or None)


class SearchTask(Task):
    """The task for `go`. It answers with `bestmove`, even if the search fails."""

    is_tool = False

    def __init__(
        self, equipment: Equipment, options: OptionValues, output: Output, limits: Limits, received: float, debug: bool
    ) -> None:
        """Prepares a search whose clock started at `received` (`time.perf_counter`). `debug` adds reports."""
        super().__init__(output)
        self._equipment = equipment
        self._options = options
        self._limits = limits
        self._received = received
        self._debug = debug
        self._game = equipment.positions.game
        self._release = threading.Event()
        equipment.searcher.arm()

    def stop(self) -> None:
        """Makes the search end soon and answer with its best move so far."""
        self._release.set()
        self._equipment.searcher.stop()

    def ponder_hit(self) -> None:
        """Starts the clock of a pondering search; does nothing during other searches."""
        if self._limits.ponder:
            self._equipment.searcher.ponder_hit()
            if not self._limits.infinite:
                self._release.set()

    def run(self) -> None:
        """Takes a book move or searches; answers only after `stop` or `ponderhit` if the protocol requires that."""
        board, limits = self._game.board, self._limits
        # The answer if the search fails.
        candidates = limits.search_moves or (board.uci(move) for move in board.legal_moves)
        answer = next(iter(candidates), "0000")
        try:
            answer = self._book_answer() or self._search() or answer
        finally:
            if limits.infinite or limits.ponder:
                # The protocol forbids `bestmove` before `stop` or `ponderhit`, even if nothing is left to search.
                self._release.wait()
            self._answer(f"bestmove {answer}")

    def _book_answer(self) -> str | None:
        found = self._equipment.book_move(self._game, self._limits)
        if found is None:
            return None
        board = self._game.board
        self._output.info(found.describe(board))
        return board.uci(found.move)

    def _search(self) -> str | None:
        """Searches and reports; returns the text after `bestmove`, or None if there is no legal move."""
        options, output, board, limits = self._options, self._output, self._game.board, self._limits
        overhead, ponders = options.number("Move Overhead"), options.flag("Ponder")
        show_wdl = options.flag("UCI_ShowWDL")
        level = self._equipment.level(limits)
        if self._debug:
            output.info(_plan(limits, overhead, options.tunables(), ponders, board.fullmove_number))
            if level is not None:
                output.info(f"debug: plays at a level {level.describe()}")
        result = self._equipment.searcher.search(
            self._game,
            limits,
            on_info=lambda info: output.report(info_line(info, board, show_wdl)),
            overhead=overhead,
            ponders=ponders,
            start=self._received,
            lines=options.number("MultiPV"),
            on_progress=lambda progress: output.line(progress_line(progress)),
            level=level,
        )
        for problem in result.problems:
            output.info(problem)
        if self._debug:
            output.info(f"debug: {result.nodes} nodes in {1000 * result.seconds:.0f} ms")
        if result.best is None:
            output.line(f"info depth 0 score {'mate 0' if board.is_check() else 'cp 0'}")
            return None
        mate = None if result.info is None else result.info.mate
        if limits.mate is not None and (mate is None or not 0 < mate <= limits.mate):
            depth = 0 if result.info is None else result.info.depth
            output.info(f"no mate in {limits.mate} was found up to depth {depth}")
        return result.best.uci() + (f" ponder {result.ponder.uci()}" if result.ponder else "")


def _plan(limits: Limits, overhead: int, tunables: dict[str, int], ponders: bool, move_number: int) -> str:
    """Returns the message of `debug on` about the time that a search may take; `tunables` may be empty."""
    tune = namespace(defaults() | tunables)
    budget = budget_for(limits, overhead, tune, ponders, move_number)
    if budget.hard == math.inf:
        return "debug: no time limit"
    soft = "" if budget.soft == math.inf else f"about {min(budget.soft, budget.hard):.0f} ms, "
    return f"debug: time planned: {soft}at most {budget.hard:.0f} ms"


class PerftTask(Task):
    """The task for `go perft`. It writes a line with the count for each move, then a line with the total."""

    name = "perft"

    def __init__(self, equipment: Equipment, output: Output, depth: int) -> None:
        """Prepares the count. Raises ValueError unless `depth` is from 1 to MAX_PERFT_DEPTH."""
        super().__init__(output)
        self._board = equipment.positions.game.board
        self._counter = Counter(self._board, depth)
        self._is_stopped = False

    def stop(self) -> None:
        """Makes the count end soon. If the count is incomplete, the task answers that perft was stopped."""
        self._is_stopped = True
        self._counter.stop()

    def run(self) -> None:
        """Counts the move sequences and writes the answer."""
        counts = None if self._is_stopped else self._counter.run()
        if counts is None:
            self._answer("info string perft was stopped")
            return
        rows = [f"{self._board.uci(move)}: {count}" for move, count in counts.items()]
        self._answer("\n".join([*rows, "", f"Nodes searched: {sum(counts.values())}"]))


class EvaluationTask(Task):
    """The task for `eval`. If it must compile kernels first, the session can still answer `isready` and `quit`."""

    name = "eval"

    def __init__(self, equipment: Equipment, output: Output) -> None:
        super().__init__(output)
        self._board, self._network = equipment.positions.game.board, equipment.searcher.network

    def stop(self) -> None:
        """Does nothing: only the compilation takes time, and the next `eval` would have to begin it again."""

    def run(self) -> None:
        """Evaluates the position and writes the report."""
        self._answer(evaluation_report(self._board, self._network))


class BenchTask(Task):
    """The task for `bench`. It has its own searcher, so the TT and histories of the game are kept."""

    name = "bench"

    def __init__(self, equipment: Equipment, output: Output, depth: str = str(DEFAULT_DEPTH)) -> None:
        """Prepares the benchmark. Raises ValueError unless `depth` is a whole number from 1 to MAX_PLY - 1."""
        super().__init__(output)
        if not depth.isdecimal() or not 1 <= int(depth) < MAX_PLY:
            raise ValueError(f"bench: the depth must be 1 to {MAX_PLY - 1} (got {quoted(depth)})")
        self._depth = int(depth)
        self._searcher = Searcher()
        self._searcher.set_network(equipment.searcher.network, equipment.searcher.with_policy)
        equipment.tune(self._searcher)
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Makes the benchmark end soon. If the benchmark is incomplete, the task answers that it was stopped."""
        self._stopped.set()
        self._searcher.stop()

    def run(self) -> None:
        """Searches all benchmark positions and writes the answer."""
        try:
            result = run_benchmark(
                self._depth,
                on_position=lambda index, nodes, fen: self._output.line(f"{index + 1:2} {nodes:10} {fen}"),
                should_stop=self._stopped.is_set,
                searcher=self._searcher,
            )
        finally:
            self._searcher.close()
        self._answer("bench was stopped" if result is None else result.last_line())
