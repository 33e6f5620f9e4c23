"""`secateur worth`: what techniques of the search are worth, in games of the engine against itself without them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench import records
from bench.adjudication import Adjudication
from bench.commands import ledger
from bench.commands.match import play_shown
from bench.description import (
    DescriptionError,
    MatchDescription,
    add_book_arguments,
    add_rule_arguments,
    book_from_arguments,
    rules_from_arguments,
)
from bench.display import result_console
from bench.engines import EngineSpec, engine_from_pairs, this_engine
from bench.play import PlayError
from bench.records import LedgerError, Record, circumstances_of
from bench.schedule import make_plan
from bench.screening import SHARE, Effect, Played, Screening, ScreeningError, effects, play
from bench.stats import Tally, elo_text, estimate, to_json, with_error
from engine.arguments import Parser, command
from engine.compiler.sources import PROJECT_ROOT
from engine.errors import arguments_are_judged
from engine.files import locked
from engine.progress import Display, Steps, duration
from engine.uci.options import most_hash
from search.techniques import TECHNIQUES, Technique, named

DEFAULT_LIMIT: Final = "nodes=8000"
DEFAULT_GAMES: Final = 400
DEFAULT_GAMES_TOGETHER: Final = 6000
DEFAULT_HASH: Final = 16
#: What the openings and rules are unless the options say otherwise.
DEFAULTS: Final[dict[str, Any]] = {
    "book": str(PROJECT_ROOT / "bench" / "books" / "balanced.epd"),
    "order": "random",
    "seed": 1,
    "resign": "4,700",
    "draw": "40,8,10",
}

#: The engines' names; and what a record calls the sides of pairs that lack several techniques.
FULL, REDUCED = "full", "without"
WITH: Final = "with"

_EPILOG = f"""\
examples:
  secateur worth null-move --games 1000 --tc nodes=20000 --concurrency 2 --ledger --suffix network
  secateur worth time-stability time-fall time-effort --tc 1+0.01
  secateur worth --games 100                        all but what is about time, a quick look
  secateur worth --together --games 3000            the same techniques by as many games in all, far more exactly

techniques:
  {chr(10).join(f"{technique.key:<30}{technique.title}" for technique in TECHNIQUES).replace(chr(10), chr(10) + "  ")}

The built-in runner plays. Limited by nodes, the same games come out each time. Together, each side of each pair of
games may lack each technique, with a probability of {SHARE:.0%}, and one regression says what each is worth beside most
of the others: with equally many games in all, the intervals of 30 are about a third as wide. Exit status 0 means that
every game was played without a fault.
"""


@dataclass(frozen=True)
class Measurement:
    """A technique, the match that tells its worth, and the options with which that enters the ledger."""

    technique: Technique
    description: MatchDescription
    record: argparse.Namespace


@dataclass(frozen=True)
class Worth:
    """What a match said of a technique, from the view of the engine that has it."""

    technique: Technique
    tally: Tally

    def cells(self) -> tuple[str, ...]:
        """The row of the table: key, title, Elo with its interval, games and pairs."""
        found = estimate(self.tally)
        elo = "-" if found is None else elo_text(found)
        pairs = ", ".join(map(str, self.tally.pentanomial))
        return self.technique.key, self.technique.title, elo, str(self.tally.games), pairs

    def to_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {"key": self.technique.key, "title": self.technique.title, **to_json(self.tally)}


def parser() -> Parser:
    """The command's options."""
    parser = Parser(
        prog="secateur worth",
        description="Measures by games what techniques of the search are worth: the engine against itself without one.",
        epilog=_EPILOG,
        needs=("rich",),
    )
    parser.add_argument("keys", nargs="*", metavar="KEY", help="techniques (default: all but those that need a clock)")
    games = parser.add_argument_group("games", "default: --book bench/books/balanced.epd --order random --seed 1")
    games.add_argument("--tc", default=DEFAULT_LIMIT, help=f"time control (default {DEFAULT_LIMIT})")
    games.add_argument(
        "--games",
        type=int,
        metavar="N",
        help=f"games in all for each technique (default {DEFAULT_GAMES}), or for all that are measured together "
        f"(default {DEFAULT_GAMES_TOGETHER}); an even number",
    )
    games.add_argument("--together", action="store_true", help="measure all techniques by the same games")
    games.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="with --together: keep each pair of games in FILE, and go on from what is there",
    )
    games.add_argument(
        "--hash", type=int, default=DEFAULT_HASH, metavar="MIB", help=f"table of each engine (default {DEFAULT_HASH})"
    )
    add_book_arguments(games)
    games.add_argument("--concurrency", type=int, default=1, metavar="N", help="games at the same time (default 1)")
    add_rule_arguments(
        parser.add_argument_group("adjudication", f"default: --resign {DEFAULTS['resign']} --draw {DEFAULTS['draw']}")
    )
    parser.set_defaults(**DEFAULTS)
    kept = parser.add_argument_group("ledger")
    kept.add_argument("--ledger", action="store_true", help="record each result in bench/ledger/KEY[-SUFFIX].json")
    kept.add_argument("--suffix", default="", metavar="TEXT", help="what the records' ids have behind the key")
    ledger.add_circumstances(kept)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_quiet()
    return parser


