"""What code and README quote from the ledger, and whether it stands there.

An Elo is quoted as `+38.1 +- 9.2  [ledger: null-move]`, a suite as `193 of 201  [ledger: wac]` and a match played for
its faults as `2000 games, 0 faults  [ledger: clean]`; `wrong_quotes` finds those that have no record or other figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.records import LedgerError, Record, SuiteRecord, load, load_suites, table
from bench.stats import with_error
from engine.compiler.sources import PROJECT_ROOT

_TAG: Final = re.compile(r"\[ledger:\s*([^\]\s]+)\s*\]")
_WITH_ERROR: Final = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*\+-\s*(\d+(?:\.\d+)?)")
_SOLVED: Final = re.compile(r"\b\d+ of \d+\b")
_FAULTS: Final = re.compile(r"\b\d+ games, \d+ faults?\b")
_ELO: Final = re.compile(r"(?<![\w.])([+-]?\d+(?:\.\d+)?)(?:\s*\+-\s*(\d+(?:\.\d+)?))?\s*Elo\b")


@dataclass(frozen=True, slots=True)
class Quote:
    """A figure that a text states: where, an Elo as written (no error is None), and the record it names.

    `count` is what was solved, or the games and faults, as written, where the line has no Elo.
    """

    place: str
    elo: str
    error: str | None
    id: str | None
    count: str = ""


def quotes(text: str, place: str) -> Iterator[Quote]:
    """The figures that `text` states: `N Elo`, `N +- M Elo`, and `N +- M` beside a `[ledger: id]`.

    A line that names a record and has no Elo may have `N of M` or `N games, M faults`, which is taken then.
    Fenced blocks of a Markdown file are a program's output, not statements, unless they name a record.
    """
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        named = _TAG.search(line)
        where = f"{place}:{number}"
        if named:
            figure = _WITH_ERROR.search(line) or _ELO.search(line)
            if figure:
                yield Quote(where, figure[1], figure[2], named[1])
            else:
                count = _SOLVED.search(line) or _FAULTS.search(line)
                yield Quote(where, "", None, named[1], count[0] if count else "")
        elif not fenced:
            for figure in _ELO.finditer(line):
                yield Quote(where, figure[1], figure[2], None)


def wrong_quotes(found: Iterable[Quote], records: Iterable[Record | SuiteRecord]) -> list[str]:
    """One line for each quote that has no record, or whose figures are not the record's at the quoted precision."""
    known = {record.id: record for record in records}
    problems = []
    for quote in found:
        stated = quote.elo + (f" +- {quote.error}" if quote.error else "")
        if quote.id is None:
            problems.append(f"{quote.place}: {stated} Elo without a [ledger: id]")
        elif quote.id not in known:
            problems.append(f"{quote.place}: the ledger has no record {quote.id}")
        else:
            problems += _wrong_figures(quote, stated, known[quote.id])
    return problems


def _wrong_figures(quote: Quote, stated: str, record: Record | SuiteRecord) -> list[str]:
    if isinstance(record, SuiteRecord):
        # Of several engines the line may name any.
        right = [f"{solved} of {record.positions}" for solved in record.solved.values()]
        if quote.count in right:
            return []
        return [f"{quote.place}: says {quote.count or stated or 'nothing'}, the record {record.figure} ({quote.id})"]
    if quote.count:
        if quote.count == record.clean:
            return []
        return [f"{quote.place}: says {quote.count}, the record {record.clean or record.figure} ({quote.id})"]
    if record.elo is None or record.elo_error is None:
        return [f"{quote.place}: says {stated}, the record gives no Elo ({quote.id})"] if quote.elo else []
    if quote.error is None:
        return [f"{quote.place}: [ledger: {quote.id}] beside no Elo with its interval"]
    if _rounds_to(record.elo, quote.elo) and _rounds_to(record.elo_error, quote.error):
        return []
    return [f"{quote.place}: says {stated}, the record {with_error(record.elo, record.elo_error)} ({quote.id})"]


def _rounds_to(value: float, text: str) -> bool:
    decimals = len(text.partition(".")[2])
    return abs(value - float(text)) <= 0.5 * math.pow(10.0, -decimals) + 1e-9


def quoting_files(root: Path = PROJECT_ROOT) -> list[Path]:
    """The files whose statements are checked: the code of every room, and the Markdown outside the ledger."""
    files = [root / "uci_main.py", *root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("eval/**/*.md")]
    for room in ("engine", "eval", "search", "bench"):
        files += (root / room).rglob("*.py")
    # These two have the pattern itself.
    patterns = {root / "bench" / name for name in ("quotes.py", "records.py")}
    return sorted(path for path in files if path.is_file() and path not in patterns)


def check(root: Path = PROJECT_ROOT) -> list[str]:
    """What is wrong with the ledger of the checkout `root`: stale table, wrong or missing records of quotes."""
    folder = root / "bench" / "ledger"
    try:
        matches, suites = load(folder), load_suites(folder)
    except LedgerError as error:
        return [str(error)]
    problems = []
    records: list[Record | SuiteRecord] = [*matches, *suites.values()]
    readme = folder / "README.md"
    if not readme.is_file() or readme.read_text(encoding="utf-8") != table(matches, suites.values()):
        problems.append(f"{readme.relative_to(root)}: is not current; run `secateur ledger --write`")
    for path in quoting_files(root):
        text = path.read_text(encoding="utf-8")
        problems += wrong_quotes(quotes(text, path.relative_to(root).as_posix()), records)
    return problems
