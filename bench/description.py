"""The description of a match, read from a TOML file, command-line options, or both. Options override the file.

Most invalid descriptions are rejected here, before an engine starts. The message usually names the option or the key.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

from bench.adjudication import Adjudication, DrawRule, ResignRule, open_tablebases
from bench.engines import EngineSpec, engine_from_pairs, make_engine, split_command
from bench.openings import ORDERS
from engine.errors import CommandError, MissingError
from engine.files import PathError, quoted, read_text, reason, shown, user_path

RUNNERS: Final = ("auto", "builtin", "cutechess", "fastchess")
FORMATS: Final = ("match", "gauntlet", "round-robin")
DEFAULT_LIMIT: Final = "10+0.1"
DEFAULT_HANG: Final = 60.0

#: The valid values or the bounds of settings, by name. They apply wherever a setting has this name.
_CHOICES: Final[dict[str, tuple[object, ...]]] = {"format": FORMATS, "runner": RUNNERS, "order": ORDERS}
_BOUNDS: Final[dict[str, tuple[float, float]]] = {
    "rounds": (1, 10_000_000),
    "concurrency": (1, 10_000),
    "time_margin": (0, 1_000_000),
    "hang_seconds": (0.1, 1_000_000),
    "plies": (0, 1_000_000),
    "max_moves": (1, 1_000_000),
    "from_move": (0, 1_000_000),
    "moves": (1, 1_000_000),
    "score": (0, 1_000_000),
}


class DescriptionError(CommandError, ValueError):
    """Raised if the description of a match is invalid; the message is one line."""


class MissingDescriptionError(DescriptionError, MissingError):
    """Raised if a description file is missing, unreadable or not TOML."""


@dataclass(frozen=True, slots=True)
class Book:
    """A file of openings. `order` is "sequential" or "random" (see `seed`). PGN openings have at most `plies` plies."""

    file: str
    order: str = "sequential"
    seed: int = 0
    plies: int | None = None


@dataclass(frozen=True, slots=True)
class MatchDescription:
    """A match or tournament.

    In each of `rounds` rounds, each pairing plays two games with swapped colours. `format` determines the pairings. An
    engine may exceed its time by `time_margin` seconds. An engine without a time limit may think for `hang_seconds`
    seconds per move. `cluster` is the address of a Dask scheduler for the built-in runner. Raises DescriptionError if a
    setting is invalid.
    """

    engines: tuple[EngineSpec, ...]
    format: str = "match"
    rounds: int = 1
    book: Book | None = None
    concurrency: int = 1
    adjudication: Adjudication = field(default_factory=Adjudication)
    time_margin: float = 0.0
    hang_seconds: float = DEFAULT_HANG
    pgn: str | None = None
    resume: bool = False
    overwrite: bool = False
    event: str = "Secateur match"
    runner: str = "auto"
    cluster: str | None = None

    def __post_init__(self) -> None:
        _check(self)
        names = [engine.name for engine in self.engines]
        if len(names) < 2:
            raise DescriptionError(f"a match needs at least two engines (got {len(names)})")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DescriptionError(f"two engines are called {twice}; give each a different name")
        if self.format == "match" and len(names) != 2:
            raise DescriptionError(f"a match must have two engines (got {len(names)}); 'secateur tourney' plays more")
        if self.pgn is not None and self.pgn.endswith(("/", os.sep)):
            raise DescriptionError(f"pgn {quoted(self.pgn)} names a folder, not a file")
        if self.resume and self.pgn is None:
            raise DescriptionError("resume needs pgn, the PGN file of the interrupted match")
        if self.resume and self.overwrite:
            raise DescriptionError("resume and overwrite cannot be combined")

    def fingerprint(self) -> str:
        """Returns a hash of the engines, format, book, adjudication and time settings, as twelve hexadecimal digits.

        A match can be resumed only with the same hash. The hash ignores `rounds`, so a match can be prolonged.
        """
        parts = (self.engines, self.format, self.book, self.adjudication, self.time_margin, self.hang_seconds)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _check(settings: Any, place: str = "") -> None:
    """Raises `DescriptionError` if a field is invalid, even in a nested dataclass. The message begins with `place`."""
    for item in fields(settings):
        name, value = place + item.name, getattr(settings, item.name)
        if is_dataclass(value):
            _check(value, f"{name}.")
        if item.name in _CHOICES and value not in _CHOICES[item.name]:
            choices = ", ".join(map(str, _CHOICES[item.name]))
            raise DescriptionError(f"{name} must be one of {choices} (got {quoted(str(value))})")
        if item.name in _BOUNDS and value is not None:
            least, most = _BOUNDS[item.name]
            # This form of the comparison also rejects NaN, which is neither less nor greater than any number.
            if not least <= value <= most:
                bound = f"at most {most:g}" if value > most else f"at least {least:g}"
                raise DescriptionError(f"{name} must be {bound} (got {shown(str(value))})")


def add_arguments(parser: argparse.ArgumentParser, rounds: int = 1) -> None:
    """Adds the options that describe a match. `from_arguments` reads them. `rounds` is the default of --rounds."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE.toml", help="a file that describes the match; options override it"
    )
    engines = parser.add_argument_group("engines")
    engines.add_argument(
        "--engine",
        action="append",
        nargs="+",
        metavar="KEY=VALUE",
        help="add an engine: cmd=, name=, arg=, dir=, tc=, st=, nodes=, depth=, restart=on|off, option.NAME=",
    )
    engines.add_argument("--each", nargs="+", default=[], metavar="KEY=VALUE", help="settings for every --engine")
    engines.add_argument("--tc", help=f"time control of engines without one (default {DEFAULT_LIMIT})")
    games = parser.add_argument_group("games")
    games.add_argument("--rounds", type=int, metavar="N", help=f"pairs of games for each pairing (default {rounds})")
    add_book_arguments(games)
    games.add_argument("--concurrency", type=int, help="games to play at the same time (default 1)")
    games.add_argument("--event", help="the PGN Event tag")
    rules = parser.add_argument_group("adjudication")
    add_rule_arguments(rules)
    rules.add_argument("--time-margin", type=float, metavar="MS", help="extra milliseconds before a loss on time")
    rules.add_argument(
        "--hang",
        type=float,
        dest="hang_seconds",
        metavar="SECONDS",
        help="seconds for a move of an engine without a time limit (default 60)",
    )
    output = parser.add_argument_group("output and runner")
    output.add_argument("--pgn", metavar="FILE", help="write the games to this file")
    output.add_argument("--resume", action="store_true", default=None, help="play the games missing from the PGN file")
    output.add_argument(
        "--overwrite",
        action="store_true",
        default=None,
        help="replace the games in the PGN file; a copy stays beside it",
    )
    output.add_argument("--runner", choices=RUNNERS, help="the program to use (auto: one on the PATH, else builtin)")
    output.add_argument("--cluster", metavar="tcp://HOST:PORT", help="play on the workers of this Dask scheduler")


