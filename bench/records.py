"""The ledger, which contains a small JSON record for each test that led to a decision.

`bench/ledger/ID.json` is the `Record` of a match. `bench/ledger/suites/ID.json` is the `SuiteRecord` of a test suite.
`bench/ledger/README.md` contains tables of all records. The tests check the figures that other files quote.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import re
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeVar

from bench.description import MatchDescription
from bench.results import MatchResult
from bench.stats import Sprt, Tally, estimate
from engine.compiler.sources import PROJECT_ROOT
from engine.errors import CommandError, MissingError
from engine.files import Output, built, locked, parse_json, read_bytes, reason, shown

LEDGER: Final = PROJECT_ROOT / "bench" / "ledger"

#: Saving a record waits at most this many seconds for other processes that save records.
PATIENCE: Final = 10.0
_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]*")


class LedgerError(CommandError, ValueError):
    """Raised if a record is invalid, already exists, or cannot be read or written; the message is one line."""


class RecordThereError(LedgerError, MissingError):
    """Raised if the ledger already has a record with the id. The arguments are valid, so the exit status is 1."""


def today() -> str:
    """Returns today's date in UTC, in the format of a record."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


@dataclass(frozen=True, slots=True)
class Record:
    """The record of a match. Elo, its error (half of the 95 % interval) and the pair counts are those of `engines[0]`.

    For a match without a sequential test, `verdict` is "measured", and `elo0`, `elo1`, `model` and `llr` are None.
    Elo, its error and nElo are None if the results do not determine a finite interval. A record of an ablation has no
    pair counts and no nElo. `faults` counts the faults of engines (`bench.results.FAULTS`); None means that they were
    not counted. `bench_nodes` is None if it is unknown.
    """

    id: str
    what: str
    date: str
    commits: tuple[str, ...]
    engines: tuple[str, ...]
    book: str
    time_control: str
    games: int
    pentanomial: tuple[int, ...]
    elo: float | None
    elo_error: float | None
    nelo: float | None
    verdict: str
    llr: float | None = None
    elo0: float | None = None
    elo1: float | None = None
    model: str | None = None
    bench_nodes: int | None = None
    note: str = ""
    faults: int | None = None

    def __post_init__(self) -> None:
        _check_id(self.id)
        if not self.what.strip():
            raise LedgerError(f"{self.id}: the description of the test (what) is empty")

    @property
    def points(self) -> float:
        """The first engine's share of the points in the pairs, 0 to 1; NaN if no pairs were counted."""
        pairs = sum(self.pentanomial)
        won = sum(place * count for place, count in enumerate(self.pentanomial))
        return won / (4 * pairs) if pairs else math.nan

    @property
    def figure(self) -> str:
        """The Elo, such as `+38.1 +- 9.2`, or the share of the points in the pairs if there is no Elo."""
        if self.elo is None or self.elo_error is None:
            return f"{100 * self.points:.1f} % of the points" if self.pentanomial else "no pair of games"
        return f"{self.elo:+.1f} +- {self.elo_error:.1f}"

    @property
    def figures(self) -> tuple[str, ...]:
        """The texts that may be quoted: the figure and, if faults were counted, a text like `2000 games, 0 faults`."""
        if self.faults is None:
            return (self.figure,)
        return self.figure, f"{self.games} games, {self.faults} {'fault' if self.faults == 1 else 'faults'}"

    @property
    def row(self) -> tuple[object, ...]:
        """The cells of the record's row in the table."""
        test = "-"
        if self.llr is not None and self.elo0 is not None and self.elo1 is not None:
            test = f"{self.llr:.2f} [{self.elo0:g}, {self.elo1:g}] {self.model}"
        what = self.what + (f" ({self.note})" if self.note else "")
        played = (self.games, self.pentanomial, self.time_control, self.book, self.engines)
        return self.id, what, self.figure, test, *played, self.commits, self.bench_nodes or "-", self.date, self.verdict


def _check_id(text: str) -> None:
    if not _ID.fullmatch(text):
        raise LedgerError(f"'{text}' is not a ledger id; use lower-case letters, digits and dashes")


