"""The session: what the engine owes for each command.

Threads: one reads stdin (`engine.uci.loop`), one loads the engine (`engine.uci.loader`), one searches
(`engine.uci.tasks`); this object lives on the main thread, which takes commands and events from one queue and never
waits for a search. Commands that would change what a running search works on are kept until it has answered.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from engine.files import quoted
from engine.uci.equipment import Equipment
from engine.uci.events import Event, Line, TaskDone
from engine.uci.loader import Loader
from engine.uci.options import OPTIONS, Option, OptionValues
from engine.uci.output import Output, reader_is_gone
from engine.uci.parse import GoCommand, parse_go, parse_position, parse_setoption
from engine.uci.tasks import BenchTask, PerftTask, SearchTask, Task, TaskThread
from search.limits import MAX_PLY, Limits

AUTHORS: Final = "the Secateur authors"

#: Commands that are obeyed at once, also during a search.
IMMEDIATE: Final = ("uci", "isready", "stop", "quit", "debug", "register", "ponderhit", "help")

#: Seconds of loading that are nobody's concern, because the cache takes one at most; and between messages from then on.
SILENCE: Final = 1.5
HEARTBEAT: Final = 5.0

#: Seconds of compiling after which `isready` is answered all the same. CuteChess ends an engine that takes 15, and the
#: next start would find nothing compiled either; this way the first search waits instead, once.
READY_PATIENCE: Final = 8.0

#: Seconds that the session waits at most for an answer that is on its way, at its end or before the next command.
FAREWELL: Final = 2.0

HELP: Final = """\
Secateur speaks UCI, which a chess GUI does for you: load this program there as a UCI engine.
  uci                            name, author and options
  isready                        answers readyok
  setoption name N [value V]     sets an option
  ucinewgame                     forgets the last game
  position startpos|fen F [moves M ...]
  go [wtime T] [btime T] [winc T] [binc T] [movestogo N] [movetime T] [depth N] [nodes N] [mate N]
     [infinite] [ponder] [searchmoves M ...] [perft N]
  stop, ponderhit, quit
