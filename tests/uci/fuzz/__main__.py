"""Holds the engine against what it owes until something goes wrong: `python -m tests.uci.fuzz --sessions 10000`.

Sessions at random run in this process, with the real session of the engine, and `--pipes` more with a process each;
`--fens` gives it good and bad positions instead, `--games` lets it play against itself with every line checked,
`--files` gives hostile files to every command, and `--cold` measures silences while kernels are compiled. What goes
wrong is printed, a session as a script which `--replay` plays again. Exit status 1: something went wrong.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import time
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings

from bench.display import figures_table
from bench.records import LedgerError, SuiteRecord, current_commit, save_suite
from engine.arguments import Parser, complain
from engine.progress import Display, duration
from engine.uci.positions import PositionKeeper
from tests.uci.fuzz import cold
from tests.uci.fuzz import play as player
from tests.uci.fuzz.files import first_cases
from tests.uci.fuzz.games import play_games
from tests.uci.fuzz.grammar import scripts
from tests.uci.fuzz.play import Connect, FailedSessionError, play
from tests.uci.fuzz.script import Script, from_text, to_text
from tests.uci.fuzz.searches import BreachError
from tests.uci.fuzz.verdicts import check, fens
from tests.uci.fuzz.wires import InProcess, OverPipes

#: Sessions of one run of Hypothesis, which remembers all of its own.
BATCH: Final = 500


class View(Display):
    """How much was done, how fast, and the time left."""

    def __init__(self, what: str, planned: int) -> None:
        super().__init__()
        self._what = what
        self._planned = planned
        self.done = 0

    def add(self) -> None:
        """One more."""
        self.done += 1

    def _figures(self) -> dict[str, str]:
        elapsed = time.monotonic() - self.began
        pace = self.done / elapsed if elapsed else 0.0
        left = duration((self._planned - self.done) / pace) if pace else "?"
        count = f"{self.done} of {self._planned}, {pace:.1f} a second"
        return {self._what: count, "time": duration(elapsed), "time left": left}

    def line(self) -> str:
        """The figures in one line."""
        return "; ".join(f"{label} {text}" for label, text in self._figures().items())

    def picture(self) -> Any:
        """The figures as a table."""
        return figures_table(self._figures())


def parser() -> Parser:
    """The command's options."""
    parser = Parser(prog="python -m tests.uci.fuzz", description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000, metavar="N", help="in this process (default 1000)")
    parser.add_argument("--pipes", type=int, default=0, metavar="N", help="sessions with a process each (default 0)")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--fens", type=int, default=0, metavar="N", help="give it N FENs instead")
    instead.add_argument("--games", type=int, default=0, metavar="N", help="play N games instead")
    instead.add_argument("--files", type=int, default=0, metavar="N", help="give commands N hostile files instead")
    instead.add_argument("--cold", action="store_true", help="measure silences with an empty cache instead: 20 minutes")
    instead.add_argument("--replay", type=Path, metavar="FILE", help="play the script in FILE instead")
    parser.add_argument("--only", default="", metavar="TEXT", help="of the files or silences, those with TEXT in them")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which ones (default 1)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the script of what went wrong to FILE")
    parser.add_argument("--no-shrink", action="store_true", help="do not look for a smaller session that goes wrong")
    parser.add_argument("--ledger", metavar="ID", help="record the run in bench/ledger/suites/ID.json")
    parser.add_argument("--commit", action="append", default=[], help="the commit tested (default: the current)")
    return parser


def run_sessions(sessions: int, start: int, connect: Connect, view: View, shrink: bool = True) -> None:
    """Plays so many sessions of the seed `start`.

    Raises FailedSessionError for the first that goes wrong, or with `shrink` for a smaller one.
    """
    failures: list[FailedSessionError] = []

    def one(script: Script) -> None:
        try:
            play(script, connect)
        except FailedSessionError as failure:
            failures.append(failure)
            raise
        view.add()

    left, batch = sessions, 0
    while left > 0:
        one_batch = settings(
            max_examples=min(left, BATCH),
            database=None,
            deadline=None,
            derandomize=False,
            phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
            suppress_health_check=list(HealthCheck),
        )(given(scripts(processes=connect is OverPipes))(one))
        before = view.done
        try:
            seed(start * 1_000_003 + batch)(one_batch)()
        # While it looks for a smaller session, Hypothesis has an error of its own for one that goes wrong now and then:
        # the failure is what matters.
        except BaseException:
            if not failures:
                raise
            raise min(failures, key=lambda failure: len(failure.script)) from None
        left -= max(view.done - before, 1)
        batch += 1


