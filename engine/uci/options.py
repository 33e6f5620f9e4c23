"""The UCI options: declared once, checked when set."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.files import quoted
from search.limits import DEFAULT_HASH, DEFAULT_OVERHEAD, DEFAULT_THREADS
from search.strength import FULL_SKILL, MAX_ELO, MIN_ELO
from search.techniques import Technique, named, switched_off
from search.tunables import TUNABLES

Value = int | bool | str


@dataclass(frozen=True)
class Option:
    """One declared option: `kind` is spin, check, button or string; `low` and `high` bound a spin."""

    name: str
    kind: str
    default: Value | None = None
    low: int = 0
    high: int = 0

    def declaration(self) -> str:
        """The `option` line that answers `uci`."""
        if self.kind == "button":
            return f"option name {self.name} type button"
        default = str(self.default).lower() if self.kind == "check" else self.default
        bounds = f" min {self.low} max {self.high}" if self.kind == "spin" else ""
        return f"option name {self.name} type {self.kind} default {default}{bounds}"

    def parse(self, text: str | None) -> Value | None:
        """The value that `text` stands for. Raises ValueError that says what is wrong and what would be right."""
        if self.kind == "button":
            return None
        if text is None:
            raise ValueError(f"option {self.name} needs a value")
        if self.kind == "check":
            if text.lower() not in ("true", "false"):
                raise ValueError(f"option {self.name} takes true or false, not {quoted(text)}")
            return text.lower() == "true"
        if self.kind == "spin":
            try:
                number = int(text)
            except ValueError:
                raise ValueError(f"option {self.name} takes a whole number, not {quoted(text)}") from None
            if not self.low <= number <= self.high:
                raise ValueError(f"option {self.name} takes {self.low} to {self.high}, not {quoted(text)}")
            return number
        return text


def memory_mebibytes() -> int:
    """Memory in MiB that this process may use: the machine's, or its container's or its own limit if that is lower.

    4096 where it cannot be told.
    """
    limits = []
    with suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max" is no limit
            limits.append(int(Path(file).read_text(encoding="ascii")))
    with suppress(ImportError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            limits.append(soft)
    return min(limits, default=4096 << 20) >> 20


def most_hash() -> int:
    """The largest table in MiB: a quarter of the memory is left to everything else.

    A table takes its memory only as a search fills it. With one that is larger, the system would end the engine in the
    middle of a game.
    """
    return max(DEFAULT_HASH, memory_mebibytes() * 3 // 4)


def cores() -> int:
    """Processors of this machine; 1 where it cannot be told."""
    return os.cpu_count() or 1


#: A configuration that was written for a larger machine is obeyed up to this number rather than refused, because a
#: client may drop a game over a refusal. Threads beyond the cores gain nothing, and the more of them take turns, the
#: longer it takes until each has seen that it is to stop: on two busy cores half a millisecond with two threads, ten
#: with four, a tenth of a second with sixteen.
THREADS_ANYWHERE: Final = 8

#: More legal moves than any position has: as many lines as there can be.
MOST_MOVES: Final = 256

#: What a GUI may show of the engine; setting it changes nothing.
ABOUT: Final = "Secateur, a UCI chess engine in Python: python-chess outside, Numba inside. Licence: GPL-3.0-or-later"

#: How UCI writes an empty string. As `EvalFile` it stands for the network that comes with the engine.
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


#: Every tunable number of the search.
TUNABLE_OPTIONS: Final = tuple(
    Option(tunable.name, "spin", tunable.default, tunable.low, tunable.high) for tunable in TUNABLES
)

#: Names techniques of the search that are switched off, whatever the tunable numbers are set to.
WITHOUT: Final = "Without"


@dataclass(frozen=True)
class TechniquesOption(Option):
    """A string option of keys of `search.techniques` with spaces or commas between them."""

    def parse(self, text: str | None) -> Value | None:
        """`text`, once each of its keys is known. Raises ValueError that names an unknown one and lists the keys."""
        value = super().parse(text)
        techniques_in(str(value))
        return value


def techniques_in(text: str) -> tuple[Technique, ...]:
    """The techniques that a value of `Without` names. Raises ValueError as `search.techniques.named`."""
    return named(() if text == EMPTY else text.replace(",", " ").split())


#: What a tuning build offers besides.
TUNING_OPTIONS: Final = (*TUNABLE_OPTIONS, TechniquesOption(WITHOUT, "string", EMPTY))


class OptionValues:
    """The current values of `options`, by declared name."""

    def __init__(self, options: tuple[Option, ...] = OPTIONS) -> None:
        self.declared = options
        self._options = {option.name.lower(): option for option in options}
        self._values: dict[str, Value | None] = {option.name: option.default for option in options}

    def set(self, name: str, text: str | None) -> str:
        """Sets an option, its name in any case; returns its declared name. Raises ValueError and changes nothing."""
        option = self._options.get(" ".join(name.lower().split()))
        if option is None:
            raise ValueError(f"there is no option {quoted(name)}" if name else "setoption needs 'name'")
        self._values[option.name] = option.parse(text)
        return option.name

    def written(self, name: str) -> str | None:
        """The value as `set` takes it; None for a button."""
        value = self._values[name]
        return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)

    def number(self, name: str) -> int:
        """Value of a spin option."""
        value = self._values[name]
        assert isinstance(value, int)
        return value

    def tunables(self) -> dict[str, int]:
        """The numbers that the search is to have, by name, as set and by `Without`; empty but in a tuning build."""
        if WITHOUT not in self._values:
            return {}
        numbers = {option.name: self.number(option.name) for option in TUNABLE_OPTIONS}
        return numbers | switched_off(techniques_in(str(self._values[WITHOUT])))

    def text(self, name: str) -> str:
        """Value of a string option; empty where UCI says `<empty>`."""
        value = self._values[name]
        assert isinstance(value, str)
        return "" if value == EMPTY else value

    def flag(self, name: str) -> bool:
        """Value of a check option."""
        return bool(self._values[name])
