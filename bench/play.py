"""`play` picks the runner for a description and plays the match. All commands that play games use it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from bench.description import DescriptionError, MatchDescription
from bench.engines import EngineSpecError, compile_kernels
from bench.pgn import MATCH_TAG, is_pgn, split_games
from bench.results import MatchResult
from bench.runners.base import OnGame, OnProblem, Runner, RunnerError
from bench.runners.builtin import BuiltinRunner
from bench.runners.cutechess import CutechessRunner
from bench.runners.external import ExternalRunner
from bench.runners.fastchess import FastchessRunner
from bench.schedule import make_plan
from engine.errors import CommandError
from engine.files import Output, locked, reason, shown

_EXTERNAL: dict[str, type[ExternalRunner]] = {"cutechess": CutechessRunner, "fastchess": FastchessRunner}


class PlayError(CommandError, RuntimeError):
    """A match that cannot be played; the message is one line."""


def play(
    description: MatchDescription,
    on_game: OnGame = lambda game: True,
    on_problem: OnProblem = lambda problem: None,
) -> MatchResult:
    """Plays the match on the runner that the description names, or on the first that is there.

    `on_game` gets every finished game in order of completion (those of a resumed match first) and ends the match by
    returning False. `on_problem` gets a line about each engine that cannot play, before the first game. Ctrl-C ends the
    match, too: the finished games are returned with `interrupted` set. Raises `PlayError`.
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
                held.enter_context(locked(Path(description.pgn)))
            compile_kernels(description.engines, description.cluster)
            _check_games(description)  # again: another match may have been there, and compiling takes a minute
            return runner.run(plan, on_game, on_problem)
    except BlockingIOError:
        raise PlayError(f"{shown(str(description.pgn))}: another match is writing its games there") from None
    except OSError as error:
        raise PlayError(f"{shown(str(error.filename or description.pgn))}: {reason(error)}") from None
    except (DescriptionError, EngineSpecError, RunnerError) as error:
        raise PlayError(str(error)) from None


def _check_games(description: MatchDescription) -> None:
    """Checks that the match may write its file of games. Raises `DescriptionError` and OSError."""
    if not description.pgn:
        return
    pgn = Path(description.pgn)
    output = Output(pgn, is_pgn, "file of games")
    book = Path(description.book.file) if description.book is not None else None
    if book is not None and pgn.exists() and book.exists() and pgn.samefile(book):
        raise DescriptionError(f"{shown(pgn)}: is the book; name another file for the games")
    if not output.size or description.resume:
        return
    if not description.overwrite:
        raise DescriptionError(f"{pgn} holds games already: --resume goes on with them, --overwrite drops them")
    games = list(split_games(pgn))
    events = {raw.tags.get("Event") for raw in games if MATCH_TAG in raw.tags} | {description.event}
    for raw in games:
        is_ours = MATCH_TAG in raw.tags or raw.tags.get("Event") == description.event
        if raw is games[-1] and not raw.is_complete:  # a match was killed while it wrote this game
            is_cut_tag = raw.text.startswith("[Event") and "\n" not in raw.text.strip()
            is_ours = is_cut_tag or raw.tags.get("Event") in events
        if not is_ours:
            raise DescriptionError(f"{shown(pgn)}:{raw.line}: no match of Secateur wrote this game; name another file")


def pick_runner(description: MatchDescription) -> Runner:
    """The runner that the description names; for "auto" what is on the PATH, else the built-in one.

    Raises `RunnerError` when a named runner is not there or cannot do what is asked.
    """
    only_builtin = description.resume or description.cluster is not None
    if description.runner == "builtin" or (description.runner == "auto" and only_builtin):
        return BuiltinRunner()
    if description.runner != "auto":
        if only_builtin:
            raise RunnerError(f"only the built-in runner can resume and use a cluster, not {description.runner}")
        return _EXTERNAL[description.runner]()
    for kind in _EXTERNAL.values():
        if kind.program_path() is not None:
            return kind()
    return BuiltinRunner()
