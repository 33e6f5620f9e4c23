"""Lines on stderr while something takes long, so that nobody has to wonder whether it hangs.

`python -m engine.progress TEXT COMMAND ...` runs a command in this way. The Makefile does so with silent ones.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

#: Seconds between two lines, and between two versions of a terminal's only line.
LINE_SECONDS: Final = 1.0
RENEWAL_SECONDS: Final = 0.5

#: What takes no longer than these seconds is not worth a line.
PATIENCE: Final = 0.3


#: What takes the line that is renewed away.
_CLEAR: Final = "\r\x1b[K"

#: Tickers that renew their line at the moment.
_renewing: set[Ticker] = set()


def say(text: str) -> None:
    """Prints a line on stderr, if that can be written to."""
    _write(f"{_CLEAR if _renewing else ''}{text}\n")


def _write(text: str) -> None:
    stream, is_own = sys.stderr, sys.stderr is sys.__stderr__
    if stream is None:
        return
    with suppress(OSError, ValueError):
        if is_own:
            # Past Python's buffer: a thread that waits for a reader there would keep the program from ending.
            os.write(stream.fileno(), text.encode(errors="replace"))
        else:
            stream.write(text)
            stream.flush()


class Ticker:
    """Says again and again what `line` returns, from a thread of its own, until `stop`. A context manager, too.

    On a terminal the line is renewed in its place. A reader of stderr that does not read holds up nothing but that.
    """

    def __init__(self, line: Callable[[], str], patience: float = PATIENCE) -> None:
        """The first line comes after `patience` seconds."""
        self._line = line
        self._patience = patience
        self._last = ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ticker", daemon=True)

    def start(self) -> None:
        """Begins. Without a thread for it, nothing is said."""
        with suppress(RuntimeError):
            self._thread.start()

    def stop(self, last: str = "") -> None:
        """Ends with the line `last`, which is not said where nothing was said before. It may have ended already."""
        self._last = last
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join(1.0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        # What replaces stderr, such as a view of rich's, takes whole lines.
        renews = sys.stderr is sys.__stderr__ and sys.stderr is not None and sys.stderr.isatty()
        pause, said = self._patience, False
        while not self._over.wait(pause):
            if renews:
                _renewing.add(self)
                _write(f"{_CLEAR}{self._line()[: _columns() - 1]}")
            else:
                say(self._line())
            pause, said = RENEWAL_SECONDS if renews else LINE_SECONDS, True
        if said and renews:
            _write(_CLEAR)
            _renewing.discard(self)
        if said and self._last:
            say(self._last)


def _columns() -> int:
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return 80


def main(arguments: list[str]) -> int:
    """Runs a command and says TEXT with the elapsed time meanwhile; returns the command's exit status."""
    if len(arguments) < 2:
        say("usage: python -m engine.progress TEXT COMMAND ...")
        return 2
    import subprocess

    text, *command = arguments
    start = time.monotonic()
    with Ticker(lambda: f"secateur: {text}: {time.monotonic() - start:.0f} s"):
        try:
            process = subprocess.Popen(command)
        except OSError as error:
            problem = error.strerror or str(error)
        else:
            try:
                status = process.wait()
            except KeyboardInterrupt:  # which the terminal has sent to the command, too
                process.wait()
                return 130
            return status if status >= 0 else 128 - status
    say(f"secateur: {command[0]}: {problem}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
