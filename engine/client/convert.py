"""Between python-chess and the engine: boards, limits and moves on the way in, scores and lines on the way out.

A board becomes the `position` and a limit the `go` that `chess.engine` would send, so that the same is searched within
this process as in one of its own.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any, Final

import chess
from chess.engine import INFO_PV, INFO_SCORE, Cp, InfoDict, Limit, Mate, PovScore, PovWdl, Wdl
from chess.engine import Info as Selector

from engine.uci.infos import chances
from engine.uci.parse import GoCommand, PositionCommand
from engine.uci.positions import parse_move
from search.info import Info, Progress
from search.limits import Limits
from search.score import EXACT, LOWER

#: Fields of a `chess.engine.Limit` in seconds: their names in `go`, where they are milliseconds, and the least of each.
#: A clock that has run out does not end a game by itself.
_SECONDS: Final = (
    ("time", "movetime", 0),
    ("white_clock", "wtime", -math.inf),
    ("black_clock", "btime", -math.inf),
    ("white_inc", "winc", 0),
    ("black_inc", "binc", 0),
)
#: The same for those that are whole numbers.
_COUNTS: Final = (
    ("depth", "depth", 1),
    ("nodes", "nodes", 1),
    ("mate", "mate", 1),
    ("remaining_moves", "movestogo", 0),
)
#: Longer times than thirty years and larger numbers are cut: they mean no more, and would be too large elsewhere.
_MOST_SECONDS: Final = 1e9
_MOST: Final = 1 << 53

#: Entries of an InfoDict that are there only when a selector asks for them.
_SELECTED: Final = {
    "score": INFO_SCORE,
    "lowerbound": INFO_SCORE,
    "upperbound": INFO_SCORE,
    "wdl": INFO_SCORE,
    "pv": INFO_PV,
}


# --------------------------------------------------------------------------------------------------------------
# In
# --------------------------------------------------------------------------------------------------------------


def position_command(board: chess.Board) -> PositionCommand:
    """The `position` of a board with the moves that led to it. Raises TypeError or ValueError for what is no chess."""
    if not isinstance(board, chess.Board):
        raise TypeError(f"a chess.Board is wanted, not {board!r}")
    if board.uci_variant != "chess":
        raise ValueError(f"Secateur plays chess and Chess960, not {board.uci_variant}")
    # A null move is no part of a game: as in chess.engine, what came before is left out then.
    is_game = all(board.move_stack)
    root = board.root() if is_game else board
    moves = tuple(move.uci() for move in board.move_stack) if is_game else ()
    return PositionCommand(root.fen(shredder=board.chess960, en_passant="fen"), moves)


def limits_of(
    limit: Limit | None, turn: chess.Color, search_moves: tuple[str, ...] | None = None, ponder: bool = False
) -> Limits:
    """What ends a search of the side to move (`turn`); a limit of None is one that lasts until it is stopped.

    `search_moves` are in UCI notation. Raises TypeError or ValueError that names a field which makes no sense.
    """
    if limit is None:
        return GoCommand({}, frozenset({"infinite"}), search_moves).limits(turn)
    if not isinstance(limit, Limit):
        raise TypeError(f"a chess.engine.Limit is wanted, not {limit!r}")
    given: dict[str, int] = {}
    for name, word, least in _SECONDS:
        seconds = _number(limit, name, least)
        if seconds is not None:
            given[word] = round(1000 * min(seconds, _MOST_SECONDS))
    for name, word, least in _COUNTS:
        count = _number(limit, name, least)
        if count is not None:
            if count != int(count):
                raise ValueError(f"Limit.{name} is a whole number, not {count!r}")
            given[word] = min(int(count), _MOST)
    return GoCommand(given, frozenset({"ponder"} if ponder else ()), search_moves).limits(turn)


def _number(limit: Limit, name: str, least: float) -> Any:
    """A field of a limit: None, or a finite number that is at least `least`."""
    value = getattr(limit, name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"Limit.{name} is a number, not {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"Limit.{name} is finite, not {value!r}")
    if value < least:
        raise ValueError(f"Limit.{name} is at least {least}, not {value!r}")
    return value


def search_moves_of(board: chess.Board, root_moves: Iterable[chess.Move] | None) -> tuple[str, ...] | None:
    """Root moves in UCI notation, castling as the board has it. Raises ValueError for an illegal one, or for none."""
    if root_moves is None:
        return None
    found = []
    for move in root_moves:
        try:
            found.append(board.uci(parse_move(board, move.uci())))
        except ValueError:
            raise ValueError(f"root move {move.uci()} is not legal in {board.fen()}") from None
    if not found:
        raise ValueError("root_moves is empty; None stands for all moves")
    return tuple(found)


# --------------------------------------------------------------------------------------------------------------
# Out
# --------------------------------------------------------------------------------------------------------------


def info_dict(info: Info, board: chess.Board) -> InfoDict:
    """What an iteration found, or a window that has failed, in the position of `board`."""
    mate = info.mate
    found: InfoDict = {
        "depth": info.depth,
        "seldepth": max(info.depth, info.selective_depth),
        "multipv": info.number,
        "score": PovScore(Cp(info.score) if mate is None else Mate(mate), board.turn),
        "wdl": PovWdl(Wdl(*chances(info, board)), board.turn),
        "nodes": info.nodes,
        "nps": info.nodes_per_second,
        "hashfull": info.hashfull,
        "tbhits": info.table_hits,
        "time": info.seconds,
        "pv": list(info.pv),
    }
    if info.bound != EXACT:
        # As chess.engine does, although its InfoDict declares neither.
        found["lowerbound" if info.bound == LOWER else "upperbound"] = True  # type: ignore[typeddict-unknown-key]
    return found


def progress_dict(progress: Progress) -> InfoDict:
    """The root move that a long search is at."""
    return {
        "depth": progress.depth,
        "currmove": progress.move,
        "currmovenumber": progress.number,
        "nodes": progress.nodes,
        "nps": progress.nodes_per_second,
        "hashfull": progress.hashfull,
        "tbhits": progress.table_hits,
        "time": progress.seconds,
    }


def game_over_dict(board: chess.Board) -> InfoDict:
    """What there is to say of a position without legal moves: mated, or stalemate."""
    score, wdl = (Mate(0), Wdl(0, 0, 1000)) if board.is_check() else (Cp(0), Wdl(0, 1000, 0))
    return {
        "depth": 0,
        "multipv": 1,
        "score": PovScore(score, board.turn),
        "wdl": PovWdl(wdl, board.turn),
        "nodes": 0,
        "pv": [],
    }


def selected(info: InfoDict, selector: Selector) -> InfoDict:
    """The entries that a selector of `chess.engine` asks for."""
    if not selector:
        return {}
    return {name: value for name, value in info.items() if selector & _SELECTED.get(name, selector)}  # type: ignore[return-value]
