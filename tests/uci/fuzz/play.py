"""Plays a session with the engine and gives all of it to the model.

A script is a tuple of steps, each a line of text:

    > LINE          a line for the engine; bytes beyond ASCII are escaped as in Python
    ~ MS            a pause of so many milliseconds
    = MS            waits until everything owed has been answered; stops a search after so many milliseconds
    + or + ponder   plays the last answer on the board; `ponder` plays the expected reply as well
    .               the end of input
    ! WHAT VALUE    only the first step: the engine is a process with that limit (`! AS 600`, in MiB; `! NOFILE 12`), or
                    with a damaged kernel cache (`! cache flipped 3`, with a seed)
    # ...           a comment

`<N>` in a line stands for the legal move number N (modulo their count) of the position, `<N*>` for the same move with
castling in the other notation, and `<SAMPLE:KIND:SEED>` for the path of a hostile file.
"""

from __future__ import annotations

import functools
import os
import random
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import chess

from tests.uci.fuzz.model import BreachError, Model
from tests.uci.fuzz.samples import standing_file
from tests.uci.fuzz.wires import InProcess, Listener, OverPipes, Wire

Script = tuple[str, ...]

#: Seconds without an answer that is owed, or a progress message, after which the engine counts as hanging.
HANGS: Final = 20.0

#: Seconds that the end may take, because others may use the machine.
ENDS: Final = 4.0
#: Seconds that compiling may take.
COMPILES: Final = 600.0

#: Starts an engine whose lines a listener gets.
Connect = Callable[[Listener], Wire]

#: Seconds between two `stop`s.
BETWEEN_STOPS: Final = 1.0

#: Milliseconds within which a clock may run out without a `stop`.
SHORT: Final = 60.0


class FailedSessionError(AssertionError):
    """A session that went wrong; `script` replays it, with actual moves."""

    def __init__(self, problem: str, script: Script, transcript: list[str]) -> None:
        last = "\n".join(transcript[-60:])
        super().__init__(f"{problem}\n\nthe script:\n{chr(10).join(script)}\n\nthe last lines, with seconds:\n{last}")
        self.script = script


_HOSTILE: Final = re.compile(rb"<([\w.]+):([^:>]+):(\d+)>")
_MOVE: Final = re.compile(r"<(\d+)(\*?)>")


def _hostile_path(found: re.Match[bytes]) -> bytes:
    name, kind, seed = (part.decode() for part in found.groups())
    return os.fsencode(standing_file(name, kind, int(seed)))


def said(line: bytes) -> str:
    """The step of a script that sends a line."""
    return "> " + line.decode("latin-1").encode("unicode_escape").decode("ascii")


def script_of(text: str) -> Script:
    """The script in a text. Raises a ValueError that names a wrong line."""
    steps: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not re.fullmatch(r"> [\x20-\x7e]*|[~=] [\d.]+|\+( ponder)?|\.|! \w+ .+|#.*|", line) or (
            line[:1] == "!" and steps
        ):
            raise ValueError(f"line {number}: a step begins with one of > ~ = + . #, the first of all with !")
        if line and not line.startswith("#"):
            steps.append(line)
    return tuple(steps)


def resolved(line: bytes, board: chess.Board, chess960: bool) -> bytes:
    """A line with legal moves in the place of `<N>`: of `board`, or of the game that a `position` line describes."""
    words = line.decode("latin-1").split(" ")
    if not any(map(_MOVE.fullmatch, words)):
        return line
    at = words.index("moves") if words[0] == "position" and "moves" in words else len(words)
    nowhere = chess.Board(None)
    if words[0] == "position":
        try:
            board = chess.Board(" ".join(words[2:at]) or chess.STARTING_FEN, chess960=chess960)
        except ValueError:
            board = nowhere
        if board.king(chess.WHITE) is None or board.king(chess.BLACK) is None:
            board = nowhere
    for index, word in enumerate(words):
        if found := _MOVE.fullmatch(word):
            moves = list(board.legal_moves)
            style = board.chess960 != (found[2] == "*")
            words[index] = board.uci(moves[int(found[1]) % len(moves)], chess960=style) if moves else "0000"
        if index > at:
            try:
                board.push_uci(words[index])
            except ValueError:
                board = nowhere  # the engine refuses the line; what follows does not matter
    return " ".join(words).encode("latin-1")


