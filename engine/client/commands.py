"""Converts python-chess's boards and limits to the `position` and `go` commands that `chess.engine` would send."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any, Final

import chess
from chess.engine import Limit

from engine.uci.parse import GoCommand, PositionCommand
from search.limits import Limits

#: Fields of a `chess.engine.Limit` in seconds, their names in `go` (which takes ms), and their minimums. A clock may be
#: negative.
_SECONDS: Final = (
    ("time", "movetime", 0),
    ("white_clock", "wtime", -math.inf),
    ("black_clock", "btime", -math.inf),
    ("white_inc", "winc", 0),
    ("black_inc", "binc", 0),
)
#: The same for the fields that are whole numbers.
_COUNTS: Final = (
    ("depth", "depth", 1),
    ("nodes", "nodes", 1),
    ("mate", "mate", 1),
    ("remaining_moves", "movestogo", 0),
)
#: Seconds (thirty years) and counts are capped at these values: greater values change nothing and could overflow.
_MOST_SECONDS: Final = 1e9
_MOST: Final = 1 << 53


def position_command(board: chess.Board) -> PositionCommand:
    """Returns a board's `position` command. Raises TypeError for a non-board and ValueError for a chess variant."""
    if not isinstance(board, chess.Board):
        raise TypeError(f"expected a chess.Board, got {board!r}")
    if board.uci_variant != "chess":
        raise ValueError(f"Secateur plays chess and Chess960, not {board.uci_variant}")
    # A game contains no null move. If the move stack has one, all moves are left out, as in chess.engine.
    is_game = all(board.move_stack)
    root = board.root() if is_game else board
    moves = tuple(move.uci() for move in board.move_stack) if is_game else ()
    return PositionCommand(root.fen(shredder=board.chess960, en_passant="fen"), moves)


def limits_of(
    limit: Limit | None, turn: chess.Color, search_moves: tuple[str, ...] | None = None, ponder: bool = False
) -> Limits:
    """Returns the limits of a search for the side to move. If `limit` is None, the search runs until it is stopped.

    `search_moves` are in UCI notation; `ponder` is as in Limits. Raises TypeError or ValueError for an invalid `limit`.
    """
    if limit is None:
        return GoCommand({}, frozenset({"infinite"}), search_moves).limits(turn)
    if not isinstance(limit, Limit):
        raise TypeError(f"expected a chess.engine.Limit, got {limit!r}")
    given: dict[str, int] = {}
    for name, word, least in _SECONDS:
        seconds = _number(limit, name, least)
        if seconds is not None:
            given[word] = round(1000 * min(seconds, _MOST_SECONDS))
    for name, word, least in _COUNTS:
        count = _number(limit, name, least)
        if count is not None:
            if count != int(count):
                raise ValueError(f"Limit.{name} must be a whole number (got {count!r})")
            given[word] = min(int(count), _MOST)
    return GoCommand(given, frozenset({"ponder"} if ponder else ()), search_moves).limits(turn)


def _number(limit: Limit, name: str, least: float) -> Any:
    """Returns a field of `limit` if it is None or a finite number >= `least`; else raises TypeError or ValueError."""
    value = getattr(limit, name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"Limit.{name} must be a number (got {value!r})")
    if not math.isfinite(value):
        raise ValueError(f"Limit.{name} must be finite (got {value!r})")
    if value < least:
        raise ValueError(f"Limit.{name} must be at least {least} (got {value!r})")
    return value


def search_moves_of(board: chess.Board, root_moves: Iterable[chess.Move] | None) -> tuple[str, ...] | None:
    """Returns root moves in UCI notation, None for all. Raises TypeError or ValueError for an invalid or empty list."""
    if root_moves is None:
        return None
    from engine.uci.positions import parse_move  # imports the kernels: the evaluation must be chosen first

    found = []
    for move in root_moves:
        if not isinstance(move, chess.Move):
            raise TypeError(f"expected a chess.Move, got {move!r}")
        try:
            found.append(board.uci(parse_move(board, move.uci())))
        except ValueError:
            raise ValueError(f"root move {move.uci()} is not legal in {board.fen()}") from None
    if not found:
        raise ValueError("root_moves is empty; use None for all moves")
    return tuple(found)
