"""The ledger: one small JSON record for each test that decided something.

`bench/ledger/ID.json` is a match's `Record`, `bench/ledger/suites/ID.json` the `SuiteRecord` of a test suite;
`bench/ledger/README.md` has the tables made from all of them; `bench.quotes` checks what code and README quote.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Final

from bench.description import MatchDescription
from bench.results import MatchResult
from bench.stats import Sprt, Tally, estimate
from engine.compiler.sources import PROJECT_ROOT
from engine.errors import CommandError, MissingError
from engine.files import Output, parse_json, read_bytes, reason, replace_file, shown

LEDGER: Final = PROJECT_ROOT / "bench" / "ledger"

#: What a test can end with. "measured" is a match that had nothing to decide.
VERDICTS: Final = ("accepted", "rejected", "measured", "undecided")

#: A record is at most this large, in bytes.
_MOST_BYTES: Final = 1 << 20

_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]*")


class LedgerError(CommandError, ValueError):
    """A record that is broken, missing or there already; the message is one line."""


class RecordThereError(LedgerError, MissingError):
    """An id that another record has: the arguments make sense, so the exit status is 1."""


def today() -> str:
    """The date that a record of now has, UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


class _Quotable:
    """What both kinds of records have: an `id`, and a `figure` that may be quoted."""

    __slots__ = ()
    id: str

    @property
    def figure(self) -> str:
        """What was measured, in a few characters."""
        raise NotImplementedError

    @property
    def tag(self) -> str:
        """What stands behind a figure that is this record's."""
        return f"[ledger: {self.id}]"

    @property
    def quote(self) -> str:
        """The figure as code and README quote it."""
        return f"{self.figure}  {self.tag}"


@dataclass(frozen=True, slots=True)
class Record(_Quotable):
    """One test. Elo, its error (half of the 95 % interval) and the pair counts are those of `engines[0]`.

    `elo0`, `elo1`, `model` and `llr` are None for a match without a stop rule, `bench_nodes` where it was not taken.
    Elo, its error and nElo are None where the points are so one-sided that the interval has no end.
    `faults` counts the games lost by a crash, a hang, an illegal move or the clock, None where they were not counted.
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
        check_id(self.id)
        if self.verdict not in VERDICTS:
            raise LedgerError(f"{self.id}: the verdict is one of {', '.join(VERDICTS)}, not '{self.verdict}'")
        if not self.what.strip():
            raise LedgerError(f"{self.id}: say what was tested")

    @property
    def points(self) -> float:
        """Share of the points, 0 to 1; nan where no pairs were played."""
        pairs = sum(self.pentanomial)
        won = sum(place * count for place, count in enumerate(self.pentanomial))
        return won / (4 * pairs) if pairs else math.nan

    @property
    def figure(self) -> str:
        """`+38.1 +- 9.2`, or the share of the points where that gives no Elo."""
        if self.elo is None or self.elo_error is None:
            return f"{100 * self.points:.1f} % of the points"
        return f"{self.elo:+.1f} +- {self.elo_error:.1f}"

    @property
    def played(self) -> str:
        """`200 games`, and faults where there were some."""
        return f"{self.games} games" + (f", {_faults(self.faults)}" if self.faults else "")

    @property
    def clean(self) -> str | None:
        """`2000 games, 0 faults`; None where faults were not counted."""
        return None if self.faults is None else f"{self.games} games, {_faults(self.faults)}"


def check_id(text: str) -> None:
    """Raises `LedgerError` when `text` cannot be a record's id."""
    if not _ID.fullmatch(text):
        raise LedgerError(f"'{text}' is no ledger id: use small letters, digits and dashes")


def _faults(count: int) -> str:
    return f"{count} fault" if count == 1 else f"{count} faults"


