"""The UCI loop reads stdin on its own thread and runs the session on the main thread."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from engine.uci.options import OPTIONS, TUNING_OPTIONS, Option
from engine.uci.output import Output
from engine.uci.session import Event, Line, Session
from engine.windows import decoded, end_at_ctrl_c

#: Seconds that the session gets to end after `quit`. Then the process ends anyway.
QUIT_LIMIT: Final = 1.9


def _read(source: Iterable[bytes], session: Session, events: queue.SimpleQueue[Event], output: Output) -> None:
    """Puts the lines up to `quit` into `events`. At the end of input, sets `session.end_seen`, then puts None."""
    try:
        for raw in source:
            text = decoded(raw).strip()
            received = time.perf_counter()
            output.heard(text)
            events.put(Line(text, received))
            if text.split()[:1] == ["quit"]:
                return
    except (OSError, ValueError, MemoryError):
        pass  # a stream that cannot be read counts as ended
    session.end_seen.set()
    events.put(None)


def converse(
    source: Iterable[bytes],
    output: Output,
    version: str,
    options: tuple[Option, ...] = OPTIONS,
    on_quit: Callable[[threading.Event], None] = lambda over: None,
) -> None:
    """Runs a session on the lines of `source` until the last line or `quit`.

    After `quit`, the reader thread calls `on_quit` with an event that is set when the session has ended.
    """
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    session = Session(output, events, version, options)

    def read() -> None:
        _read(source, session, events, output)
        if not session.end_seen.is_set():
            on_quit(session.over)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    session.run()


def _end_in_time(over: threading.Event) -> None:
    """Ends the process when `over` is set, or after QUIT_LIMIT seconds, even if other threads are still working."""
    over.wait(QUIT_LIMIT)
    os._exit(0)


def run(version: str, tuning: bool = False) -> int:
    """Speaks UCI on stdin and stdout until `quit` or the end of input, then ends the process with status 0.

    `tuning` adds the options of the tuning build. `sys.stdout` becomes stderr. Returns 1 if stdin or stdout is missing.
    """
    if sys.stdin is None or sys.stdout is None:
        return 1
    # The engine does not use NumPy's linear algebra, whose threads take memory and print errors if memory is short.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    output = Output(sys.stdout.buffer)
    # Only UCI may reach stdout: what a library prints goes to stderr.
    sys.stdout = sys.stderr
    options = OPTIONS + TUNING_OPTIONS if tuning else OPTIONS
    end_at_ctrl_c()
    with suppress(KeyboardInterrupt):
        converse(sys.stdin.buffer, output, version, options, _end_in_time)
    # Threads may be inside kernels or the compiler; the GUI should not wait for them to end.
    os._exit(0)
