"""Tasks that run one at a time on a thread beside the session: search, perft, eval, bench."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from engine.uci.equipment import Equipment
from engine.uci.options import OptionValues
from engine.uci.output import Output
from search.limits import Limits


class Task:
    """One piece of work that another thread can stop, even before it begins."""

    #: Whether it answers with a report (perft, eval, bench) and not with a move.
    is_tool = True

    #: Its name in messages.
    name = "search"

    def __init__(self, output: Output) -> None:
        self._output = output
        #: When it was created, by `time.perf_counter`.
        self.created = time.perf_counter()
        #: Set before the answer goes out: the GUI may send its next command before this thread gets any further.
        self.has_answered = False
        #: Set when the task is completely done.
        self.finished = threading.Event()

    def run(self) -> None:
        """Does the work and answers. A ValueError becomes a message."""
        raise NotImplementedError

    def stop(self) -> None:
        """Makes it answer soon."""
        raise NotImplementedError

    def ponder_hit(self) -> None:
        """The opponent has played the expected move; most tasks ignore it."""

    def _answer(self, text: str) -> None:
        """Writes the answer, the last output of the task."""
        self.has_answered = True
        self._output.line(text)


class SearchTask(Task):
    """A `go`: always answers `bestmove`."""

    is_tool = False

    def __init__(
        self,
        equipment: Equipment,
        options: OptionValues,
        output: Output,
        limits: Limits,
        received: float,
        debug: bool = False,
    ) -> None:
        """The clock has run since `received`. With `debug` the task reports more."""
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
        """Ends the search, which answers with its best move so far."""
        self._release.set()
        self._equipment.searcher.stop()

    def ponder_hit(self) -> None:
        """Starts the clock of a pondering search."""
        if self._limits.ponder:
            self._equipment.searcher.ponder_hit()
            if not self._limits.infinite:
                self._release.set()

    def run(self) -> None:
        """Searches unless the book has a move; waits for `stop` or `ponderhit` where the protocol requires it."""
        board, limits = self._game.board, self._limits
        # The answer when the search fails.
        candidates = limits.search_moves or (board.uci(move) for move in board.legal_moves)
        answer = next(iter(candidates), "0000")
        try:
            answer = self._book_answer() or self._search() or answer
        finally:
            if limits.infinite or limits.ponder:
                # The protocol requires silence until `stop` or `ponderhit`, even when nothing is left to search.
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
        """Searches and reports; returns the answer, None when there is no legal move."""
        options, output, backend, board = self._options, self._output, self._equipment.backend, self._game.board
        overhead, ponders = options.number("Move Overhead"), options.flag("Ponder")
        show_wdl = options.flag("UCI_ShowWDL")
        level = self._equipment.level(self._limits)
        if self._debug:
            output.info(backend.plan_report(self._limits, overhead, ponders))
            if level is not None:
                output.info(f"debug: plays as one {level.describe()}")
        result = self._equipment.searcher.search(
            self._game,
            self._limits,
            on_info=lambda info: output.line(backend.info_line(info, board, show_wdl)),
            overhead=overhead,
            ponders=ponders,
            start=self._received,
            lines=options.number("MultiPV"),
            on_progress=lambda progress: output.line(backend.progress_line(progress)),
            level=level,
        )
        for problem in result.problems:
            output.info(problem)
        if self._debug:
            output.info(f"debug: {result.nodes} nodes in {1000 * result.seconds:.0f} ms")
        if result.best is None:
            output.line(f"info depth 0 score {'mate 0' if board.is_check() else 'cp 0'}")
            return None
        wanted = self._limits.mate
        mate = None if result.info is None else result.info.mate
        if wanted is not None and (mate is None or not 0 < mate <= wanted):
            output.info(f"no mate in {wanted} was found")
        return result.best.uci() + (f" ponder {result.ponder.uci()}" if result.ponder else "")


class PerftTask(Task):
    """A `go perft`: writes the count of each move on its own line, and the total."""

    name = "perft"

    def __init__(self, equipment: Equipment, output: Output, depth: int) -> None:
        """Raises ValueError for a depth out of range."""
        super().__init__(output)
        self._counter = equipment.backend.Counter(equipment.positions.game.board, depth)
        self._board = equipment.positions.game.board
        self._stopped = False

    def stop(self) -> None:
        """Ends the count without a result."""
        self._stopped = True
        self._counter.stop()

    def run(self) -> None:
        """Counts and answers."""
        counts = None if self._stopped else self._counter.run()
        if counts is None:
            self._answer("info string perft was stopped")
            return
        rows = [f"{self._board.uci(move)}: {count}" for move, count in counts.items()]
        self._answer("\n".join([*rows, "", f"Nodes searched: {sum(counts.values())}"]))


class EvaluationTask(Task):
    """An `eval`. Its kernels may have to compile first; the session handles other commands meanwhile."""

    name = "eval"

    def __init__(self, equipment: Equipment, output: Output) -> None:
        super().__init__(output)
        self._report = equipment.backend.evaluation_report
        self._board, self._network = equipment.positions.game.board, equipment.searcher.network

    def stop(self) -> None:
        """Does nothing: only compiling takes time, and the next `eval` would wait for it, too."""

    def run(self) -> None:
        """Evaluates and answers."""
        self._answer(self._report(self._board, self._network))


class BenchTask(Task):
    """A `bench`. It has its own searcher, so the game keeps its TT and histories."""

    name = "bench"

    def __init__(self, equipment: Equipment, output: Output, depth: int | None) -> None:
        super().__init__(output)
        self._backend = equipment.backend
        self._arguments = {} if depth is None else {"depth": depth}
        self._searcher = self._backend.Searcher(network=equipment.searcher.network)
        equipment.tune(self._searcher)
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Ends the benchmark without a result."""
        self._stopped.set()
        self._searcher.stop()

    def run(self) -> None:
        """Searches all positions and answers."""
        try:
            result = self._backend.run_benchmark(
                on_position=lambda index, nodes, fen: self._output.line(f"{index + 1:2} {nodes:10} {fen}"),
                should_stop=self._stopped.is_set,
                searcher=self._searcher,
                **self._arguments,
            )
        finally:
            self._searcher.close()
        self._answer("bench was stopped" if result is None else result.last_line())


class TaskThread:
    """Runs tasks on one thread, and calls `on_done` there with each task when it is done."""

    def __init__(self, output: Output, on_done: Callable[[Task], None]) -> None:
        self._output = output
        self._on_done = on_done
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        # Start now, while there is memory for a thread: tables and helper threads come later.
        with suppress(RuntimeError):
            self._start()

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="search", daemon=True)
            thread.start()
            self._thread = thread

    def begin(self, task: Task) -> None:
        """Runs `task` after the one before it is done. Raises RuntimeError when the system gives no thread."""
        self._start()
        self._tasks.put(task)

    def close(self) -> None:
        """Ends the thread once its tasks are done."""
        self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                self._run(task)
            except MemoryError:
                pass  # not even a message fits
            finally:
                task.finished.set()
                self._on_done(task)
            # The loop variable must not keep a finished task and its memory until the next one comes.
            del task

    def _run(self, task: Task) -> None:
        try:
            task.run()
        except ValueError as error:
            self._output.info(str(error))
        except MemoryError:
            self._output.info("not enough memory")
        except Exception as error:
            self._output.info(f"internal error: {type(error).__name__}: {error}")