@dataclass(frozen=True, slots=True)
class SuiteRecord(_Quotable):
    """One run of one test suite: how many of its positions each engine solved.

    A goal asks about the first engine. `positions` are sessions, games or FENs where those were checked.
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

    @property
    def figure(self) -> str:
        """`193 of 201`, and what others solved: `193 of 201; Stockfish 195`."""
        (_, solved), *others = self.solved.items()
        return f"{solved} of {self.positions}" + "".join(f"; {other} {count}" for other, count in others)


# --------------------------------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------------------------------


def suites_folder(folder: Path | None = None) -> Path:
    """Where suite records lie: beside the match records of the ledger in `folder`."""
    return (LEDGER if folder is None else folder) / "suites"


def load(folder: Path | None = None) -> list[Record]:
    """Every record, by date and id. Raises `LedgerError` naming the broken file."""
    folder = LEDGER if folder is None else folder
    records = [_load_file(path) for path in sorted(folder.glob("*.json"))]
    return sorted(records, key=lambda record: (record.date, record.id))


def _load_file(path: Path) -> Record:
    known = {item.name: item for item in fields(Record)}
    try:
        data = parse_json(read_bytes(path, _MOST_BYTES))
    except json.JSONDecodeError as error:
        raise LedgerError(f"{path}:{error.lineno}: {error.msg}") from None
    except OSError as error:
        raise LedgerError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        raise LedgerError(f"{path}: {error}") from None
    if not isinstance(data, dict) or not set(data) <= set(known):
        raise LedgerError(f"{path}: a record is a table of {', '.join(known)}")
    for name in ("commits", "engines", "pentanomial"):
        if name in data:
            data[name] = tuple(data[name])
    try:
        record = Record(**data)
    except TypeError as error:
        raise LedgerError(f"{path}: {error}".replace("Record.__init__() ", "")) from None
    except LedgerError as error:
        raise LedgerError(f"{path}: {error}") from None
    if record.id != path.stem:
        raise LedgerError(f"{path}: the record calls itself {record.id}")
    return record


def save(record: Record, folder: Path | None = None) -> Path:
    """Writes a new record and renews the table. Raises `LedgerError` when the id is taken or the disk refuses."""
    folder = LEDGER if folder is None else folder
    path = folder / f"{record.id}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            path.open("x").close()  # the id is taken from now on
        except FileExistsError:
            raise LedgerError(f"{path} is there already: a test keeps its record, a new test takes a new id") from None
        try:
            replace_file(path, _as_text(record))
        except BaseException:  # half a record would break the whole ledger
            path.unlink()
            raise
        write_table(folder)
    except OSError as error:
        raise LedgerError(f"{shown(path)}: cannot be written: {reason(error)}") from None
    return path


def load_suites(folder: Path | None = None) -> dict[str, SuiteRecord]:
    """Every suite record by id, in order of ids. Raises `LedgerError` naming the broken file."""
    found = {}
    for path in sorted(suites_folder(folder).glob("*.json")):
        try:
            data = parse_json(read_bytes(path, _MOST_BYTES))
            record = SuiteRecord(**{**data, "commits": tuple(data.get("commits", ()))})
        except OSError as error:
            raise LedgerError(f"{path}: {reason(error)}") from None
        except (ValueError, TypeError, AttributeError) as error:
            raise LedgerError(f"{path}: {error}".replace("SuiteRecord.__init__() ", "")) from None
        if record.id != path.stem or not record.solved:
            raise LedgerError(f"{path}: the record calls itself {record.id} and has {len(record.solved)} engines")
        found[record.id] = record
    return found


def save_suite(record: SuiteRecord, folder: Path | None = None) -> Path:
    """Writes a suite record, in the place of an earlier one of its id, and renews the table. Raises `LedgerError`."""
    folder = LEDGER if folder is None else folder
    path = suites_folder(folder) / f"{record.id}.json"
    try:
        load_suites(folder)  # what is in the way and no record is told by this
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n")
        write_table(folder)
    except OSError as error:
        raise LedgerError(f"{shown(path)}: cannot be written: {reason(error)}") from None
    return path


def write_table(folder: Path | None = None) -> None:
    """Makes the ledger's README from its records. Raises `LedgerError`, OSError."""
    folder = LEDGER if folder is None else folder
    text = table(load(folder), load_suites(folder).values())
    Output(folder / "README.md", _is_table, "table of the ledger").replace(text)


def _is_table(head: bytes) -> bool:
    return head.startswith(b"# Ledger\n")


def _as_text(record: Record) -> str:
    """JSON with one line a field."""
    items = (f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in asdict(record).items())
    return "{\n" + ",\n".join(items) + "\n}\n"


