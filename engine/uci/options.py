"""The UCI options. Each option is declared once and checked when it is set."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.files import quoted
from engine.windows import memory_bytes
from search.limits import DEFAULT_HASH, DEFAULT_OVERHEAD, DEFAULT_THREADS
from search.strength import FULL_SKILL, MAX_ELO, MIN_ELO
from search.techniques import Technique, named, switched_off
from search.tunables import TUNABLES

Value = int | bool | str


@dataclass(frozen=True)
class Option:
    """A declared option: `kind` is spin, check, button or string; `low` and `high` bound a spin."""

    name: str
    kind: str
    default: Value | None = None
    low: int = 0
    high: int = 0

    def declaration(self) -> str:
        """Returns the `option` line for the answer to `uci`."""
        if self.kind == "button":
            return f"option name {self.name} type button"
        default = str(self.default).lower() if self.kind == "check" else self.default
        bounds = f" min {self.low} max {self.high}" if self.kind == "spin" else ""
        return f"option name {self.name} type {self.kind} default {default}{bounds}"

    def parse(self, text: str | None) -> Value | None:
        """Returns the int, bool or str that `text` means; None for a button. Raises ValueError for other texts."""
        if self.kind == "button":
            return None
        if text is None:
            raise ValueError(f"option {self.name} needs a value")
        if self.kind == "check":
            if text.lower() not in ("true", "false"):
                raise ValueError(f"option {self.name} must be true or false (got {quoted(text)})")
            return text.lower() == "true"
        if self.kind == "spin":
            try:
                number = int(text)
            except ValueError:
                raise ValueError(f"option {self.name} must be a whole number (got {quoted(text)})") from None
            if not self.low <= number <= self.high:
                raise ValueError(f"option {self.name} must be {self.low} to {self.high} (got {quoted(text)})")
            return number
        return text


def memory_mebibytes() -> int:
    """Returns the machine's memory or the lowest limit on this process, whichever is less, in MiB; 4096 if unknown."""
    limits = []
    with suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    if (memory := memory_bytes()) is not None:
        limits.append(memory)
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max" means no limit
            limits.append(int(Path(file).read_text(encoding="ascii")))
    with suppress(ImportError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            limits.append(soft)
    return min(limits, default=4096 << 20) >> 20


def most_hash() -> int:
    """Returns the largest `Hash` in MiB: 3/4 of the memory, but at least DEFAULT_HASH. More could exhaust memory."""
    return max(DEFAULT_HASH, memory_mebibytes() * 3 // 4)


def cores() -> int:
    """Returns the number of processors of this machine; 1 if unknown."""
    return os.cpu_count() or 1


#: The engine accepts this many threads on any machine, because a client may drop a game if the engine rejects a
#: configuration for a larger machine. Threads beyond the cores gain nothing and notice a stop later.
THREADS_ANYWHERE: Final = 8

#: The largest `MultiPV`: no position has more legal moves.
MOST_MOVES: Final = 256

#: Text about the engine that a GUI may show; setting the option changes nothing.
ABOUT: Final = "Secateur, a UCI chess engine in Python: python-chess outside, Numba inside. Licence: GPL-3.0-or-later"

#: How UCI writes an empty string. As the value of `EvalFile`, it means the network that comes with the engine.
EMPTY: Final = "<empty>"

OPTIONS: Final = (
    Option("Hash", "spin", DEFAULT_HASH, 1, most_hash()),
    Option("Threads", "spin", DEFAULT_THREADS, 1, max(THREADS_ANYWHERE, cores())),
    Option("Clear Hash", "button"),
    Option("Ponder", "check", False),
    Option("Move Overhead", "spin", DEFAULT_OVERHEAD, 0, 5000),
    Option("MultiPV", "spin", 1, 1, MOST_MOVES),
    Option("UCI_Chess960", "check", False),
    Option("UCI_AnalyseMode", "check", False),
    Option("UCI_ShowWDL", "check", False),
    Option("UCI_LimitStrength", "check", False),
    Option("UCI_Elo", "spin", MIN_ELO, MIN_ELO, MAX_ELO),
    Option("Skill Level", "spin", FULL_SKILL, 0, FULL_SKILL),
    Option("UseNNUE", "check", True),
    Option("UsePolicy", "check", False),
    Option("EvalFile", "string", EMPTY),
    Option("SyzygyPath", "string", EMPTY),
    Option("SyzygyProbeLimit", "spin", 7, 0, 7),
    Option("Syzygy50MoveRule", "check", True),
    Option("OwnBook", "check", False),
    Option("BookFile", "string", EMPTY),
    Option("Best Book Move", "check", False),
    Option("Debug Log File", "string", EMPTY),
    Option("UCI_EngineAbout", "string", ABOUT),
)

#: An option for each tunable search parameter.
TUNABLE_OPTIONS: Final = tuple(
    Option(tunable.name, "spin", tunable.default, tunable.low, tunable.high) for tunable in TUNABLES
)

#: The option that lists techniques to switch off, separated by spaces or commas. It overrides their parameters.
WITHOUT: Final = "Without"

#: The additional options of a tuning build.
TUNING_OPTIONS: Final = (*TUNABLE_OPTIONS, Option(WITHOUT, "string", EMPTY))


def techniques_in(text: str) -> tuple[Technique, ...]:
    """Returns the techniques that a value of `Without` names. Raises a ValueError that names an unknown technique."""
    return named(() if text == EMPTY else text.replace(",", " ").split())


class OptionValues:
    """The current values of `options`, by declared name."""

    def __init__(self, options: tuple[Option, ...] = OPTIONS) -> None:
        self.declared = options
        self._options = {option.name.lower(): option for option in options}
        self._values: dict[str, Value | None] = {option.name: option.default for option in options}

    def set(self, name: str, text: str | None) -> str:
        """Sets an option by name, in upper or lower case; returns its declared name.

        Raises ValueError, and changes nothing, if the name is unknown or the value is not allowed.
        """
        option = self._options.get(" ".join(name.lower().split()))
        if option is None:
            raise ValueError(self._unknown(name) if name else "setoption name: the name is missing")
        value = option.parse(text)
        if option.name == WITHOUT:
            techniques_in(str(value))
        self._values[option.name] = value
        return option.name

    def _unknown(self, name: str) -> str:
        """Returns the message about an unknown option; it suggests a name that is written alike."""
        from difflib import get_close_matches

        close = get_close_matches(name.lower(), self._options, 1)
        suggestion = f"; did you mean {quoted(self._options[close[0]].name)}?" if close else ""
        return f"unknown option {quoted(name)}{suggestion}"

    def written(self, name: str) -> str | None:
        """Returns the value of an option as the text that `set` takes; None for a button."""
        value = self._values[name]
        return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)

    def number(self, name: str) -> int:
        """Returns the value of a spin option."""
        value = self._values[name]
        assert isinstance(value, int)
        return value

    def tunables(self) -> dict[str, int]:
        """Returns the search parameters by name, with `Without`'s overrides; empty unless this is a tuning build."""
        if WITHOUT not in self._values:
            return {}
        numbers = {option.name: self.number(option.name) for option in TUNABLE_OPTIONS}
        return numbers | switched_off(techniques_in(str(self._values[WITHOUT])))

    def text(self, name: str) -> str:
        """Returns the value of a string option; "" if it is `<empty>`."""
        value = self._values[name]
        assert isinstance(value, str)
        return "" if value == EMPTY else value

    def flag(self, name: str) -> bool:
        """Returns the value of a check option."""
        return bool(self._values[name])
