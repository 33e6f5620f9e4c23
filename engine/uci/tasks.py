"""The tasks that run one at a time on their own thread beside the session: search, perft, eval, bench."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from engine.uci.output import Output


class Task:
    """A piece of work that another thread can stop, even before the work begins."""

    #: Whether the task answers with a report (perft, eval, bench) instead of a move.
    is_tool = True

    #: The name of the task in messages.
    name = "search"

    def __init__(self, output: Output) -> None:
        self._output = output
        #: When the task was created, by `time.perf_counter`.
        self.created = time.perf_counter()
        #: Set before the answer is written: the GUI may send its next command before this thread continues.
        self.has_answered = False
        #: Set when `run` has ended, normally or with an exception.
        self.finished = threading.Event()

    def run(self) -> None:
        """Does the work and writes the answer. The task thread reports any exception."""
        raise NotImplementedError

    def stop(self) -> None:
        """Makes the task answer soon, if that is possible; does not wait for the answer."""
        raise NotImplementedError

    def ponder_hit(self) -> None:
        """Handles `ponderhit`: the opponent has played the expected move. Only searches react to it."""

    def _answer(self, text: str) -> None:
        """Writes the answer, the last output of the task."""
        self.has_answered = True
        self._output.line(text)


class TaskThread:
    """A thread that runs tasks in turn and calls `on_done(task)` when a task is done."""

    def __init__(self, output: Output, on_done: Callable[[Task], None]) -> None:
        self._output = output
        self._on_done = on_done
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        # Start now, while there is memory for a thread: later the TT and the helper threads may take that memory.
        with suppress(RuntimeError):
            self._start()

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._work, name="search", daemon=True)
            thread.start()
            self._thread = thread

    def begin(self, task: Task) -> None:
        """Queues `task`, which runs when all earlier tasks are done. Raises RuntimeError if no thread can start."""
        self._start()
        self._tasks.put(task)

    def close(self) -> None:
        """Makes the thread end when all queued tasks are done; does not wait for that."""
        self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                self._run(task)
            except MemoryError:
                pass  # there is not even enough memory for a message
            finally:
                task.finished.set()
                self._on_done(task)
            # The loop variable must not keep a finished task, and its memory, alive until the next task comes.
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
