"""How strong the levels of `UCI_Elo` are: as players of a tournament, and the record of the games that rated them.

`secateur tourney --levels` plays the games. With `--save-levels` it writes `bench/ledger/strength/levels.json`: who
played whom, the results, the conditions. Ratings and intervals are computed from the record. `search/strength.py` has
the ratings, and a test compares the two.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Final

from bench import markdown, records
from bench.description import MatchDescription
from bench.engines import this_engine
from bench.rating import RatingList, rate
from bench.records import LedgerError, today
from bench.results import GameResult, MatchResult
from bench.stats import Tally, score_of_elo
from engine.files import parse_json, read_bytes, reason, replace_file, shown
from search.strength import LEVELS, Level

#: The nodes of its level limit a player, so it gets no clock and a depth that it never reaches.
_LIMIT: Final = "depth=64"

#: Points of the two games of a pair, by the place of the pair in a pentanomial.
_PAIRS: Final = (("0-1", "1-0"), ("0-1", "1/2-1/2"), ("1/2-1/2", "1/2-1/2"), ("1-0", "1/2-1/2"), ("1-0", "0-1"))

#: The largest record that is read, in bytes.
_MOST_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Anchor:
    """An engine whose rating is taken as given, and the limit at which it played."""

    name: str
    rating: float
    limit: str


@dataclass(frozen=True, slots=True)
class Encounter:
    """Pairs of games between two players, worth 0, 1/2, 1, 3/2 and 2 points to the `first`.

    `limit` is the second player's. `faults` counts games lost by a crash, a hang, an illegal move or the clock.
    """

    first: str
    second: str
    limit: str
    pentanomial: tuple[int, ...]
    faults: int = 0

    @property
    def games(self) -> int:
        """Games in complete pairs."""
        return 2 * sum(self.pentanomial)

    @property
    def score(self) -> float:
        """The first player's share of the points, 0 to 1."""
        return Tally.from_pentanomial(self.pentanomial).points / self.games

    def results(self, start: int) -> Iterator[GameResult]:
        """The games, with players and results only. Their numbers begin with `start`, which is even."""
        game = start
        for count, (one, other) in zip(self.pentanomial, _PAIRS, strict=True):
            for _ in range(count):
                yield GameResult(game, game // 2, self.first, self.second, one)
                yield GameResult(game + 1, game // 2, self.second, self.first, other)
                game += 2


@dataclass(frozen=True, slots=True)
class LevelsRecord:
    """All games of the levels, weakest first, and the conditions under which they were played."""

    levels: tuple[Level, ...]
    anchors: tuple[Anchor, ...]
    encounters: tuple[Encounter, ...]
    book: str
    commits: tuple[str, ...] = ()
    bench_nodes: int | None = None
    note: str = ""
    date: str = field(default_factory=today)

    def ratings(self) -> RatingList:
        """The rating list of all players. Without anchors the levels keep their average rating.

        Raises `RatingError`, and `LedgerError` where a level has no finite rating.
        """
        games: list[GameResult] = []
        for encounter in self.encounters:
            games += encounter.results(len(games))
        anchors = {anchor.name: anchor.rating for anchor in self.anchors}
        found = rate(games, anchors, average=statistics.fmean(level.elo for level in self.levels))
        rated = {line.name for line in found.ratings if line.rating is not None}
        for level in self.levels:
            if level.name not in rated:
                raise LedgerError(f"level {level.name} has no finite rating: play more pairs of games")
        return found

    def rated(self) -> LevelsRecord:
        """The same record, with the levels at the ratings that the games give."""
        ratings = {line.name: line.rating or 0.0 for line in self.ratings().ratings}
        return replace(self, levels=tuple(replace(level, elo=round(ratings[level.name])) for level in self.levels))


def engines() -> list[list[str]]:
    """Secateur at each level, as `--engine` takes an engine."""
    return [
        this_engine(f"name={level.name}", "option.UCI_LimitStrength=true", f"option.UCI_Elo={level.elo}", _LIMIT)
        for level in LEVELS
    ]


def make_record(description: MatchDescription, result: MatchResult, anchors: Mapping[str, float]) -> LevelsRecord:
    """The record of a tournament in which all levels have played. Raises `RatingError` and `LedgerError`."""
    limits = {engine.name: str(engine.limit) for engine in description.engines}
    encounters = []
    for first, second in combinations(limits, 2):
        games = [game for game in result.games if {game.white, game.black} == {first, second}]
        tally = Tally.of(games, first)
        if tally.pairs:
            faults = sum(game.fault is not None for game in games)
            encounters.append(Encounter(first, second, limits[second], tally.pentanomial, faults))
    known = tuple(Anchor(name, rating, limits[name]) for name, rating in anchors.items())
    book = records.circumstances_of(description)["book"]
    return LevelsRecord(LEVELS, known, tuple(encounters), book).rated()


# --------------------------------------------------------------------------------------------------------------
# The file
# --------------------------------------------------------------------------------------------------------------


def record_path(ledger: Path | None = None) -> Path:
    """Where the record lies in a ledger."""
    return (records.LEDGER if ledger is None else ledger) / "strength" / "levels.json"


def load(ledger: Path | None = None) -> LevelsRecord:
    """The record. Raises `LedgerError` naming the file when it is missing or no record."""
    path = record_path(ledger)
    try:
        data = parse_json(read_bytes(path, _MOST_BYTES))
        for name, kind in (("levels", Level), ("anchors", Anchor), ("encounters", Encounter)):
            data[name] = tuple(kind(**row) for row in data[name])
        encounters = (replace(row, pentanomial=tuple(row.pentanomial)) for row in data["encounters"])
        found = LevelsRecord(**{**data, "encounters": tuple(encounters), "commits": tuple(data["commits"])})
        found.ratings()
    except OSError as error:
        raise LedgerError(f"{shown(path)}: {reason(error)}") from None
    except (ValueError, TypeError, AttributeError, LookupError, ZeroDivisionError) as error:
        raise LedgerError(f"{shown(path)}: no record of levels: {error}") from None
    return found


def check_place(ledger: Path | None = None) -> None:
    """Raises `LedgerError` where `save` would replace something else than a record: call it before the games."""
    if record_path(ledger).exists():
        load(ledger)


def save(record: LevelsRecord, ledger: Path | None = None) -> Path:
    """Writes the record in the place of the last one, a line for each level, anchor and encounter.

    Raises OSError, and `LedgerError` where something else than a record is in its place.
    """
    check_place(ledger)
    path = record_path(ledger)
    lines = []
    for name, value in asdict(record).items():
        is_table = name in ("levels", "anchors", "encounters")
        rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in (value if is_table else [value]))
        lines.append(f' "{name}": [\n  {rows}\n ]' if is_table else f' "{name}": {rows}')
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, "{\n" + ",\n".join(lines) + "\n}\n")
    return path


