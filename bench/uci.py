"""A running UCI engine on top of `chess.engine`: exact timing, cheap info lines, and every way to fail told apart.

python-chess speaks the protocol. This module adds what a match needs: the time between `go` and `bestmove` is taken
where the bytes pass, info lines are kept as bytes and only the last one of a move is parsed (an engine at 10 ms a move
sends a dozen), and a crash, a hang, an illegal move and garbage each raise an `EngineFaultError` that says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Mapping
from typing import Any, Final

import chess
import chess.engine

from bench.engines import EngineSpec, EngineSpecError
from bench.results import MoveRecord, Termination
from engine.files import printable

#: Seconds until `uciok`, which an engine owes before it loads anything.
UCIOK_SECONDS: Final = 10.0
#: Seconds of silence before `readyok`, and seconds in all: an engine that compiles or loads says so meanwhile.
READY_SECONDS: Final = 60.0
START_SECONDS: Final = 600.0
#: After its time has run out an engine may still answer within this time and lives; then it counts as hanging.
GRACE_SECONDS: Final = 2.0
#: Seconds between `quit` and being killed.
QUIT_SECONDS: Final = 2.0
#: How much of a line is kept for messages, in characters.
LAST_LENGTH: Final = 200
#: A line longer than this is no UCI, and is thrown away.
LINE_LIMIT: Final = 1 << 20

_PROTOCOL_WORDS: Final = (b"bestmove", b"readyok", b"uciok", b"id ", b"option ", b"copyprotection", b"registration")


#: What an engine says that goes on without a file it was told to use: Secateur, and Stockfish.
_REFUSAL: Final = re.compile(rb"info string (?=(?:network|book|endgame tables)\b.* not used|ERROR)(.+)")


class EngineFaultError(Exception):
    """What an engine did wrong; `termination` says which way a game ends by it."""

    def __init__(self, termination: Termination, message: str) -> None:
        super().__init__(message)
        self.termination = termination


class WatchedProtocol(chess.engine.UciProtocol):
    """`UciProtocol` that notes when the engine last said anything, and its last line on either stream."""

    def __init__(self) -> None:
        super().__init__()
        self.last_heard = time.monotonic()
        self.last_line = ""
        self.last_error = ""

    def pipe_data_received(self, fd: int, data: Any) -> None:
        """Takes the time."""
        self.last_heard = time.monotonic()
        super().pipe_data_received(fd, data)

    def line_received(self, line: str) -> None:
        """Keeps the last line of stdout."""
        self.last_line = line.strip()[:LAST_LENGTH] or self.last_line
        super().line_received(line)

    def error_line_received(self, line: str) -> None:
        """Keeps the last line of stderr, which usually tells why an engine died."""
        self.last_error = line.strip()[:LAST_LENGTH] or self.last_error

    def last_words(self) -> str:
        """The last thing the engine said, for a message: on stderr rather than on stdout, without a newline, too."""
        texts = {fd: bytes(self.buffer[fd]).decode(errors="replace").strip()[-LAST_LENGTH:] for fd in (1, 2)}
        for stream, said in (("stderr", texts[2] or self.last_error), ("stdout", texts[1] or self.last_line)):
            if said:
                return f"its last line on {stream}: {printable(said)}"
        return "it said nothing"

    async def start(self, options: Mapping[str, str]) -> None:
        """Goes from `uci` to `readyok`, with the options set. Raises `EngineFaultError` (NOT_STARTED)."""
        try:
            try:
                async with asyncio.timeout(UCIOK_SECONDS):
                    await self.initialize()
            except TimeoutError:
                missing = f"did not answer 'uci' with 'uciok' within {UCIOK_SECONDS:g} s"
                problem = f"{missing}; {self.last_words()}"
            else:
                problem = await self._make_ready(options)
        except chess.engine.EngineTerminatedError:
            code = self.returncode.result() if self.returncode.done() else None
            problem = f"exited at the start (exit status {code}); {self.last_words()}"
        except (chess.engine.EngineError, ValueError) as error:
            problem = f"refused its options: {error}"
        if problem:
            raise EngineFaultError(Termination.NOT_STARTED, problem)

    async def _make_ready(self, options: Mapping[str, str]) -> str:
        """Sets the options and waits for `readyok`; returns what went wrong, or an empty text."""

        async def work() -> None:
            await self.configure(dict(options))
            await self.ping()

        began = self.last_heard = time.monotonic()
        task = asyncio.ensure_future(work())
        try:
            while True:
                left = min(self.last_heard + READY_SECONDS, began + START_SECONDS) - time.monotonic()
                if left <= 0:
                    waited = time.monotonic() - began
                    return f"did not answer 'isready' with 'readyok' within {waited:.0f} s; {self.last_words()}"
                if (await asyncio.wait({task}, timeout=left))[0]:
                    task.result()
                    return ""
        finally:
            task.cancel()


class TimedProtocol(WatchedProtocol):
    """`WatchedProtocol` that notes when `go` left and `bestmove` came, and keeps info lines unparsed."""

    def __init__(self) -> None:
        super().__init__()
        self.sent_go = 0.0
        self.received_bestmove = 0.0
        self.last_info = b""
        self.garbage = 0
        self.refusal = ""
        self._partial = b""

    def send_line(self, line: str) -> None:
        """Sends a line; a `go` starts the stopwatch just before."""
        if line.startswith("go"):
            self.last_info = b""
            self.sent_go = time.perf_counter()
        super().send_line(line)

    def pipe_data_received(self, fd: int, data: Any) -> None:
        """Takes the time, keeps info lines, and passes on only what python-chess understands."""
        now = time.perf_counter()
        self.last_heard = time.monotonic()
        if fd != 1:
            super().pipe_data_received(fd, data)
            return
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            line = line.strip()
            if line.startswith(b"info "):
                if b" score " in line and (b" multipv " not in line or b" multipv 1 " in line):
                    self.last_info = line
                else:
                    self.last_line = line[:LAST_LENGTH].decode(errors="replace")
                    if not self.refusal and (refusal := _REFUSAL.match(line)):
                        self.refusal = refusal[1].decode(errors="replace")[:LAST_LENGTH]
            elif line.startswith(_PROTOCOL_WORDS):
                if line.startswith(b"bestmove"):
                    self.received_bestmove = now
                super().pipe_data_received(fd, line + b"\n")
            elif not _is_text(line):
                self.garbage += 1
            elif line:
                self.last_line = line.decode()[:LAST_LENGTH]
        if len(self._partial) > LINE_LIMIT:
            self._partial = b""
            self.garbage += 1


class Player:
    """A started engine. Belongs to the event loop that started it."""

    def __init__(self, spec: EngineSpec, protocol: TimedProtocol, transport: asyncio.SubprocessTransport) -> None:
        self.spec = spec
        self.protocol = protocol
        self.transport = transport

    @classmethod
    async def start(cls, spec: EngineSpec) -> Player:
        """Starts the engine and sets its options. Raises `EngineFaultError` (NOT_STARTED)."""
        try:
            program = spec.resolved_program()
            transport, protocol = await TimedProtocol.popen([program, *spec.command[1:]], cwd=spec.directory)
        except (OSError, EngineSpecError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            reason = reason.removeprefix(f"engine {spec.name}: ")
            raise EngineFaultError(Termination.NOT_STARTED, f"cannot be started: {reason}") from None
        player = cls(spec, protocol, transport)
        try:
            await protocol.start(dict(spec.options))
            if protocol.refusal:  # it would play another match than was asked for
                raise EngineFaultError(Termination.NOT_STARTED, f"refused its options: {protocol.refusal}")
        except EngineFaultError:
            await player.end()
            raise
        except BaseException:
            player.kill()
            raise
        return player

    async def become(self, spec: EngineSpec) -> None:
        """Goes on as `spec`, which has the same `process_key`: only options with new values are sent.

        Raises `EngineFaultError` (CRASH) when the engine refuses them or is gone; then it must be ended.
        """
        if spec.options != self.spec.options:
            try:
                await self.protocol.configure(dict(spec.options))
            except (chess.engine.EngineError, ValueError) as error:
                self.kill()
                raise EngineFaultError(Termination.CRASH, f"refused its options: {error}") from None
        self.spec = spec

    async def move(
        self, board: chess.Board, limit: chess.engine.Limit, game: object, patience: float
    ) -> tuple[chess.Move, MoveRecord]:
        """Asks for a move in `board`; `game` identifies the game. Waits `patience` seconds for it from `go` on.

        Returns the move and its record. Raises `EngineFaultError` (CRASH, HANG or ILLEGAL_MOVE); then the engine must
        be ended.
        """
        protocol = self.protocol
        # Before the first move of a game python-chess waits for `readyok`, which may take long and is not thinking.
        if protocol.game != game:
            patience += READY_SECONDS
        try:
            async with asyncio.timeout(patience):
                result = await protocol.play(board, limit, game=game)
        except TimeoutError:
            raise EngineFaultError(Termination.HANG, f"gave no move for {patience:.1f} s") from None
        except chess.engine.EngineTerminatedError as error:
            raise EngineFaultError(Termination.CRASH, self._last_words(error)) from None
        except chess.engine.EngineError as error:
            raise EngineFaultError(Termination.ILLEGAL_MOVE, str(error)) from None
        if not result.move:
            raise EngineFaultError(Termination.ILLEGAL_MOVE, f"gave no move in {board.fen()}")
        return result.move, self._record(result.move, protocol.received_bestmove - protocol.sent_go)

    def _record(self, move: chess.Move, seconds: float) -> MoveRecord:
        words = self.protocol.last_info.split()
        return MoveRecord(
            move.uci(),
            seconds,
            depth=_number_after(words, b"depth"),
            centipawns=_number_after(words, b"cp"),
            mate=_number_after(words, b"mate"),
            nodes=_number_after(words, b"nodes"),
        )

    def take_warnings(self) -> tuple[str, ...]:
        """Complaints since the last call."""
        count, self.protocol.garbage = self.protocol.garbage, 0
        return (f"{self.spec.name} printed {count} lines that are no text",) if count else ()

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return not self.protocol.returncode.done()

    def kill(self) -> None:
        """Ends the process at once."""
        with contextlib.suppress(ProcessLookupError):
            self.transport.kill()
        self.transport.close()

    async def end(self) -> None:
        """Kills the engine and waits until it is gone."""
        self.kill()
        await self.gone()

    async def close(self) -> None:
        """Asks the engine to quit, and kills it if it does not."""
        with contextlib.suppress(TimeoutError, chess.engine.EngineError):
            async with asyncio.timeout(QUIT_SECONDS):
                await self.protocol.quit()
        await self.end()

    async def gone(self) -> None:
        """Waits, but not for ever, until a killed engine's process and pipes are closed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(QUIT_SECONDS):
                await asyncio.shield(self.protocol.returncode)

    def _last_words(self, error: Exception) -> str:
        words = self.protocol.last_error
        return f"{error}; its last line on stderr: {printable(words)}" if words else str(error)


def _is_text(line: bytes) -> bool:
    try:
        return line.decode("utf-8").replace("\t", " ").isprintable()
    except UnicodeDecodeError:
        return False


def _number_after(words: list[bytes], key: bytes) -> int | None:
    """The number behind the word `key`, None when there is none. A principal variation never holds these words."""
    try:
        return int(words[words.index(key) + 1])
    except (ValueError, IndexError):
        return None
