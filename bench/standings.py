"""The tables in docs/strength.md that `secateur ledger --write` makes from the ledger.

The first has a row for each record of a match or a suite whose id begins with `goal-`, the second one for each
technique that a run of `secateur ablation` with the suffix `tuned` measured. Each is between two lines (see `marks`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bench import markdown
from bench.records import LedgerError, Record, SuiteRecord, load, load_suites, quote
from engine.files import Output, read_bytes, shown
from search.techniques import TECHNIQUES

GOAL: Final = "goal-"
ABLATION: Final = "tuned"
_HEADING: Final = b"# Strength"


def marks(name: str) -> tuple[str, str]:
    """Returns the lines before and after the table `name`, which is `strength` or `techniques`."""
    return f"<!-- {name}: begin -->\n", f"\n<!-- {name}: end -->"


def write_page(page: Path, folder: Path) -> None:
    """Writes the tables into `page` from the ledger in `folder`. Does nothing if there is no such page.

    Raises `LedgerError` if a record or the page is invalid, and OSError if a file cannot be read or written.
    """
    if not page.is_file():
        return
    text, matches = read_bytes(page, limit=1 << 20).decode("utf-8"), load(folder)
    tables = {"strength": goals(matches, load_suites(folder).values()), "techniques": techniques(matches)}
    for name, lines in tables.items():
        begin, end = marks(name)
        before, found_begin, rest = text.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found_begin and found_end):
            raise LedgerError(f"{shown(page)}: has no lines {begin.strip()} and {end.strip()}")
        text = f"{before}{begin}{lines}{end}{after}"
    Output(page, lambda head: head.startswith(_HEADING), "page about strength").replace(text)


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


def techniques(records: Iterable[Record]) -> str:
    """Returns the table of the techniques' gains in the last ablation, the largest first."""
    by_id = {record.id: record for record in records}
    found = [(one.title, by_id[f"{one.key}-{ABLATION}"]) for one in TECHNIQUES if f"{one.key}-{ABLATION}" in by_id]
    found.sort(key=lambda row: -(row[1].elo or 0.0))
    return markdown.table(("technique", "Elo"), ((title, quote(record)) for title, record in found))
