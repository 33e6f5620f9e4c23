"""The levels of `UCI_Elo`: as players of a tournament, and the table of their ratings.

`secateur tourney --levels --json` plays the games and prints the rating list that `bench/ledger/strength/levels.json`
keeps. `search/strength.py` has the ratings, and a test compares the two.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench import markdown, records
from bench.engines import this_engine
from bench.records import LedgerError
from engine.files import parse_json, read_bytes, reason, shown
from search.strength import LEVELS

#: The nodes of its level limit a player, so it gets no clock and a depth that it never reaches.
_LIMIT: Final = "depth=64"

#: The largest rating list that is read, in bytes.
_MOST_BYTES: Final = 1 << 20


def engines() -> list[list[str]]:
    """Secateur at each level, as `--engine` takes an engine."""
    return [
        this_engine(f"name={level.name}", "option.UCI_LimitStrength=true", f"option.UCI_Elo={level.elo}", _LIMIT)
        for level in LEVELS
    ]


def ratings(ledger: Path | None = None) -> dict[str, tuple[float, float]]:
    """The rating of each level, by name, and half of its 95 % interval. Raises `LedgerError` naming the file."""
    path = (records.LEDGER if ledger is None else ledger) / "strength" / "levels.json"
    try:
        lines = {line["name"]: line for line in parse_json(read_bytes(path, _MOST_BYTES))["ratings"]}
        return {level.name: (float(lines[level.name]["rating"]), float(lines[level.name]["error"])) for level in LEVELS}
    except OSError as error:
        raise LedgerError(f"{shown(path)}: {reason(error)}") from None
    except (ValueError, TypeError, LookupError, AttributeError):
        raise LedgerError(f"{shown(path)}: is no rating list of all levels") from None


def table(ledger: Path | None = None) -> str:
    """The levels as Markdown. Raises `LedgerError`."""
    found = ratings(ledger)
    rows = []
    for level in LEVELS:
        elo, error = found[level.name]
        rows.append((f"{elo:.0f}", f"{error:.0f}", f"{level.nodes:,}", f"{level.softness} cp", str(level.lines)))
    return markdown.table(("`UCI_Elo`", "+-", "nodes a move", "softness", "lines"), rows, range(5))
