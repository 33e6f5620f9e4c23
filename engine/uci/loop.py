"""The UCI loop: reads stdin on a thread of its own and runs the session on the main thread."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from engine.uci.events import EndOfInput, Event, Line
from engine.uci.options import OPTIONS, TUNING_OPTIONS, Option
from engine.uci.output import Output
from engine.uci.session import Session


def _read(source: Iterable[bytes], session: Session, events: queue.SimpleQueue[Event], output: Output) -> None:
    """Passes every line on; says `quit` and the end of input ahead of the queue, for whoever waits meanwhile."""
    try:
        for raw in source:
            text = raw.decode("utf-8", "backslashreplace").strip()
            received = time.perf_counter()
            output.heard(text)
            events.put(Line(text, received))
            if text.split()[:1] == ["quit"]:
                session.quit_seen.set()
                return
    except (OSError, ValueError):
        pass  # a stream that breaks has ended
    session.end_seen.set()
    events.put(EndOfInput())


def converse(source: Iterable[bytes], output: Output, version: str, options: tuple[Option, ...] = OPTIONS) -> None:
    """Holds a conversation: obeys the lines of `source` until `quit` or their end, and answers on `output`."""
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    session = Session(output, events, version, options)
    reader = threading.Thread(target=_read, args=(source, session, events, output), name="stdin", daemon=True)
    reader.start()
    session.run()


def run(version: str, tuning: bool = False) -> int:
    """Speaks UCI on stdin and stdout until `quit` or the end of input; returns the exit status.

    With `tuning` every tunable number of the search is an option, too, and which of its techniques are switched off.
    """
    if sys.stdin is None or sys.stdout is None:
        return 1
    output = Output(sys.stdout.buffer)
    # Nothing but UCI may reach stdout: what a library prints goes to stderr.
    sys.stdout = sys.stderr
    with suppress(KeyboardInterrupt):
        converse(sys.stdin.buffer, output, version, OPTIONS + TUNING_OPTIONS if tuning else OPTIONS)
    # Threads may be inside kernels or the compiler; waiting for them to end would keep the GUI waiting.
    os._exit(0)
