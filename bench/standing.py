"""The generated tables about strength: what matches and suites of the ledger say, and how strong the levels are.

`secateur ledger --readme FILE` writes them between the markers `strength` and `levels` of a Markdown file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench import levels, markdown, records
from bench.records import Record, SuiteRecord
from engine.files import read_text

_MATCH: Final = "10+0.1, Hash 16, one thread"

#: The rows: what was played or checked, and the id of its match or suite record.
ROWS: Final = (
    (f"toga2 (Debian, about 2850), {_MATCH}", "goal-toga2"),
    (f"gnuchess (Debian, about 2660), {_MATCH}", "goal-gnuchess"),
    (f"Stockfish 15.1 at `UCI_Elo` 2600, {_MATCH}", "goal-stockfish-2600"),
    (f"Stockfish 15.1 at `UCI_Elo` 2850, {_MATCH}", "goal-stockfish-2850"),
    ("the network against the classical evaluation, 5+0.05", "goal-network"),
    ("WAC, 1 s a move (201 positions)", "goal-wac"),
    ("STS, 1 s a move, best moves (1500 positions)", "goal-sts"),
    ("mates280, 5 s a move, found at the listed distance", "goal-mates"),
    ("two threads against one, equal time", "goal-threads"),
    ("games without a fault at 1+0.01", "goal-clean-1"),
    ("games without a fault at 0.1+0.01", "goal-clean-01"),
    ("games against itself, every line checked", "goal-strict"),
    ("random sessions without a crash, a hang or a breach of the protocol", "goal-fuzz"),
    ("FENs, valid and invalid, judged as python-chess judges them", "goal-fens"),
)

#: Rows of which the faults count, not the score.
CLEAN: Final = frozenset({"goal-clean-1", "goal-clean-01"})


def figures(record: Record | SuiteRecord) -> tuple[str, str]:
    """What a record measured, and from what: the cells of its row."""
    if isinstance(record, SuiteRecord):
        measured, basis = record.quote, record.limit
    elif record.id in CLEAN:
        measured, basis = f"{record.clean or 'not counted'}  {record.tag}", record.time_control
    else:
        share = f"{100 * record.points:.1f} % ({record.quote})"
        measured, basis = record.quote if record.elo is None else share, record.played
    return measured, basis if record.bench_nodes is None else f"{basis}, bench {record.bench_nodes}"


def table(ledger: Path | None = None) -> str:
    """The table of strength as Markdown. Raises `LedgerError`."""
    found: dict[str, Record | SuiteRecord] = {**records.load_suites(ledger)}
    found |= {record.id: record for record in records.load(ledger)}
    rows = [(what, *(figures(found[key]) if key in found else ("not measured", ""))) for what, key in ROWS]
    return markdown.table(("against, or in", "measured", "from"), rows)


_TABLES: Final[dict[str, Callable[[Path | None], str]]] = {
    "strength": table,
    "levels": lambda ledger: levels.table(levels.load(ledger)),
}


def tables_in(path: Path) -> list[str]:
    """The tables for which a Markdown file has markers. Raises `MarkersError` where it has none, or wrong ones."""
    text = markdown.read_tables(path)
    present = [name for name in _TABLES if markdown.has_table(text, name)]
    markdown.read_tables(path, *(present or _TABLES))
    return present


def write_into(path: Path, ledger: Path | None = None) -> None:
    """Writes the tables into a Markdown file, each between its markers. Raises `MarkersError`."""
    for name in tables_in(path):
        markdown.write_table(path, name, _TABLES[name](ledger))


def is_current(path: Path, ledger: Path | None = None) -> bool:
    """Whether the tables in a Markdown file are those of the records; a file without tables is current."""
    text = read_text(path, markdown.MOST_TEXT).replace("\r\n", "\n")
    present = [name for name in _TABLES if markdown.has_table(text, name)]
    return all(markdown.replace_table(text, name, _TABLES[name](ledger)) == text for name in present)
