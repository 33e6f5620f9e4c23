"""One game between two engines: clocks, rules, adjudication, and whose fault it is when something breaks.

`play_task` is what every worker runs, in a local process or on another machine: it takes a `GameTask`, which is plain
data, and returns a `GameResult`. Engines are kept running from game to game, separately for each thread.
"""

from __future__ import annotations

import asyncio
import atexit
import datetime
import threading
from dataclasses import dataclass, field

import chess
import chess.engine
from chess.syzygy import Tablebase

from bench.adjudication import Adjudication, Adjudicator, Verdict, natural_end, open_tablebases
from bench.engines import EngineSpec
from bench.openings import Opening
from bench.results import GameResult, MoveRecord, Termination
from bench.timecontrol import TimeControl
from bench.uci import GRACE_SECONDS, EngineFaultError, Player

#: Engines kept running in one thread. A tournament of many would otherwise keep a copy of each in every thread.
KEEP_ENGINES = 4


@dataclass(frozen=True, slots=True)
class GameTask:
    """Everything needed to play one game, anywhere. Times in seconds."""

    game: int
    pair: int
    white: EngineSpec
    black: EngineSpec
    opening: Opening = field(default_factory=Opening)
    adjudication: Adjudication = field(default_factory=Adjudication)
    time_margin: float = 0.0
    hang_seconds: float = 60.0


class Clock:
    """One side's time. All in seconds."""

    def __init__(self, control: TimeControl, margin: float) -> None:
        self.control = control
        self._margin = margin
        self.left = control.base
        self.moves_to_go = control.moves

    def patience(self, hang_seconds: float) -> float:
        """How long to wait for a move before giving the engine up."""
        allowed = self._allowed()
        return hang_seconds if allowed is None else allowed + self._margin + GRACE_SECONDS

    def spend(self, seconds: float) -> float | None:
        """Takes the time of a move off the clock; returns by how much it was overstepped, None if it was not.

        As in cutechess-cli, whole milliseconds count: 10.9 ms are within a limit of 10 ms.
        """
        allowed = self._allowed()
        over = None
        if allowed is not None and int(seconds * 1000) > round((allowed + self._margin) * 1000):
            over = seconds - allowed
        if self.left is not None:
            # An engine saved by the margin goes on with what a clock can show.
            self.left = max(self.left - seconds, 0.0) + self.control.increment
            if self.moves_to_go is not None:
                self.moves_to_go -= 1
                if self.moves_to_go == 0:
                    self.moves_to_go = self.control.moves
                    self.left += self.control.base or 0.0
        return over

    def _allowed(self) -> float | None:
        return self.left if self.left is not None else self.control.movetime


def _limit(own: Clock, white: Clock, black: Clock) -> chess.engine.Limit:
    control = own.control
    limit = chess.engine.Limit(time=control.movetime, nodes=control.nodes, depth=control.depth)
    if control.has_clock:
        limit.remaining_moves = own.moves_to_go
        for clock, colour in ((white, "white"), (black, "black")):
            if clock.left is not None:
                setattr(limit, f"{colour}_clock", clock.left)
                setattr(limit, f"{colour}_inc", clock.control.increment)
    return limit


