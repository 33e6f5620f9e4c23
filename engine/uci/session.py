"""The session: what the engine owes for each command.

Threads: one reads stdin (`engine.uci.loop`), one loads the engine, one searches; this object lives on the main
thread, which takes commands and events from one queue and never waits for a search. Commands that would change what
a running search works on are kept until it has answered.
"""

from __future__ import annotations

import gc
import math
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.uci.options import OPTIONS, TUNING_OPTIONS, Option, OptionValues
from engine.uci.output import Output, quoted, reader_is_gone
from engine.uci.parse import GoCommand, parse_go, parse_position, parse_setoption
from search.limits import DEFAULT_HASH, MAX_PLY, Limits

if TYPE_CHECKING:
    from engine.uci import backend as backend_module

AUTHORS: Final = "the Secateur authors"

TUNABLE_NAMES: Final = frozenset(option.name for option in TUNING_OPTIONS)

#: Commands that are obeyed at once, also during a search.
IMMEDIATE: Final = ("uci", "isready", "stop", "quit", "debug", "register", "ponderhit")

#: Seconds between messages while kernels are compiled.
HEARTBEAT: Final = 5.0

#: Seconds of compiling after which `isready` is answered all the same. CuteChess ends an engine that takes 15, and the
#: next start would find nothing compiled either; this way the first search waits instead, once.
READY_PATIENCE: Final = 8.0

#: Seconds that the end of the session waits for a search to give its last answer.
FAREWELL: Final = 2.0


@dataclass(frozen=True)
class Line:
    """One line from stdin, and when it was read (as of `time.perf_counter`): a clock in it runs from then on."""

    text: str
    received: float


@dataclass(frozen=True)
class EndOfInput:
    """stdin was closed."""


@dataclass(frozen=True)
class SearchDone:
    """The search thread has answered."""


Event = Line | EndOfInput | SearchDone