def check_unused(text: str, folder: Path | None = None, *, suite: bool = False) -> None:
    """Raises `LedgerError` if the id `text` (of a suite, if `suite`) or a file of the ledger is invalid.

    Raises `RecordThereError` if the id is used, because records are never replaced.
    """
    _check_id(text)
    load(folder)  # an invalid file would prevent the update of the table
    load_suites(folder)
    path = (LEDGER if folder is None else folder) / ("suites" if suite else "") / f"{text}.json"
    if os.path.lexists(path):
        raise RecordThereError(f"the ledger already has a record {text}; choose another id or delete {shown(path)}")


@dataclass(frozen=True, slots=True)
class SuiteRecord:
    """The record of a run of a test suite, with the number of positions that each engine solved.

    A suite's goal applies to the first engine. For the fuzzer's checks, `positions` counts sessions, games or FENs.
    """

    id: str
    suite: str
    limit: str
    positions: int
    solved: dict[str, int]
    commits: tuple[str, ...] = ()
    bench_nodes: int | None = None
    note: str = ""
    date: str = field(default_factory=today)

    def __post_init__(self) -> None:
        if not self.solved:
            raise LedgerError(f"{self.id}: no engine has run the suite")

    @property
    def figure(self) -> str:
        """The number of solved positions, such as `193 of 201`. Other engines follow: `193 of 201; Stockfish 195`."""
        (_, solved), *others = self.solved.items()
        return f"{solved} of {self.positions}" + "".join(f"; {other} {count}" for other, count in others)

    @property
    def figures(self) -> tuple[str, ...]:
        """The texts that may be quoted: the figure, and the number of positions that each engine solved."""
        return (self.figure, *(f"{solved} of {self.positions}" for solved in self.solved.values()))

    @property
    def row(self) -> tuple[object, ...]:
        """The cells of the record's row in the table."""
        suite = self.suite + (f" ({self.note})" if self.note else "")
        engines = tuple(self.solved)
        return self.id, suite, self.figure, self.limit, engines, self.commits, self.bench_nodes or "-", self.date


def quote(record: Record | SuiteRecord) -> str:
    """Returns the text with which code and documentation quote the figure of a record."""
    return f"{record.figure}  [ledger: {record.id}]"


AnyRecord = TypeVar("AnyRecord", Record, SuiteRecord)


def load(folder: Path | None = None) -> list[Record]:
    """Returns the records of all matches, sorted by date and id. Raises `LedgerError` if a file is invalid."""
    return _load(Record, LEDGER if folder is None else folder)


def load_suites(folder: Path | None = None) -> dict[str, SuiteRecord]:
    """Returns a dict of all suite records by id, sorted by id. Raises `LedgerError` if a file is invalid."""
    found = _load(SuiteRecord, (LEDGER if folder is None else folder) / "suites")
    return {record.id: record for record in sorted(found, key=lambda record: record.id)}


def _load(kind: type[AnyRecord], folder: Path) -> list[AnyRecord]:
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            record: AnyRecord = built(kind, parse_json(read_bytes(path, limit=1 << 20)), "the record")
        except json.JSONDecodeError as error:
            raise LedgerError(f"{path}:{error.lineno}: {error.msg}") from None
        except OSError as error:
            raise LedgerError(f"{path}: {reason(error)}") from None
        except (TypeError, ValueError) as error:
            names = ", ".join(item.name for item in fields(kind))
            raise LedgerError(f"{path}: {error}; a record must be a JSON object with the fields {names}") from None
        if record.id != path.stem:
            raise LedgerError(f"{path}: the record has the id {record.id}, but the file's name requires {path.stem}")
        found.append(record)
    return sorted(found, key=lambda record: (record.date, record.id))


def save(record: Record | SuiteRecord, folder: Path | None = None) -> Path:
    """Writes a record and the table. Returns the record's path. Waits up to PATIENCE for other processes that do this.

    Raises `LedgerError` if writing fails, if the id is used, or if a file of the ledger is invalid.
    """
    folder, suite = LEDGER if folder is None else folder, isinstance(record, SuiteRecord)
    path = folder / ("suites" if suite else "") / f"{record.id}.json"
    # Write each field on its own line.
    items = (f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in asdict(record).items())
    text, end = "{\n" + ",\n".join(items) + "\n}\n", time.monotonic() + PATIENCE
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with locked(folder / "README.md", remove=True):
                check_unused(record.id, folder, suite=suite)
                Output(path, lambda head: head.startswith(b"{"), "record of the ledger").replace(text)
                write_table(folder)
                return path
        except OSError as error:
            if not isinstance(error, BlockingIOError) or time.monotonic() > end:
                raise LedgerError(f"{shown(error.filename or path)}: cannot be written: {reason(error)}") from None
        time.sleep(0.05)