def add_book_arguments(group: argparse._ActionsContainer) -> None:
    """Adds the options for openings. `book_from_arguments` reads them."""
    group.add_argument("--book", help="take openings from this EPD or PGN file, which may be compressed")
    group.add_argument("--order", choices=("sequential", "random"), help="order of the openings")
    group.add_argument("--seed", type=int, help="seed for the random order")
    group.add_argument("--plies", type=int, help="cut PGN openings to this many plies")


def add_rule_arguments(group: argparse._ActionsContainer) -> None:
    """Adds the options for adjudication. `rules_from_arguments` reads them."""
    resign = "an engine loses after MOVES moves with scores <= -SCORE centipawns; both: only if the opponent agrees"
    group.add_argument("--resign", metavar="MOVES,SCORE[,both]", help=resign)
    draw = "draw from move FROM on, after MOVES moves with all scores between -SCORE and SCORE centipawns"
    group.add_argument("--draw", metavar="FROM,MOVES,SCORE", help=draw)
    group.add_argument("--max-moves", type=int, help="draw after this many full moves")
    group.add_argument("--tb", metavar="FOLDER", help="adjudicate by the Syzygy tablebases in this folder")


def from_arguments(arguments: argparse.Namespace, format: str | None = None, rounds: int = 1) -> MatchDescription:
    """Returns the match that the options of `add_arguments` and the file (if there is one) describe.

    Options override the file, and `format` overrides both. `rounds` applies if neither sets it. Raises
    `DescriptionError` if a setting is invalid.
    """
    values: dict[str, Any] = {"rounds": rounds, **(read_toml(arguments.file) if arguments.file else {})}
    if arguments.engine:
        fallback = arguments.tc or DEFAULT_LIMIT
        try:
            values["engines"] = tuple(engine_from_pairs(pairs, arguments.each, fallback) for pairs in arguments.engine)
        except ValueError as error:
            raise DescriptionError(f"--engine{' or --each' * bool(arguments.each)}: {error}") from None
    elif arguments.tc or arguments.each:
        raise DescriptionError("--tc and --each need --engine; for the engines of a file, set tc in the file")
    for item in fields(MatchDescription):
        value = getattr(arguments, item.name, None)
        if value is not None and item.name not in ("engines", "format", "book", "time_margin"):
            values[item.name] = value
    if arguments.time_margin is not None:
        values["time_margin"] = arguments.time_margin / 1000
    values["book"] = book_from_arguments(arguments, values.get("book"))
    values["adjudication"] = rules_from_arguments(arguments, values.get("adjudication", Adjudication()))
    if format is not None:
        values["format"] = format
    if "engines" not in values:
        raise DescriptionError("no engines; pass --engine twice, or a description file")
    description = MatchDescription(**values)
    if description.cluster is None:
        check_tablebases(description.adjudication)
    return description


