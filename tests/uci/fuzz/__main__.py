"""Plays random sessions until one goes wrong: `python -m tests.uci.fuzz --sessions 10000`.

Random sessions run in this process with the real session of the engine, and `--pipes` more with a process each.
`--fens` gives the engine good and bad positions instead, `--games` plays it against itself and checks every line,
`--files` gives hostile files to every command, and `--cold` measures silences while kernels compile. What goes wrong is
printed; a session is printed as a script, which `--replay` plays again. Exit status 1: something went wrong.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, Phase, given, seed, settings

from bench.records import LedgerError, SuiteRecord, check_unused, current_commit, save
from engine.arguments import Parser, complain
from engine.progress import Line, duration
from engine.uci.positions import PositionKeeper
from tests.uci.fuzz import cold
from tests.uci.fuzz.fens import check, fens
from tests.uci.fuzz.files import first_cases
from tests.uci.fuzz.grammar import scripts
from tests.uci.fuzz.play import Connect, FailedSessionError, Script, play, play_games, script_of
from tests.uci.fuzz.wires import InProcess, OverPipes

#: Sessions of one run of Hypothesis, which remembers all of its own.
BATCH: Final = 500


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
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the seed of what is random (default 1)")
    parser.add_argument("--ledger", metavar="ID", help="record the run in bench/ledger/suites/ID.json")
    parser.add_argument("--commit", action="append", default=[], help="the commit tested (default: the current)")
    return parser


def run_sessions(sessions: int, start: int, connect: Connect, on_done: Callable[[], None]) -> None:
    """Plays so many sessions of the seed `start`. Raises the FailedSessionError of the smallest failing session."""
    failures: list[FailedSessionError] = []
    done = 0

    def one(script: Script) -> None:
        nonlocal done
        try:
            play(script, connect)
        except FailedSessionError as failure:
            failures.append(failure)
            raise
        done += 1
        on_done()

    for batch in itertools.count():
        left = sessions - done
        if left <= 0:
            return
        one_batch = settings(
            max_examples=min(left, BATCH),
            database=None,
            deadline=None,
            derandomize=False,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )(given(scripts(processes=connect is OverPipes))(one))
        try:
            seed(start * 1_000_003 + batch)(one_batch)()
        except BaseException:
            # A session that goes wrong only sometimes makes Hypothesis raise an error of its own.
            if not failures:
                raise
            raise min(failures, key=lambda failure: len(failure.script)) from None


def run_each(cases: Iterable[tuple[str, Callable[[], object]]], on_done: Callable[[], None]) -> None:
    """Runs all cases and prints their failures. Raises AssertionError after the last if any case failed."""
    failed = 0
    for name, run in cases:
        try:
            if measured := run():
                print(measured, flush=True)
        except AssertionError as problem:
            failed += 1
            print(f"{name}: {problem}", flush=True)
        on_done()
    if failed:
        raise AssertionError(f"{failed} went wrong")


def run(options: argparse.Namespace) -> SuiteRecord:
    """Does what the options ask for; returns its record. Raises AssertionError for what goes wrong."""
    limit, done, began = f"seed {options.seed}", 0, time.monotonic()
    what = next((name for name in ("fens", "games", "files", "cold") if getattr(options, name)), "sessions")
    planned = options.sessions + options.pipes if what == "sessions" else getattr(options, what)
    cold_cases: list[tuple[str, Callable[[], object]]] = [("two engines", cold.two_engines)]
    cold_cases += [(line, functools.partial(cold.command, line)) for line in cold.COMMANDS]

    def count(*_: object) -> None:
        nonlocal done
        done += 1

    def figures() -> str:
        return f"{what} {done} of {len(cold_cases) if options.cold else planned}, {duration(time.monotonic() - began)}"

    with Line(figures, patience=1.0):
        if what == "fens":
            keeper = PositionKeeper()
            for fen, chess960 in itertools.islice(fens(options.seed), planned):
                check(keeper, fen, chess960)
                count()
        elif what == "games":
            play_games(planned, options.seed, count)
        elif what == "files":
            run_each(((str(case), case.run) for case in first_cases(planned, options.seed)), count)
        elif what == "cold":
            run_each(cold_cases, count)
        else:
            limit += f", {options.pipes} over pipes"
            run_sessions(options.sessions, options.seed, InProcess, count)
            run_sessions(options.pipes, options.seed + 1, OverPipes, count)
    print(figures(), file=sys.stderr)
    commits = tuple(options.commit) or tuple(filter(None, [current_commit()]))
    return SuiteRecord(
        options.ledger or "", "FENs" if what == "fens" else what, limit, done, {"Secateur": done}, commits
    )


def main(arguments: list[str] | None = None) -> int:
    """Does what is asked for; returns the exit status."""
    options = parser().parse_args(arguments)
    if min(options.sessions, options.pipes, options.fens, options.games, options.files) < 0:
        parser().error("the numbers are at least 0")
    try:
        if options.replay is not None:
            play(script_of(options.replay.read_text(encoding="utf-8")), OverPipes if options.pipes else InProcess)
            return 0
        if options.ledger is not None:
            check_unused(options.ledger, suite=True)
        record = run(options)
        if options.ledger is not None:
            print(f"recorded in {save(record)}", file=sys.stderr)
    except AssertionError as failure:
        print(failure)
        return 1
    except (OSError, ValueError, LedgerError) as error:
        complain("python -m tests.uci.fuzz", str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