def write_table(folder: Path) -> None:
    """Writes the ledger's README from its records. Raises `LedgerError` for invalid records and OSError on failure."""
    text = table(load(folder), load_suites(folder).values())
    Output(folder / "README.md", lambda head: head.startswith(b"# Ledger\n"), "table of the ledger").replace(text)


def table(records: Iterable[Record], suites: Iterable[SuiteRecord] = ()) -> str:
    """Returns the ledger as Markdown: a table of the matches and, if there are suites, a table of the suites."""
    lines = [
        "# Ledger",
        "",
        "Every test that led to a decision has a JSON file. `secateur ledger --write` makes this file; do not edit it.",
        "Elo and its 95 % interval are the first engine's; `pairs` counts pairs worth 0, 1/2, 1, 3/2 and 2 points.",
        "",
        "| id | what | Elo | LLR | games | pairs | time control | book | engines | commits | bench | date | verdict |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
        *map(_line, records),
    ]
    ordered = sorted(suites, key=lambda suite: (suite.date, suite.id))
    if ordered:
        lines += [
            "",
            "Each test suite and fuzzer check has a JSON file in `suites`. `solved` is the number of positions or",
            "checks that the first engine passed; other engines follow.",
            "",
            "| id | suite | solved | limit | engines | commits | bench | date |",
            "|---|---|---|---|---|---|---|---|",
            *map(_line, ordered),
        ]
    return "\n".join(lines) + "\n"


def _line(record: Record | SuiteRecord) -> str:
    cells = (", ".join(map(str, cell)) if isinstance(cell, tuple) else str(cell) for cell in record.row)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def circumstances_of(description: MatchDescription) -> dict[str, str]:
    """Returns a dict with the fields `book` and `time_control` of the record of a match."""
    limits = list(dict.fromkeys(str(engine.limit) for engine in description.engines))
    book = shown(Path(description.book.file).name) if description.book else "start position"
    return {"book": book, "time_control": " against ".join(limits)}


def make_record(results: MatchResult, sprt: Sprt | None = None, **known: Any) -> Record:
    """Returns a record of `results` from the first engine's point of view. `known` contains the record's other fields.

    Raises `LedgerError` if there are no games.
    """
    engine = results.engines[0]
    tally = Tally.of(results.games, engine)
    found = estimate(tally)
    if found is None:
        raise LedgerError(f"{known['id']}: there are no games to record")
    rounded = {name: round(getattr(found, name), 2) for name in ("elo", "elo_error", "nelo")}
    test: dict[str, Any] = {"verdict": "measured"}
    if sprt is not None:
        llr = sprt.llr(tally)
        test = {"verdict": sprt.verdict(llr) or "undecided", "llr": round(llr, 2)}
        test |= {name: getattr(sprt, name) for name in ("elo0", "elo1", "model")}
    return Record(
        date=today(),
        engines=(engine, *(name for name in results.engines if name != engine)),
        games=tally.games,
        pentanomial=tally.pentanomial if tally.pairs else (),
        **(rounded if found.has_interval else dict.fromkeys(rounded)),
        faults=sum(game.fault is not None for game in results.games),
        **test,
        **known,
    )


def tested_commits(named: Sequence[str]) -> list[str]:
    """Returns the commits for a record: `named`, or the current commit if `named` is empty.

    Call this function before the first game, because the checkout may change during the match.
    """
    return list(named) or list(filter(None, [current_commit()]))


def current_commit() -> str:
    """Returns the short hash of the checked-out commit, with `+` if tracked files have changed; "" without a checkout.

    The result is also "" if git fails or if Secateur is installed inside the checkout of another project.
    """
    if not (PROJECT_ROOT / ".git").exists():
        return ""

    def git(*words: str) -> str:
        command = ["git", "-C", str(PROJECT_ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=10", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return ""