# --------------------------------------------------------------------------------------------------------------
# The table
# --------------------------------------------------------------------------------------------------------------


def table(record: LevelsRecord) -> str:
    """The levels, the anchors that they met, and the conditions, as Markdown. Raises what `ratings` raises."""
    ratings = {line.name: (line.rating or 0.0, line.error) for line in record.ratings().ratings}
    levels = []
    for level in record.levels:
        elo, error = ratings[level.name]
        levels.append((f"{elo:.0f}", f"{error:.0f}", f"{level.nodes:,}", f"{level.softness} cp", str(level.lines)))
    parts = [markdown.table(("`UCI_Elo`", "+-", "nodes a move", "softness", "lines"), levels, range(5))]
    anchors = {anchor.name: anchor for anchor in record.anchors}
    met = []
    for encounter in record.encounters:
        anchor, (elo, _) = anchors.get(encounter.second), ratings[encounter.first]
        if anchor is not None and encounter.first not in anchors:
            score = f"{100 * encounter.score:.1f} % of {encounter.games}"
            expected = f"{100 * score_of_elo(elo - anchor.rating):.1f} %"
            met.append((anchor.name, f"{anchor.rating:.0f}", anchor.limit, f"{elo:.0f}", score, expected))
    if met:
        head = ("known engine", "taken to be", "its limit", "level", "scored against it", "expected")
        parts.append(markdown.table(head, met, (1, 3, 4, 5)))
    else:
        parts.append("No engine of known rating has played: only the differences are measured.")
    return "\n\n".join([*parts, _conditions(record)])


def _conditions(record: LevelsRecord) -> str:
    """When, what and how, as a sentence."""
    games = sum(encounter.games for encounter in record.encounters)
    faults = sum(encounter.faults for encounter in record.encounters)
    parts = [f"{games:,} games, {record.date}", f"openings {record.book}"]
    parts += [f"commit {', '.join(record.commits)}"] if record.commits else []
    parts += [] if record.bench_nodes is None else [f"bench {record.bench_nodes}"]
    parts.append(f"{faults or 'none'} lost by a fault")
    return "; ".join(parts) + "." + (f" {record.note}" if record.note else "")
