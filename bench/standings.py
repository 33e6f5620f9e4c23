"""The table in docs/strength.md that `secateur ledger --write` makes from the ledger.

It has a row for each record of a match or a suite whose id begins with `goal-`, between the lines BEGIN and END.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bench import markdown
from bench.records import LedgerError, Record, SuiteRecord, load, load_suites, quote
from engine.files import Output, read_bytes, shown

GOAL: Final = "goal-"
BEGIN: Final = "<!-- strength: begin -->\n"
END: Final = "<!-- strength: end -->"
_HEADING: Final = b"# Strength"


def write_page(page: Path, folder: Path) -> None:
    """Writes the table into `page` from the ledger in `folder`. Does nothing if there is no such page.

    Raises `LedgerError` if a record or the page is invalid, and OSError if a file cannot be read or written.
    """
    if not page.is_file():
        return
    before, begin, rest = read_bytes(page, limit=1 << 20).decode("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise LedgerError(f"{shown(page)}: has no lines {BEGIN.strip()} and {END}")
    lines = goals(load(folder), load_suites(folder).values())
    text = f"{before}{begin}{lines}\n{end}{after}"
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
