"""`secateur ledger`: shows and updates the ledger of tests, from which every Elo figure is quoted."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from bench import records, standings
from bench.records import LedgerError
from bench.results import MatchResult
from bench.stats import Sprt
from engine.arguments import Parser, command
from engine.compiler.sources import PROJECT_ROOT
from engine.errors import OK
from engine.files import count_of, locked, quoted

#: The page that shows what the ledger says about strength.
PAGE: Final = PROJECT_ROOT / "docs" / "strength.md"


@command("secateur ledger")
def main(arguments: list[str]) -> int:
    """Shows the ledger or updates its tables; returns the exit status."""
    parser = Parser(prog="secateur ledger", description="Shows the records of all tests.")
    told = "update the tables in bench/ledger/README.md and docs/strength.md instead"
    parser.add_argument("--write", action="store_true", help=told)
    options = parser.parse_args(arguments)
    if options.write:
        with locked(records.LEDGER / "README.md"):
            records.write_table(records.LEDGER)
            standings.write_page(PAGE, records.LEDGER)
    else:
        for record in records.load():
            print(f"{record.id}: {record.what}: {record.figure}, {count_of(record.games, 'game')}, {record.verdict}")
    return OK


def one_line(text: str) -> str:
    """Returns `text`. Raises ArgumentTypeError if it has a line break or a character that cannot be printed."""
    if not text.isprintable():
        raise argparse.ArgumentTypeError(f"expected one line of printable UTF-8 text, got {quoted(text)}")
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that record a match in the ledger."""
    group = parser.add_argument_group("ledger")
    group.add_argument("--ledger", metavar="ID", help="record the result in bench/ledger/ID.json")
    group.add_argument("--what", type=one_line, metavar="TEXT", help="description of the test, in one line")
    add_circumstances(group)


def add_circumstances(group: argparse._ActionsContainer) -> None:
    """Adds the options `--commit`, `--bench-nodes` and `--note` for a record."""
    group.add_argument("--commit", type=one_line, action="append", default=[], help="tested commit (default: HEAD)")
    group.add_argument("--bench-nodes", type=int, metavar="N", help="node count of `secateur bench`")
    group.add_argument("--note", type=one_line, default="", help="a remark for the record")


def prepare(options: argparse.Namespace) -> None:
    """Checks the options if `--ledger` is set. Raises `LedgerError` if `--what` is missing or the id cannot be used.

    Sets `options.commit` to the current commit if no commit is given. Call this function before the games are played.
    """
    if options.ledger is None:
        return
    if not options.what:
        raise LedgerError("--ledger requires --what, one line that says what was tested")
    records.check_unused(options.ledger)
    options.commit = records.tested_commits(options.commit)


def record_match(
    options: argparse.Namespace,
    results: MatchResult,
    circumstances: dict[str, str],
    sprt: Sprt | None = None,
) -> None:
    """Records the match if `--ledger` was given. `circumstances` are the record's `book` and `time_control`.

    Raises `LedgerError` if the match is unfinished or has no games, or if the record cannot be saved.
    """
    if options.ledger is None:
        return
    if results.interrupted or not (results.stopped_early or len(results.games) >= results.games_planned):
        played = f"{len(results.games)} of {results.games_planned} games were played"
        raise LedgerError(f"{options.ledger} is not recorded: {played}")
    record = records.make_record(
        results,
        sprt,
        id=options.ledger,
        what=options.what,
        commits=tuple(options.commit),
        bench_nodes=options.bench_nodes,
        note=options.note,
        **circumstances,
    )
    path = records.save(record)
    print(f"recorded in {path}; quote it as {records.quote(record)}", file=sys.stderr)
