"""Checks whether the figures that code and documentation quote from the ledger agree with its records.

A figure precedes the tag of its record. Examples are `+38.1 +- 9.2  [ledger: null-move]` for an Elo,
`193 of 201  [ledger: wac]` for a suite, and `2000 games, 0 faults  [ledger: clean]` for a match to find faults.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bench.records import LedgerError, Record, SuiteRecord, load, load_suites, table
from engine.compiler.sources import PROJECT_ROOT

_TAG: Final = re.compile(r"\[ledger:\s*([^\]\s]+)\s*\]")
_WITH_ERROR: Final = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*\+-\s*(\d+(?:\.\d+)?)(?:\s*Elo)?\s*$")
_ELO: Final = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?:\s*\+-\s*\d+(?:\.\d+)?)?\s*Elo\b")


def wrong_quotes(text: str, place: str, records: Iterable[Record | SuiteRecord]) -> list[str]:
    """Returns a line for each tag that does not follow a figure of its record, and for each `N Elo` without a tag.

    `place` names the text in these lines. An Elo in a fenced Markdown block needs no tag: such a block is output.
    """
    known = {record.id: record for record in records}
    problems = []
    is_output = False
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"{place}:{number}"
        is_output ^= line.lstrip().startswith("```")
        tags = list(_TAG.finditer(line))
        for tag in tags:
            record = known.get(tag[1])
            if record is None:
                problems.append(f"{where}: the ledger has no record {tag[1]}")
            elif not _quotes(line[: tag.start()], record):
                problems.append(f"{where}: the record {tag[1]} says {' or '.join(record.figures)}")
        if not tags and not is_output:
            problems += [f"{where}: {figure[0]} without a [ledger: id]" for figure in _ELO.finditer(line)]
    return problems


def _quotes(text: str, record: Record | SuiteRecord) -> bool:
    """Returns whether the text ends with a figure of the record; an Elo may be rounded."""
    found = _WITH_ERROR.search(text)
    if found and isinstance(record, Record) and record.elo is not None and record.elo_error is not None:
        return _rounds_to(record.elo, found[1]) and _rounds_to(record.elo_error, found[2])
    return any(re.search(rf"(?<![\d.+-]){re.escape(figure)}\s*$", text) for figure in record.figures)


def _rounds_to(value: float, text: str) -> bool:
    decimals = len(text.partition(".")[2])
    return abs(value - float(text)) <= 0.5 * math.pow(10.0, -decimals) + 1e-9


def quoting_files(root: Path = PROJECT_ROOT) -> list[Path]:
    """Returns the files to check: the code of every package, and the Markdown files of the root, `docs` and `eval`."""
    files = [root / "uci_main.py", *root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("eval/**/*.md")]
    for package in ("engine", "eval", "search", "bench"):
        files += (root / package).rglob("*.py")
    # The records module contains tags of records as examples.
    return sorted(path for path in files if path.is_file() and path != root / "bench" / "records.py")


def check(root: Path = PROJECT_ROOT) -> list[str]:
    """Returns a line for each problem of the checkout `root`: an invalid record, a stale table, or a wrong quote."""
    folder = root / "bench" / "ledger"
    try:
        matches, suites = load(folder), load_suites(folder).values()
    except LedgerError as error:
        return [str(error)]
    problems = []
    readme = folder / "README.md"
    if not readme.is_file() or readme.read_text(encoding="utf-8") != table(matches, suites):
        problems.append(f"{readme.relative_to(root)}: is stale; run `secateur ledger --write`")
    for path in quoting_files(root):
        text = path.read_text(encoding="utf-8")
        problems += wrong_quotes(text, path.relative_to(root).as_posix(), [*matches, *suites])
    return problems