def book_from_arguments(arguments: argparse.Namespace, book: Book | None) -> Book | None:
    """Returns `book`, changed or replaced by `arguments`. Raises `DescriptionError` if there is no book to change."""
    changes = _given(arguments, order="order", seed="seed", plies="plies")
    if arguments.book is not None:
        book = replace(book, file=arguments.book) if book is not None else Book(arguments.book)
    if book is None and changes:
        raise DescriptionError(f"--{next(iter(changes))} needs --book")
    return replace(book, **changes) if book is not None else None


def rules_from_arguments(arguments: argparse.Namespace, rules: Adjudication) -> Adjudication:
    """Returns `rules`, changed by `arguments`. Raises `DescriptionError` if a value cannot be used."""
    changes = _given(arguments, max_moves="max_moves", tb="tablebases")
    if arguments.resign is not None:
        parts = arguments.resign.split(",")
        both = parts[2:] == ["both"]
        moves, score = _integers("--resign", arguments.resign, parts[:2] if both else parts, 2)
        changes["resign"] = ResignRule(moves, score, both)
    if arguments.draw is not None:
        changes["draw"] = DrawRule(*_integers("--draw", arguments.draw, arguments.draw.split(","), 3))
    return replace(rules, **changes)


def check_tablebases(rules: Adjudication) -> None:
    """Raises `DescriptionError` if the rules need tablebases and there are none in the folder that they name."""
    try:
        open_tablebases(rules.tablebases)
    except FileNotFoundError as error:
        raise DescriptionError(f"tablebases {error}") from None


def _given(arguments: argparse.Namespace, **keys: str) -> dict[str, Any]:
    """Returns the values of the options that were given, by description key. `keys` maps option names to these keys."""
    return {key: getattr(arguments, name) for name, key in keys.items() if getattr(arguments, name) is not None}


def _integers(option: str, text: str, parts: list[str], count: int) -> list[int]:
    if len(parts) != count or not all(re.fullmatch(r"\s*[0-9]{1,9}\s*", part) for part in parts):
        raise DescriptionError(f"{option} {shown(text)}: expected {count} whole numbers separated by commas")
    return [int(part) for part in parts]


#: The keys of `[[engines]]` and their types.
_ENGINE_KEYS: Final[dict[str, Any]] = {
    "name": str,
    "command": str | list,
    "directory": str,
    "tc": str,
    "options": dict,
    "restart": bool,
}

