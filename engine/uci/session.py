"""The session handles UCI commands and writes the answers.

Three other threads help: one reads stdin (`engine.uci.loop`), one loads the engine (`engine.uci.loader`) and one
runs searches and other tasks (`engine.uci.tasks`). The session takes commands and events from one queue. Until the
engine is loaded, the session defers commands that need the engine. During a task, it defers those that would interfere.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from engine.compiler import compiling
from engine.files import count_of, printable, quoted
from engine.uci.loader import Loader
from engine.uci.options import OPTIONS, Option, OptionValues
from engine.uci.output import Output, reader_is_gone
from engine.uci.parse import parse_go, parse_position, parse_setoption
from engine.uci.tasks import Task, TaskThread

if TYPE_CHECKING:
    from engine.uci.equipment import Equipment

AUTHORS: Final = "the Secateur authors"

#: Commands that the session handles even during a search.
IMMEDIATE: Final = ("uci", "isready", "stop", "quit", "debug", "register", "ponderhit", "help")
#: All commands; `Session` has a method `_do_COMMAND` for each.
COMMANDS: Final = frozenset(
    (*IMMEDIATE, "ucinewgame", "setoption", "position", "go", "d", "flip", "eval", "bench", "compiler")
)

#: Seconds between two progress messages of loading, or of a tool such as `bench`. Cached kernels usually load sooner.
HEARTBEAT: Final = 1.5

#: Seconds that `isready` waits: while modules and cached kernels load, and while kernels compile. CuteChess ends an
#: engine that does not answer for 15 seconds. So the answer comes early, and later commands wait for the kernels.
READY_PATIENCE: Final = 3.0
COMPILING_PATIENCE: Final = 0.5

#: Seconds that the session waits for a task to end: at the end of input, or if a command follows the task's answer.
FAREWELL: Final = 2.0

#: Seconds that `quit` waits: for the engine to load if earlier commands need it, for a short perft or benchmark to
#: end by itself, and for the answer of a stopped task; QUIT_LIMIT of `loop.py` limits their sum.
LOAD_PATIENCE: Final = 1.5
TOOL_PATIENCE: Final = 0.4
QUIT_PATIENCE: Final = 1.2

#: Seconds between two checks of the loader.
_LOOK: Final = 0.02
#: The session waits for an event for at most this many seconds. Python sees a SIGINT that arrives just before such a
#: wait only when the wait ends.
_LONGEST_WAIT: Final = 1.0

HELP: Final = """\
Secateur is a UCI engine: load it into a chess GUI, or type these commands.
  uci                            shows name, author and options
  isready                        answers readyok
  setoption name N [value V]     sets an option
  ucinewgame                     forgets the last game
  position startpos|fen F [moves M ...]
  go [wtime T] [btime T] [winc T] [binc T] [movestogo N] [movetime T] [depth N] [nodes N] [mate N]
     [infinite] [ponder] [searchmoves M ...] [perft N]
  stop, ponderhit, quit
