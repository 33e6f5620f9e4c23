"""The tables in docs/strength.md that `secateur ledger --write` makes from the ledger.

    strength    each record of a match or a suite whose id begins with `goal-`
    ladder      `strength/ladder.json`, the rating list that `secateur rate --json` made of the games against engines
                of known rating, its anchors

A table stands between the lines `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from bench import markdown
from bench.records import LedgerError, Record, SuiteRecord, load, load_suites
from engine.files import Output, parse_json, read_bytes, shown

GOAL: Final = "goal-"
LADDER: Final = Path("strength") / "ladder.json"
_HEADING: Final = b"# Strength"


def write_page(page: Path, folder: Path) -> None:
    """Writes the tables into `page` from the ledger in `folder`. Does nothing if there is no such page.

    Raises `LedgerError` if a record or the page is invalid, and OSError if a file cannot be read or written.
    """
    if not page.is_file():
        return
    text = read_bytes(page, limit=1 << 20).decode("utf-8")
    for name, lines in tables(folder).items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise LedgerError(f"{shown(page)}: has no lines {begin.strip()} and {end}")
        text = f"{before}{begin}{lines}\n{end}{after}"
    Output(page, lambda head: head.startswith(_HEADING), "page about strength").replace(text)


def tables(folder: Path) -> dict[str, str]:
    """Returns the tables by name, as Markdown; the ladder only if its file exists. Raises LedgerError and OSError."""
    found = {"strength": goals(load(folder), load_suites(folder).values())}
    if (folder / LADDER).exists():
        try:
            found["ladder"] = ladder(parse_json(read_bytes(folder / LADDER, limit=1 << 20)))
        except (ValueError, KeyError, TypeError) as error:
            raise LedgerError(f"{shown(folder / LADDER)}: is not a rating list: {error}") from None
    return found


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
        (what, f"{points}{record.quote}", f"{count}", faults, f"{record.bench_nodes or '-'}")
        for what, points, record, count, faults in rows
    )
    return markdown.table(("what", "result", "games or positions", "faults", "bench"), cells, (2, 3, 4))


def ladder(listed: Mapping[str, Any]) -> str:
    """Returns the table of a rating list (`bench.rating.RatingList.to_json`). Anchors have the error 0.

    Raises KeyError and TypeError if the list has other fields.
    """
    rows = [
        (
            line["name"],
            f"{line['rating']:.0f}",
            f"+- {line['error']:.0f}" if line["error"] else "known",
            f"{line['games']}",
            f"{100 * line['score']:.1f} %",
        )
        for line in listed["ratings"]
    ]
    return markdown.table(("engine", "rating", "interval", "games", "score"), rows, (1, 3, 4))
