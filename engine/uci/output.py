"""The only writer of stdout during the UCI loop, and the log of the conversation."""

from __future__ import annotations

import errno
import os
import re
import sys
import threading
import time
from contextlib import suppress
from datetime import datetime
from typing import IO, TYPE_CHECKING, BinaryIO, Final

from engine.files import open_regular, user_path

if TYPE_CHECKING:
    from search.timing import Alarm

#: A report that comes less than HOLD seconds after the last write or command is kept for about as long. Every write may
#: wake the GUI, which then delays the search if all processors are busy, and the first iterations take microseconds.
HOLD: Final = 0.02

#: The beginning of every line of a log: date, time, and direction (<< to the GUI, >> from it).
_LOG_LINE: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (<<|>>) ")


class Output:
    """A thread-safe writer of whole lines to stdout and a log. It ends the process if it cannot write to stdout."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        # The log has its own lock: the reader thread must not wait for a writer that a slow GUI blocks.
        self._log_lock = threading.Lock()
        self._log: IO[str] | None = None
        self._last_line = self._last_command = time.monotonic()
        # Lines that are noted in the log but not yet written, and the alarm that writes them if no later line does.
        self._held: list[str] = []
        self._keeper: Alarm | None = None

    def silence(self) -> float:
        """Returns the seconds since the last line was written to stdout."""
        return time.monotonic() - self._last_line

    def line(self, text: str) -> None:
        """Writes one line (or several, separated by newlines) to stdout and to any log, after all lines kept so far."""
        with self._lock:
            self._note("<<", text)
            self._held.append(text)
            self._write()

    def report(self, text: str) -> None:
        """Writes one line as `line` does, or keeps it for at most about HOLD seconds. The log has it at once."""
        with self._lock:
            self._note("<<", text)
            self._held.append(text)
            if time.monotonic() - max(self._last_line, self._last_command) >= HOLD:
                self._write()
            is_first = len(self._held) == 1
        # The alarm holds a lock of its own while it writes.
        if is_first:
            try:
                self._alarm().set(HOLD)
            except RuntimeError:  # there is no thread for the alarm
                self._write_held()

    def close(self) -> None:
        """Ends the thread that writes kept lines, if it runs. A later report starts it again."""
        if self._keeper is not None:
            self._keeper.close()

    def _alarm(self) -> Alarm:
        if self._keeper is None:
            # By now the search has imported it; the answer to `uci` needs no alarm.
            from search.timing import Alarm

            self._keeper = Alarm(self._write_held)
        return self._keeper

    def _write_held(self) -> None:
        with self._lock:
            if self._held:
                self._write()

    def _write(self) -> None:
        """Writes the lines kept so far with one call of `write`. The caller holds the lock."""
        data = "".join(f"{text}\n" for text in self._held).encode("utf-8", "backslashreplace")
        self._held.clear()
        self._last_line = time.monotonic()
        try:
            self._stream.write(data)
            self._stream.flush()
        except (BrokenPipeError, ValueError, OSError):
            # The GUI is gone, and an orphaned engine must not continue to search.
            os._exit(1)

    def info(self, message: str) -> None:
        """Writes `message` on one line after `info string`."""
        self.line("info string " + " ".join(message.split()))

    def heard(self, text: str) -> None:
        """Logs a line from the GUI, and notes its time."""
        self._last_command = time.monotonic()
        self._note(">>", text)

    def log_to(self, path: str) -> None:
        """Logs later lines in the file `path` (`""`: nowhere). Changes nothing if it raises OSError or ValueError."""
        log = _open_log(path) if path else None
        with self._log_lock:
            self._end_log()
            self._log = log

    def _note(self, direction: str, text: str) -> None:
        """Writes `text` to the log, if there is one. If that fails, as on a full disk, only the log ends."""
        if self._log is None:
            return
        now = datetime.now().isoformat(sep=" ", timespec="milliseconds")
        with self._log_lock:
            try:
                if self._log is not None:
                    self._log.writelines(f"{now} {direction} {line}\n" for line in text.split("\n"))
            except (OSError, ValueError):
                self._end_log()

    def _end_log(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            with suppress(OSError):
                log.close()


def _open_log(path: str) -> IO[str]:
    # Line buffering, so that a crash loses no line.
    log = open_regular(user_path(path), "a+", encoding="utf-8", errors="backslashreplace", buffering=1)
    try:
        log.seek(0)
        head = log.readline(64)
        if head and not _LOG_LINE.match(head):
            raise FileExistsError(errno.EEXIST, "already exists and is not a log; it was not changed", path)
        log.seek(max(0, log.seek(0, os.SEEK_END) - 1))
        is_cut = log.read(1) not in ("", "\n")  # by a full disk or a crash
        log.seek(0, os.SEEK_END)
        if is_cut:
            log.write("\n")
    except BaseException:
        log.close()
        raise
    return log


def reader_is_gone() -> bool:
    """Returns whether stdout is a pipe whose reader has closed it, as after a crash of the GUI; False if unknown."""
    try:
        import select

        poll = select.poll()
        poll.register(sys.__stdout__.fileno() if sys.__stdout__ else 1, 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (AttributeError, OSError, ValueError):
        return False
