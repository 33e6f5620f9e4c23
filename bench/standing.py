"""The strength that the project asks of itself, and where it stands: the README's table of matches and suites.

A `Goal` names the record that decides it: a match of the ledger (`bench/ledger/ID.json`) or a suite run
(`bench/ledger/suites/ID.json`, made by `secateur epd --ledger ID`, or by `python -m tests.uci.fuzz --ledger ID` where
something is checked and not played against others). The table is made from those files alone, and each row names its.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench import records
from bench.records import Record, SuiteRecord, load_suites
from bench.speed import MOST_TEXT, renew_table, replace_table
from engine.files import read_text

BEGIN, END = "<!-- strength: begin -->", "<!-- strength: end -->"


@dataclass(frozen=True, slots=True)
class Goal:
    """One number to reach: the record that has it, how it is read from there, and what is asked."""

    what: str
    id: str
    kind: str
    must: float
    aim: float

    def __post_init__(self) -> None:
        if self.kind not in _READERS:
            raise ValueError(f"{self.id}: a goal is one of {', '.join(_READERS)}, not '{self.kind}'")


@dataclass(frozen=True, slots=True)
class Standing:
    """What a record says about a goal: the figure, and how it is shown with what it rests on."""

    value: float
    text: str
    basis: str


def _score(record: Record | SuiteRecord) -> Standing | None:
    """Points in a hundred of a match, with the Elo."""
    if not isinstance(record, Record) or not record.pentanomial:
        return None
    share = 100 * record.points
    text = record.quote if record.elo is None else f"{share:.1f} % ({record.quote})"
    return Standing(share, text, record.played)


def _elo(record: Record | SuiteRecord) -> Standing | None:
    if not isinstance(record, Record) or record.elo is None:
        return None
    return Standing(record.elo, record.quote, record.played)


def _clean_games(record: Record | SuiteRecord) -> Standing | None:
    """Games of a match in which nothing went wrong; a match with a fault has reached none."""
    if not isinstance(record, Record) or record.clean is None:
        return None
    return Standing(0 if record.faults else record.games, f"{record.clean}  {record.tag}", record.time_control)


def _solved(record: Record | SuiteRecord) -> Standing | None:
    if not isinstance(record, SuiteRecord):
        return None
    solved = next(iter(record.solved.values()))
    return Standing(solved, record.quote, record.limit)


def _passed(record: Record | SuiteRecord) -> Standing | None:
    """How many checks were passed; a run with one that was not has passed none."""
    if not isinstance(record, SuiteRecord):
        return None
    passed = min(record.solved.values())
    return Standing(passed if passed == record.positions else 0, record.quote, record.limit)


_READERS: Final[dict[str, Callable[[Record | SuiteRecord], Standing | None]]] = {
    "score": _score,
    "elo": _elo,
    "clean": _clean_games,
    "solved": _solved,
    "passed": _passed,
}

#: How a goal's numbers are shown.
_UNITS: Final = {"score": "{:g} %", "elo": "{:+g} Elo", "clean": "{:g} games", "solved": "{:g}", "passed": "{:.0f}"}

_MATCH: Final = "10+0.1, Hash 16, one thread"

GOALS: Final = (
    Goal(f"toga2 (Debian, about 2850), {_MATCH}", "goal-toga2", "score", 75, 90),
    Goal(f"gnuchess (Debian, about 2660), {_MATCH}", "goal-gnuchess", "score", 70, 85),
    Goal(f"Stockfish 15.1 at `UCI_Elo` 2600, {_MATCH}", "goal-stockfish-2600", "score", 50, 75),
    Goal(f"Stockfish 15.1 at `UCI_Elo` 2850, {_MATCH}", "goal-stockfish-2850", "score", 50, 75),
    Goal("the network against the classical evaluation, 5+0.05", "goal-network", "elo", 100, 250),
    Goal("WAC, 1 s a move (201 positions)", "goal-wac", "solved", 190, 197),
    Goal("STS, 1 s a move, best moves (1500 positions)", "goal-sts", "solved", 930, 1080),
    Goal("mates280, 5 s a move, found at the listed distance", "goal-mates", "solved", 15, 60),
    Goal("two threads against one, equal time", "goal-threads", "elo", 30, 60),
    Goal("games without a fault at 1+0.01", "goal-clean-1", "clean", 2000, 10000),
    Goal("games without a fault at 0.1+0.01", "goal-clean-01", "clean", 2000, 10000),
    Goal("games against itself, every line of them checked", "goal-strict", "passed", 500, 5000),
    Goal("sessions at random without a crash, a hang or a breach of the protocol", "goal-fuzz", "passed", 1e4, 1e6),
    Goal("FENs, good and bad, judged as python-chess judges them", "goal-fens", "passed", 1e4, 1e5),
)


def standing_of(goal: Goal, matches: dict[str, Record], suites: dict[str, SuiteRecord]) -> Standing | None:
    """Where a goal stands, None while nothing was measured."""
    record: Record | SuiteRecord | None = matches.get(goal.id) or suites.get(goal.id)
    standing = None if record is None else _READERS[goal.kind](record)
    if record is None or standing is None or record.bench_nodes is None:
        return standing
    return replace(standing, basis=f"{standing.basis}, bench {record.bench_nodes}")


def verdict(goal: Goal, standing: Standing | None) -> str:
    """`aim`, `must`, `MISSED` or `not measured`."""
    if standing is None or math.isnan(standing.value):
        return "not measured"
    if standing.value >= goal.aim:
        return "aim"
    return "must" if standing.value >= goal.must else "MISSED"


def table(ledger: Path | None = None) -> str:
    """The goals and where they stand, as Markdown. Raises `LedgerError`."""
    matches = {record.id: record for record in records.load(ledger)}
    suites = load_suites(ledger)
    lines = ["| against, or in | measured | from | must | aim | reached |", "|---|---|---|---|---|---|"]
    for goal in GOALS:
        standing = standing_of(goal, matches, suites)
        shown = ("", "") if standing is None else (standing.text, standing.basis)
        asked = (_UNITS[goal.kind].format(number).replace(" Elo", "") for number in (goal.must, goal.aim))
        lines.append("| " + " | ".join((goal.what, *shown, *asked, verdict(goal, standing))) + " |")
    return "\n".join(lines)


def write_into(path: Path, ledger: Path | None = None) -> None:
    """Renews the table between its markers in a Markdown file. Raises ValueError when they are missing."""
    renew_table(path, table(ledger), BEGIN, END)


def is_current(path: Path, ledger: Path | None = None) -> bool:
    """Whether the table in a Markdown file is what the records say; a file without the markers has none to be stale."""
    text = read_text(path, MOST_TEXT).replace("\r\n", "\n")
    return BEGIN not in text or replace_table(text, table(ledger), BEGIN, END) == text
