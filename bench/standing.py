"""The tables of docs/strength.md: what matches and suites of the ledger say, and how strong the levels are."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench import levels, records
from bench.markdown import table, with_table
from bench.records import Record, SuiteRecord
from engine.compiler.sources import PROJECT_ROOT
from engine.files import read_text, replace_file

PAGE: Final = PROJECT_ROOT / "docs" / "strength.md"

#: The largest page that is read, in bytes.
_MOST_BYTES: Final = 1 << 24

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


def renewed(page: str, ledger: Path | None = None) -> str:
    """The page with the tables `strength` and `levels` as the ledger has them.

    Raises `MarkersError` for a page without a place for them, and `LedgerError`.
    """
    found: dict[str, Record | SuiteRecord] = {**records.load_suites(ledger)}
    found |= {record.id: record for record in records.load(ledger)}
    rows = [(what, *(figures(found[key]) if key in found else ("not measured", ""))) for what, key in ROWS]
    page = with_table(page, "strength", table(("against, or in", "measured", "from"), rows))
    return with_table(page, "levels", levels.table(ledger))


def is_current() -> bool:
    """Whether PAGE has the tables of the ledger. Raises OSError and what `renewed` raises."""
    page = read_text(PAGE, _MOST_BYTES)
    return page == renewed(page)


def renew() -> None:
    """Writes the tables into PAGE. Raises OSError and what `renewed` raises."""
    replace_file(PAGE, renewed(read_text(PAGE, _MOST_BYTES)))