@command("secateur worth")
def main(arguments: list[str]) -> int:
    """Measures; returns the exit status."""
    options = parser().parse_args(arguments)
    if options.games is None:
        options.games = DEFAULT_GAMES_TOGETHER if options.together else DEFAULT_GAMES
    if options.together:
        with ExitStack() as held:
            return _main_together(options, held)
    with arguments_are_judged():
        if options.state is not None:
            raise DescriptionError("--state is for --together")
        measurements = _measurements(options)
    make_plan(measurements[0].description)  # the book is that of all
    found: list[Worth] = []
    try:
        if options.ledger and options.bench_nodes is None:
            nodes = _count_benchmark(options.quiet)
            for measurement in measurements:
                measurement.record.bench_nodes = nodes
        status = _measure(measurements, found, options.quiet)
    except (PlayError, LedgerError, DescriptionError) as error:
        print(f"secateur worth: {error}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        status = _interrupted()
    _report(found, options)
    return status


def _measurements(options: argparse.Namespace) -> list[Measurement]:
    """What the options ask for. Raises ValueError."""
    techniques = named(options.keys) or tuple(technique for technique in TECHNIQUES if not technique.needs_clock)
    if options.games < 2 or options.games % 2:
        raise DescriptionError(f"--games is an even number, at least 2: openings are played twice; not {options.games}")
    if not 1 <= options.hash <= most_hash():
        raise DescriptionError(f"--hash is 1 to {most_hash()} on this machine, not {options.hash}")
    if options.suffix and not options.ledger:
        raise DescriptionError("--suffix is for the records of --ledger")
    commits = records.tested_commits(options.commit) if options.ledger else []
    return [_measurement(technique, options, commits) for technique in techniques]


def _measurement(technique: Technique, options: argparse.Namespace, commits: list[str]) -> Measurement:
    """The match that tells what one technique is worth. Raises ValueError."""
    full, reduced = _engine(FULL, "<empty>", options), _engine(REDUCED, technique.key, options)
    if technique.needs_clock and not full.limit.has_clock:
        raise DescriptionError(f"{technique.key} is about time: it needs a clock like --tc 1+0.01, not {options.tc}")
    description = MatchDescription(
        engines=(full, reduced),
        rounds=options.games // 2,
        book=book_from_arguments(options, None),
        concurrency=options.concurrency,
        adjudication=rules_from_arguments(options, Adjudication()),
        event=f"{technique.title}, against none",
        runner="builtin",
    )
    record = argparse.Namespace(
        ledger="-".join(filter(None, (technique.key, options.suffix))) if options.ledger else None,
        what=description.event,
        commit=commits,
        bench_nodes=options.bench_nodes,
        note=options.note,
    )
    ledger.prepare(record)
    return Measurement(technique, description, record)


def _engine(name: str, without: str, options: argparse.Namespace) -> EngineSpec:
    """Secateur with the value `without` of its option of that name. Raises `EngineSpecError`."""
    pairs = ("arg=--tuning", f"name={name}", f"option.Hash={options.hash}", f"option.Without={without}")
    return engine_from_pairs(this_engine(*pairs), (), options.tc)


def _count_benchmark(quiet: bool) -> int:
    """The benchmark's nodes, for what is recorded: the engines that play are this one."""
    from search.benchmark import run_benchmark
    from search.warmup import load_kernels

    with Steps("counting the nodes of the benchmark", quiet):
        load_kernels()
        result = run_benchmark()
    assert result is not None
    return result.nodes


def _measure(measurements: list[Measurement], found: list[Worth], quiet: bool) -> int:
    """Plays match after match and adds what each said to `found`; returns the exit status.

    A match that Ctrl-C has ended is added, but not recorded, and is the last; so is one in which no game was finished,
    because none would be in the next. Raises `PlayError`, `LedgerError`.
    """
    status = 0
    for number, measurement in enumerate(measurements, start=1):
        if not quiet:
            title = measurement.technique.title
            print(f"{number} of {len(measurements)}: {measurement.technique.key} ({title})", file=sys.stderr)
        result = play_shown("worth", measurement.description, quiet)
        if result.games:
            found.append(Worth(measurement.technique, Tally.of(result.games, FULL)))
        if result.interrupted:
            return _interrupted()
        status = max(status, result.exit_status)
        if not result.games:
            break
        ledger.record_match(measurement.record, result, circumstances_of(measurement.description))
    return status


def _interrupted() -> int:
    print("secateur worth: interrupted; the match under way is not recorded", file=sys.stderr)
    return 1


def _report(found: list[Worth], options: argparse.Namespace) -> None:
    """Prints what was measured."""
    if options.json:
        answer = {"time_control": options.tc, "hash": options.hash, "techniques": [worth.to_json() for worth in found]}
        print(json.dumps(answer, indent=2))
        return
    if not found:
        return
    from rich.table import Table

    table = Table("technique", "what it is", box=None, pad_edge=False)
    for head in ("Elo with it", "games", "pairs worth 0, 1/2, 1, 3/2, 2"):
        table.add_column(head, justify="right")
    for worth in found:
        table.add_row(*worth.cells())
    result_console().print(table)


# --------------------------------------------------------------------------------------------------------------
# All by the same games
# --------------------------------------------------------------------------------------------------------------


class Progress(Display):
    """Shows how many games were played, and when the others will have been."""

    def __init__(self, planned: int, played: Played, quiet: bool) -> None:
        super().__init__(quiet)
        self._planned, self._played, self._before = planned, played, len(played.pairs)

    def line(self) -> str:
        """Games played and planned, faults, time and time left."""
        elapsed, done = time.monotonic() - self.began, len(self._played.pairs)
        faults = f", {self._played.faults} spoilt" if self._played.faults else ""
        played = done - self._before
        left = f", {duration(elapsed * (self._planned - done) / played)} left" if played else ""
        return f"{2 * done} of {2 * self._planned} games{faults} in {duration(elapsed)}{left}"


def _main_together(options: argparse.Namespace, held: ExitStack) -> int:
    """Measures all techniques by the same games, with the lock of the state `held`; returns the exit status."""
    with arguments_are_judged():
        measurements = _measurements(options)
        commits = records.tested_commits(options.commit)
    screening = _screening(measurements, options)
    if options.state is not None:
        held.enter_context(locked(options.state))
    if options.bench_nodes is None and (options.ledger or options.state):
        options.bench_nodes = _count_benchmark(options.quiet)
    played = Played(_circumstances(screening, options), {"commits": commits}, options.state)
    status = 0
    try:
        with Progress(screening.pairs, played, options.quiet):
            play(screening, played, _tell, options.concurrency)
    except KeyboardInterrupt:
        status = _broken_off("interrupted", options)
    except ScreeningError as error:
        status = _broken_off(str(error), options)
    try:
        found = effects(screening.techniques, screening.seed, played.pairs)
        _report_together(measurements, found, played, options)
        if options.ledger and status == 0:
            _record_together(measurements, found, played, options)
    except (ScreeningError, LedgerError) as error:
        status = _broken_off(str(error), options)
    return 1 if played.faults else status


def _tell(problem: str) -> None:
    print(f"secateur worth: {problem}", file=sys.stderr)


def _broken_off(reason: str, options: argparse.Namespace) -> int:
    """Says why the run did not come to its end, and where its games are; returns the exit status."""
    unrecorded = "; not recorded" if options.ledger else ""
    # A reason that names the file says where the games are.
    kept = f"; {options.state} has what was played" if options.state and str(options.state) not in reason else ""
    _tell(f"{reason}{unrecorded}{kept}")
    return 1


def _screening(measurements: Sequence[Measurement], options: argparse.Namespace) -> Screening:
    """The games that the options ask for. Raises ValueError."""

    def engine(name: str, lacks: Sequence[str]) -> EngineSpec:
        return _engine(name, " ".join(lacks) or "<empty>", options)

    description = measurements[0].description
    plan = make_plan(description)
    for problem in plan.problems:
        _tell(problem)
    return Screening(
        tuple(measurement.technique.key for measurement in measurements),
        description.rounds,
        options.seed,
        engine,
        plan.openings,
        description.adjudication,
    )


def _circumstances(screening: Screening, options: argparse.Namespace) -> dict[str, Any]:
    """All that the games depend on, for the state's first line; the benchmark stands for the engine."""
    return {
        "bench": options.bench_nodes,
        "techniques": screening.techniques,
        "share": SHARE,
        "limit": options.tc,
        "hash": options.hash,
        "book": options.book,
        "order": options.order,
        "plies": options.plies,
        "seed": options.seed,
        "adjudication": asdict(screening.adjudication),
    }


def _record_together(
    measurements: Sequence[Measurement], found: dict[str, Effect], played: Played, options: argparse.Namespace
) -> None:
    """A record for each technique. Raises `LedgerError`."""
    together = f"one of {len(measurements)} that sides lacked at random, {SHARE:.0%} of the time, in the same games"
    for measurement in measurements:
        effect, record = found[measurement.technique.key], measurement.record
        circumstances = circumstances_of(measurement.description)
        path = records.save(
            Record(
                id=record.ledger,
                what=record.what,
                date=records.today(),
                commits=tuple(played.provenance["commits"]),
                engines=(WITH, REDUCED),
                games=2 * len(played.pairs),
                pentanomial=(),
                elo=round(effect.elo, 2),
                elo_error=round(effect.error, 2),
                nelo=None,
                verdict="measured",
                bench_nodes=options.bench_nodes,
                note="; ".join(filter(None, (together, record.note))),
                faults=played.faults,
                book=circumstances["book"],
                time_control=circumstances["time_control"],
            )
        )
        print(f"recorded in {path}", file=sys.stderr)


def _report_together(
    measurements: Sequence[Measurement], found: dict[str, Effect], played: Played, options: argparse.Namespace
) -> None:
    """Prints what was measured, the most valuable technique first."""
    games = 2 * len(played.pairs)
    order = sorted((row.technique for row in measurements), key=lambda technique: -found[technique.key].elo)
    if options.json:
        rows = [{"key": row.key, "title": row.title, **asdict(found[row.key])} for row in order]
        answer = {"time_control": options.tc, "hash": options.hash, "games": games, "techniques": rows}
        print(json.dumps(answer, indent=2))
        return
    from rich.table import Table

    table = Table("technique", "what it is", box=None, pad_edge=False)
    table.add_column("Elo with it", justify="right")
    for row in order:
        table.add_row(row.key, row.title, with_error(found[row.key].elo, found[row.key].error))
    console = result_console()
    console.print(table)
    console.print(f"{games} games")
