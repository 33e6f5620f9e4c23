"""Parses the words after the UCI commands `position`, `go` and `setoption`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from engine.files import quoted
from search.limits import Clock, Limits

#: `go` parameters that take a number.
_NUMBERS: Final = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime", "perft")
_FLAGS: Final = ("infinite", "ponder")

#: The form of a move in UCI notation, such as e2e4 or e7e8q.
_MOVE: Final = re.compile("([a-h][1-8]){2}.?")

#: The word between the name and the value of an option.
_VALUE: Final = re.compile(r"(?:^|\s+)value(?:\s+|$)", re.IGNORECASE)

#: Numbers after `go` are capped at this magnitude: no clock, depth or node count needs more.
_LARGEST: Final = 1 << 53


@dataclass(frozen=True)
class PositionCommand:
    """A `position` command: the FEN (None for the start position) and the moves after it, in UCI notation."""

    fen: str | None
    moves: tuple[str, ...]


@dataclass(frozen=True)
class GoCommand:
    """A `go` command: its numbers by name, its flags, and the moves to search (None for all)."""

    numbers: dict[str, int]
    flags: frozenset[str]
    search_moves: tuple[str, ...] | None

    def limits(self, white_to_move: bool) -> Limits:
        """Returns limits for the side to move. Too small numbers become the minimum, but `movestogo` < 1 is omitted."""
        number = self.numbers.get
        ours, theirs = ("w", "b") if white_to_move else ("b", "w")
        # If a GUI sends only one clock, that clock applies to both sides.
        time_left = number(f"{ours}time", number(f"{theirs}time"))
        clock = None
        if time_left is not None:
            moves_to_go = number("movestogo")
            moves_to_go = moves_to_go if moves_to_go is not None and moves_to_go > 0 else None
            clock = Clock(max(time_left, 1), max(number(f"{ours}inc", 0), 0), moves_to_go)
        depth, nodes, move_time, mate = number("depth"), number("nodes"), number("movetime"), number("mate")
        return Limits(
            depth=None if depth is None else max(depth, 1),
            nodes=None if nodes is None else max(nodes, 1),
            move_time=None if move_time is None else max(move_time, 1),
            mate=None if mate is None else max(mate, 1),
            clock=clock,
            infinite="infinite" in self.flags,
            ponder="ponder" in self.flags,
            search_moves=self.search_moves,
        )


def parse_position(words: list[str]) -> PositionCommand:
    """Parses the words after `position`; does not check the FEN and the moves. Raises ValueError for bad syntax."""
    if not words:
        raise ValueError("position: expected 'startpos' or 'fen'")
    kind, *rest = words
    moves_at = rest.index("moves") if "moves" in rest else len(rest)
    before, moves = rest[:moves_at], tuple(rest[moves_at + 1 :])
    if kind == "startpos":
        if before:
            raise ValueError(f"position startpos: expected 'moves', got {quoted(before[0])}")
        return PositionCommand(None, moves)
    if kind == "fen":
        if not before:
            raise ValueError("position fen: the FEN is missing")
        return PositionCommand(" ".join(before), moves)
    raise ValueError(f"position: expected 'startpos' or 'fen', got {quoted(kind)}")


def parse_go(words: list[str]) -> tuple[GoCommand, list[str]]:
    """Parses the words after `go`; returns the command and a list of complaints about wrong and ignored parts."""
    numbers: dict[str, int] = {}
    flags: set[str] = set()
    search_moves: list[str] | None = None
    complaints: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word in _FLAGS:
            flags.add(word)
        elif word == "searchmoves":
            search_moves = [] if search_moves is None else search_moves
            while position < len(words) and _MOVE.fullmatch(words[position]):
                search_moves.append(words[position])
                position += 1
            if not search_moves:
                complaints.append("go searchmoves: no moves given")
                search_moves = None
        elif word in _NUMBERS:
            text = words[position] if position < len(words) else None
            if text is None or text in _NUMBERS or text in _FLAGS or text == "searchmoves":
                complaints.append(f"go {word}: a number is missing")
                continue
            position += 1
            try:
                numbers[word] = max(min(int(text), _LARGEST), -_LARGEST)
            except ValueError:
                complaints.append(f"go {word}: expected a whole number, got {quoted(text)}")
            else:
                # Clocks are not in this list, because some GUIs send negative ones.
                if word in ("depth", "nodes", "mate", "movetime") and numbers[word] < 1:
                    complaints.append(f"go {word}: {numbers[word]} is less than 1; using 1")
        else:
            complaints.append(f"go: unknown parameter {quoted(word)}")
    return GoCommand(numbers, frozenset(flags), None if search_moves is None else tuple(search_moves)), complaints


def parse_setoption(text: str) -> tuple[str, str | None]:
    """Returns the name and the value (or None) from the text after `setoption`. Raises ValueError without 'name'.

    Spaces within the value are kept, because it may be a path.
    """
    words = text.split(maxsplit=1)
    if not words or words[0].lower() != "name":
        raise ValueError("setoption: expected 'name'")
    name, *values = _VALUE.split(" ".join(words[1:]), maxsplit=1)
    return " ".join(name.split()), values[0].strip() if values else None