class Table:
    """Plays games one after the other, on its own event loop, and keeps the engines between them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._idle: dict[tuple[object, ...], Player] = {}
        self._tablebases: dict[str, Tablebase | None] = {}
        self._games_started = 0

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._loop.is_closed()

    def play(self, task: GameTask) -> GameResult:
        """Plays the game of `task` to its end. An engine's failure is its loss, never an exception."""
        return self._loop.run_until_complete(self._play(task))

    def close(self) -> None:
        """Ends all engines."""
        players, self._idle = list(self._idle.values()), {}
        if not self._loop.is_closed():
            self._loop.run_until_complete(_close_all(players))
            self._loop.close()

    async def _play(self, task: GameTask) -> GameResult:
        self._games_started += 1
        players: dict[chess.Color, Player] = {}
        date = datetime.datetime.now(datetime.UTC).strftime("%Y.%m.%d")
        for colour, spec in ((chess.WHITE, task.white), (chess.BLACK, task.black)):
            try:
                players[colour] = await self._seat(spec)
            except EngineFaultError as failure:
                await self._release(players, None)
                board = task.opening.board()
                return _result(task, board, _book_records(task), _loss(colour, task, failure), (), date)
        try:
            board, records, verdict, loser = await self._moves(task, players)
        except BaseException:
            for player in players.values():
                player.kill()
            raise
        warnings = tuple(warning for player in players.values() for warning in player.take_warnings())
        await self._release(players, loser)
        return _result(task, board, records, verdict, warnings, date)

    async def _moves(
        self, task: GameTask, players: dict[chess.Color, Player]
    ) -> tuple[chess.Board, list[MoveRecord], Verdict, chess.Color | None]:
        """The final board, the moves, the verdict and the side whose engine is not to be used again."""
        board = task.opening.board()
        records = _book_records(task)
        clocks = {
            chess.WHITE: Clock(task.white.limit, task.time_margin),
            chess.BLACK: Clock(task.black.limit, task.time_margin),
        }
        adjudicator = Adjudicator(task.adjudication, self._tablebase(task.adjudication.tablebases))
        game = self._games_started
        verdict = natural_end(board)
        while verdict is None:
            mover = board.turn
            clock = clocks[mover]
            limit = _limit(clock, clocks[chess.WHITE], clocks[chess.BLACK])
            try:
                move, record = await players[mover].move(board, limit, game, clock.patience(task.hang_seconds))
            except EngineFaultError as failure:
                return board, records, _loss(mover, task, failure), mover
            over = clock.spend(record.seconds)
            if over is not None:
                late = EngineFaultError(Termination.TIME_FORFEIT, f"overstepped its time by {over * 1000:.0f} ms")
                return board, records, _loss(mover, task, late), None
            board.push(move)
            records.append(record)
            verdict = natural_end(board) or adjudicator.after_move(board, record)
        return board, records, verdict, None

    async def _seat(self, spec: EngineSpec) -> Player:
        player = self._idle.pop(spec.process_key(), None)
        if player is not None and player.is_alive:
            await player.become(spec)
            return player
        return await Player.start(spec)

    async def _release(self, players: dict[chess.Color, Player], broken: chess.Color | None) -> None:
        """Keeps the engines for the next game, except a broken one and those that want a restart."""
        for colour, player in players.items():
            if colour == broken or player.spec.restart or not player.is_alive:
                await player.end()
            else:
                self._idle[player.spec.process_key()] = player
        while len(self._idle) > KEEP_ENGINES:
            await self._idle.pop(next(iter(self._idle))).end()

    def _tablebase(self, folder: str | None) -> Tablebase | None:
        if folder is None:
            return None
        if folder not in self._tablebases:
            self._tablebases[folder] = open_tablebases(folder)
        return self._tablebases[folder]


async def _close_all(players: list[Player]) -> None:
    await asyncio.gather(*(player.close() for player in players))


def _book_records(task: GameTask) -> list[MoveRecord]:
    return [MoveRecord(move, book=True) for move in task.opening.moves]


def _loss(loser: chess.Color, task: GameTask, failure: EngineFaultError) -> Verdict:
    name = task.white.name if loser == chess.WHITE else task.black.name
    return Verdict("0-1" if loser == chess.WHITE else "1-0", failure.termination, f"{name} {failure}")


def _result(
    task: GameTask,
    board: chess.Board,
    records: list[MoveRecord],
    verdict: Verdict,
    warnings: tuple[str, ...],
    date: str,
) -> GameResult:
    return GameResult(
        game=task.game,
        pair=task.pair,
        white=task.white.name,
        black=task.black.name,
        result=verdict.result,
        termination=verdict.termination,
        detail=verdict.detail,
        plies=len(records),
        start_fen=task.opening.fen,
        final_fen=board.fen(),
        opening=task.opening.name,
        moves=tuple(records),
        date=date,
        warnings=warnings,
    )


_tables = threading.local()
_all_tables: list[Table] = []


def play_task(task: GameTask) -> GameResult:
    """Plays one game at this thread's table."""
    table: Table | None = getattr(_tables, "table", None)
    if table is None or table.is_closed:
        table = _tables.table = Table()
        _all_tables.append(table)
    return table.play(task)


@atexit.register
def close_tables() -> None:
    """Ends the engines of all threads of this process."""
    while _all_tables:
        _all_tables.pop().close()


def check_engine(spec: EngineSpec) -> str | None:
    """Starts and ends an engine; returns what is wrong with it in one line, None when all is well."""

    async def check() -> None:
        player = await Player.start(spec)
        await player.close()

    try:
        asyncio.run(check())
    except EngineFaultError as failure:
        return f"engine {spec.name} {failure}"
    return None
