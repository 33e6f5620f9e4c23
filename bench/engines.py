"""Descriptions of engines: command, options and limits, as plain data that can be sent to another machine."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.timecontrol import TimeControl, TimeControlError
from engine.compiler.sources import PROJECT_ROOT
from engine.errors import CommandError, MissingError
from engine.files import quoted, shown, user_path


def _this_secateur() -> list[str]:
    """Returns the command that starts this Secateur."""
    if getattr(sys, "frozen", False):
        return [sys.executable]
    if __name__.startswith("secateur."):  # installed; -P prevents imports from the current folder
        return [sys.executable, "-P", "-m", "secateur"]
    return [sys.executable, str(PROJECT_ROOT / "uci_main.py")]


#: The command that starts this Secateur.
SECATEUR: Final = _this_secateur()


#: Debian installs engines in this folder, which is not on every user's PATH.
_GAMES: Final = "/usr/games"


def find_program(name: str) -> str | None:
    """Returns the path of a program that is on the PATH or, if `name` has no folder, in /usr/games; else None."""
    return shutil.which(name) or (shutil.which(f"{_GAMES}/{name}") if Path(name).name == name else None)


class EngineSpecError(CommandError, ValueError):
    """Raised if the description of an engine is invalid; the message names the invalid part."""


class MissingEngineError(EngineSpecError, MissingError):
    """Raised if the program or folder of an engine is missing or unusable."""


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """An engine of a match.

    `command` is the program with its arguments. `directory` is the folder in which the program starts. `limit` is the
    time control. `options` contains the UCI options as (name, value). With `restart`, each game gets a new process.
    """

    name: str
    command: tuple[str, ...]
    limit: TimeControl = field(default_factory=lambda: TimeControl(base=10.0, increment=0.1))
    directory: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    restart: bool = False

    def process_key(self) -> tuple[object, ...]:
        """Returns a key. Engines with equal keys can share a process, even if their limits or option values differ."""
        return self.name, self.command, self.directory, tuple(name for name, _ in self.options)

    def resolved_program(self) -> str:
        """Returns the program's absolute path. Raises `MissingEngineError` if the program or folder is unusable."""
        program = self.command[0]
        base = Path(self.directory or ".")
        if not base.is_dir():
            raise MissingEngineError(f"engine {self.name}: there is no folder {shown(base)}")
        if not Path(program).is_absolute() and len(Path(program).parts) > 1 and (base / program).exists():
            program = str((base / program).absolute())  # keeps links, such as a virtual environment's Python
        found = find_program(program)
        if found is not None:
            return str(Path(found).absolute())
        place, problem = Path(program), f"there is no program {quoted(program)}"
        if place.exists() and len(place.parts) > 1:
            problem = f"{shown(place)} is not an executable file"
        raise MissingEngineError(f"engine {self.name}: {problem}")


def engine_from_pairs(pairs: Iterable[str], defaults: Iterable[str] = (), fallback: str = "") -> EngineSpec:
    """Builds an engine from `key=value` texts like those of cutechess-cli: cmd, name, arg, dir, tc, st, nodes, depth,
    restart and option.NAME. `pairs` override `defaults`, but every arg= is used. `fallback` is the default limit.

    A text without "=" is the command. Raises `EngineSpecError` for an invalid text and PathError for an invalid path.
    """
    values: dict[str, str] = {}
    arguments: list[str] = []
    options: dict[str, str] = {}
    limits: dict[str, str] = {}
    for group in (defaults, pairs):
        own_values: dict[str, str] = {}
        own_limits: dict[str, str] = {}
        for pair in group:
            key, value = pair.split("=", 1) if "=" in pair else ("cmd", pair)
            if key == "arg":
                arguments.append(value)
            elif key.startswith("option."):
                options[key.removeprefix("option.")] = value
            elif key in ("tc", "st", "movetime", "nodes", "depth"):
                own_limits[key] = value
            elif key == "cmd" and "cmd" in own_values:
                raise EngineSpecError(f"{quoted(pair)}: the command is already {shown(own_values['cmd'])}")
            elif key in ("cmd", "name", "dir", "restart"):
                own_values[key] = value
            elif pair != "proto=uci":
                raise EngineSpecError(
                    f"'{pair}': unknown key; expected cmd, name, arg, dir, tc, st, nodes, depth, restart or option.NAME"
                )
        values |= own_values
        # An engine's own limits replace the common limits; the two are not combined.
        limits = own_limits or limits
    if "cmd" not in values:
        raise EngineSpecError("an engine needs cmd=")
    command = split_command(values["cmd"]) + tuple(arguments)
    if (restart := values.get("restart", "off")) not in ("on", "off"):
        raise EngineSpecError(f"restart={shown(restart)}: expected on or off")
    limit = ",".join(value if key == "tc" else f"{key}={value}" for key, value in limits.items()) or fallback
    return make_engine(values.get("name", ""), command, limit, values.get("dir"), options, restart == "on")


