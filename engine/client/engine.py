"""`Engine`: Secateur in this process, used like a `chess.engine.SimpleEngine`."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, overload

import chess
import chess.engine
from chess.engine import INFO_ALL, INFO_NONE, BestMove, EngineError, EngineTerminatedError, InfoDict, Limit, PlayResult
from chess.engine import Info as Selector

from engine.client.analysis import PATIENCE, Analysis, selected
from engine.client.commands import limits_of, position_command, search_moves_of
from engine.client.runner import Runner
from engine.compiler import compiling
from engine.uci.options import OPTIONS, Option, OptionValues
from engine.uci.parse import PositionCommand
from engine.uci.session import AUTHORS
from engine.version import full_name
from eval.build import choose_evaluation, with_evaluation
from search.limits import Limits

if TYPE_CHECKING:
    from engine.uci.equipment import Equipment
    from search.game import Game
    from search.strength import Level

LOGGER: Final = logging.getLogger("secateur")

#: The UCI options that `configure` cannot set, and why: search arguments set them, or they belong to the protocol.
_PROTOCOL: Final = {
    "MultiPV": "is set by the argument multipv of analyse and analysis",
    "UCI_Chess960": "is set by the board's chess960",
    **dict.fromkeys(("Ponder", "UCI_AnalyseMode", "UCI_ShowWDL", "Debug Log File", "UCI_EngineAbout"), "cannot be set"),
}
CONFIGURABLE: Final = tuple(option.name for option in OPTIONS if option.name not in _PROTOCOL)
#: Defaults that differ from those of the UCI engine. In one process, no message is delayed between engine and clock.
_DEFAULTS: Final = {"Move Overhead": "0"}

#: Seconds between two checks, while the kernels load. A check logs the reason for the delay if the reason is new.
_SILENCE: Final = 2.0

#: A value of an option as `chess.engine` takes it, or a path.
Value = str | int | bool | os.PathLike[str] | None


class Engine:
    """Secateur in this process, used like a `chess.engine.SimpleEngine`.

        from chess.engine import Limit
        from secateur import Engine

        with Engine({"Hash": 64, "Threads": 2}) as engine:
            result = engine.play(board, Limit(time=0.1))

    Any thread may call the methods. An engine searches one position at a time: `play` and `analyse` wait for each
    other; a running `analysis` ends when another command comes. Ctrl-C ends a search, and the engine stays usable. An
    engine that is not closed ends with the program. If the kernels are not compiled ahead of time, the first engine
    after an installation compiles them, which takes about half a minute. `secateur warmup` also compiles them.
    """

    def __init__(
        self,
        options: Mapping[str, Value] | None = None,
        *,
        evaluation: str | os.PathLike[str] | Callable[..., Any] | None = None,
    ) -> None:
        """Sets `options` (see `configure`), and uses `evaluation` if one is given.

        `evaluation` is your own function (see `secateur.eval.api`) or its file, `FILE.py[:FUNCTION]`. It applies to all
        engines of this process and must be given for the first one. None keeps the evaluation of the process. At
        first, that is Secateur's own, unless the environment variable SECATEUR_EVALUATION names another.

        Raises EngineError for options that cannot be set, `eval.build.EvaluationError` for an unusable evaluation, and
        RuntimeError if this process already uses another evaluation.
        """
        if evaluation is not None:
            choose_evaluation(evaluation)
        self._values = OptionValues()
        for name, text in {**_DEFAULTS, **_checked({} if options is None else options)}.items():
            self._values.set(name, text)
        # The equipment's messages about problems, until they are raised as an error.
        self._problems: list[str] = []
        self._equipment = _load(self._values, self._problems.append)
        self._searcher = self._equipment.searcher
        self._runner = Runner(self._searcher, self._equipment.close)
        # Ends the threads when the engine is garbage-collected, and at the end of the program.
        self._close = weakref.finalize(self, self._runner.close)
        # A command holds this lock until it has its answer. Only the holder may use the attributes below.
        self._turn = threading.Lock()
        self._game: object = None
        # The position that the engine ponders, and the search that ponders it.
        self._pondered: tuple[PositionCommand, Analysis] | None = None
        if self._problems:
            self.close()
            raise EngineError("; ".join(self._problems))

    def __repr__(self) -> str:
        state = "" if self._close.alive else ", closed"
        return f"<{type(self).__name__} ({self.id['name']}{state})>"

    # -- identity and options ----------------------------------------------------------------------------------

    @property
    def id(self) -> dict[str, str]:
        """A dictionary with the engine's "name" (including the version and any custom evaluation) and "author"."""
        return {"name": with_evaluation(full_name()), "author": AUTHORS}

    @property
    def options(self) -> dict[str, chess.engine.Option]:
        """The options that `configure` can set, by name."""
        return {option.name: _described(option) for option in OPTIONS if option.name in CONFIGURABLE}

    def configure(self, options: Mapping[str, Value]) -> None:
        """Ends any search and sets options by their UCI names, in upper or lower case; the value None presses a button.

        Raises EngineError if an option is unknown or a value is out of range; then no option is set. Also raises
        EngineError if a value is unusable, such as a missing file; then this and all later options keep their values.
        """
        texts = _checked(options)
        with self._command():
            self._interrupt()
            for name, text in texts.items():
                before = self._values.written(name)
                self._problems.clear()
                self._apply(name, text)
                if self._problems:
                    error = EngineError("; ".join(self._problems))
                    self._apply(name, before)
                    raise error

    def _apply(self, name: str, text: str | None) -> None:
        self._values.set(name, text)
        self._equipment.apply(name)

    # -- searching ---------------------------------------------------------------------------------------------

    def play(
        self,
        board: chess.Board,
        limit: Limit,
        *,
        game: object = None,
        info: Selector = INFO_NONE,
        ponder: bool = False,
        root_moves: Iterable[chess.Move] | None = None,
    ) -> PlayResult:
        """Returns a PlayResult; its `move` is None if no move is legal. The move stack of `board` is the game so far.

        If `game` differs from that of the last search, first forgets everything learnt. If `ponder`, the engine then
        searches the position after the expected reply, with the time that this limit leaves on the clock.

        Raises TypeError or ValueError for an invalid board or limit, a limit that sets no bound, and invalid root
        moves, and EngineTerminatedError if the engine is closed.
        """
        began = time.perf_counter()
        with self._command():
            analysis = None if root_moves is not None else self._resumed(board, limit, game)
            if analysis is None:
                position = self._set_up(board, game)
                limits = _bounded(limit, position, root_moves)
                found = self._equipment.book_move(position, limits)
                if found is not None:
                    said = found.describe(position.board)
                    return PlayResult(found.move, None, selected({"string": said}, info))
                analysis = self._begin(position, limits, ponders=ponder, level=self._equipment.level(limits))
            best = self._answer(analysis)
            if ponder and best.move and best.ponder:
                self._ponder(board, _clock_after(limit, board.turn, began), best.move, best.ponder)
        return PlayResult(best.move, best.ponder, selected(analysis.info, info))

    @overload
    def analyse(
        self,
        board: chess.Board,
        limit: Limit,
        *,
        game: object = None,
        info: Selector = INFO_ALL,
        root_moves: Iterable[chess.Move] | None = None,
    ) -> InfoDict: ...

    @overload
    def analyse(
        self,
        board: chess.Board,
        limit: Limit,
        *,
        multipv: int,
        game: object = None,
        info: Selector = INFO_ALL,
        root_moves: Iterable[chess.Move] | None = None,
    ) -> list[InfoDict]: ...

    def analyse(
        self,
        board: chess.Board,
        limit: Limit,
        *,
        multipv: int | None = None,
        game: object = None,
        info: Selector = INFO_ALL,
        root_moves: Iterable[chess.Move] | None = None,
    ) -> InfoDict | list[InfoDict]:
        """Searches; returns the best line's InfoDict or, with `multipv`, a list of up to that many lines, best first.

        Scores are PovScores in centipawns or moves to mate; times are in seconds. Raises the same errors as `play`, and
        ValueError if `multipv` is less than 1.
        """
        with self._command():
            position = self._set_up(board, game)
            analysis = self._begin(position, _bounded(limit, position, root_moves), info, multipv)
            self._answer(analysis)
        lines = analysis.multipv
        return lines[0] if multipv is None else lines

    def analysis(
        self,
        board: chess.Board,
        limit: Limit | None = None,
        *,
        multipv: int | None = None,
        game: object = None,
        info: Selector = INFO_ALL,
        root_moves: Iterable[chess.Move] | None = None,
    ) -> Analysis:
        """Begins a search and returns its Analysis. Without `limit`, the search runs until a stop or another command.

        Raises the same errors as `analyse`, but accepts a limit that sets no bound.
        """
        with self._command():
            position = self._set_up(board, game)
            limits = limits_of(limit, board.turn, search_moves_of(position.board, root_moves))
            return self._begin(position, limits, info, multipv, owner=self)

    def close(self) -> None:
        """Stops the search and ends the engine's threads; later calls do nothing."""
        self._close()

    quit = close

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # -- only for the command that holds the turn ----------------------------------------------------------------------

    @contextmanager
    def _command(self) -> Iterator[None]:
        """Waits for the turn and holds it for one command. Raises EngineTerminatedError if the engine is closed."""
        while not self._turn.acquire(timeout=PATIENCE):
            pass
        try:
            if not self._close.alive:
                raise EngineTerminatedError("the engine was closed")
            yield
        finally:
            self._turn.release()

    def _interrupt(self) -> None:
        self._pondered = None
        self._runner.end()

    def _set_up(self, board: chess.Board, game: object) -> Game:
        """Ends any search, sets up the position and moves of `board`, and returns them as a Game.

        If `game` is not that of the last call, forgets everything learnt. Raises TypeError or ValueError if `board` is
        invalid.
        """
        command = position_command(board)
        self._interrupt()
        remark = self._equipment.positions.set(command, board.chess960)
        if remark is not None:
            LOGGER.info(remark)
        if game != self._game:
            self._searcher.new_game()
            self._game = game
        return self._equipment.positions.game

    def _begin(
        self,
        game: Game,
        limits: Limits,
        selector: Selector = INFO_ALL,
        multipv: int | None = None,
        ponders: bool = False,
        owner: object = None,
        level: Level | None = None,
    ) -> Analysis:
        """Queues a search, at full strength if `level` is None, and returns its Analysis, which keeps `owner` alive."""
        from engine.client.infos import game_over_dict, info_dict, progress_dict

        if multipv is not None and multipv < 1:
            raise ValueError(f"multipv must be at least 1 (got {multipv})")
        searcher, board, overhead = self._searcher, game.board, self._values.number("Move Overhead")
        analysis = Analysis(self._runner.stop, selector, owner)

        def search() -> BestMove:
            result = searcher.search(
                game,
                limits,
                on_info=lambda found: analysis.post(info_dict(found, board)),
                overhead=overhead,
                ponders=ponders,
                lines=1 if multipv is None else multipv,
                on_progress=lambda progress: analysis.post(progress_dict(progress)),
                level=level,
            )
            for problem in result.problems:
                analysis.post({"string": problem})
            if result.best is None:
                analysis.post(game_over_dict(board))
            return BestMove(result.best, result.ponder)

        self._runner.begin(analysis, search)
        return analysis

    def _answer(self, analysis: Analysis) -> BestMove:
        """Waits for a search and returns its answer; ends the search if the wait is interrupted."""
        try:
            return analysis.wait()
        except BaseException:
            self._runner.end()
            raise

    def _ponder(self, board: chess.Board, limit: Limit, move: chess.Move, reply: chess.Move) -> None:
        expected = board.copy()
        expected.push(move)
        expected.push(reply)
        if not any(expected.legal_moves):
            return
        command = position_command(expected)
        self._equipment.positions.set(command, board.chess960)
        limits = limits_of(limit, expected.turn, ponder=True)
        level = self._equipment.level(limits)
        self._pondered = command, self._begin(self._equipment.positions.game, limits, ponders=True, level=level)

    def _resumed(self, board: chess.Board, limit: Limit, game: object) -> Analysis | None:
        """Returns the pondering search and starts its clock, if that search fits the arguments; else returns None."""
        if self._pondered is None or game != self._game:
            return None
        expected, analysis = self._pondered
        if position_command(board) != expected or limits_of(limit, board.turn).is_unbounded():
            return None
        self._pondered = None
        self._searcher.ponder_hit()
        return analysis


