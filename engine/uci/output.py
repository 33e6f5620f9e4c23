"""The one way to stdout."""

from __future__ import annotations

import os
import sys
import threading
from typing import BinaryIO

#: Longest quotation of a user's own input in a message.
QUOTE_LENGTH = 80


class Output:
    """Writes whole lines to stdout, flushed, from any thread; ends the process when nobody reads them any more."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def line(self, text: str) -> None:
        """Writes one line (or several, separated by newlines)."""
        data = text.encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            try:
                self._stream.write(data)
                self._stream.flush()
            except (BrokenPipeError, ValueError, OSError):
                # The GUI is gone: there is no one left to answer, and an orphan must not go on searching.
                os._exit(1)

    def info(self, message: str) -> None:
        """Writes `info string message`."""
        self.line("info string " + " ".join(message.split()))


def quoted(text: str) -> str:
    """A user's text for a message: printable, one line, and not longer than a message should be."""
    clean = "".join(character if character.isprintable() else "?" for character in text)
    if len(clean) > QUOTE_LENGTH:
        return f"'{clean[:QUOTE_LENGTH]}...' ({len(text)} characters)"
    return f"'{clean}'"


def reader_is_gone() -> bool:
    """Whether stdout is a pipe whose other end was closed, as when a GUI died; False where that cannot be told."""
    try:
        import select

        poll = select.poll()
        poll.register(sys.__stdout__.fileno() if sys.__stdout__ else 1, 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (AttributeError, OSError, ValueError):
        return False