def run_fens(count: int, start: int, view: View) -> None:
    """Gives the engine so many FENs of the seed `start`. Raises BreachError when it judges one wrongly."""
    keeper = PositionKeeper()
    for fen, chess960 in itertools.islice(fens(start), count):
        check(keeper, fen, chess960)
        view.add()


def run_files(count: int, start: int, only: str, view: View) -> None:
    """Gives so many hostile files to the commands, and prints what goes wrong. Raises BreachError at the end."""
    failed = 0
    for case in first_cases(count, start):
        if only in str(case):
            try:
                case.run()
            except BreachError as breach:
                failed += 1
                print(breach, flush=True)
        view.add()
    if failed:
        raise BreachError(f"{failed} of {count} went wrong")


def run_cold(only: str, view: View) -> None:
    """Measures what begins with an empty cache, and prints it. Raises BreachError for what takes too long."""
    measures = {f"{number} engines": functools.partial(cold.engines, number) for number in (1, 2)}
    measures |= {line: functools.partial(cold.command, line) for line in cold.COMMANDS}
    failures = []
    for name, measure in measures.items():
        if only in name:
            try:
                measured = measure()
                print(measured, flush=True)
                measured.check()
            except BreachError as breach:
                failures.append(str(breach))
        view.add()
    if failures:
        raise BreachError("too long: " + "; ".join(failures))


def run(options: argparse.Namespace) -> SuiteRecord:
    """Does what the options ask for; the record of it. Raises BreachError or FailedSessionError."""
    limit = f"seed {options.seed}"
    if options.fens:
        what, count = "FENs", options.fens
        with View(what, count) as view:
            run_fens(count, options.seed, view)
    elif options.games:
        what, count = "games", options.games
        with View(what, count) as view:
            play_games(count, options.seed, lambda plies: view.add())
    elif options.cold:
        what, count = "silences", 2 + len(cold.COMMANDS)
        with View(what, count) as view:
            run_cold(options.only, view)
    elif options.files:
        what, count = "files", options.files
        with View(what, count) as view:
            run_files(count, options.seed, options.only, view)
    else:
        what, count = "sessions", options.sessions + options.pipes
        limit += f", {options.pipes} over pipes"
        with View(what, count) as view:
            run_sessions(options.sessions, options.seed, InProcess, view, not options.no_shrink)
            run_sessions(options.pipes, options.seed + 1, OverPipes, view, not options.no_shrink)
    print(view.line(), file=sys.stderr)
    if player.slowest_end:
        print(f"the slowest end of a session took {player.slowest_end:.2f} s", file=sys.stderr)
    commits = tuple(options.commit) or tuple(filter(None, [current_commit()]))
    return SuiteRecord(options.ledger or "", what, limit, view.done, {"Secateur": view.done}, commits)


def main(arguments: list[str] | None = None) -> int:
    """Does what is asked for; returns the exit status."""
    options = parser().parse_args(arguments)
    if min(options.sessions, options.pipes, options.fens, options.games, options.files) < 0:
        parser().error("a number of things to do is no less than 0")
    if options.replay is not None:
        try:
            script = from_text(options.replay.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            complain("python -m tests.uci.fuzz", f"{options.replay}: {error}")
            return 1
    try:
        if options.replay is not None:
            play(script, OverPipes if options.pipes else InProcess)
            return 0
        record = run(options)
        if options.ledger is not None:
            print(f"recorded in {save_suite(record)}", file=sys.stderr)
    except (BreachError, FailedSessionError) as failure:
        print(failure)
        if options.save is not None and isinstance(failure, FailedSessionError):
            options.save.write_text(to_text(failure.script), encoding="utf-8")
        return 1
    except LedgerError as error:
        complain("python -m tests.uci.fuzz", str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