def _load(values: OptionValues, problem: Callable[[str], None]) -> Equipment:
    """Loads or compiles the kernels; returns equipment with `values` applied. Passes failure messages to `problem`."""
    threading.Thread(target=_explain, args=(done := threading.Event(),), daemon=True).start()
    try:
        # A library should not write to the stderr of the program that uses it.
        compiling.silence()
        from engine.uci.equipment import Equipment
        from search.warmup import load_kernels

        load_kernels()
    finally:
        done.set()
    return Equipment(values, LOGGER.info, problem)


def _explain(done: threading.Event) -> None:
    """Logs why loading takes long, each reason once, until `done` is set."""
    known = set()
    while not done.wait(_SILENCE):
        said = compiling.current() or "loading the kernels takes longer than usual"
        if (reason := said.partition(":")[0]) not in known:
            known.add(reason)
            LOGGER.warning(said)


def _checked(options: Mapping[str, Value]) -> dict[str, str | None]:
    """Returns UCI texts (None: a button) by name. Raises EngineError for a bad option, TypeError for a non-mapping."""
    if not isinstance(options, Mapping):
        raise TypeError(f"expected a dictionary of options such as {{'Hash': 64}}, got {options!r}")
    values = OptionValues()
    texts: dict[str, str | None] = {}
    for name, value in options.items():
        if isinstance(value, bool):
            text: str | None = str(value).lower()
        else:
            text = None if value is None else os.fspath(value) if isinstance(value, os.PathLike) else str(value)
        try:
            declared = values.set(name, text)
        except ValueError as error:
            raise EngineError(str(error)) from None
        if declared in _PROTOCOL:
            raise EngineError(f"{declared} {_PROTOCOL[declared]}; the options are {', '.join(CONFIGURABLE)}")
        texts[declared] = text
    return texts


