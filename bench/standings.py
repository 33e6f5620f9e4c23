"""The tables in docs/strength.md that `secateur ledger --write` makes from the ledger.

    strength    each record of a match or a suite whose id begins with `goal-`
    ladder      the ratings from games against engines of known rating (`strength/ladder.json`)
    techniques  each technique that games with and without it measured, by its newest record (see SUFFIXES)
    parameters  each tunable that games measured up against down, with its value then
    levels      the levels of limited strength with their measured ratings (`strength/levels.json`)

Each table is between two lines (see `marks`). `secateur rate --json` prints the rating lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from bench import markdown
from bench.records import LedgerError, Record, SuiteRecord, load, load_suites, quote
from bench.stats import elo_of_score
from engine.files import Output, parse_json, read_bytes, shown
from search.strength import LEVELS
from search.techniques import TECHNIQUES
from search.tunables import TUNABLES

GOAL: Final = "goal-"
#: The suffixes of the ids of records that measure a technique; the first that exists counts.
SUFFIXES: Final = ("timed", "nodes", "tuned", "deep")
_HEADING: Final = b"# Strength"


def marks(name: str) -> tuple[str, str]:
    """Returns the lines before and after the table `name`."""
    return f"<!-- {name}: begin -->\n", f"\n<!-- {name}: end -->"


def write_page(page: Path, folder: Path) -> None:
    """Writes the tables into `page` from the ledger in `folder`. Does nothing if there is no such page.

    Raises `LedgerError` if a record or the page is invalid, and OSError if a file cannot be read or written.
    """
    if not page.is_file():
        return
    text = read_bytes(page, limit=1 << 20).decode("utf-8")
    for name, lines in tables(folder).items():
        begin, end = marks(name)
        before, found_begin, rest = text.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found_begin and found_end):
            raise LedgerError(f"{shown(page)}: has no lines {begin.strip()} and {end.strip()}")
        text = f"{before}{begin}{lines}{end}{after}"
    Output(page, lambda head: head.startswith(_HEADING), "page about strength").replace(text)


def tables(folder: Path) -> dict[str, str]:
    """Returns the tables by name, as Markdown. Raises LedgerError, and OSError if a file cannot be read."""
    matches = load(folder)
    return {
        "strength": goals(matches, load_suites(folder).values()),
        "ladder": _read(folder / "strength" / "ladder.json", ladder),
        "techniques": techniques(matches),
        "parameters": parameters(matches),
        "levels": _read(folder / "strength" / "levels.json", lambda listed: levels(listed, matches)),
    }


def _read(path: Path, table: Callable[[Any], str]) -> str:
    """Returns the `table` of a rating list. Raises LedgerError if the file is none, and OSError."""
    data = read_bytes(path, limit=1 << 22)
    try:
        return table(parse_json(data))
    except (ValueError, KeyError, TypeError) as error:
        raise LedgerError(f"{shown(path)}: is not a rating list: {error}") from None


def goals(records: Iterable[Record], suites: Iterable[SuiteRecord]) -> str:
    """Returns the table of all records whose id begins with GOAL: first matches, then suites."""
    rows: list[tuple[str, str, Record | SuiteRecord, int, str]] = []
    for match in records:
        if match.id.startswith(GOAL):
            points = "" if match.elo is None else f"{100 * match.points:.1f} %, "
            faults = "-" if match.faults is None else f"{match.faults}"
            rows.append((f"{match.what}, {match.time_control}", points, match, match.games, faults))
    for suite in suites:
        if suite.id.startswith(GOAL):
            rows.append((f"{suite.suite}, {suite.limit}", "", suite, suite.positions, "-"))
    cells = (
        (what, f"{points}{quote(record)}", f"{count}", faults, f"{record.bench_nodes or '-'}")
        for what, points, record, count, faults in rows
    )
    return markdown.table(("what", "result", "games or positions", "faults", "bench"), cells, (2, 3, 4))


def ladder(listed: Mapping[str, Any]) -> str:
    """Returns the table of the rating list of a gauntlet, in which the engines of known rating have the error 0.

    The last column has the rating of Secateur that follows from its games against one of these engines alone.
    """
    rows = []
    for line in listed["ratings"]:
        implied = line["rating"] - elo_of_score(line["score"])
        is_known = not line["error"]
        rows.append(
            (
                line["name"],
                f"{line['rating']:.0f}",
                "known" if is_known else f"+- {line['error']:.0f}",
                f"{line['games']}",
                f"{100 * line['score']:.1f} %",
                f"{implied:.0f}" if is_known and math.isfinite(implied) else "-",
            )
        )
    header = ("engine", "rating", "interval", "games", "its score", "Secateur by these games alone")
    return markdown.table(header, rows, (1, 2, 3, 4, 5))


def techniques(records: Iterable[Record]) -> str:
    """Returns the table of the techniques' gains, the largest first."""
    by_id = {record.id: record for record in records}
    ids = ((one.title, [f"{one.key}-{suffix}" for suffix in SUFFIXES]) for one in TECHNIQUES)
    found = [(title, by_id[kept[0]]) for title, names in ids if (kept := [name for name in names if name in by_id])]
    found.sort(key=lambda row: -(row[1].elo or 0.0))
    return markdown.table(("technique", "Elo"), ((title, quote(record)) for title, record in found))


def parameters(records: Iterable[Record]) -> str:
    """Returns the table of the tunables that have a record `step-NAME-timed`, with their values then and now."""
    by_id = {record.id: record for record in records}
    rows = []
    for one in TUNABLES:
        record = by_id.get(f"step-{one.name.replace('_', '-')}-timed")
        if record is not None:
            measured, _, before = record.what.removeprefix(f"{one.name} ").rpartition(", around ")
            rows.append((f"`{one.name}`", before, f"{one.default}", measured, quote(record)))
    return markdown.table(("parameter", "before", "now", "measured", "Elo"), rows, (1, 2))


def levels(listed: Mapping[str, Any], records: Iterable[Record]) -> str:
    """Returns the table of the levels in `search.strength`, with the errors of their ratings in a rating list.

    `since` in the list is the id of a record of the levels against those that were rated, at the same ratings. Its Elo
    is part of the ratings in `search.strength`, so its error is added to theirs; the two errors are independent.
    """
    by_id = {record.id: record for record in records}
    later = by_id[listed["since"]].elo_error or 0.0 if "since" in listed else 0.0
    errors = {line["name"]: math.hypot(line["error"], later) for line in listed["ratings"]}
    rows = ((f"{one.elo}", f"{errors[one.name]:.0f}", f"{one.nodes:,}", f"{one.oversight:g} %") for one in LEVELS)
    return markdown.table(("`UCI_Elo`", "+-", "nodes a move", "oversight"), rows, (0, 1, 2, 3))
