"""One match, described once: by a TOML file, by the command line, or by a file that the command line overrides.

Everything that can be wrong with a description is found here, before an engine is started, and said in one line that
names the option, or the file, its line and the key.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NoReturn

from bench.adjudication import Adjudication, DrawRule, ResignRule
from bench.engines import EngineSpec, EngineSpecError, engine_from_pairs, make_engine, split_command
from engine.errors import CommandError, MissingError
from engine.files import quoted, read_text, reason, shown

RUNNERS: Final = ("auto", "builtin", "cutechess", "fastchess")
FORMATS: Final = ("match", "gauntlet", "round-robin")
DEFAULT_LIMIT: Final = "10+0.1"

_MOST_ROUNDS: Final = 10_000_000
_MOST_AT_ONCE: Final = 10_000
_MOST_SECONDS: Final = 1_000_000
_MOST_NUMBER: Final = 1_000_000

#: A description is at most this large, in bytes.
_MOST_BYTES: Final = 1 << 20
#: The beginning of a dotted key, which Python's TOML reader parses in quadratic time.
_LONG_KEY: Final = re.compile(r"""^[ \t\[]*+(?:[\w"'-]++[ \t]*+\.[ \t]*+){20}""", re.MULTILINE)


class DescriptionError(CommandError, ValueError):
    """A match that makes no sense; the message is one line."""


class MissingDescriptionError(DescriptionError, MissingError):
    """A file with a description that is missing, unreadable or no TOML."""


@dataclass(frozen=True, slots=True)
class Book:
    """Where openings come from: a file, read in `order` ("sequential" or "random" by `seed`), cut to `plies`."""

    file: str
    order: str = "sequential"
    seed: int = 0
    plies: int | None = None


@dataclass(frozen=True, slots=True)
class MatchDescription:
    """A match or tournament.

    Each of `rounds` rounds plays every pairing of `format` once with each colour (`games_per_pair` 2) or once (1).
    `time_margin` is what an engine may overstep, `hang_seconds` how long it may be silent where no clock limits it;
    both in seconds. `runner` is one of `RUNNERS`; `cluster` the address of a Dask scheduler for the built-in runner.
    """

    engines: tuple[EngineSpec, ...]
    format: str = "match"
    rounds: int = 1
    games_per_pair: int = 2
    book: Book | None = None
    concurrency: int = 1
    adjudication: Adjudication = field(default_factory=Adjudication)
    time_margin: float = 0.0
    hang_seconds: float = 60.0
    pgn: str | None = None
    resume: bool = False
    overwrite: bool = False
    event: str = "Secateur match"
    runner: str = "auto"
    cluster: str | None = None

    def __post_init__(self) -> None:
        names = [engine.name for engine in self.engines]
        if len(names) < 2:
            raise DescriptionError("a match needs two engines")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DescriptionError(f"two engines are called {twice}; give them different names")
        if self.format not in FORMATS:
            raise DescriptionError(f"format is one of {', '.join(FORMATS)}, not {quoted(self.format)}")
        if self.format == "match" and len(names) != 2:
            raise DescriptionError(f"a match is between two engines, not {len(names)}; set format for a tournament")
        if self.runner not in RUNNERS:
            raise DescriptionError(f"runner is one of {', '.join(RUNNERS)}, not {quoted(self.runner)}")
        if self.games_per_pair not in (1, 2):
            raise DescriptionError("games_per_pair is 2 (colours swapped) or 1")
        for name, value, least, most in (
            ("rounds", self.rounds, 1, _MOST_ROUNDS),
            ("concurrency", self.concurrency, 1, _MOST_AT_ONCE),
            ("time_margin", self.time_margin, 0, _MOST_SECONDS),
            ("hang_seconds", self.hang_seconds, 0.1, _MOST_SECONDS),
        ):
            # "nan" is neither too small nor too large.
            if not least <= value <= most:
                bound = f"at most {most}" if value > most else f"at least {least}"
                raise DescriptionError(f"{name} is {bound}, not {shown(str(value))}")
        rules = self.adjudication
        numbers = [("max_moves", rules.max_moves, 1), ("tablebase_pieces", rules.tablebase_pieces, 2)]
        if self.book is not None:
            numbers.append(("the book's plies", self.book.plies, 0))
        for rule in (rules.resign, rules.draw):
            if rule is not None:
                numbers += [("adjudication's moves", rule.moves, 1), ("adjudication's score", rule.score, 0)]
        if rules.draw is not None:
            numbers.append(("adjudication's first move", rules.draw.from_move, 0))
        for name, number, least in numbers:
            if number is not None and not least <= number <= _MOST_NUMBER:
                raise DescriptionError(f"{name} is {least} to {_MOST_NUMBER}, not {shown(str(number))}")
        if self.resume and self.pgn is None:
            raise DescriptionError("to resume, name the PGN file of the match that was cut short")
        if self.resume and self.overwrite:
            raise DescriptionError("either resume or overwrite, not both")

    def fingerprint(self) -> str:
        """Twelve hexadecimal digits over whatever decides which games are played and how; a resumed match must agree.

        The number of rounds is left out, so that a finished match can be prolonged.
        """
        parts = (
            self.engines,
            self.format,
            self.games_per_pair,
            self.book,
            self.adjudication,
            self.time_margin,
            self.hang_seconds,
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


# --------------------------------------------------------------------------------------------------------------
# The command line
# --------------------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds every option that describes a match; `from_arguments` reads them back."""
    parser.add_argument("file", nargs="?", metavar="FILE.toml", help="a description; the options override it")
    engines = parser.add_argument_group("engines")
    engines.add_argument(
        "--engine",
        action="append",
        nargs="+",
        metavar="KEY=VALUE",
        help="an engine: cmd=, name=, arg=, dir=, tc=, st=, nodes=, depth=, restart=on|off, option.NAME=",
    )
    engines.add_argument("--each", nargs="+", default=[], metavar="KEY=VALUE", help="the same for every --engine")
    engines.add_argument("--tc", help=f"time control of engines without one (default {DEFAULT_LIMIT})")
    games = parser.add_argument_group("games")
    games.add_argument("--games", type=int, metavar="N", help="games of each pairing in all (default: one pair)")
    games.add_argument("--rounds", type=int, metavar="N", help="the same in pairs of games (default 1)")
    games.add_argument("--games-per-pair", type=int, choices=(1, 2), help="2 swaps colours, 1 does not (default 2)")
    add_book_arguments(games)
    games.add_argument("--concurrency", type=int, help="games at the same time (default 1)")
    games.add_argument("--event", help="the PGN Event tag")
    rules = parser.add_argument_group("adjudication")
    add_rule_arguments(rules)
    rules.add_argument("--time-margin", type=float, metavar="MS", help="milliseconds an engine may overstep")
    rules.add_argument("--hang", type=float, metavar="SECONDS", help="silence without a clock that is a loss (60)")
    output = parser.add_argument_group("output and machinery")
    output.add_argument("--pgn", help="write the games here")
    output.add_argument("--resume", action="store_true", default=None, help="play what is missing in the PGN file")
    output.add_argument("--overwrite", action="store_true", default=None, help="start the PGN file afresh")
    output.add_argument("--runner", choices=RUNNERS, help="who plays (default: what is on the PATH, else built in)")
    output.add_argument("--cluster", metavar="tcp://HOST:PORT", help="play on the workers of this Dask scheduler")


def add_book_arguments(group: argparse._ActionsContainer) -> None:
    """Adds what `book_from_arguments` reads back: the openings."""
    group.add_argument("--book", help="openings: EPD or PGN, also zipped")
    group.add_argument("--order", choices=("sequential", "random"), help="order of the openings")
    group.add_argument("--seed", type=int, help="seed of the random order")
    group.add_argument("--plies", type=int, help="cut PGN openings to this many plies")


def add_rule_arguments(group: argparse._ActionsContainer) -> None:
    """Adds what `rules_from_arguments` reads back: when a game is ended from outside."""
    group.add_argument("--resign", metavar="MOVES,SCORE[,both]", help="lost after MOVES moves at -SCORE centipawns")
    group.add_argument("--draw", metavar="FROM,MOVES,SCORE", help="drawn from move FROM after MOVES moves within SCORE")
    group.add_argument("--max-moves", type=int, help="drawn after this many moves")
    group.add_argument("--tb", metavar="FOLDER", help="adjudicate by Syzygy tablebases")
    group.add_argument("--tb-pieces", type=int, help="probe at up to this many pieces (default 7)")


def from_arguments(arguments: argparse.Namespace, format: str | None = None) -> MatchDescription:
    """The match that `add_arguments` options and the file they name describe; `format` overrides both.

    Raises `DescriptionError`.
    """
    values: dict[str, Any] = read_toml(arguments.file) if arguments.file else {}
    if arguments.engine:
        fallback = arguments.tc or DEFAULT_LIMIT
        try:
            values["engines"] = tuple(engine_from_pairs(pairs, arguments.each, fallback) for pairs in arguments.engine)
        except EngineSpecError as error:
            raise DescriptionError(f"--engine{' or --each' * bool(arguments.each)}: {error}") from None
    elif arguments.tc or arguments.each:
        raise DescriptionError("--tc and --each speak of engines given with --engine; in the file, write tc there")
    for key in ("rounds", "games_per_pair", "concurrency", "event", "pgn", "resume", "overwrite", "runner", "cluster"):
        value = getattr(arguments, key)
        if value is not None:
            values[key] = value
    if arguments.games is not None:
        values["rounds"] = _rounds(arguments, values.get("games_per_pair", 2))
    if arguments.time_margin is not None:
        values["time_margin"] = arguments.time_margin / 1000
    if arguments.hang is not None:
        values["hang_seconds"] = arguments.hang
    values["book"] = book_from_arguments(arguments, values.get("book"))
    values["adjudication"] = rules_from_arguments(arguments, values.get("adjudication", Adjudication()))
    if format is not None:
        values["format"] = format
    if "engines" not in values:
        raise DescriptionError("no engines: give --engine twice, or a description file")
    return MatchDescription(**values)


def _rounds(arguments: argparse.Namespace, games_per_pair: int) -> int:
    """The rounds that `--games` stands for. Raises `DescriptionError`."""
    games: int = arguments.games
    if arguments.rounds is not None:
        raise DescriptionError("--games is the number of games of a pairing in all: leave it or --rounds out")
    if arguments.file and games <= 2:
        # It was the number of games of a pair once, and would silently end the match after one.
        raise DescriptionError(f"--games {games} is a pairing's whole match: write --rounds or --games-per-pair")
    if games < 1 or games % games_per_pair:
        raise DescriptionError(f"--games is a multiple of {games_per_pair}, the games of a pair, not {games}")
    return games // games_per_pair


def book_from_arguments(arguments: argparse.Namespace, book: Book | None) -> Book | None:
    """`book` with what the options of `add_book_arguments` change. Raises `DescriptionError`."""
    changes = {
        key: getattr(arguments, key) for key in ("order", "seed", "plies") if getattr(arguments, key) is not None
    }
    if arguments.book is not None:
        book = Book(arguments.book)
    if book is None and changes:
        raise DescriptionError(f"--{next(iter(changes))} needs --book")
    return replace(book, **changes) if book is not None else None


def rules_from_arguments(arguments: argparse.Namespace, rules: Adjudication) -> Adjudication:
    """`rules` with what the options of `add_rule_arguments` change. Raises `DescriptionError`."""
    changes: dict[str, Any] = {}
    if arguments.resign is not None:
        parts = arguments.resign.split(",")
        both = parts[2:] == ["both"]
        moves, score = _integers("--resign", arguments.resign, parts[:2] if both else parts, 2)
        changes["resign"] = ResignRule(moves, score, both)
    if arguments.draw is not None:
        changes["draw"] = DrawRule(*_integers("--draw", arguments.draw, arguments.draw.split(","), 3))
    for option, key in (("max_moves", "max_moves"), ("tb", "tablebases"), ("tb_pieces", "tablebase_pieces")):
        value = getattr(arguments, option)
        if value is not None:
            changes[key] = value
    return replace(rules, **changes)


def _integers(option: str, text: str, parts: list[str], count: int) -> list[int]:
    if len(parts) != count or not all(re.fullmatch(r"\s*[0-9]{1,9}\s*", part) for part in parts):
        raise DescriptionError(f"{option} {shown(text)}: expected {count} whole numbers with commas between them")
    return [int(part) for part in parts]


# --------------------------------------------------------------------------------------------------------------
# TOML
# --------------------------------------------------------------------------------------------------------------

#: Key of the file: (accepted types, field of `MatchDescription` or None when it is handled by name).
_TOP: Final[dict[str, tuple[type, ...]]] = {
    "format": (str,),
    "rounds": (int,),
    "games_per_pair": (int,),
    "concurrency": (int,),
    "time_margin": (int, float),
    "hang_seconds": (int, float),
    "pgn": (str,),
    "event": (str,),
    "runner": (str,),
    "cluster": (str,),
    "tc": (str,),
    "book": (dict,),
    "adjudication": (dict,),
    "engines": (list,),
}
_BOOK: Final[dict[str, tuple[type, ...]]] = {"file": (str,), "order": (str,), "seed": (int,), "plies": (int,)}
_ENGINE: Final[dict[str, tuple[type, ...]]] = {
    "name": (str,),
    "command": (str, list),
    "directory": (str,),
    "tc": (str,),
    "options": (dict,),
    "restart": (bool,),
}
_RULES: Final[dict[str, tuple[type, ...]]] = {
    "resign": (dict,),
    "draw": (dict,),
    "max_moves": (int,),
    "tablebases": (str,),
    "tablebase_pieces": (int,),
}
_RESIGN: Final[dict[str, tuple[type, ...]]] = {"moves": (int,), "score": (int,), "both_sides": (bool,)}
_DRAW: Final[dict[str, tuple[type, ...]]] = {"from_move": (int,), "moves": (int,), "score": (int,)}


def read_toml(path: str | Path) -> dict[str, Any]:
    """The fields of a `MatchDescription` that the file sets. Raises `DescriptionError` naming file, line and key."""
    place = shown(path)
    try:
        text = read_text(path, _MOST_BYTES)
    except OSError as error:
        raise MissingDescriptionError(f"{place}: {reason(error)}") from None
    long_key = _LONG_KEY.search(text)
    if long_key is not None:
        line = text.count("\n", 0, long_key.start()) + 1
        raise MissingDescriptionError(f"{place}:{line}: no setting of a match has a key of so many parts")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, where = str(error).partition(" (at line ")
        line = int(where.partition(",")[0]) if where else text.count("\n") + 1
        raise MissingDescriptionError(f"{place}:{line}: {message.removesuffix(' (at end of document)')}") from None
    except RecursionError:
        raise MissingDescriptionError(f"{place}: its values are nested too deeply") from None
    except ValueError:  # Python reads no number of thousands of digits
        raise MissingDescriptionError(f"{place}: a number has too many digits") from None
    return _TomlReader(place, text).description(data)


class _TomlReader:
    """Turns parsed TOML into description fields, and knows the line of each key for messages."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._lines = _key_lines(text)

    def description(self, data: dict[str, Any]) -> dict[str, Any]:
        self._check(data, _TOP, "")
        values = {key: value for key, value in data.items() if key not in ("tc", "book", "adjudication", "engines")}
        if "time_margin" in values:
            values["time_margin"] /= 1000
        if "book" in data:
            book = self._table(data["book"], _BOOK, "book", ("file",))
            if book.get("order", "sequential") not in ("sequential", "random"):
                self._fail("book.order", "is sequential or random")
            values["book"] = Book(**book)
        if "adjudication" in data:
            values["adjudication"] = self._rules(data["adjudication"])
        if "engines" in data:
            values["engines"] = tuple(
                self._engine(engine, f"engines[{number}]", data.get("tc", DEFAULT_LIMIT))
                for number, engine in enumerate(data["engines"], start=1)
            )
        return values

    def _engine(self, data: object, where: str, limit: str) -> EngineSpec:
        if not isinstance(data, dict):
            self._fail(where, "is not a table")
        engine = self._table(data, _ENGINE, where, ("command",))
        options = {name: _option_text(value) for name, value in engine.get("options", {}).items()}
        command = engine["command"]
        try:
            words = tuple(map(str, command)) if isinstance(command, list) else split_command(command)
            return make_engine(
                engine.get("name", ""),
                words,
                engine.get("tc", limit),
                engine.get("directory"),
                options,
                engine.get("restart", False),
            )
        except EngineSpecError as error:
            key = "tc" if "time control" in str(error) else "command"
            self._fail(f"{where}.{key}" if key in engine or key == "command" else "tc", str(error))

    def _rules(self, data: dict[str, Any]) -> Adjudication:
        rules = self._table(data, _RULES, "adjudication", ())
        if "resign" in rules:
            table = self._table(rules["resign"], _RESIGN, "adjudication.resign", ("moves", "score"))
            rules["resign"] = ResignRule(**table)
        if "draw" in rules:
            table = self._table(rules["draw"], _DRAW, "adjudication.draw", ("from_move", "moves", "score"))
            rules["draw"] = DrawRule(**table)
        return Adjudication(**rules)

    def _table(
        self, data: dict[str, Any], known: Mapping[str, tuple[type, ...]], where: str, needed: tuple[str, ...]
    ) -> dict[str, Any]:
        self._check(data, known, where + ".")
        for key in needed:
            if key not in data:
                self._fail(where, f"needs the key '{key}'")
        return dict(data)

    def _check(self, data: dict[str, Any], known: Mapping[str, tuple[type, ...]], prefix: str) -> None:
        for key, value in data.items():
            if key not in known:
                self._fail(prefix + key, f"is not known here; known are {', '.join(known)}")
            if (
                "\0" in value
                if isinstance(value, str)
                else isinstance(value, list) and "\0" in "".join(map(str, value))
            ):
                self._fail(prefix + key, "holds a null character")
            # In Python, a bool is an int, but "rounds = true" is a mistake.
            if not isinstance(value, known[key]) or (isinstance(value, bool) and bool not in known[key]):
                expected = " or ".join(_TYPE_NAMES[kind] for kind in known[key])
                self._fail(prefix + key, f"must be {expected}, not {shown(repr(value))}")

    def _fail(self, key: str, message: str) -> NoReturn:
        line = self._lines.get(key) or self._lines.get(key.rpartition(".")[0])
        place = f"{self._path}:{line}" if line else self._path
        key = shown(key)
        raise DescriptionError(
            f"{place}: {key} {message}" if not message.startswith("engine ") else f"{place}: {message}"
        )


_TYPE_NAMES: Final[dict[type, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


def _option_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _key_lines(text: str) -> dict[str, int]:
    """Dotted key: line number. Good enough for messages; keys inside multi-line values may be missed."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*(\[\[?)([^\[\]]+)\]", line)
        if header:
            table = header[2].strip()
            if header[1] == "[[":
                counts[table] = counts.get(table, 0) + 1
                table = f"{table}[{counts[table]}]"
            elif table.startswith("engines."):  # [engines.options] belongs to the last [[engines]]
                table = f"engines[{counts.get('engines', 1)}]{table.removeprefix('engines')}"
            lines.setdefault(table, number)
            continue
        key = re.match(r'\s*"?([\w.-]+)"?\s*=', line)
        if key:
            lines.setdefault(f"{table}.{key[1]}" if table else key[1], number)
    return lines
