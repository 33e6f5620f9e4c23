"""The one door to playing: `play` takes a description, picks the runner, and hands over game after game.

`match`, `sprt` and `tourney` are thin commands over it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.description import DescriptionError, MatchDescription
from bench.engines import EngineSpecError, compile_kernels
from bench.pgn import MATCH_TAG, RawGame, is_pgn, split_games
from bench.results import GameResult, MatchResult
from bench.runners.base import OnGame, OnProblem, Runner, RunnerError
from bench.runners.builtin import BuiltinRunner
from bench.runners.cutechess import CutechessRunner
from bench.runners.external import ExternalRunner
from bench.runners.fastchess import FastchessRunner
from bench.schedule import Plan, make_plan
from engine.errors import CommandError
from engine.files import Output, locked, reason, shown

__all__ = ["PlayError", "pick_runner", "play", "prepare"]

_EXTERNAL: dict[str, type[ExternalRunner]] = {"cutechess": CutechessRunner, "fastchess": FastchessRunner}


class PlayError(CommandError, RuntimeError):
    """A match that cannot be played; the message is one line."""


def play(
    description: MatchDescription, on_game: OnGame | None = None, on_problem: OnProblem | None = None
) -> MatchResult:
    """Plays the match on the runner that the description names, or on the first that is there.

    `on_game` gets every finished game in order of completion (those of a resumed match first) and ends the match by
    returning False. `on_problem` gets a line about each engine that cannot play, before the first game. Ctrl-C ends the
    match, too: what is finished is returned with `interrupted` set. Raises `PlayError`.
    """
    try:
        # Missing programs are reported before a long book is read.
        runner = pick_runner(description)
        if isinstance(runner, ExternalRunner):
            runner.required_program()
        if description.cluster is None:
            for engine in description.engines:
                engine.resolved_program()
        plan = prepare(description)
        with _own_games(description):
            compile_kernels(description.engines, description.cluster)
            _check_games(description)  # compiling takes a minute, in which another file may have been put there
            return runner.run(plan, on_game or _go_on, on_problem or _ignore)
    except (DescriptionError, EngineSpecError, RunnerError) as error:
        raise PlayError(str(error)) from None


def _go_on(game: GameResult) -> bool:
    return True


def _ignore(problem: str) -> None:
    pass


def prepare(description: MatchDescription) -> Plan:
    """Reads the book and checks that no earlier games would be overwritten. Raises `DescriptionError`."""
    _check_games(description)
    return make_plan(description)


def _check_games(description: MatchDescription) -> None:
    """Checks that the match may write its file of games. Raises `DescriptionError`."""
    if not description.pgn:
        return
    pgn = Path(description.pgn)
    try:
        output = Output(pgn, is_pgn, "file of games")
    except OSError as error:
        raise DescriptionError(f"{shown(pgn)}: {reason(error)}") from None
    book = Path(description.book.file) if description.book is not None else None
    if book is not None and pgn.exists() and book.exists() and pgn.samefile(book):
        raise DescriptionError(f"{shown(pgn)}: is the book; name another file for the games")
    if not output.size or description.resume:
        return
    if not description.overwrite:
        raise DescriptionError(f"{pgn} holds games already: --resume goes on with them, --overwrite drops them")
    try:
        games = list(split_games(pgn))
    except OSError as error:
        raise DescriptionError(f"{shown(pgn)}: {reason(error)}") from None
    events = {raw.tags.get("Event", "") for raw in games if MATCH_TAG in raw.tags}
    for number, raw in enumerate(games, start=1):
        is_ours = MATCH_TAG in raw.tags or raw.tags.get("Event") == description.event
        is_cut = number == len(games) and not raw.is_complete and _is_cut(raw, events)
        if not is_ours and not is_cut:
            raise DescriptionError(f"{shown(pgn)}:{raw.line}: no match of Secateur wrote this game; name another file")


def _is_cut(raw: RawGame, events: Container[str]) -> bool:
    """Whether a match of such an event was killed while it wrote the game: what is there agrees as far as it goes."""
    if "Event" in raw.tags:
        return raw.tags["Event"] in events
    text = raw.text.strip()
    return "\n" not in text and (text.startswith('[Event "') or '[Event "'.startswith(text))


@contextmanager
def _own_games(description: MatchDescription) -> Iterator[None]:
    """Locks the file of games, so that no other match writes to it. Raises `DescriptionError`."""
    if not description.pgn:
        yield
        return
    pgn = Path(description.pgn)
    with ExitStack() as held:
        try:
            held.enter_context(locked(pgn))
        except BlockingIOError:
            raise DescriptionError(f"{shown(pgn)}: another match is writing its games there") from None
        except OSError as error:
            raise DescriptionError(f"{shown(pgn)}: {reason(error)}") from None
        _check_games(description)  # another match may have been there since the plan was made
        yield


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