Beyond the protocol:
  d                              shows the board
  flip                           mirrors the board and swaps the colours
  eval                           shows the evaluation term by term
  bench [DEPTH]                  searches fixed positions
  compiler                       shows what compiled the engine and what runs it
  debug on|off                   turns details about each search on or off"""


class Line(NamedTuple):
    """A line from stdin, and the time when it was read, by `time.perf_counter`; the clock of `go` starts then."""

    text: str
    received: float

    @property
    def word(self) -> str:
        """The command, or "" for a blank line."""
        return next(iter(self.text.split()), "")


#: An entry of the session's queue: a line, a finished task, or None for the end of input.
Event = Line | Task | None


class Session:
    """A conversation with a GUI."""

    def __init__(
        self, output: Output, events: queue.SimpleQueue[Event], version: str, options: tuple[Option, ...] = OPTIONS
    ) -> None:
        self._output = output
        self._events = events
        self._version = version
        self._options = OptionValues(options)
        self._loader = Loader()
        self._equipment: Equipment | None = None
        self._debug = False
        #: The running task, or None, and the thread that runs tasks.
        self._task: Task | None = None
        self._tasks = TaskThread(output, on_done=events.put)
        #: When the reader thread read the current command.
        self._received = 0.0
        self._deferred: deque[Line] = deque()
        self._ended = False
        #: The reader thread sets this at the end of input, while earlier lines may still be in the queue.
        self.end_seen = threading.Event()
        #: Set when the session has ended.
        self.over = threading.Event()

    # -- the conversation --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Handles events until `quit` or the end of input. Then ends threads and closes files unless a task runs."""
        while not self._ended:
            try:
                self._take_event()
            except MemoryError:
                # There is no memory for a message, either. The next command may find enough.
                self._ended = self.end_seen.is_set()
        if self._task is None:
            self._tasks.close()
            self._output.close()
            if self._equipment is not None:
                self._equipment.close()
        self.over.set()

    def _take_event(self) -> None:
        """Handles the next event; returns without one after a while, sooner if a tool or the loader must be checked."""
        seconds = _LONGEST_WAIT
        if self._task is not None and self._task.is_tool:
            seconds = HEARTBEAT / 4
        elif self._task is None and self._deferred:
            seconds = _LOOK
        try:
            event = self._events.get(timeout=seconds)
        except queue.Empty:
            self._look_after()
            return
        self._look_after()
        if isinstance(event, Line):
            self._take(event)
        elif event is None:
            self._finish()
        else:
            self._task_done(event)

    def _look_after(self) -> None:
        task = self._task
        if task is None or not task.is_tool:
            self._look_at_loader()
        elif self._output.silence() >= HEARTBEAT and not task.has_answered:
            self._output.info(compiling.current() or f"{task.name}: {time.perf_counter() - task.created:.0f} s so far")

    def _take(self, line: Line) -> None:
        if not line.word:
            return
        if line.word not in COMMANDS:
            self._output.info(f"unknown command {quoted(line.text)}")
            return
        try:
            if self._must_wait(line.word):
                self._deferred.append(line)
                return
            self._received = line.received
            # The spaces in a value of `setoption` count.
            getattr(self, f"_do_{line.word}")(line.text.split(maxsplit=1 if line.word == "setoption" else -1)[1:])
        except ValueError as error:
            self._output.info(str(error))
        except MemoryError:
            self._output.info(f"not enough memory for {quoted(line.text)}")
        except Exception as error:
            self._output.info(f"internal error in {quoted(line.text)}: {type(error).__name__}: {error}")
        finally:
            self._loader.start()

    def _must_wait(self, word: str) -> bool:
        """Returns whether a command must wait for the end of the running task or of loading. `go` stops the task."""
        task = self._task
        if task is not None and task.has_answered and task.finished.wait(FAREWELL):
            # A command that comes after the answer must find the task done.
            self._task_done(task)
        if word in ("stop", "ponderhit") and any(waiting.word == "go" for waiting in self._deferred):
            return True  # the command is meant for a search that has not begun yet
        if self._task is not None:
            if word == "go":
                # Two searches cannot run at once: the first must answer before the second begins.
                self._task.stop()
            return word not in IMMEDIATE
        if self._loader.done.is_set() or (word in IMMEDIATE and word != "isready"):
            return False
        # If no command is deferred, an option is stored now and applied when the engine is set up.
        return word != "setoption" or bool(self._deferred)

    def _take_deferred(self) -> None:
        """Handles the deferred commands. If one begins a search, later ones may stop it or be deferred again."""
        waiting, self._deferred = self._deferred, deque()
        while waiting and not self._ended:
            try:
                self._take(waiting.popleft())
            except MemoryError:
                self._deferred.extend(waiting)
                raise

    def _task_done(self, task: Task) -> None:
        """Handles the commands that waited for the end of `task`; a second call for the same task does nothing."""
        if task is self._task:
            self._task = None
            self._take_deferred()

    def _look_at_loader(self) -> None:
        """Handles deferred commands if the engine is loaded; else may report progress, answer `isready`, or exit."""
        if self._task is not None or not self._deferred:
            return
        if self._loader.done.is_set():
            self._take_deferred()
            return
        self._loader.start()
        if self.end_seen.is_set() and reader_is_gone():
            os._exit(0)
        now = time.perf_counter()
        patience = COMPILING_PATIENCE if compiling.current() else READY_PATIENCE
        for line in [line for line in self._deferred if line.word == "isready"]:
            if now - line.received >= patience:
                self._deferred.remove(line)
                advice = f"; {compiling.advice()}" if compiling.current() else ""
                self._output.info(f"readyok comes early: the next search waits for the kernels{advice}")
                self._output.line("readyok")
        if self._output.silence() >= HEARTBEAT:
            self._output.info(
                compiling.current() or f"loading: {self._loader.step}, {now - self._loader.began:.0f} s so far"
            )

    def _finish(self) -> None:
        """Handles the end of input: stops a search, but lets a tool such as `bench` finish if stdout has a reader."""
        task, deadline = self._task, math.inf
        while self._task is not None or self._deferred:
            self._look_after()
            if task is not self._task:
                task, deadline = self._task, math.inf
            is_loading = self._task is None and not self._loader.done.is_set()
            if not is_loading and (self._task is None or not self._task.is_tool or reader_is_gone()):
                deadline = min(deadline, time.monotonic() + FAREWELL)
                if time.monotonic() > deadline:
                    break
                self._do_stop([])
            try:
                event = self._events.get(timeout=0.05)
            except queue.Empty:
                continue
            if isinstance(event, Task):
                self._task_done(event)
        self._ended = True

    def _begin(self, task: Task) -> None:
        """Queues a task for the task thread. Raises RuntimeError if that thread cannot be started."""
        if self.end_seen.is_set() and not task.is_tool:
            # No `stop` can come any more. The GUI still gets an answer, but without a long search.
            task.stop()
        self._tasks.begin(task)
        self._task = task

    def _begin_tool(self, name: str, *arguments: int | str) -> None:
        equipment = self._loaded()
        self._begin(getattr(self._loader.backend, name)(equipment, self._output, *arguments))

    def _loaded(self) -> Equipment:
        """Returns the equipment, which the first call sets up. Raises ValueError if loading failed, or MemoryError."""
        loader = self._loader
        if loader.error is not None:
            problem = f"{type(loader.error).__name__}: {printable(str(loader.error))}"
            raise ValueError(f"cannot load the engine: {problem}")
        if self._equipment is None:
            self._equipment = loader.backend.Equipment(self._options, self._output.info, self._output.info)
            if loader.compiled:
                self._output.info(f"{count_of(loader.compiled, 'kernel')} compiled in {loader.seconds:.1f} s")
            for remark in loader.backend.remarks():
                self._output.info(remark)
        return self._equipment

    # -- the protocol's commands -------------------------------------------------------------------------------

    def _do_uci(self, words: list[str]) -> None:
        lines = [f"id name Secateur {self._version}", f"id author {AUTHORS}"]
        lines += [option.declaration() for option in self._options.declared]
        self._output.line("\n".join([*lines, "uciok"]))

    def _do_isready(self, words: list[str]) -> None:
        try:
            if self._task is None:
                self._loaded()
            elif self._task.name == "eval":
                self._task.finished.wait(COMPILING_PATIENCE)
        finally:
            self._output.line("readyok")

    def _do_register(self, words: list[str]) -> None:
        """Does nothing: no registration is needed."""

    def _do_debug(self, words: list[str]) -> None:
        if words not in (["on"], ["off"]):
            raise ValueError(f"debug: expected 'on' or 'off', got {quoted(' '.join(words))}")
        self._debug = words == ["on"]

    def _do_stop(self, words: list[str]) -> None:
        if self._task is not None:
            self._task.stop()

    def _do_ponderhit(self, words: list[str]) -> None:
        if self._task is not None:
            self._task.ponder_hit()

    def _do_quit(self, words: list[str]) -> None:
        """Ends the session soon, but still answers short commands, for scripts that send all commands at once."""
        deadline = time.perf_counter() + LOAD_PATIENCE
        while self._deferred and self._task is None and time.perf_counter() < deadline:
            if compiling.current():
                break
            if self._loader.done.wait(_LOOK):
                self._take_deferred()
        task = self._task
        if task is not None:
            if not (task.is_tool and task.finished.wait(TOOL_PATIENCE)):
                task.stop()
            if task.finished.wait(QUIT_PATIENCE):
                self._task = None
        self._deferred.clear()
        self._ended = True

    def _do_setoption(self, words: list[str]) -> None:
        name, text = parse_setoption(" ".join(words))
        name = self._options.set(name, text)
        if name == "Debug Log File":
            self._open_log(self._options.text(name))
        elif self._equipment is not None:  # otherwise the option is read when the engine is set up
            self._equipment.apply(name)

    def _open_log(self, file: str) -> None:
        try:
            self._output.log_to(file)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            self._output.info(f"Debug Log File not used: {quoted(file)}: {reason}")

    def _do_ucinewgame(self, words: list[str]) -> None:
        self._loaded().searcher.new_game()

    def _do_position(self, words: list[str]) -> None:
        command = parse_position(words)
        remark = self._loaded().positions.set(command, self._options.flag("UCI_Chess960"))
        if remark is not None:
            self._output.info(remark)

    def _do_go(self, words: list[str]) -> None:
        command, complaints = parse_go(words)
        for complaint in complaints:
            self._output.info(complaint)
        if "perft" in command.numbers:
            self._begin_tool("PerftTask", command.numbers["perft"])
            return
        try:
            equipment, backend = self._loaded(), self._loader.backend
            limits = backend.search_limits(command, equipment.positions.game.board, self._output.info)
            if complaints and limits.is_unbounded() and not limits.infinite:
                self._output.info("go: no limit is left, so the search goes on until 'stop'")
            self._begin(backend.SearchTask(equipment, self._options, self._output, limits, self._received, self._debug))
        except BaseException:
            self._output.line(f"bestmove {self._any_move()}")
            raise

    def _any_move(self) -> str:
        """Returns a legal move, or "0000" if none is known: `go` needs an answer even if no search can run."""
        with suppress(Exception):
            if self._equipment is not None:
                board = self._equipment.positions.game.board
                return board.uci(next(iter(board.legal_moves)))
        return "0000"

    # -- commands beyond the protocol --------------------------------------------------------------------------

    def _do_d(self, words: list[str]) -> None:
        self._output.line(self._loaded().positions.report())

    def _do_flip(self, words: list[str]) -> None:
        self._loaded().positions.flip()

    def _do_eval(self, words: list[str]) -> None:
        self._begin_tool("EvaluationTask")

    def _do_bench(self, words: list[str]) -> None:
        self._begin_tool("BenchTask", *words[:1])

    def _do_compiler(self, words: list[str]) -> None:
        self._loaded()
        self._output.line(self._loader.backend.compiler_report())

    def _do_help(self, words: list[str]) -> None:
        self._output.line(HELP)
