"""Plays sessions at random to the engine until one goes wrong: `python -m tests.uci.fuzz --sessions 10000 --seed 1`.

Most run in this process, with the real session of the engine; `--pipes` more with a process each. A session that goes
wrong is printed as a script, which `--replay` plays again. Exit status 1: something went wrong; 2: wrong usage.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings

from bench.display import Display, duration, figures_table
from bench.records import LedgerError, current_commit
from bench.standing import SuiteRecord, save_suite
from tests.uci.fuzz.grammar import scripts
from tests.uci.fuzz.play import FailedSessionError, play
from tests.uci.fuzz.script import Script, from_text, to_text
from tests.uci.fuzz.wires import InProcess, OverPipes

#: Sessions of one run of Hypothesis, which remembers all of its own.
BATCH: Final = 500


class View(Display):
    """How many sessions were played, and how fast."""

    def __init__(self, planned: int) -> None:
        super().__init__()
        self._planned = planned
        self.sessions = 0
        self.lines = 0

    def add(self, lines: int) -> None:
        """One session more, with so many lines."""
        self.sessions += 1
        self.lines += lines
        self.tick()

    def _figures(self) -> dict[str, str]:
        elapsed = time.monotonic() - self.began
        pace = self.sessions / elapsed if elapsed else 0.0
        left = duration((self._planned - self.sessions) / pace) if pace else "?"
        sessions = f"{self.sessions} of {self._planned}, {pace:.1f} a second"
        return {"sessions": sessions, "lines": str(self.lines), "time": duration(elapsed), "time left": left}

    def line(self) -> str:
        """The figures in one line."""
        return "; ".join(f"{label} {text}" for label, text in self._figures().items())

    def picture(self) -> Any:
        """The figures as a table."""
        return figures_table(self._figures())


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.uci.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sessions", type=int, default=1000, metavar="N", help="in this process (default 1000)")
    parser.add_argument("--pipes", type=int, default=0, metavar="N", help="with a process each (default 0)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which sessions (default 1)")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="play the script in FILE instead")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the script of what went wrong to FILE")
    parser.add_argument("--no-shrink", action="store_true", help="do not look for a smaller session that goes wrong")
    parser.add_argument("--ledger", metavar="ID", help="record the run in bench/ledger/suites/ID.json")
    parser.add_argument("--commit", action="append", default=[], help="the commit tested (default: the current)")
    return parser


def run(sessions: int, start: int, connect: Any, view: View, shrink: bool = True) -> FailedSessionError | None:
    """Plays so many sessions of the seed `start`; the smallest that went wrong, None when none did.

    With `shrink` smaller ones are looked for.
    """
    failures: list[FailedSessionError] = []

    def one(script: Script) -> None:
        try:
            lines = play(script, connect)
        except FailedSessionError as failure:
            failures.append(failure)
            raise
        view.add(lines)

    left, batch = sessions, 0
    while left > 0 and not failures:
        count = min(left, BATCH)
        one_batch = settings(
            max_examples=count,
            database=None,
            deadline=None,
            derandomize=False,
            phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
            suppress_health_check=list(HealthCheck),
        )(given(scripts())(one))
        before = view.sessions
        try:
            seed(start * 1_000_003 + batch)(one_batch)()
        except BaseException:  # what a session that goes wrong only now and then makes of the search for a smaller one
            if not failures:
                raise
        left -= max(view.sessions - before, 1)
        batch += 1
    return min(failures, key=lambda failure: len(failure.script), default=None)


def main(arguments: list[str] | None = None) -> int:
    """Plays what was asked for; returns the exit status."""
    options = parser().parse_args(arguments)
    if min(options.sessions, options.pipes) < 0:
        parser().error("--sessions and --pipes are no less than 0")
    failure: FailedSessionError | None = None
    view = View(options.sessions + options.pipes)
    if options.replay is not None:
        try:
            script = from_text(options.replay.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            parser().error(f"{options.replay}: {error}")
        try:
            play(script, OverPipes if options.pipes else InProcess)
        except FailedSessionError as error:
            failure = error
    else:
        with view:
            failure = run(options.sessions, options.seed, InProcess, view, not options.no_shrink)
            if failure is None:
                failure = run(options.pipes, options.seed + 1, OverPipes, view, not options.no_shrink)
        print(view.line(), file=sys.stderr)
    if failure is not None:
        print(failure)
        if options.save is not None:
            options.save.write_text(to_text(failure.script), encoding="utf-8")
        return 1
    if options.ledger is not None and options.replay is None:
        return _record(options, view.sessions)
    return 0


def _record(options: argparse.Namespace, sessions: int) -> int:
    """Keeps a run in which nothing went wrong."""
    record = SuiteRecord(
        id=options.ledger,
        suite="fuzzed sessions",
        limit=f"seed {options.seed}, {options.pipes} over pipes",
        positions=sessions,
        solved={"Secateur": sessions},
        commits=tuple(options.commit) or tuple(filter(None, [current_commit()])),
    )
    try:
        print(f"recorded in {save_suite(record)}", file=sys.stderr)
    except LedgerError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
