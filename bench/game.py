"""A game between two engines: clocks, rules, adjudication, and the attribution of faults.

The workers that play games, in local processes or on other machines, call `play_task`. A thread usually keeps
its engines running between games.
"""

from __future__ import annotations

import asyncio
import datetime
from dataclasses import dataclass, field, replace

import chess
import chess.engine

from bench.adjudication import Adjudication, Adjudicator, Verdict, natural_end, open_tablebases
from bench.engines import EngineSpec
from bench.openings import Opening
from bench.results import GameResult, MoveRecord, Termination
from bench.timecontrol import TimeControl
from bench.uci import GRACE_SECONDS, Engine, EngineFaultError, EnginePool, engine_pool


@dataclass(frozen=True, slots=True)
class GameTask:
    """The data that a machine needs to play one game. `game` and `pair` count from 0. Times are in seconds."""

    game: int
    pair: int
    white: EngineSpec
    black: EngineSpec
    opening: Opening = field(default_factory=Opening)
    adjudication: Adjudication = field(default_factory=Adjudication)
    time_margin: float = 0.0
    hang_seconds: float = 60.0

    @property
    def round_name(self) -> str:
        """The PGN Round tag: the number of the pair and the game's number in the pair, both counted from 1."""
        return f"{self.pair + 1}.{self.game - 2 * self.pair + 1}"


class Clock:
    """The clock of one side. Times are in seconds."""

    def __init__(self, control: TimeControl, margin: float) -> None:
        self.control = control
        self._margin = margin
        self.left = control.base
        self.moves_to_go = control.moves

    def patience(self, hang_seconds: float) -> float:
        """Returns the seconds to wait for a move: limit + margin + grace, or `hang_seconds` without a time limit."""
        allowed = self._allowed()
        return hang_seconds if allowed is None else allowed + self._margin + GRACE_SECONDS

    def spend(self, seconds: float) -> float | None:
        """Updates the clock after a move. Returns the seconds beyond the limit, or None if the move was in time.

        A move that exceeds the limit by at most the margin is in time. As in cutechess-cli, 10.9 ms count as 10 ms.
        """
        allowed = self._allowed()
        over = None
        if allowed is not None and int(seconds * 1000) > round((allowed + self._margin) * 1000):
            over = seconds - allowed
        if self.left is not None:
            # A move within the margin may have taken more time than was left, but no clock shows less than 0.
            self.left = max(self.left - seconds, 0.0) + self.control.increment
            if self.moves_to_go is not None:
                self.moves_to_go -= 1
                if self.moves_to_go == 0:
                    self.moves_to_go = self.control.moves
                    self.left += self.control.base or 0.0
        return over

    def _allowed(self) -> float | None:
        return self.left if self.left is not None else self.control.movetime


def _limit(own: Clock, clocks: dict[chess.Color, Clock]) -> chess.engine.Limit:
    control = own.control
    limit = chess.engine.Limit(time=control.movetime, nodes=control.nodes, depth=control.depth)
    if control.has_clock:
        white, black = clocks[chess.WHITE], clocks[chess.BLACK]
        limit.remaining_moves = own.moves_to_go
        limit.white_clock, limit.black_clock = white.left, black.left
        # A side without a clock has no increment either.
        limit.white_inc = None if white.left is None else white.control.increment
        limit.black_inc = None if black.left is None else black.control.increment
    return limit


async def _play(task: GameTask, pool: EnginePool) -> GameResult:
    """Plays a game to its end. An engine that fails loses the game."""
    date = datetime.datetime.now(datetime.UTC).strftime("%Y.%m.%d")
    board = task.opening.board()
    records = [MoveRecord(move, book=True) for move in task.opening.moves]
    specs = {chess.WHITE: task.white, chess.BLACK: task.black}
    clocks = {colour: Clock(spec.limit, task.time_margin) for colour, spec in specs.items()}
    adjudicator = Adjudicator(task.adjudication, open_tablebases(task.adjudication.tablebases))
    game = object()
    engines: dict[chess.Color, Engine] = {}
    mover = chess.WHITE
    try:
        for mover, spec in specs.items():
            engines[mover] = await pool.acquire(spec)
        verdict = natural_end(board)
        while verdict is None:
            mover, clock = board.turn, clocks[board.turn]
            move, record = await engines[mover].move(
                board, _limit(clock, clocks), game, clock.patience(task.hang_seconds)
            )
            over = clock.spend(record.seconds)
            if over is not None:
                raise EngineFaultError(Termination.TIME_FORFEIT, f"exceeded its time by {over * 1000:.0f} ms")
            board.push(move)
            records.append(record)
            verdict = natural_end(board) or adjudicator.after_move(board, record)
    except EngineFaultError as fault:
        result = "0-1" if mover == chess.WHITE else "1-0"
        verdict = Verdict(result, fault.termination, f"{specs[mover].name} {fault}")
        if fault.termination != Termination.TIME_FORFEIT and mover in engines:
            await engines.pop(mover).end()
    except BaseException:
        for engine in engines.values():
            engine.kill()
        raise
    for engine in engines.values():
        await pool.release(engine)
    return replace(result_of(task, board, verdict), moves=tuple(records), date=date)


def result_of(task: GameTask, board: chess.Board, verdict: Verdict) -> GameResult:
    """Returns the result of a game that ended on `board` with `verdict`, without moves and date."""
    return GameResult(
        game=task.game,
        pair=task.pair,
        white=task.white.name,
        black=task.black.name,
        result=verdict.result,
        termination=verdict.termination,
        detail=verdict.detail,
        plies=len(board.move_stack),
        start_fen=task.opening.fen,
        final_fen=board.fen(),
        opening=task.opening.name,
    )


def play_task(task: GameTask) -> GameResult:
    """Plays one game with this thread's engines."""
    pool = engine_pool()
    return pool.run(_play(task, pool))


def check_engine(spec: EngineSpec) -> str | None:
    """Starts and ends an engine. Returns None if it works, else a line that says what is wrong."""

    async def check() -> str | None:
        try:
            await (await Engine.start(spec)).close()
        except EngineFaultError as fault:
            return f"engine {spec.name} {fault}"
        return None

    return asyncio.run(check())
