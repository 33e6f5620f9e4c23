"""One session: a script is played to the engine, and everything it says is held against the model."""

from __future__ import annotations

import functools
import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tests.uci.fuzz.model import Lenient, Model
from tests.uci.fuzz.samples import standing_file
from tests.uci.fuzz.script import (
    CACHE,
    EndInput,
    Follow,
    Pause,
    Say,
    Script,
    Setting,
    Settle,
    Step,
    resolved,
    to_text,
)
from tests.uci.fuzz.searches import BreachError
from tests.uci.fuzz.wires import InProcess, Listener, OverPipes, Wire

#: Seconds without an answer that is owed, or without a word of what it waits for, after which the engine hangs.
HANGS: Final = 20.0

#: Seconds that it may take to end, on a machine that others use too, and those that the slowest one took so far.
ENDS: Final = 4.0
slowest_end = 0.0
#: Seconds that compiling may take.
COMPILES: Final = 600.0

#: Starts an engine whose lines a listener gets.
Connect = Callable[[Listener], Wire]

#: Seconds that whatever is told to stop may take before the next is told.
BETWEEN_STOPS: Final = 1.0

#: Milliseconds that are waited for a clock to run out instead of saying stop.
SHORT: Final = 60.0


class FailedSessionError(AssertionError):
    """A session that went wrong; `script` is what was said, with the moves that were meant."""

    def __init__(self, problem: str, script: Script, transcript: list[str]) -> None:
        last = "\n".join(transcript[-60:])
        super().__init__(f"{problem}\n\nthe script:\n{to_text(script)}\nthe last lines, with seconds:\n{last}")
        self.problem = problem
        self.script = script


#: What stands for a hostile file in a line.
HOSTILE: Final = re.compile(rb"<([\w.]+):([^:>]+):(\d+)>")


def _hostile_path(found: re.Match[bytes]) -> bytes:
    name, kind, seed = (part.decode() for part in found.groups())
    return os.fsencode(standing_file(name, kind, int(seed)))