def _described(option: Option) -> chess.engine.Option:
    default, low, high = _DEFAULTS.get(option.name, option.default), None, None
    if option.kind == "spin":
        default, low, high = int(default or 0), option.low, option.high
    return chess.engine.Option(option.name, option.kind, default, low, high, [])


def _bounded(limit: Limit, game: Game, root_moves: Iterable[chess.Move] | None) -> Limits:
    """Returns the limits of a search of `game`. Raises TypeError or ValueError if they are invalid or set no bound."""
    limits = limits_of(limit, game.board.turn, search_moves_of(game.board, root_moves))
    if limits.is_unbounded():
        raise ValueError(f"{limit!r} sets no bound; give a time, clock, depth, number of nodes or mate")
    return limits


def _clock_after(limit: Limit, turn: chess.Color, began: float) -> Limit:
    """Returns the limit for `turn`'s next move if this move took the time since `began` and the reply takes no time."""
    used = time.perf_counter() - began
    white, black = limit.white_clock, limit.black_clock
    if white is not None:
        white += (limit.white_inc or 0) - (used if turn else 0)
    if black is not None:
        black += (limit.black_inc or 0) - (0 if turn else used)
    moves = limit.remaining_moves and max(limit.remaining_moves - 1, 0)
    return replace(limit, white_clock=white, black_clock=black, remaining_moves=moves)
