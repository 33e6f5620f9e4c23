"""Plays the matches and tournaments of all commands (`play`), and chooses the runner (`pick_runner`)."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from bench.description import DEFAULT_HANG, DescriptionError, MatchDescription
from bench.engines import compile_kernels
from bench.pgn import is_pgn
from bench.results import MatchResult
from bench.runners.base import Collector, OnGame, OnProblem, PlayError, Runner
from bench.runners.builtin import BuiltinRunner
from bench.runners.external import PROGRAMS, ExternalRunner
from bench.schedule import make_plan
from engine.files import Output, locked, reason, shown


def play(
    description: MatchDescription,
    on_game: OnGame = lambda game: True,
    on_problem: OnProblem = lambda problem: None,
) -> MatchResult:
    """Plays the match or tournament with the runner that `pick_runner` returns.

    `on_game` gets every finished game in order of completion, after the earlier games of a resumed match. If it returns
    False, the match ends. `on_problem` gets a line for each engine that cannot play, and for a PGN file that cannot be
    written. Ctrl-C also ends the match and sets `interrupted` in the result. Raises CommandError if the match fails.
    """
    try:
        # Missing programs are reported before a long book is read.
        runner = pick_runner(description)
        if isinstance(runner, ExternalRunner):
            runner.required_program()
        if description.cluster is None:
            for engine in description.engines:
                engine.resolved_program()
        _check_games(description)
        plan = make_plan(description)
        with ExitStack() as held:
            if description.pgn:
                try:
                    held.enter_context(locked(Path(description.pgn), remove=True))
                except BlockingIOError:
                    raise PlayError(f"{shown(description.pgn)}: another match is writing to this file") from None
            compile_kernels(description.engines, description.cluster)
            games = _check_games(description)  # again, because another match may have written games meanwhile
            collector = Collector(plan, on_game, on_problem)
            runner.run(plan, collector, games)
            return collector.finish()
    except OSError as error:
        place = error.filename or description.pgn
        raise PlayError(f"{shown(str(place))}: {reason(error)}" if place else reason(error)) from None


def _check_games(description: MatchDescription) -> Output | None:
    """Returns the PGN file, as it was checked; None if the match has none.

    Raises `DescriptionError` if the file is the book or must not be replaced, and OSError if it is unusable.
    """
    if not description.pgn:
        return None
    pgn = Path(description.pgn)
    output = Output(pgn, is_pgn, "PGN file")
    book = Path(description.book.file) if description.book is not None else None
    if book is not None and pgn.exists() and book.exists() and pgn.samefile(book):
        raise DescriptionError(f"{shown(pgn)} is the book; name another file for the games")
    if output.size and not (description.resume or description.overwrite):
        raise DescriptionError(f"{shown(pgn)} contains games; pass --resume to continue or --overwrite to replace them")
    return output


def pick_runner(description: MatchDescription) -> Runner:
    """Returns the runner that the description names. "auto" means a runner on the PATH, or else the built-in runner.

    Only the built-in runner can resume a match, use a cluster or end a move after `hang_seconds`. Raises `PlayError` if
    another runner is named for it.
    """
    limits_hangs = description.hang_seconds != DEFAULT_HANG
    only_builtin = description.resume or description.cluster is not None or limits_hangs
    if description.runner in PROGRAMS:
        if only_builtin:
            what = "resume, use a cluster or limit hangs (--hang)"
            raise PlayError(f"only the built-in runner can {what} (got {description.runner})")
        return ExternalRunner(description.runner)
    if description.runner == "auto" and not only_builtin:
        for name, program in PROGRAMS.items():
            if shutil.which(program) is not None:
                return ExternalRunner(name)
    return BuiltinRunner()
