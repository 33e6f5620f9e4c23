"""What a session consists of, and the text in which it can be kept and replayed.

    > LINE          a line for the engine; bytes beyond ASCII are escaped as in Python
    ~ MS            a pause of so many milliseconds
    = MS            wait until everything owed has been answered; after so many milliseconds a search is stopped
    + or + ponder   play the last answer on the board, its expected reply with it
    .               the end of input
    ! WHAT VALUE    first of all: the engine is a process with that limit (`! AS 600`, in MiB; `! NOFILE 12`), or with a
                    compiled kernel damaged (`! cache flipped 3`, by a seed)
    # ...           a comment

A line may hold `<N>`, which stands for the legal move number N of the position (counted round and round), and `<N*>`,
the same in the other notation of castling; and `<SAMPLE:KIND:SEED>`, the path of a hostile file (`hostile`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import chess


@dataclass(frozen=True)
class Say:
    """A line for the engine, without its newline."""

    line: bytes


@dataclass(frozen=True)
class Pause:
    """Nothing is said for some milliseconds."""

    milliseconds: float


@dataclass(frozen=True)
class Settle:
    """Everything owed is waited for; a search that goes on for longer than `patience` milliseconds is stopped."""

    patience: float


@dataclass(frozen=True)
class Follow:
    """The last answer is played on the board; with `pondering` the reply that it expects, too."""

    pondering: bool


@dataclass(frozen=True)
class EndInput:
    """The input ends."""


@dataclass(frozen=True)
class Setting:
    """What the engine's process lacks: `what` is a limit with its value, or the cache with the damage and a seed."""

    what: str
    value: str


#: What a setting damages instead of limiting.
CACHE: Final = "cache"

Step = Setting | Say | Pause | Settle | Follow | EndInput
Script = tuple[Step, ...]

_MOVE = re.compile(r"<(\d+)(\*?)>")


def to_text(script: Iterable[Step]) -> str:
    """A script as text, a line a step."""
    return "".join(_line(step) + "\n" for step in script)


def _line(step: Step) -> str:
    match step:
        case Say(line):
            return "> " + line.decode("latin-1").encode("unicode_escape").decode("ascii")
        case Pause(milliseconds):
            return f"~ {milliseconds:g}"
        case Settle(patience):
            return f"= {patience:g}"
        case Follow(pondering):
            return "+ ponder" if pondering else "+"
        case Setting(what, value):
            return f"! {what} {value}"
    return "."


def from_text(text: str) -> Script:
    """The script that `text` holds. Raises ValueError that names the line."""
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), start=1):
        sign, _, rest = line.partition(" ")
        try:
            if sign == ">":
                steps.append(Say(rest.encode("ascii").decode("unicode_escape").encode("latin-1")))
            elif sign in ("~", "="):
                steps.append((Pause if sign == "~" else Settle)(float(rest)))
            elif sign == "+" and rest in ("", "ponder"):
                steps.append(Follow(rest == "ponder"))
            elif sign == "!" and not steps and " " in rest:
                steps.append(Setting(*rest.split(maxsplit=1)))
            elif line == ".":
                steps.append(EndInput())
            elif line and sign != "#":
                raise ValueError("a step begins with one of > ~ = + . #, the first of all with !")
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return tuple(steps)


def resolved(line: bytes, board: chess.Board, chess960: bool) -> bytes:
    """A line with real moves in the place of `<N>`: of `board`, or along the game that a `position` line tells."""
    text = line.decode("latin-1")
    if not _MOVE.search(text):
        return line
    words = text.split()
    if words[0] != "position":
        return _MOVE.sub(lambda found: _move(board, found), text).encode("latin-1")
    at = words.index("moves") if "moves" in words else len(words)
    walked: chess.Board | None = _board(" ".join(words[2:at]) or chess.STARTING_FEN, chess960)
    for index in range(at + 1, len(words)):
        if found := _MOVE.fullmatch(words[index]):
            words[index] = _move(walked, found)
        try:
            if walked is not None:
                walked.push_uci(words[index])
        except ValueError:
            walked = None  # the line is refused; what follows does not matter
    return " ".join(words).encode("latin-1")


def _board(fen: str, chess960: bool) -> chess.Board | None:
    """The board of a FEN, None when moves cannot be sought on it."""
    try:
        board = chess.Board(fen, chess960=chess960)
    except ValueError:
        return None
    return None if board.king(chess.WHITE) is None or board.king(chess.BLACK) is None else board


def _move(board: chess.Board | None, found: re.Match[str]) -> str:
    moves = [] if board is None else list(board.legal_moves)
    if board is None or not moves:
        return "0000"
    return board.uci(moves[int(found[1]) % len(moves)], chess960=board.chess960 != (found[2] == "*"))