def this_engine(*more: str) -> list[str]:
    """Returns the `key=value` texts by which `engine_from_pairs` builds this Secateur, followed by the texts `more`."""
    program, *arguments = SECATEUR
    return [f"cmd={program}", *(f"arg={argument}" for argument in arguments), *more]


def compile_kernels(engines: Iterable[EngineSpec], cluster: str | None = None) -> None:
    """Compiles the kernels if this Secateur is among `engines`. Does nothing if `cluster` is set.

    An engine that compiles kernels while its clock runs may lose its first game on time.
    """
    if cluster is None and any(_is_this_engine(engine) for engine in engines):
        from search.warmup import load_kernels

        load_kernels()


def _is_this_engine(engine: EngineSpec) -> bool:
    """Returns whether the engine is this Secateur, started without arguments that may change the kernels."""
    if engine.command[: len(SECATEUR)] == tuple(SECATEUR):
        return set(engine.command[len(SECATEUR) :]) <= {"--tuning"}
    try:
        program = Path(engine.resolved_program())
    except EngineSpecError:
        return False
    beside = (Path(sys.executable).with_name(name) for name in ("secateur", "secateur.exe"))
    launchers = (PROJECT_ROOT / "secateur", *beside)
    return program in launchers and set(engine.command[1:]) <= {"--tuning"}


def make_engine(
    name: str, command: tuple[str, ...], limit: str, directory: str | None, options: dict[str, str], restart: bool
) -> EngineSpec:
    """Returns an engine. The default name is the program's. Raises `EngineSpecError`, or PathError for a bad path."""
    if not command or not command[0]:
        raise EngineSpecError("the engine's command is empty")
    command = (str(user_path(command[0])) if command[0].startswith("~") else command[0], *command[1:])
    directory = directory and str(user_path(directory))
    name = name or Path(command[0]).stem
    if not name.isprintable() or '"' in name:
        raise EngineSpecError(f"engine name {name!r}: quotes and control characters cannot be written to PGN")
    if not limit:
        raise EngineSpecError(f"engine {name}: no time control (tc, st, nodes or depth)")
    try:
        control = TimeControl.parse(limit)
    except TimeControlError as error:
        raise EngineSpecError(f"engine {name}: {error}") from None
    for option, value in options.items():
        if "\n" in option + value or not option.strip():
            raise EngineSpecError(f"engine {name}: option {option!r} has an empty name or a line break")
    return EngineSpec(name, command, control, directory, tuple(options.items()), restart)


def split_command(text: str) -> tuple[str, ...]:
    """Splits a command into words unless it is a file's path. Raises `EngineSpecError` for unbalanced quotes."""
    if Path(text).is_file():
        return (text,)
    words = shlex.shlex(text, posix=True)
    words.whitespace_split, words.commenters = True, ""
    if sys.platform == "win32":
        words.escape = ""  # a backslash separates folders
    try:
        return tuple(words)
    except ValueError as error:
        raise EngineSpecError(f"command {text!r}: {error}") from None
