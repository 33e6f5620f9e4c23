"""How strong the levels of `search.strength` are: the matches that measure them, and the record that is kept.

Neighbouring levels play each other. Their limits are nodes, so that it does not matter what else the machine does. One
or more engines of known rating (anchors) play the levels nearest to them, and one maximum-likelihood fit
(`bench.rating`) puts all of them on the anchors' scale.

The record is `bench/ledger/strength/levels.json`: who played whom, with which outcome, under what conditions. Ratings
and their intervals are computed from it; `search.strength` has the ratings, and a test holds the two together.
"""

from __future__ import annotations

import datetime
import json
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from bench import records
from bench.adjudication import Adjudication, DrawRule, ResignRule
from bench.description import Book, MatchDescription
from bench.engines import EngineSpec, EngineSpecError, engine_from_pairs, make_engine
from bench.pgn import read_games
from bench.play import play
from bench.rating import RatingError, RatingList, rate
from bench.results import GameResult, MatchResult
from bench.runners.base import OnGame
from bench.speed import renew_table
from bench.stats import Tally
from engine.errors import CommandError
from engine.files import parse_json, read_bytes, reason, replace_file, shown
from search.strength import Level

#: Where README has the tables.
BEGIN: Final = "<!-- levels: begin -->"
END: Final = "<!-- levels: end -->"

#: What a level is told besides its strength: no clock, and a depth that none of them reaches. And what the record says
#: of that: its nodes bound it.
LEVEL_LIMIT: Final = "depth=64"
OWN_NODES: Final = "nodes of each level"

#: Games end when both sides agree: weak levels would shuffle on for ever.
RULES: Final = Adjudication(ResignRule(4, 1000, both_sides=True), DrawRule(50, 8, 8), max_moves=200)

#: Points of the two games of a pair, by the place of the pair in a pentanomial.
_PAIRS: Final = ((0.0, 0.0), (0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0))
_RESULTS: Final = {0.0: "0-1", 0.5: "1/2-1/2", 1.0: "1-0"}

#: A record is at most this large, in bytes.
_MOST_BYTES: Final = 16 << 20

_ROW: Final = re.compile(r"Level\(([\d_]+)(, ([\d_]+), ([\d_]+), ([\d_]+)\))")


class CalibrationError(CommandError, ValueError):
    """A calibration that makes no sense, or says nothing; the message is one line."""


# --------------------------------------------------------------------------------------------------------------
# The record
# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KnownRating:
    """An engine whose rating is taken as given, and the limit at which it played."""

    name: str
    rating: float
    limit: str


@dataclass(frozen=True, slots=True)
class Encounter:
    """Games of a level against another player: pairs worth 0, 1/2, 1, 3/2 and 2 points to the `first`.

    `limit` is the second player's; `faults` counts the games lost by a crash, a hang, an illegal move or the clock.
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
        """Share of the points that the first player made, 0 to 1."""
        return Tally.from_pentanomial(self.pentanomial).points / self.games

    def results(self, start: int) -> Iterator[GameResult]:
        """The games again, as far as ratings are concerned; pairs are numbered from `start`."""
        pair = start
        for count, (white, black) in zip(self.pentanomial, _PAIRS, strict=True):
            for _ in range(count):
                yield GameResult(2 * pair, pair, self.first, self.second, _RESULTS[white])
                yield GameResult(2 * pair + 1, pair, self.second, self.first, _RESULTS[1.0 - black])
                pair += 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything that was played: levels, weakest first, known engines, who played whom, and the circumstances."""

    levels: tuple[Level, ...]
    anchors: tuple[KnownRating, ...]
    encounters: tuple[Encounter, ...]
    book: str
    commits: tuple[str, ...] = ()
    bench_nodes: int | None = None
    note: str = ""
    date: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date().isoformat())

    @property
    def games(self) -> int:
        """Games in complete pairs."""
        return sum(encounter.games for encounter in self.encounters)

    def ratings(self) -> RatingList:
        """The rating list of all players; without anchors the levels' ratings keep their average.

        Raises `CalibrationError`, also where the games give a level no finite rating.
        """
        games: list[GameResult] = []
        for encounter in self.encounters:
            games += encounter.results(len(games))
        anchors = {anchor.name: anchor.rating for anchor in self.anchors}
        try:
            table = rate(games, anchors, average=statistics.fmean(level.elo for level in self.levels))
        except RatingError as error:
            raise CalibrationError(str(error)) from None
        known = {line.name: line for line in table.ratings}
        for level in self.levels:
            if level.name not in known:
                raise CalibrationError(f"level {level.name} has played no pair of games")
            if known[level.name].rating is None:
                raise CalibrationError(f"level {level.name}: {known[level.name].note}: play more pairs of games")
        return table

    def rated(self) -> Calibration:
        """The same with the levels at the ratings that the games give. Raises `CalibrationError`."""
        ratings = {line.name: line.rating or 0.0 for line in self.ratings().ratings}
        return replace(self, levels=tuple(replace(level, elo=round(ratings[level.name])) for level in self.levels))