def table(records: Iterable[Record], suites: Iterable[SuiteRecord] = ()) -> str:
    """The ledger as Markdown: a table of the matches, and one of the suites if there are any."""
    lines = [
        "# Ledger",
        "",
        "Every test that decided something, one JSON file each. Made by `secateur ledger --write`; do not edit.",
        "Elo with its 95 % interval is that of the first engine; pairs are those worth 0, 1/2, 1, 3/2 and 2 points.",
        "",
        "| id | what | Elo | LLR | games | pairs | time control | book | engines | commits | bench | date | verdict |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for record in records:
        test = "-"
        if record.llr is not None and record.elo0 is not None and record.elo1 is not None:
            test = f"{record.llr:.2f} [{record.elo0:g}, {record.elo1:g}] {record.model}"
        cells = (
            record.id,
            record.what + (f" ({record.note})" if record.note else ""),
            record.figure,
            test,
            str(record.games),
            ", ".join(map(str, record.pentanomial)),
            record.time_control,
            record.book,
            ", ".join(record.engines),
            ", ".join(record.commits),
            str(record.bench_nodes or "-"),
            record.date,
            record.verdict,
        )
        lines.append(_row(cells))
    rows = [
        (
            suite.id,
            suite.suite + (f" ({suite.note})" if suite.note else ""),
            suite.figure,
            suite.limit,
            ", ".join(suite.solved),
            ", ".join(suite.commits),
            str(suite.bench_nodes or "-"),
            suite.date,
        )
        for suite in sorted(suites, key=lambda suite: (suite.date, suite.id))
    ]
    if rows:
        lines += [
            "",
            "Test suites and what the fuzzer checked, one JSON file each in `suites`: how many the first engine solved",
            "or passed, then the others. A later run under an id takes the place of the earlier one.",
            "",
            "| id | suite | solved | limit | engines | commits | bench | date |",
            "|---|---|---|---|---|---|---|---|",
            *map(_row, rows),
        ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# --------------------------------------------------------------------------------------------------------------
# From a match to a record
# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a record needs to know beside the games."""

    id: str
    what: str
    commits: tuple[str, ...] = ()
    book: str = ""
    time_control: str = ""
    bench_nodes: int | None = None
    note: str = ""
    date: str = field(default_factory=today)


def circumstances_of(description: MatchDescription) -> dict[str, str]:
    """The book and time control of a match that was played, for `Circumstances`."""
    limits = list(dict.fromkeys(str(engine.limit) for engine in description.engines))
    book = Path(description.book.file).name if description.book else "start position"
    return {"book": book, "time_control": " against ".join(limits)}


def make_record(results: MatchResult, circumstances: Circumstances, sprt: Sprt | None = None) -> Record:
    """The record of a match from the point of view of its first engine.

    Raises `LedgerError` when there are no games.
    """
    engine = results.engines[0]
    tally = Tally.of(results.games, engine)
    found = estimate(tally)
    if found is None:
        raise LedgerError(f"{circumstances.id}: there are no games to record")
    is_finite = found.has_interval
    llr = sprt.llr(tally) if sprt is not None else None
    verdict = "measured"
    if sprt is not None and llr is not None:
        verdict = sprt.verdict(llr) or "undecided"
    return Record(
        id=circumstances.id,
        what=circumstances.what,
        date=circumstances.date,
        commits=circumstances.commits,
        engines=(engine, *(name for name in results.engines if name != engine)),
        book=circumstances.book,
        time_control=circumstances.time_control,
        games=tally.games,
        pentanomial=tally.pentanomial if tally.pairs else (),
        elo=round(found.elo, 2) if is_finite else None,
        elo_error=round(found.elo_error, 2) if is_finite else None,
        nelo=round(found.nelo, 2) if is_finite else None,
        verdict=verdict,
        llr=None if llr is None else round(llr, 2),
        elo0=sprt.elo0 if sprt is not None else None,
        elo1=sprt.elo1 if sprt is not None else None,
        model=sprt.model if sprt is not None else None,
        bench_nodes=circumstances.bench_nodes,
        note=circumstances.note,
        faults=sum(game.fault is not None for game in results.games),
    )


def tested_commits(named: Sequence[str]) -> list[str]:
    """The commits that a record names: those that were `named`, else the current one, if there is one.

    To be asked before anything is played: after hours it may be another one.
    """
    return list(named) or list(filter(None, [current_commit()]))


def current_commit() -> str:
    """The short hash of the checked-out commit, with `+` when files differ from it; empty outside a checkout.

    A checkout of something else that Secateur happens to be installed in does not count.
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