class Loader:
    """Loads the engine in a thread of its own, so that quitting is possible at any moment."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.error: BaseException | None = None
        self.backend: Any = None
        self.step = ""
        self.compiled = 0
        self.seconds = 0.0
        self._kernels: Any = ()
        self._kernel: Any = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins loading; later calls do nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._load, name="loader", daemon=True)
            self._thread.start()

    def _load(self) -> None:
        began = time.monotonic()
        try:
            self.step = "importing"
            from engine.uci import backend

            self._kernels = backend.PLAYING
            self.compiled = backend.load_kernels(on_step=self._on_step)
            self.seconds = time.monotonic() - began
            self.step = "rehearsing"
            backend.rehearse()
            # A hundred thousand objects came with the libraries and will stay. Going through them all takes the
            # garbage collector 50 ms, which it must not do in the middle of a move.
            gc.freeze()
            self.backend = backend
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()

    def _on_step(self, index: int, count: int, name: str) -> None:
        self.step = f"{name} kernels ({index + 1} of {count})"
        self._kernel = self._kernels[index][1]

    def is_compiling(self) -> bool:
        """Whether the kernel being loaded was not in the cache, which takes seconds instead of milliseconds."""
        statistics = getattr(self._kernel, "stats", None)
        return statistics is not None and bool(statistics.cache_misses) and not self.done.is_set()


class Session:
    """One conversation with a GUI."""

    def __init__(
        self, output: Output, events: queue.SimpleQueue[Event], version: str, options: tuple[Option, ...] = OPTIONS
    ) -> None:
        self._output = output
        self._events = events
        self._version = version
        self._options = OptionValues(options)
        self._loader = Loader()
        self._searcher: backend_module.Searcher | None = None
        self._positions: backend_module.PositionKeeper | None = None
        #: The network that `EvalFile` names or that comes with the engine, used while `UseNNUE` is true.
        self._network: Any = None
        self._searching = False
        self._is_tool_running = False
        #: The limits of the running search, or None.
        self._limits_now: Limits | None = None
        #: When the command that is being handled was read.
        self._received = 0.0
        self._release = threading.Event()
        self._on_stop: Callable[[], None] | None = None
        self._deferred: deque[Line] = deque()
        self._ended = False
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._search_thread: threading.Thread | None = None
        #: Set by the reader thread when it has seen `quit` or the end of input, before the main thread gets there.
        self.quit_seen = threading.Event()
        self.end_seen = threading.Event()
        self._commands: dict[str, Callable[[list[str]], None]] = {
            "uci": self._uci,
            "isready": self._isready,
            "ucinewgame": self._ucinewgame,
            "setoption": self._setoption,
            "position": self._position,
            "go": self._go,
            "stop": self._stop,
            "ponderhit": self._ponderhit,
            "quit": self._quit,
            "debug": self._ignore,
            "register": self._ignore,
            "d": self._d,
            "eval": self._eval,
            "bench": self._bench,
        }

    # -- the conversation --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Takes events until `quit` or the end of input; returns when everything owed has been answered."""
        while not self._ended:
            event = self._events.get()
            if isinstance(event, Line):
                self._take(event)
            elif isinstance(event, SearchDone):
                self._search_done()
            else:
                self._finish()

    def _take(self, line: Line) -> None:
        """Handles one line; whatever goes wrong becomes a message."""
        text = line.text
        words = text.split()
        if not words:
            return
        handler = self._commands.get(words[0])
        if handler is None:
            self._output.info(f"unknown command {quoted(text.strip())}")
            return
        if self._searching and words[0] not in IMMEDIATE:
            if words[0] == "go":
                # Two searches at once are impossible; the first one is owed an answer before the second begins.
                self._stop([])
            self._deferred.append(line)
            return
        if words[0] in ("stop", "ponderhit") and any(waiting.text.split()[0] == "go" for waiting in self._deferred):
            # It is meant for the search that has not begun yet.
            self._deferred.append(line)
            return
        self._received = line.received
        try:
            handler(words[1:])
        except ValueError as error:
            self._output.info(str(error))
        except Exception as error:
            self._output.info(f"internal error in {quoted(text.strip())}: {type(error).__name__}: {error}")
        finally:
            self._loader.start()

    def _finish(self) -> None:
        """The end: stops the search, answers what is still owed, and ends the session."""
        deadline = time.monotonic() + FAREWELL
        while self._searching or self._deferred:
            # A count or a benchmark is finished for whoever asked for it and still reads; a search is stopped.
            if not self._is_tool_running or reader_is_gone():
                if time.monotonic() > deadline:
                    break
                self._stop([])
            try:
                event = self._events.get(timeout=0.05)
            except queue.Empty:
                continue
            if isinstance(event, SearchDone):
                self._search_done()
        self._ended = True

    def _search_done(self) -> None:
        """Takes the commands that waited for the end of a search, as if they came now.

        One may begin the next search; those behind it wait again, or stop it.
        """
        self._searching = False
        waiting = self._deferred
        self._deferred = deque()
        for line in waiting:
            if not self._ended:
                self._take(line)

    def _wait_for_loader(self, patience: float = math.inf) -> bool:
        """Waits until the engine is loaded, with progress messages, `patience` seconds at most; whether it is."""
        loader = self._loader
        loader.start()
        began = time.monotonic()
        spoken = began
        while not loader.done.wait(0.02):
            now = time.monotonic()
            if now - began > patience:
                return False
            if self.quit_seen.is_set() and loader.is_compiling():
                self.leave()
            if self.end_seen.is_set() and reader_is_gone():
                self.leave()
            # Loading from the cache takes a second at most, and is nobody's concern.
            if now - began > 1.5 and (spoken == began or now - spoken > HEARTBEAT):
                spoken = now
                self._output.info(
                    f"loading {loader.step}, {now - began:.0f} s so far; a new version compiles them once"
                )
        return True

    def _loaded(self) -> Any:
        """The backend, waiting for it. Raises ValueError when it cannot be loaded."""
        self._wait_for_loader()
        loader = self._loader
        if loader.error is not None:
            raise ValueError(f"the engine cannot be loaded: {type(loader.error).__name__}: {loader.error}")
        backend = loader.backend
        if self._searcher is None:
            if loader.compiled:
                self._output.info(f"{loader.compiled} kernels compiled in {loader.seconds:.1f} s")
            problem = backend.cache_problem()
            if problem is not None:
                self._output.info(problem)
            self._searcher = self._new_searcher(backend)
            self._positions = backend.PositionKeeper()
        return backend

    def _new_searcher(self, backend: Any) -> backend_module.Searcher:
        """A searcher with the table and threads that the options ask for, or as near to them as memory allows."""
        mebibytes = self._options.number("Hash")
        try:
            searcher: backend_module.Searcher = backend.Searcher(mebibytes)
        except MemoryError:
            self._output.info(f"not enough memory for Hash {mebibytes}: {DEFAULT_HASH} is used")
            searcher = backend.Searcher(DEFAULT_HASH)
        self._read_network(backend, "")
        if (file := self._options.text("EvalFile")) != "":
            self._read_network(backend, file)
        self._set_network(searcher)
        self._tune(searcher)
        self._set_threads(searcher)
        return searcher

    def _tune(self, searcher: backend_module.Searcher) -> None:
        """Gives a new searcher the numbers that were set in a tuning build."""
        for name, value in self._options.tunables().items():
            searcher.set_tunable(name, value)

    def _read_network(self, backend: Any, file: str) -> None:
        """Reads the network in `file`, or the one that comes with the engine (""); a bad one is reported, not used."""
        try:
            self._network = backend.read_network(Path(file)) if file else backend.shipped_network()
        except ValueError as error:
            self._output.info(f"network not used: {error}")
            return
        if file:
            self._output.info(f"network {quoted(file)}: {self._network.describe()}")

    def _set_network(self, searcher: backend_module.Searcher) -> None:
        searcher.set_network(self._network if self._options.flag("UseNNUE") else None)

    def _set_threads(self, searcher: backend_module.Searcher) -> None:
        threads = self._options.number("Threads")
        try:
            searcher.resize_threads(threads)
        except (MemoryError, RuntimeError) as error:
            reason = "memory" if isinstance(error, MemoryError) else "threads to be had"
            self._output.info(f"not enough {reason} for Threads {threads}: {searcher.threads} used")

    def leave(self) -> None:
        """Ends the process at once, whatever other threads are in the middle of."""
        os._exit(0)

    # -- commands ----------------------------------------------------------------------------------------------

    def _uci(self, words: list[str]) -> None:
        lines = [f"id name Secateur {self._version}", f"id author {AUTHORS}"]
        lines += [option.declaration() for option in self._options.declared]
        self._output.line("\n".join([*lines, "uciok"]))

    def _isready(self, words: list[str]) -> None:
        if not self._searching:
            try:
                if self._wait_for_loader(READY_PATIENCE):
                    self._loaded()
                else:
                    self._output.info("the kernels are still being compiled: the first search waits for them")
            except ValueError as error:
                self._output.info(str(error))
        self._output.line("readyok")

    def _ignore(self, words: list[str]) -> None:
        """Commands that need no answer and change nothing here."""

    def _stop(self, words: list[str]) -> None:
        if self._searching and self._searcher is not None:
            self._release.set()
            self._searcher.stop()
            if (stop := self._on_stop) is not None:
                stop()

    def _ponderhit(self, words: list[str]) -> None:
        """The expected move was played: the search that ponders goes on with the clock running. Idle, it is nothing."""
        limits = self._limits_now
        if self._searching and self._searcher is not None and limits is not None and limits.ponder:
            self._searcher.ponder_hit()
            if not limits.infinite:
                self._release.set()

    def _quit(self, words: list[str]) -> None:
        self._deferred.clear()
        self._finish()

    def _setoption(self, words: list[str]) -> None:
        name, text = parse_setoption(words)
        name = self._options.set(name, text)
        if self._searcher is None:
            return  # read when the engine is loaded
        if name == "Hash":
            try:
                self._searcher.resize(self._options.number("Hash"))
            except MemoryError:
                self._output.info(f"not enough memory for Hash {self._options.number('Hash')}: the old table is kept")
        elif name == "Threads":
            self._set_threads(self._searcher)
        elif name == "Clear Hash":
            self._searcher.new_game()
        elif name in ("UseNNUE", "EvalFile"):
            if name == "EvalFile":
                self._read_network(self._loader.backend, self._options.text("EvalFile"))
            self._set_network(self._searcher)
        elif name in TUNABLE_NAMES:
            self._searcher.set_tunable(name, self._options.number(name))

    def _ucinewgame(self, words: list[str]) -> None:
        self._loaded()
        assert self._searcher is not None
        self._searcher.new_game()

    def _position(self, words: list[str]) -> None:
        command = parse_position(words)
        self._loaded()
        assert self._positions is not None
        remark = self._positions.set(command, self._options.flag("UCI_Chess960"))
        if remark is not None:
            self._output.info(remark)

    def _d(self, words: list[str]) -> None:
        backend = self._loaded()
        assert self._positions is not None
        self._output.line(backend.board_report(self._positions.game))

    def _eval(self, words: list[str]) -> None:
        backend = self._loaded()
        assert self._positions is not None
        assert self._searcher is not None
        self._output.line(backend.evaluation_report(self._positions.game.board, self._searcher.network))

    def _bench(self, words: list[str]) -> None:
        depth = None
        if words:
            if not words[0].isdecimal() or not 1 <= int(words[0]) < MAX_PLY:
                raise ValueError(f"bench takes a depth of 1 to {MAX_PLY - 1}, not {quoted(words[0])}")
            depth = int(words[0])
        backend = self._loaded()
        self._begin(lambda: self._run_bench(backend, depth), is_tool=True)

    def _go(self, words: list[str]) -> None:
        command, complaints = parse_go(words)
        for complaint in complaints:
            self._output.info(complaint)
        try:
            backend = self._loaded()
        except ValueError:
            self._output.line("bestmove 0000")
            raise
        assert self._positions is not None
        game = self._positions.game
        if "perft" in command.numbers:
            depth = command.numbers["perft"]
            self._begin(lambda: self._run_perft(backend, game, depth), is_tool=True)
            return
        limits = self._limits(command, game)
        received = self._received
        self._begin(lambda: self._run_search(backend, game, limits, received))
        self._limits_now = limits

    def _limits(self, command: GoCommand, game: Any) -> Limits:
        """The limits of a `go`, with search moves that are not legal here reported and left out."""
        limits = command.limits(game.board.turn)
        if limits.search_moves is None:
            return limits
        legal = []
        for text in limits.search_moves:
            try:
                legal.append(game.board.uci(game.board.parse_uci(text)))
            except ValueError:
                self._output.info(f"go searchmoves: {quoted(text)} is not legal here")
        return Limits(**{**vars(limits), "search_moves": tuple(legal) or None})

    # -- the search thread -------------------------------------------------------------------------------------

    def _begin(self, task: Callable[[], None], is_tool: bool = False) -> None:
        """Hands a task to the search thread; a tool is one that answers with a result, not with a move."""
        assert self._searcher is not None
        if self._search_thread is None:
            self._search_thread = threading.Thread(target=self._work, name="search", daemon=True)
            self._search_thread.start()
        self._searching = True
        self._is_tool_running = is_tool
        self._limits_now = None
        self._release.clear()
        self._searcher.arm()
        if self.end_seen.is_set() and not is_tool:
            # Nobody can say stop any more: the answer is owed, but not the thinking.
            self._stop([])
        self._tasks.put(task)

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            try:
                task()
            except ValueError as error:
                self._output.info(str(error))
            except Exception as error:
                self._output.info(f"internal error: {type(error).__name__}: {error}")
            self._events.put(SearchDone())

    def _run_search(self, backend: Any, game: Any, limits: Limits, received: float) -> None:
        """Searches and answers `bestmove`, whatever happens; the clock has run since `received`."""
        assert self._searcher is not None
        board = game.board
        # Owed even when the search fails.
        candidates = limits.search_moves or (board.uci(move) for move in board.legal_moves)
        answer = next(iter(candidates), "0000")
        try:
            result = self._searcher.search(
                game,
                limits,
                on_info=lambda info: self._output.line(backend.info_line(info, board)),
                overhead=self._options.number("Move Overhead"),
                ponders=self._options.flag("Ponder"),
                start=received,
            )
            for problem in result.problems:
                self._output.info(problem)
            if result.best is None:
                self._output.line(f"info depth 0 score {'mate 0' if board.is_check() else 'cp 0'}")
            else:
                answer = result.best.uci() + (f" ponder {result.ponder.uci()}" if result.ponder else "")
            if limits.infinite or limits.ponder:
                # The protocol wants silence until `stop` or `ponderhit`, also when there is nothing left to search.
                self._release.wait()
        finally:
            self._output.line(f"bestmove {answer}")

    def _run_perft(self, backend: Any, game: Any, depth: int) -> None:
        counter = backend.Counter(game.board, depth)
        self._on_stop = counter.stop
        counts = None if self._release.is_set() else counter.run()
        self._on_stop = None
        if counts is None:
            self._output.info("perft was stopped")
            return
        rows = [f"{game.board.uci(move)}: {count}" for move, count in counts.items()]
        self._output.line("\n".join([*rows, "", f"Nodes searched: {sum(counts.values())}"]))

    def _run_bench(self, backend: Any, depth: int | None) -> None:
        arguments = {} if depth is None else {"depth": depth}
        assert self._searcher is not None
        searcher = backend.Searcher(network=self._searcher.network)
        self._tune(searcher)
        self._on_stop = searcher.stop
        try:
            result = backend.run_benchmark(
                on_position=lambda index, nodes, fen: self._output.line(f"{index + 1:2} {nodes:10} {fen}"),
                should_stop=self._release.is_set,
                searcher=searcher,
                **arguments,
            )
        finally:
            self._on_stop = None
            searcher.close()
        self._output.line("bench was stopped" if result is None else result.last_line())
