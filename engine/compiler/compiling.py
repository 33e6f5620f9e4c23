"""Tracks the kernel that Numba is compiling, with elapsed and expected times, and reports this progress on stderr.

`engine.compiler.numba_hooks` calls `begin` and `end` for each kernel. Code that reports progress itself calls `silence`
once and `current` from time to time. This module imports little, because the answer to `uci` must not wait for imports.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from engine.progress import Line, say

#: By a kernel's full name: a phrase for messages, and the approximate compile time in seconds on two idle cores.
#: WARMUP contains the kernels of `search.warmup.PLAYING`.
WARMUP: Final = {
    "engine.board.make.complete_position": ("the board", 0.9),
    "search.kernels.aspiration.search_iteration": ("the search", 20.0),
    "search.kernels.transposition.hashfull": ("the TT", 0.1),
}
COSTS: Final = {
    **WARMUP,
    "eval.kernels.classical.evaluation_terms": ("the evaluation", 5.0),
    "eval.kernels.inference.evaluate_line": ("the network", 1.4),
    "engine.board.perft.perft_kernel": ("perft", 1.5),
    "search.kernels.alphabeta.search_root": ("the search of one window", 20.0),
    "eval.training.kernels.selfplay.play_game": ("self-play", 22.0),
    "eval.training.kernels.archiving.code_games": ("the code of archives", 11.0),
    "eval.training.kernels.checking.check_games": ("the check of games", 11.0),
    "eval.training.kernels.decoding.decode_samples": ("the decoder of games", 4.0),
    "eval.training.kernels.gradients.add_gradients": ("the network's gradients", 3.0),
}

#: Approximate time in seconds to build the library of kernels for one processor level.
LIBRARY_SECONDS: Final = 75.0


class _State:
    """The compilation in progress, and how to report it. Numba compiles one kernel at a time."""

    def __init__(self) -> None:
        self.kernel = ""
        self.began = 0.0
        self.place = (0, 0)
        self.is_silent = False
        self.advises = True
        self.evaluation = ""
        self.ticker: Line | None = None


_STATE: Final = _State()


def current() -> str:
    """Returns a message about the compilation in progress on any thread, with its times; "" if there is none."""
    kernel = _STATE.kernel
    if not kernel:
        return ""
    number, total = _STATE.place
    place = f" ({number} of {total})" if total else ""
    name, expected = COSTS.get(kernel, (kernel, None))
    return f"compiling {name}{place}: {span(time.monotonic() - _STATE.began, expected)}"


def silence() -> None:
    """Turns off all messages of this module on stderr."""
    _STATE.is_silent = True


def advice() -> str:
    """Returns the end of a message: how often kernels are compiled, and how to compile and cache them in advance."""
    kind, name = ("evaluation", f"--evaluation {_STATE.evaluation} ") if _STATE.evaluation else ("version", "")
    return f"once for each {kind}: run 'secateur {name}warmup' to compile and cache everything that play needs"


def set_evaluation(name: str) -> None:
    """Sets the name of the custom evaluation for `advice`, in the form that the option `--evaluation` takes."""
    _STATE.evaluation = name


def without_advice() -> None:
    """Turns off the advice in the messages, for a process that compiles kernels ahead of time."""
    _STATE.advises = False


@contextmanager
def loading() -> Iterator[None]:
    """Unless silenced, reports progress while the `with` block imports Numba, which may take several seconds."""
    if _STATE.is_silent:
        yield
        return
    with Line(lambda: "secateur: loading Numba", patience=1.0):
        yield


def set_place(number: int, total: int) -> None:
    """Sets the number of the next kernel and the total, such as 2 of 3, for messages. A total of 0 omits both."""
    _STATE.place = (number, total)


def begin(kernel: str) -> None:
    """Notes that Numba begins to compile `kernel` (a full name). Unless silenced, shows progress and, once, advice."""
    _STATE.began = time.monotonic()
    _STATE.kernel = kernel
    if not _STATE.is_silent:
        if _STATE.advises and kernel in WARMUP:
            _STATE.advises = False
            say(f"secateur: kernels must be compiled, {advice()}")
        _STATE.ticker = Line(lambda: f"secateur: {current()}")
        _STATE.ticker.start()


def end(is_compiled: bool) -> None:
    """Records that the compilation has ended, with success if `is_compiled`, and ends the progress line."""
    if _STATE.ticker is not None:
        word = "compiled" if is_compiled else "could not compile"
        name, _ = COSTS.get(_STATE.kernel, (_STATE.kernel, None))
        _STATE.ticker.stop(f"secateur: {word} {name} in {time.monotonic() - _STATE.began:.0f} s")
        _STATE.ticker = None
    _STATE.kernel = ""


def span(elapsed: float, expected: float | None) -> str:
    """Formats the elapsed seconds and the expected seconds (None to omit them), such as `7 s, about 20 s expected`."""
    if expected is None:
        return f"{elapsed:.0f} s"
    guess = max(1, round(expected)) if expected < 10 else 5 * round(expected / 5)
    return f"{elapsed:.0f} s, about {guess} s expected"