Beyond the protocol:
  d                              the board
  flip                           lets the sides change places
  eval                           the evaluation, term by term
  bench [DEPTH]                  searches fixed positions
  compiler                       what compiled and runs the engine
  debug on|off                   more about each search"""


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
        self._equipment: Equipment | None = None
        self._debug = False
        #: The task that has not answered yet, and the thread that does them.
        self._task: Task | None = None
        self._tasks = TaskThread(output, lambda task: events.put(TaskDone(task)))
        #: When the command that is being handled was read.
        self._received = 0.0
        self._deferred: deque[Line] = deque()
        self._ended = False
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
            "debug": self._set_debug,
            "register": self._register,
            "d": self._d,
            "flip": self._flip,
            "eval": self._eval,
            "bench": self._bench,
            "compiler": self._compiler,
            "help": self._help,
        }

    # -- the conversation --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Takes events until `quit` or the end of input; returns when everything owed has been answered."""
        while not self._ended:
            event = self._events.get()
            if isinstance(event, Line):
                self._take(event)
            elif isinstance(event, TaskDone):
                self._task_done(event.task)
            else:
                self._finish()
        self._tasks.close()
        if self._equipment is not None:
            self._equipment.close()

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
        task = self._task
        if task is not None and task.has_answered and task.finished.wait(FAREWELL):
            # What comes behind an answer finds everything before it done.
            self._task_done(task)
        if self._task is not None and words[0] not in IMMEDIATE:
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
        except MemoryError:
            self._output.info(f"not enough memory for {quoted(text.strip())}")
        except Exception as error:
            self._output.info(f"internal error in {quoted(text.strip())}: {type(error).__name__}: {error}")
        finally:
            self._loader.start()

    def _finish(self) -> None:
        """The end: stops the search, answers what is still owed, and ends the session."""
        deadline = time.monotonic() + FAREWELL
        while self._task is not None or self._deferred:
            # A count or a benchmark is finished for whoever asked for it and still reads; a search is stopped.
            if self._task is None or not self._task.is_tool or reader_is_gone():
                if time.monotonic() > deadline:
                    break
                self._stop([])
            try:
                event = self._events.get(timeout=0.05)
            except queue.Empty:
                continue
            if isinstance(event, TaskDone):
                self._task_done(event.task)
        self._ended = True

    def _begin(self, task: Task) -> None:
        """Lets a task run beside the conversation."""
        self._task = task
        if self.end_seen.is_set() and not task.is_tool:
            # Nobody can say stop any more: the answer is owed, but not the thinking.
            task.stop()
        self._tasks.begin(task)

    def _task_done(self, task: Task) -> None:
        """Takes the commands that waited for the end of a task, as if they came now; a second call does nothing.

        One may begin the next search; those behind it wait again, or stop it.
        """
        if task is not self._task:
            return
        self._task = None
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
            if now - began > SILENCE and (spoken == began or now - spoken > HEARTBEAT):
                spoken = now
                self._output.info(
                    f"loading {loader.step}, {now - began:.0f} s so far; a new version compiles them once"
                )
        return True

    def _loaded(self) -> Equipment:
        """The engine, waiting for it. Raises ValueError when it cannot be loaded."""
        self._wait_for_loader()
        loader = self._loader
        if loader.error is not None:
            raise ValueError(f"the engine cannot be loaded: {type(loader.error).__name__}: {loader.error}")
        if self._equipment is None:
            if loader.compiled:
                self._output.info(f"{loader.compiled} kernels compiled in {loader.seconds:.1f} s")
            for remark in loader.backend.remarks():
                self._output.info(remark)
            self._equipment = Equipment(loader.backend, self._options, self._output)
        return self._equipment

    def leave(self) -> None:
        """Ends the process at once, whatever other threads are in the middle of."""
        os._exit(0)

    # -- the protocol's commands -------------------------------------------------------------------------------

    def _uci(self, words: list[str]) -> None:
        lines = [f"id name Secateur {self._version}", f"id author {AUTHORS}"]
        lines += [option.declaration() for option in self._options.declared]
        self._output.line("\n".join([*lines, "uciok"]))

    def _isready(self, words: list[str]) -> None:
        if self._task is None:
            try:
                if self._wait_for_loader(READY_PATIENCE):
                    self._loaded()
                else:
                    self._output.info("the kernels are still being compiled: the first search waits for them")
            except ValueError as error:
                self._output.info(str(error))
        self._output.line("readyok")

    def _register(self, words: list[str]) -> None:
        """Nothing is owed for this engine, and nobody has to say who he is."""

    def _set_debug(self, words: list[str]) -> None:
        if words not in (["on"], ["off"]):
            raise ValueError(f"debug takes on or off, not {quoted(' '.join(words))}")
        self._debug = words == ["on"]

    def _stop(self, words: list[str]) -> None:
        if self._task is not None:
            self._task.stop()

    def _ponderhit(self, words: list[str]) -> None:
        """The expected move was played: the search that ponders goes on with the clock running. Idle, it is nothing."""
        if self._task is not None:
            self._task.ponder_hit()

    def _quit(self, words: list[str]) -> None:
        self._deferred.clear()
        self._finish()

    def _setoption(self, words: list[str]) -> None:
        name, text = parse_setoption(words)
        name = self._options.set(name, text)
        if name == "Debug Log File":
            self._open_log(self._options.text(name))
        elif self._equipment is not None:  # otherwise read when the engine is loaded
            self._equipment.apply(name)

    def _open_log(self, file: str) -> None:
        try:
            self._output.log_to(file)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            self._output.info(f"Debug Log File not used: {quoted(file)}: {reason}")

    def _ucinewgame(self, words: list[str]) -> None:
        self._loaded().searcher.new_game()

    def _position(self, words: list[str]) -> None:
        command = parse_position(words)
        remark = self._loaded().positions.set(command, self._options.flag("UCI_Chess960"))
        if remark is not None:
            self._output.info(remark)

    def _go(self, words: list[str]) -> None:
        command, complaints = parse_go(words)
        for complaint in complaints:
            self._output.info(complaint)
        try:
            equipment = self._loaded()
        except ValueError:
            self._output.line("bestmove 0000")
            raise
        if "perft" in command.numbers:
            self._begin(PerftTask(equipment, self._output, command.numbers["perft"]))
            return
        limits = self._limits(command, equipment)
        self._begin(SearchTask(equipment, self._options, self._output, limits, self._received, self._debug))

    def _limits(self, command: GoCommand, equipment: Equipment) -> Limits:
        """The limits of a `go`, with search moves that are not legal here reported and left out."""
        board: Any = equipment.positions.game.board
        limits = command.limits(board.turn)
        if limits.search_moves is None:
            return limits
        legal = []
        for text in limits.search_moves:
            try:
                legal.append(board.uci(equipment.backend.parse_move(board, text)))
            except ValueError:
                self._output.info(f"go searchmoves: {quoted(text)} is not legal here")
        return replace(limits, search_moves=tuple(legal) or None)

    # -- what goes beyond it -----------------------------------------------------------------------------------

    def _d(self, words: list[str]) -> None:
        equipment = self._loaded()
        self._output.line(equipment.backend.board_report(equipment.positions.game))

    def _flip(self, words: list[str]) -> None:
        self._loaded().positions.flip()

    def _eval(self, words: list[str]) -> None:
        equipment = self._loaded()
        board, network = equipment.positions.game.board, equipment.searcher.network
        self._output.line(equipment.backend.evaluation_report(board, network))

    def _bench(self, words: list[str]) -> None:
        depth = None
        if words:
            if not words[0].isdecimal() or not 1 <= int(words[0]) < MAX_PLY:
                raise ValueError(f"bench takes a depth of 1 to {MAX_PLY - 1}, not {quoted(words[0])}")
            depth = int(words[0])
        self._begin(BenchTask(self._loaded(), self._output, depth))

    def _compiler(self, words: list[str]) -> None:
        self._output.line(self._loaded().backend.compiler_report())

    def _help(self, words: list[str]) -> None:
        self._output.line(HELP)