_TYPE_NAMES: Final[dict[type, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


def read_toml(path: str | Path) -> dict[str, Any]:
    """Returns the `MatchDescription` fields that a file sets. Raises `DescriptionError` if the file is invalid."""
    try:
        # The size is limited because Python's TOML reader takes quadratic time for some texts.
        data = tomllib.loads(read_text(path, limit=1 << 16))
    except (OSError, RecursionError, ValueError) as error:
        problem = reason(error) if isinstance(error, OSError) else str(error)
        if isinstance(error, RecursionError):
            problem = "its values are nested too deeply"
        raise MissingDescriptionError(f"{shown(path)}: {problem}") from None
    try:
        return _fields_of(data)
    except DescriptionError as error:
        raise DescriptionError(f"{shown(path)}: {error}") from None


def _fields_of(data: dict[str, Any]) -> dict[str, Any]:
    """Returns the `MatchDescription` fields that `data` sets. Raises `DescriptionError` if `data` is invalid."""
    kinds = get_type_hints(MatchDescription) | {"tc": str, "engines": list}
    del kinds["resume"], kinds["overwrite"]
    values = _checked(data, kinds)
    if "pgn" in values:
        values["pgn"] = _expanded(values["pgn"])
    if "book" in values:
        values["book"] = replace(values["book"], file=_expanded(values["book"].file))
    if (rules := values.get("adjudication")) is not None and rules.tablebases is not None:
        values["adjudication"] = replace(rules, tablebases=_expanded(rules.tablebases))
    if "time_margin" in values:
        values["time_margin"] /= 1000
    limit = values.pop("tc", DEFAULT_LIMIT)
    if "engines" in values:
        numbered = enumerate(values["engines"], start=1)
        values["engines"] = tuple(_engine(table, f"engines[{number}]", limit) for number, table in numbered)
    return values


def _expanded(path: str) -> str:
    """Returns `path` with a leading `~` expanded. Raises `DescriptionError` if there is no such home folder."""
    try:
        return str(user_path(path)) if path.startswith("~") else path
    except PathError as error:
        raise DescriptionError(str(error)) from None


def _engine(data: object, name: str, limit: str) -> EngineSpec:
    defaults: dict[str, Any] = {"name": "", "options": {}, "restart": False}
    table = defaults | _checked(data, _ENGINE_KEYS, name, ("command",))
    words, limit, folder = table["command"], table.get("tc", limit), table.get("directory")
    options = {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in table["options"].items()
    }
    try:
        command = tuple(map(str, words)) if isinstance(words, list) else split_command(words)
        return make_engine(table["name"], command, limit, folder, options, table["restart"])
    except ValueError as error:
        raise DescriptionError(f"{name}: {error}") from None


def _checked(data: object, kinds: Mapping[str, Any], name: str = "", required: Iterable[str] = ()) -> dict[str, Any]:
    """Returns a table's values. Raises `DescriptionError` for an unknown or missing key or a value of a wrong type."""
    if not isinstance(data, dict):
        raise DescriptionError(f"{name} must be a table, not {shown(repr(data))}")
    place = f"{name}." if name else ""
    for key in data:
        if key not in kinds:
            raise DescriptionError(f"{place}{shown(key)} is not a known key; known keys: {', '.join(kinds)}")
    for key in required:
        if key not in data:
            raise DescriptionError(f"{name} needs the key '{key}'")
    return {key: _value(value, kinds[key], place + key) for key, value in data.items()}


def _value(value: Any, kind: Any, name: str) -> Any:
    """Returns `value`, converted to `kind` if that is a dataclass. Raises `DescriptionError` for an invalid value."""
    kinds = [one for one in get_args(kind) or (kind,) if one is not NoneType]
    if is_dataclass(kinds[0]):
        required = [item.name for item in fields(kinds[0]) if item.default is item.default_factory is MISSING]
        return kinds[0](**_checked(value, get_type_hints(kinds[0]), name, required))  # type: ignore[operator]
    # In Python, a bool is an int, but "rounds = true" is a mistake. A whole number may stand for a float.
    allowed = (*kinds, int) if float in kinds else tuple(kinds)
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        expected = " or ".join(_TYPE_NAMES[one] for one in kinds)
        raise DescriptionError(f"{name} must be {expected}, not {shown(repr(value))}")
    if any("\0" in str(text) for text in (value if isinstance(value, list) else [value])):
        raise DescriptionError(f"{name} contains a null character")
    return value
