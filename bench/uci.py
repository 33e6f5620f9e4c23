"""UCI engines on top of `chess.engine`, with exact times and messages about failures.

python-chess implements the protocol. This module measures the time from the sending of `go` to the arrival of
`bestmove`, and allows an engine to start slowly as long as it prints something.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Final, TypeVar

import chess
import chess.engine
from chess.engine import INFO_BASIC, INFO_SCORE, EngineError, EngineTerminatedError

from bench.engines import EngineSpec, EngineSpecError
from bench.results import MoveRecord, Termination
from engine.files import printable, reason

T = TypeVar("T")

#: Seconds to wait for `uciok`.
UCIOK_SECONDS: Final = 10.0
#: Seconds to wait for `readyok`: after the engine's last output, and in total. An engine may print lines as it loads.
READY_SECONDS: Final = 60.0
START_SECONDS: Final = 600.0
#: Seconds by which an engine may exceed its time before the engine counts as hanging.
GRACE_SECONDS: Final = 2.0
#: Seconds to wait after `quit` before killing the engine.
QUIT_SECONDS: Final = 2.0
#: Messages quote at most this many characters of a line.
LAST_LENGTH: Final = 200
#: The longest line in bytes. A longer line is ignored.
LINE_LIMIT: Final = 1 << 20
#: Scores are clamped to plus or minus this many centipawns.
SCORE_LIMIT: Final = 1_000_000
#: A thread keeps at most this many idle engines. Without this limit, it could keep every engine of a tournament.
KEEP_ENGINES: Final = 4

#: Lines that Secateur and Stockfish print if they ignore a file or a technique that an option names.
_REFUSAL: Final = re.compile(r"info string (?=(?:network|book|tablebases)\b.* not used|unknown technique|ERROR)(.+)")

# An engine may print anything; python-chess would log every unexpected line.
logging.getLogger("chess.engine").setLevel(logging.CRITICAL)


class EngineFaultError(Exception):
    """Raised if an engine fails; `termination` says how the game ends."""

    def __init__(self, termination: Termination, message: str) -> None:
        super().__init__(message)
        self.termination = termination


class Engine(chess.engine.UciProtocol):
    """A running engine. It belongs to the event loop that started it."""

    spec: EngineSpec

    def __init__(self) -> None:
        super().__init__()
        self.sent_go = self.received_bestmove = self._last_heard = 0.0
        self._last_lines = {1: "", 2: ""}
        self._refusal = ""
        self._silence: asyncio.Timeout | None = None
        self._latest_start = 0.0

    def send_line(self, line: str) -> None:
        """Sends a line, and records the time if the line is a `go` command."""
        if line.startswith("go"):
            self.sent_go = time.perf_counter()
        super().send_line(line)

    def pipe_data_received(self, fd: int, data: Any) -> None:
        """Records the arrival time, extends the limit of a start-up, and makes an overlong line an `info string`."""
        self._last_heard = time.perf_counter()
        if self._silence is not None and not self._silence.expired():
            self._silence.reschedule(min(self.loop.time() + READY_SECONDS, self._latest_start))
        super().pipe_data_received(fd, data)
        if len(self.buffer[fd]) > LINE_LIMIT:
            self.buffer[fd][:] = b"info string "  # makes the rest of the line meaningless

    def line_received(self, line: str) -> None:
        """Records when `bestmove` arrives, the last line without a score, and the first refusal of a file."""
        if line.startswith("bestmove"):
            self.received_bestmove = self._last_heard
        elif " score " not in line:
            self._last_lines[1] = line.strip()[:LAST_LENGTH] or self._last_lines[1]
            if not self._refusal and (refusal := _REFUSAL.match(line)):
                self._refusal = refusal[1][:LAST_LENGTH]

    def error_line_received(self, line: str) -> None:
        """Keeps the last line of stderr, which usually says why an engine died."""
        self._last_lines[2] = line.strip()[:LAST_LENGTH] or self._last_lines[2]

    def _last_words(self) -> str:
        """Describes the engine's last line on stderr or, if there is none, on stdout. The line may be incomplete."""
        for fd, stream in ((2, "stderr"), (1, "stdout")):
            said = bytes(self.buffer[fd]).decode(errors="replace").strip()[-LAST_LENGTH:] or self._last_lines[fd]
            if said:
                return f"its last line on {stream}: {printable(said)}"
        return "it printed nothing"

    @classmethod
    async def start(cls, spec: EngineSpec) -> Engine:
        """Starts an engine and sets its options. Raises `EngineFaultError` (NOT_STARTED) if either fails."""
        try:
            # On Windows, Ctrl-C would also end the engines, and games would count as lost by a crash.
            _, engine = await cls.popen(
                [spec.resolved_program(), *spec.command[1:]], cwd=spec.directory, setpgrp=sys.platform == "win32"
            )
        except (OSError, EngineSpecError) as error:
            why = reason(error) if isinstance(error, OSError) else str(error).removeprefix(f"engine {spec.name}: ")
            raise EngineFaultError(Termination.NOT_STARTED, f"cannot be started: {why}") from None
        engine.spec = spec
        try:
            problem = await engine._prepare()
        except BaseException:
            engine.kill()
            raise
        if problem:
            await engine.end()
            raise EngineFaultError(Termination.NOT_STARTED, problem)
        return engine

    async def _prepare(self) -> str:
        """Sends `uci` and the options, and waits for `readyok`. Returns the problem, or "" if there is none."""
        waits_for, began = "'uci' with 'uciok'", self.loop.time()
        try:
            async with asyncio.timeout(UCIOK_SECONDS):
                await self.initialize()
            waits_for, began = "'isready' with 'readyok'", self.loop.time()
            self._latest_start = began + START_SECONDS
            async with asyncio.timeout(min(READY_SECONDS, START_SECONDS)) as self._silence:
                await self.configure(dict(self.spec.options))
                await self.ping()
        except TimeoutError:
            waited = self.loop.time() - began
            return f"did not answer {waits_for} within {waited:.0f} s; {self._last_words()}"
        except EngineTerminatedError:
            return f"exited during start-up (exit status {self.transport.get_returncode()}); {self._last_words()}"  # type: ignore[union-attr]
        except (EngineError, ValueError) as error:
            return f"refused its options: {error}"
        finally:
            self._silence = None
        # An engine that ignores what an option names would not play the requested match.
        return f"refused its options: {self._refusal}" if self._refusal else ""

    async def become(self, spec: EngineSpec) -> None:
        """Makes the engine play as `spec`, which must have the same `process_key`. Sends the options that change.

        If the engine refuses the options or has exited, ends the engine and raises `EngineFaultError` (CRASH).
        """
        if spec.options != self.spec.options:
            try:
                await self.configure(dict(spec.options))
            except (EngineError, ValueError) as error:
                await self.end()
                raise EngineFaultError(Termination.CRASH, f"refused its options: {error}") from None
        self.spec = spec

    def kill(self) -> None:
        """Kills the process at once, for callers that cannot await."""
        assert self.transport is not None
        with contextlib.suppress(ProcessLookupError):
            self.transport.kill()
        self.transport.close()

    async def end(self) -> None:
        """Kills the engine. Waits up to QUIT_SECONDS until the process has exited and its pipes are closed."""
        assert self.transport is not None
        with contextlib.suppress(ProcessLookupError):
            self.transport.kill()
        await asyncio.wait([self.returncode], timeout=QUIT_SECONDS)
        self.transport.close()

    async def close(self) -> None:
        """Asks the engine to quit, and kills it if it is still running after QUIT_SECONDS."""
        with contextlib.suppress(TimeoutError, EngineError):
            async with asyncio.timeout(QUIT_SECONDS):
                await self.quit()
        await self.end()

    @contextlib.asynccontextmanager
    async def must_answer(self, seconds: float) -> AsyncIterator[None]:
        """Converts failures of the engine in a `with` block to `EngineFaultError`; the caller must then end the engine.

        The termination is HANG if the block takes more than `seconds`, CRASH if the engine exits, else ILLEGAL_MOVE.
        """
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise EngineFaultError(Termination.HANG, f"gave no move within {seconds:.1f} s") from None
        except EngineTerminatedError as error:
            words = self._last_lines[2]
            detail = f"; its last line on stderr: {printable(words)}" if words else ""
            raise EngineFaultError(Termination.CRASH, f"{error}{detail}") from None
        except EngineError as error:
            raise EngineFaultError(Termination.ILLEGAL_MOVE, str(error)) from None

    async def move(
        self, board: chess.Board, limit: chess.engine.Limit, game: object, patience: float
    ) -> tuple[chess.Move, MoveRecord]:
        """Asks for a move in the position `board`; returns the move and its record. `game` identifies the game.

        Waits up to `patience` seconds, and READY_SECONDS more for the first move of a game. Raises `EngineFaultError`
        as `must_answer` does, and also if the engine gives no move (ILLEGAL_MOVE) or has ignored a file that an option
        names (NOT_STARTED).
        """
        # python-chess waits for `readyok` before the first move of a game. This may take long but is not thinking time.
        if self.game != game:
            patience += READY_SECONDS
        async with self.must_answer(patience):
            answer = await self.play(board, limit, game=game, info=INFO_BASIC | INFO_SCORE)
        if self._refusal:  # an engine may answer readyok before it reads the file
            raise EngineFaultError(Termination.NOT_STARTED, f"refused its options: {self._refusal}")
        if not answer.move:
            raise EngineFaultError(Termination.ILLEGAL_MOVE, f"gave no move in {board.fen()}")
        score = answer.info["score"].relative if "score" in answer.info else None
        centipawns = score.score() if score is not None else None
        record = MoveRecord(
            answer.move.uci(),
            self.received_bestmove - self.sent_go,
            depth=answer.info.get("depth"),
            centipawns=None if centipawns is None else max(-SCORE_LIMIT, min(SCORE_LIMIT, centipawns)),
            mate=score.mate() if score is not None else None,
            nodes=answer.info.get("nodes"),
        )
        return answer.move, record


