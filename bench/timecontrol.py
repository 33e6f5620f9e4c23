"""Time controls: a clock or a time for each move, a limit on nodes or depth for each move, or both.

The notation is that of cutechess-cli and fastchess:

    10+0.1            10 seconds for the game and 0.1 seconds per move
    40/60+0.6         60 seconds for every 40 moves and 0.6 seconds per move
    1:30+1            one and a half minutes and 1 second per move
    movetime=0.05     50 milliseconds per move (also st=)
    nodes=10000       10000 nodes per move
    depth=8           8 plies per move
    10+0.1,nodes=1e6  a clock and 1000000 nodes per move
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from typing import Final

from engine.errors import CommandError
from engine.files import quoted

_CLOCK: Final = re.compile(
    r"(?:(?P<moves>\d+)/)?(?:(?P<minutes>\d+):)?(?P<seconds>\d+(?:\.\d*)?|\.\d+)(?:\+(?P<increment>\d+(?:\.\d*)?|\.\d+))?"
)

#: The longest time, in seconds, and the largest number of moves, nodes or plies that a time control may contain.
_MOST_SECONDS: Final = 1e9
_MOST_COUNT: Final = 10**15


class TimeControlError(CommandError, ValueError):
    """Raised if a time control is invalid; the message quotes the invalid text."""


@dataclass(frozen=True, slots=True)
class TimeControl:
    """A limit on an engine's thinking. Times are in seconds. At least one limit is set. An unset limit is None.

    `base` is added again after every `moves` moves; if `moves` is None, `base` is for the whole game.
    """

    base: float | None = None
    increment: float = 0.0
    moves: int | None = None
    movetime: float | None = None
    nodes: int | None = None
    depth: int | None = None

    @classmethod
    def parse(cls, text: str) -> TimeControl:
        """Parses the notation described in the module's docstring. Raises `TimeControlError` if `text` is invalid."""
        values: dict[str, float | int | None] = {}
        for part in text.replace(" ", "").split(","):
            key, equals, value = part.partition("=")
            try:
                if not equals:
                    values.update(_parse_clock(part))
                elif key in ("movetime", "st"):
                    values["movetime"] = _positive(value, _MOST_SECONDS)
                elif key in ("nodes", "depth") and _positive(value, _MOST_COUNT).is_integer():
                    values[key] = int(float(value))
                elif key == "tc":
                    values.update(_parse_clock(value))
                else:
                    raise ValueError
            except ValueError:
                raise TimeControlError(
                    f"{quoted(part)} is not a time control; expected, for example, 10+0.1, 40/60+0.6, movetime=0.1, "
                    f"nodes=10000 or depth=8"
                ) from None
        if values.get("base") is not None and values.get("movetime") is not None:
            raise TimeControlError(f"{quoted(text)} has both a clock and a time per move; give only one")
        return cls(**values)  # type: ignore[arg-type]

    @property
    def has_clock(self) -> bool:
        """True if there is a clock for several moves or the whole game."""
        return self.base is not None

    @property
    def is_timed(self) -> bool:
        """True if an engine can lose on time."""
        return self.base is not None or self.movetime is not None

    def clock_text(self) -> str:
        """Returns the clock in the notation of cutechess-cli, or "" if there is no clock."""
        if self.base is None:
            return ""
        moves = f"{self.moves}/" if self.moves else ""
        increment = f"+{self.increment:g}" if self.increment else ""
        return f"{moves}{self.base:g}{increment}"

    def __str__(self) -> str:
        movetime = f"movetime={self.movetime:g}" if self.movetime is not None else ""
        counts = (f"{name}={value}" for name in ("nodes", "depth") if (value := getattr(self, name)) is not None)
        return ",".join(filter(None, (self.clock_text(), movetime, *counts)))


def _parse_clock(text: str) -> dict[str, float | int | None]:
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError
    base = float(match["seconds"]) + 60 * int(match["minutes"] or 0)
    moves = int(match["moves"] or 0)
    increment = float(match["increment"] or 0)
    if base == 0 or max(base, increment) > _MOST_SECONDS or moves > _MOST_COUNT:
        raise ValueError
    return {"base": base, "increment": increment, "moves": moves or None}


def _positive(text: str, most: float) -> float:
    value = float(text)
    if not 0 < value <= most:
        raise ValueError
    return value


def add_limit_arguments(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds --movetime, --nodes and --depth, at most one of which may be given. Their help texts show `default`."""
    group = parser.add_mutually_exclusive_group()
    key, _, value = default.partition("=")
    kinds = (("movetime", "time", float, "SECONDS"), ("nodes", "nodes", int, "N"), ("depth", "depth", int, "N"))
    for name, what, kind, metavar in kinds:
        usual = f" (default {value})" if name == key else ""
        group.add_argument(f"--{name}", type=kind, metavar=metavar, help=f"{what} per position{usual}")


def limit_from_arguments(arguments: argparse.Namespace, default: str) -> str:
    """Returns the limit that --movetime, --nodes or --depth sets, in this module's notation, or else `default`."""
    given = ((name, getattr(arguments, name)) for name in ("movetime", "nodes", "depth"))
    return next((f"{name}={value}" for name, value in given if value is not None), default)