def not_monotone(levels: Sequence[Level]) -> list[str]:
    """A line for each level that is rated no better than the one before it."""
    return [
        f"level {high.name} ({high.elo}) is rated no better than {low.name} ({low.elo})"
        for low, high in pairwise(levels)
        if high.elo <= low.elo
    ]


def record_path(ledger: Path | None = None) -> Path:
    """Where the record lies, in the ledger."""
    return (records.LEDGER if ledger is None else ledger) / "strength" / "levels.json"


def load(ledger: Path | None = None) -> Calibration:
    """The record. Raises `CalibrationError` naming the file when it is missing or broken."""
    path = record_path(ledger)
    try:
        data = parse_json(read_bytes(path, _MOST_BYTES))
        return Calibration(
            **{
                **data,
                "levels": tuple(Level(**level) for level in data["levels"]),
                "anchors": tuple(KnownRating(**anchor) for anchor in data["anchors"]),
                "encounters": tuple(
                    Encounter(**{**encounter, "pentanomial": tuple(encounter["pentanomial"])})
                    for encounter in data["encounters"]
                ),
                "commits": tuple(data["commits"]),
            }
        )
    except OSError as error:
        raise CalibrationError(f"{path}: {reason(error)}") from None
    except KeyError as error:
        raise CalibrationError(f"{path}: there is no {error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        why = re.sub(r"^\w+\.__init__\(\) ", "", str(error))
        raise CalibrationError(f"{path}: {why}") from None


def save(calibration: Calibration, ledger: Path | None = None) -> Path:
    """Writes the record in the place of the last one. Raises `CalibrationError`."""
    path = record_path(ledger)
    lines = []
    for item in fields(Calibration):
        value = getattr(calibration, item.name)
        if item.name in ("levels", "anchors", "encounters"):
            rows = ",\n".join(f"  {json.dumps(asdict(row), ensure_ascii=False)}" for row in value)
            lines.append(f' "{item.name}": [\n{rows}\n ]' if rows else f' "{item.name}": []')
        else:
            lines.append(f" {json.dumps(item.name)}: {json.dumps(value, ensure_ascii=False)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, "{\n" + ",\n".join(lines) + "\n}\n")
    except OSError as error:
        raise CalibrationError(f"{shown(path)}: cannot be written: {reason(error)}") from None
    return path


# --------------------------------------------------------------------------------------------------------------
# The games
# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Anchor:
    """An engine of known rating, ready to be started."""

    spec: EngineSpec
    rating: float

    def known(self) -> KnownRating:
        """What the record says of it."""
        return KnownRating(self.spec.name, self.rating, str(self.spec.limit))


def anchor_from_pairs(pairs: Sequence[str]) -> Anchor:
    """An anchor from `key=value` texts: those of `bench.engines.engine_from_pairs`, and `rating=`.

    Raises `CalibrationError`.
    """
    ratings = [pair.removeprefix("rating=") for pair in pairs if pair.startswith("rating=")]
    try:
        (text,) = ratings
        rating = float(text)
    except ValueError:
        raise CalibrationError(f"--anchor {' '.join(pairs)}: needs rating=NUMBER once") from None
    try:
        return Anchor(engine_from_pairs(pair for pair in pairs if not pair.startswith("rating=")), rating)
    except EngineSpecError as error:
        raise CalibrationError(f"--anchor: {error}") from None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be played: `pairs` of games of each two neighbours, `anchor_pairs` of an anchor and a level.

    Each anchor meets the `nearest` levels nearest to it, by the ratings that they have so far. `command` and `options`
    start Secateur. The games of each match are kept in a file of their own in `folder`, from which a plan that was cut
    short goes on.
    """

    levels: tuple[Level, ...]
    anchors: tuple[Anchor, ...]
    command: tuple[str, ...]
    options: Mapping[str, str]
    folder: Path
    pairs: int
    anchor_pairs: int
    nearest: int
    book: Book
    concurrency: int = 1

    def __post_init__(self) -> None:
        names = [anchor.spec.name for anchor in self.anchors]
        for name in names:
            if names.count(name) > 1:
                raise CalibrationError(f"two anchors are called {name}: give them different names")
        for name, value in (
            ("pairs", self.pairs),
            ("anchor-pairs", self.anchor_pairs),
            ("opponents", self.nearest),
            ("concurrency", self.concurrency),
        ):
            if value < 1:
                raise CalibrationError(f"--{name} is at least 1, not {value}")

    def player(self, level: Level) -> EngineSpec:
        """Secateur at that level."""
        strength = {"UCI_LimitStrength": "true", "UCI_Elo": str(level.elo)}
        return make_engine(level.name, self.command, LEVEL_LIMIT, None, {**self.options, **strength}, restart=False)

    def matches(self) -> list[MatchDescription]:
        """Every match, the level whose points the record counts being the first player."""
        found = [self._match(self.player(high), self.player(low), self.pairs) for low, high in pairwise(self.levels)]
        for anchor in self.anchors:
            nearest = sorted(self.levels, key=lambda level: abs(level.elo - anchor.rating))[: self.nearest]
            found += [self._match(self.player(level), anchor.spec, self.anchor_pairs) for level in nearest]
        return found

    def _match(self, first: EngineSpec, second: EngineSpec, pairs: int) -> MatchDescription:
        name = re.sub(r"[^\w.-]+", "_", f"{first.name}--{second.name}")
        return MatchDescription(
            (first, second),
            rounds=pairs,
            book=self.book,
            concurrency=self.concurrency,
            adjudication=RULES,
            pgn=str(self.folder / f"{name}.pgn"),
            resume=True,
            event="Secateur calibration",
            runner="builtin",
        )

    def record(self, results: Sequence[MatchResult]) -> Calibration:
        """What is to be kept of the matches, the levels still at the ratings that they had."""
        limits = {anchor.spec.name: str(anchor.spec.limit) for anchor in self.anchors}
        encounters = []
        for result in results:
            first, second = result.engines
            tally = Tally.of(result.games, first)
            if not tally.pairs:
                raise CalibrationError(f"{first} and {second} have played no pair of games")
            faults = sum(game.fault is not None for game in result.games)
            limit = limits.get(second, OWN_NODES)
            encounters.append(Encounter(first, second, limit, tally.pentanomial, faults))
        anchors = tuple(anchor.known() for anchor in self.anchors)
        return Calibration(self.levels, anchors, tuple(encounters), Path(self.book.file).name)


def play_match(description: MatchDescription, on_game: OnGame) -> MatchResult:
    """Plays what is missing of a match. Raises `PlayError`.

    One that is complete is only read: its games stay valid when levels have got other ratings since.
    """
    path = Path(description.pgn or "")
    planned = description.rounds * description.games_per_pair
    if path.is_file():
        games = list(read_games(path))
        if len(games) >= planned:
            names = tuple(engine.name for engine in description.engines)
            return MatchResult(names, games, planned, problems=[game.fault for game in games if game.fault])
    return play(description, on_game)


# --------------------------------------------------------------------------------------------------------------
# What comes out
# --------------------------------------------------------------------------------------------------------------


def markdown(calibration: Calibration) -> str:
    """The tables of README: levels, then the engines of known rating. Raises `CalibrationError`."""
    ratings = calibration.ratings()
    lines = {line.name: line for line in ratings.ratings}
    order = [line.name for line in ratings.ratings]
    scores = {(encounter.first, encounter.second): encounter for encounter in calibration.encounters}
    rows = [
        "| `UCI_Elo` | +- | nodes a move | softness | lines | against the level before | better than it |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    before: Level | None = None
    for level in calibration.levels:
        cells = [f"{lines[level.name].rating:.0f}", f"{lines[level.name].error:.0f}", f"{level.nodes:,}"]
        cells += [f"{level.softness} cp", str(level.lines)]
        if before is None:
            cells += ["", ""]
        else:
            encounter = scores[level.name, before.name]
            chance = ratings.superiority[order.index(level.name)][order.index(before.name)]
            cells += [f"{100 * encounter.score:.1f} % of {encounter.games}", f"{100 * chance:.1f} %"]
        rows.append(f"| {' | '.join(cells)} |")
        before = level
    return "\n".join([*rows, "", *_anchor_rows(calibration, ratings), "", _circumstances(calibration)])


def _anchor_rows(calibration: Calibration, ratings: RatingList) -> list[str]:
    """The encounters with known engines, beside what the ratings expect of them."""
    if not calibration.anchors:
        return ["No engine of known rating has played: differences are measured, the zero of the scale is a guess."]
    known = {anchor.name: anchor for anchor in calibration.anchors}
    rating = {line.name: line.rating or 0.0 for line in ratings.ratings}
    rows = [
        "| known engine | taken to be | its limit | level | scored against it | expected |",
        "|---|---:|---|---:|---:|---:|",
    ]
    for encounter in calibration.encounters:
        anchor = known.get(encounter.second)
        if anchor is None:
            continue
        expected = 1 / (1 + 10 ** ((anchor.rating - rating[encounter.first]) / 400))
        cells = (
            anchor.name,
            f"{anchor.rating:.0f}",
            anchor.limit,
            f"{rating[encounter.first]:.0f}",
            f"{100 * encounter.score:.1f} % of {encounter.games}",
            f"{100 * expected:.1f} %",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _circumstances(calibration: Calibration) -> str:
    """When, what and how, as a sentence."""
    parts = [f"{calibration.games:,} games, {calibration.date}", f"openings {calibration.book}"]
    if calibration.commits:
        parts.append(f"commit {', '.join(calibration.commits)}")
    if calibration.bench_nodes is not None:
        parts.append(f"bench {calibration.bench_nodes}")
    faults = sum(encounter.faults for encounter in calibration.encounters)
    parts.append(f"{faults} lost by a fault" if faults else "none lost by a fault")
    return "; ".join(parts) + (f". {calibration.note}" if calibration.note else ".")


def write_into(path: Path, calibration: Calibration) -> None:
    """Renews the tables between their markers in a Markdown file. Raises ValueError when they are missing."""
    renew_table(path, markdown(calibration), BEGIN, END)


def edited_source(source: str, levels: Sequence[Level]) -> str:
    """The text of `search/strength.py` with the ratings of `levels`. Raises `CalibrationError` for other rows."""
    wanted = {(level.nodes, level.softness, level.lines): level.elo for level in levels}

    def row(match: re.Match[str]) -> str:
        key = (int(match[3]), int(match[4]), int(match[5]))
        if key not in wanted:
            raise CalibrationError(f"the level {match[0]} was not measured")
        return f"Level({wanted.pop(key)}{match[2]}"

    text = _ROW.sub(row, source)
    if wanted:
        raise CalibrationError(f"measured, but not in the table of levels: {', '.join(map(str, wanted))}")
    return text


def to_json(calibration: Calibration) -> dict[str, Any]:
    """The record and the ratings that follow from it."""
    return {**asdict(calibration), "rating_list": calibration.ratings().to_json()}