class Player:
    """A conversation with one engine. Both sides' lines are kept in the order in which they were said."""

    def __init__(self, connect: Connect) -> None:
        self.model = Model(is_loaded=connect is InProcess)
        self.steps: list[Step] = []
        self._began = time.perf_counter()
        #: When it was last said that something is loaded or compiled, and the seconds that the end may take.
        self._loading = 0.0
        self._ends = ENDS
        # (when, sent line or None, heard line or None); an end of input is a sent None with a heard None.
        self._entries: list[tuple[float, bytes | None, str | None]] = []
        self._told = 0
        self._changed = threading.Condition()
        self._wire = connect(self._hear)

    def _hear(self, line: str, now: float) -> None:
        with self._changed:
            if line.startswith(("info string loading", "info string compiling")):
                self._loading = now
            self._entries.append((now, None, line))
            self._changed.notify()

    def _tell_model(self) -> None:
        """What was said since the last time. Raises BreachError."""
        while self._told < len(self._entries):
            now, sent, heard = self._entries[self._told]
            self._told += 1
            if sent is not None:
                self.model.sent(sent, now)
            elif heard is not None:
                self.model.heard(heard, now)
            else:
                self.model.input_ended(now)

    def say(self, line: bytes) -> None:
        """Sends a line."""
        self._tell_model()
        line = resolved(line, self.model.board, bool(self.model.options["UCI_Chess960"]))
        self.steps.append(Say(line))
        self._send(line)

    def _send(self, line: bytes) -> None:
        line = HOSTILE.sub(_hostile_path, line)
        with self._changed:
            self._entries.append((time.perf_counter(), line, None))
        self._wire.send(line)

    def _wait(self, seconds: float) -> bool:
        """Listens for so long, or until nothing is owed any more; whether that is so."""
        deadline = time.perf_counter() + seconds
        while True:
            self._tell_model()
            if self.model.is_settled():
                return True
            with self._changed:
                left = deadline - time.perf_counter()
                if left <= 0:
                    return False
                if self._told == len(self._entries):
                    self._changed.wait(left)

    def settle(self, patience: float) -> None:
        """Waits for what is owed, and says stop where that takes longer than `patience` milliseconds."""
        if self._wait(patience / 1000) or (self.model.milliseconds() <= SHORT and self._wait(HANGS)):
            return
        # Each ends what is under way; a benchmark behind it begins only then.
        for _ in self.model.owed():
            self._send(b"stop")
            if self._wait(BETWEEN_STOPS):
                return
        began = time.perf_counter()
        while not self._wait(HANGS):
            now = time.perf_counter()
            if self._loading > now - HANGS and now < began + COMPILES:
                continue
            names = ", ".join(repr(debt.name) for debt in self.model.owed()[:5])
            raise BreachError(f"no answer for {HANGS:g} s to {names}")

    def follow(self, pondering: bool) -> None:
        """Sends the last position with the answer played in it."""
        self._tell_model()
        position, answer = self.model.position, self.model.answer
        if not position or answer is None or answer[1] == "0000" or answer[0].fen() != self.model.board.fen():
            return
        moves = [answer[1]] + ([answer[2]] if pondering and answer[2] is not None else [])
        moves = moves if "moves" in position.split() else ["moves", *moves]
        self.say(" ".join([position, *moves]).encode())

    def do(self, step: Step) -> bool:
        """Takes a step; whether the session goes on."""
        if not isinstance(step, Say | Follow):  # those are kept as what was really said
            self.steps.append(step)
        match step:
            case Say(line):
                self.say(line)
                return line.split()[:1] != [b"quit"]
            case Pause(milliseconds):
                time.sleep(milliseconds / 1000)
            case Settle(patience):
                self.settle(patience)
            case Follow(pondering):
                self.follow(pondering)
            case EndInput():
                self._tell_model()
                if self.model.is_endless():
                    self._send(b"quit")
                if not self.model.is_loaded:
                    self._ends = COMPILES  # what is owed comes when the kernels are compiled
                with self._changed:
                    self._entries.append((time.perf_counter(), None, None))
                self._wire.end_input()
        return not isinstance(step, EndInput)

    def turn_page(self) -> None:
        """Forgets what was said, when nothing is owed: a failure shows what came afterwards."""
        with self._changed:
            del self._entries[: self._told]
            self._told = 0
        self.steps.clear()

    def hang_up(self) -> None:
        """Ends the session after something went wrong, past the model."""
        self._send(b"quit")

    def end(self) -> None:
        """Waits for the engine's end. Raises BreachError for one that is wrong."""
        global slowest_end
        began = time.perf_counter()
        problem = self._wire.ended(self._ends)
        if self._ends == ENDS:
            slowest_end = max(slowest_end, time.perf_counter() - began)
        self._tell_model()
        if problem is not None:
            raise BreachError(problem)
        self.model.ended()

    def transcript(self) -> list[str]:
        """Everything that was said, a line each, with times in seconds."""
        lines = []
        for now, sent, heard in self._entries:
            text = f"< {heard}" if heard is not None else "(end of input)" if sent is None else f"> {sent!r}"
            lines.append(f"{now - self._began:8.3f} {text}")
        return lines


def play(script: Script, connect: Connect = InProcess) -> int:
    """Plays a session, in this process unless `connect` says otherwise; returns the number of lines that were said.

    Raises FailedSessionError for a breach of what the engine owes.
    """

    def talk(player: Player) -> None:
        for step in script:
            if not player.do(step):
                return
        player.do(Say(b"quit"))

    if script and isinstance(script[0], Setting):
        setting = script[0]
        connect = functools.partial(OverPipes, setting=setting)
        if setting.what != CACHE:
            talk = endured(script)
    return hold(talk, connect)


def endured(script: Script) -> Callable[[Player], None]:
    """The talk of a script with an engine that the system gives little.

    It may refuse what it cannot do, but it answers every `isready` and every `go`, and ends when it is told to.
    """

    def talk(player: Player) -> None:
        player.model = Lenient()
        for step in script:
            if isinstance(step, Settle):
                step = Pause(step.patience)
            if isinstance(step, Say) and step.line.split()[:1] == [b"quit"]:
                break
            if not player.do(step):
                return
        player.do(Say(b"stop"))
        player.do(Settle(0))
        player.do(Say(b"quit"))

    return talk


def hold(talk: Callable[[Player], None], connect: Connect) -> int:
    """Starts an engine and holds a `talk` with it that ends with `quit`; returns how many lines the last page has.

    Raises FailedSessionError for a breach of what the engine owes.
    """
    player = Player(connect)
    problem: str | None = None
    try:
        talk(player)
    except BreachError as error:
        problem = str(error)
        player.hang_up()
    except BaseException:
        player.hang_up()
        with suppress(BreachError):
            player.end()
        raise
    try:
        player.end()
    except BreachError as error:
        problem = problem or str(error)
    if problem is not None:
        raise FailedSessionError(problem, tuple(player.steps), player.transcript())
    return len(player.transcript())