class EnginePool:
    """An event loop with its idle engines. `engine_pool` returns the pool of the current thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        # If an engine dies, python-chess also sets errors on futures that are not awaited. asyncio would print them.
        self.loop.set_exception_handler(lambda loop, context: None)
        self._idle: dict[tuple[object, ...], Engine] = {}

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` to completion and returns its result."""
        return self.loop.run_until_complete(work)

    def close(self) -> None:
        """Ends all idle engines and closes the event loop."""

        async def close_all() -> None:
            await asyncio.gather(*(engine.close() for engine in self._idle.values()))

        self.run(close_all())
        self.loop.close()

    async def acquire(self, spec: EngineSpec) -> Engine:
        """Returns an idle engine or a new engine for `spec`. Raises `EngineFaultError` if the engine cannot be used."""
        engine = self._idle.pop(spec.process_key(), None)
        if engine is None or engine.returncode.done():
            return await Engine.start(spec)
        await engine.become(spec)
        return engine

    async def release(self, engine: Engine) -> None:
        """Keeps an engine idle, or ends it if it has exited or must restart. Keeps at most KEEP_ENGINES engines."""
        if engine.spec.restart or engine.returncode.done():
            await engine.end()
        else:
            self._idle[engine.spec.process_key()] = engine
        while len(self._idle) > KEEP_ENGINES:
            await self._idle.pop(next(iter(self._idle))).end()


_of_thread = threading.local()
_pools: list[EnginePool] = []


def engine_pool() -> EnginePool:
    """Returns the engine pool of this thread. Creates a pool if there is none or if it has been closed."""
    pool: EnginePool | None = getattr(_of_thread, "pool", None)
    if pool is None or pool.loop.is_closed():
        pool = _of_thread.pool = EnginePool()
        _pools.append(pool)
    return pool


@atexit.register
def close_engines() -> None:
    """Closes the engine pools of all threads of this process."""
    while _pools:
        _pools.pop().close()