class Player:
    """A conversation with one engine. Both sides' lines are kept in the order in which they were said."""

    def __init__(self, connect: Connect) -> None:
        self.model = Model(is_loaded=connect is InProcess)
        self.steps: list[str] = []
        self._began = time.perf_counter()
        # When the last message about loading came, and the seconds that the end may take.
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
        """Gives the model the lines since the last call. Raises BreachError."""
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
        line = resolved(line, self.model.board, self.model.options.flag("UCI_Chess960"))
        self.steps.append(said(line))
        self.send(line)

    def send(self, line: bytes) -> None:
        """Sends a line that is no step of the script."""
        line = _HOSTILE.sub(_hostile_path, line)
        with self._changed:
            self._entries.append((time.perf_counter(), line, None))
        self._wire.send(line)

    def _wait(self, seconds: float) -> bool:
        """Listens for so long, or until nothing is owed; whether nothing is owed."""
        deadline = time.perf_counter() + seconds
        while True:
            self._tell_model()
            if not self.model.owed():
                return True
            with self._changed:
                left = deadline - time.perf_counter()
                if left <= 0:
                    return False
                if self._told == len(self._entries):
                    self._changed.wait(left)

    def settle(self, patience: float) -> None:
        """Waits for what is owed; sends `stop` when that takes longer than `patience` milliseconds."""
        if self._wait(patience / 1000) or (self.model.milliseconds() <= SHORT and self._wait(HANGS)):
            return
        # Each ends one task; the next begins only then.
        for _ in self.model.owed():
            self.send(b"stop")
            if self._wait(BETWEEN_STOPS):
                return
        began = time.perf_counter()
        while not self._wait(HANGS):
            now = time.perf_counter()
            if self._loading > now - HANGS and now < began + COMPILES:
                continue
            names = ", ".join(map(repr, self.model.owed()[:5]))
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

    def do(self, step: str) -> bool:
        """Takes a step; whether the session goes on."""
        sign, _, rest = step.partition(" ")
        if sign not in (">", "+"):  # what those send is recorded
            self.steps.append(step)
        if sign == ">":
            line = rest.encode("ascii").decode("unicode_escape").encode("latin-1")
            self.say(line)
            return line.split()[:1] != [b"quit"]
        if sign == "~":
            time.sleep(float(rest) / 1000)
        elif sign == "=":
            self.settle(float(rest))
        elif sign == "+":
            self.follow(rest == "ponder")
        elif sign == ".":
            self._end_input()
            return False
        return True

    def _end_input(self) -> None:
        self._tell_model()
        if self.model.has_tool():
            self.send(b"quit")
        if not self.model.is_loaded:
            self._ends = COMPILES  # what is owed comes when the kernels are compiled
        with self._changed:
            self._entries.append((time.perf_counter(), None, None))
        self._wire.close_input()

    def turn_page(self) -> None:
        """Forgets all lines so far, when nothing is owed. A failure then shows only later lines."""
        with self._changed:
            del self._entries[: self._told]
            self._told = 0
        self.steps.clear()

    def end(self) -> None:
        """Waits for the engine's end. Raises BreachError for one that is wrong."""
        problem = self._wire.ended(self._ends)
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


def play(script: Script, connect: Connect = InProcess) -> None:
    """Plays a session, in this process unless `connect` says otherwise. Raises FailedSessionError."""
    steps, is_starved = list(script), False
    if script and script[0].startswith("! "):
        connect = functools.partial(OverPipes, setting=script[0][2:])
        is_starved = not script[0].startswith("! cache ")
    if is_starved:
        # The engine may refuse what it cannot do, but it answers every `isready` and every `go`, and then ends.
        steps = [f"~{step[1:]}" if step.startswith("=") else step for step in steps if step != "> quit"]
        steps += ["> stop", "= 0"]

    def talk(player: Player) -> None:
        if is_starved:
            player.model = Model(is_loaded=False, is_starved=True)
        for step in (*steps, "> quit"):
            if not player.do(step):
                return

    hold(talk, connect)


def hold(talk: Callable[[Player], None], connect: Connect) -> None:
    """Starts an engine and holds a `talk` with it that ends with `quit`. Raises FailedSessionError."""
    player = Player(connect)
    problem: str | None = None
    try:
        talk(player)
    except BreachError as error:
        problem = str(error)
        player.send(b"quit")
    except BaseException:
        player.send(b"quit")
        with suppress(BreachError):
            player.end()
        raise
    try:
        player.end()
    except BreachError as error:
        problem = problem or str(error)
    if problem is not None:
        raise FailedSessionError(problem, tuple(player.steps), player.transcript())


#: Plies after which a game is ended, and random plies that begin it.
LONGEST: Final = 400
OPENING: Final = 8

#: Milliseconds after which a search that counts nodes is stopped.
GAME_PATIENCE: Final = 5000.0


def play_games(count: int, seed: int, on_game: Callable[[int], None], connect: Connect = OverPipes) -> None:
    """Plays so many games in one process, as a GUI does; `on_game` gets the plies of each.

    Every fourth is Chess960; openings are random, and so is whether a time, a clock or a number of nodes is given.
    Raises FailedSessionError.
    """

    def talk(player: Player) -> None:
        for number in range(count):
            on_game(_play_game(player, random.Random(seed * 1_000_003 + number), number % 4 == 3))
        player.say(b"quit")

    hold(talk, connect)


def _play_game(player: Player, rng: random.Random, chess960: bool) -> int:
    start = f"fen {chess.Board.from_chess960_pos(rng.randrange(960)).fen()}" if chess960 else "startpos"
    moves = " ".join(f"<{rng.randrange(250)}>" for _ in range(OPENING))
    player.say(f"setoption name UCI_Chess960 value {str(chess960).lower()}".encode())
    player.say(b"ucinewgame")
    player.say(f"position {start} moves {moves}".encode())
    player.say(b"isready")
    player.settle(GAME_PATIENCE)
    limit = rng.choice(("movetime 10", "nodes 3000", "wtime 500 btime 500 winc 5 binc 5", "depth 6"))
    plies = OPENING
    while plies < LONGEST and not player.model.board.is_game_over(claim_draw=True):
        player.say(f"go {limit}".encode())
        player.settle(GAME_PATIENCE)
        player.follow(False)
        player.settle(GAME_PATIENCE)
        plies += 1
    player.turn_page()
    return plies
