"""Searches a position with the tracing build and makes a document of the recording.

The build has to be chosen before the kernels are imported, which this module does: call
`search.explorer.build.choose_tracing` first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import chess
import numpy as np

from engine.board.convert import decode, encode, write_board
from engine.compiler.jit import TRACING, TRACING_VARIABLE
from engine.version import full_name
from eval.custom import CHOICE
from eval.network.format import shipped_network
from search.deepening import MAX_DEPTH, NO_NODE_LIMIT, Deepening, Iteration, Root, set_root
from search.explorer import chess_document
from search.explorer.chess_document import Document, score_text
from search.explorer.measures import counted_nodes, statistics
from search.explorer.positions import PositionError, read_game, replay
from search.game import Game
from search.kernels import tracing
from search.kernels.picker import BAD_NOISY, COUNTER, NOISY, NOISY_START, QUIET_START, QUIETS, ROOT, SECOND_KILLER
from search.kernels.score import INFINITE, MATE, MATE_BOUND, NO_SCORE
from search.kernels.transposition import allocate_table
from search.kernels.worker import STOP, new_worker, set_network, set_tunables
from search.limits import DEFAULT_HASH, Limits
from search.techniques import BY_NAME, Technique, switched_off
from search.timing import Alarm

#: Visits that a recording holds unless told otherwise, and at most.
DEFAULT_CAPACITY: Final = 200_000
MOST_VISITS: Final = tracing.MOST_VISITS

#: By the key of a reason: the technique that is switched off where a recording is to do without.
TECHNIQUES: Final[dict[str, Technique]] = {reason: BY_NAME[reason] for reason in chess_document.SWITCHES}

# The picker's stage after it has given out a move, as an index of `chess_document.STAGES`; -1 for none. Behind a move
# of TABLE and of the killers it stands at the next stage already.
_STAGE_KEYS: Final = {
    ROOT: "root",
    NOISY_START: "table",
    NOISY: "noisy",
    SECOND_KILLER: "killer",
    COUNTER: "killer",
    QUIET_START: "counter",
    QUIETS: "quiet",
    BAD_NOISY: "loser",
}
_STAGE_ORDER: Final = [key for key, _ in chess_document.STAGES]


class RecordingError(ValueError):
    """A search that cannot be recorded; the message says why in one line."""


@dataclass
class _Search:
    """A search that is over: the iterations and, for each, the rows and nodes at its end."""

    worker: Any
    iterations: list[Iteration] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)


def record(
    position: Game | str,
    limits: Limits,
    capacity: int = DEFAULT_CAPACITY,
    *,
    after: str | None = None,
    classical: bool = False,
    without: Iterable[str] = (),
    hash_mebibytes: int = DEFAULT_HASH,
    on_iteration: Callable[[int, int], None] | None = None,
    on_start: Callable[[Callable[[], None]], None] | None = None,
) -> Document:
    """Searches a position within `limits`, on one thread from an empty table, and returns the document of it.

    `position` is a game, or a text that `read_game` understands, with its `after`. Of the limits depth, nodes and
    move_time (milliseconds) count, and one of them must be given; without move_time the document is the same every
    time. It holds `capacity` visits; what the search does beyond is counted only. Positions are valued by the network
    that comes with the engine unless `classical`. `without` are keys of TECHNIQUES that are switched off.
    `on_iteration(depth, nodes)` is called after each. `on_start(stop)` is called before the first: calling `stop`, from
    any thread, ends the search, and the document holds what was searched by then.

    Raises RecordingError, PositionError, MemoryError, and RuntimeError in the playing build.
    """
    if not TRACING:
        raise RuntimeError(f"recording needs the tracing build: {TRACING_VARIABLE}=1 before the engine is imported")
    if not 1 <= capacity <= MOST_VISITS:
        raise RecordingError(f"a recording holds 1 to {MOST_VISITS} visits, not {capacity}")
    off = sorted(set(without))
    unknown = sorted(set(off) - set(TECHNIQUES))
    if unknown:
        raise RecordingError(f"there is no technique {unknown[0]!r} to switch off; those are {', '.join(TECHNIQUES)}")
    game = read_game(position, after) if isinstance(position, str) else position
    search = _run(game, limits, capacity, classical, off, hash_mebibytes, on_iteration, on_start)
    return _document(game, limits, search, off, classical)


def game_at(document: Document, node: int) -> Game:
    """The game up to the position of a row. Raises RecordingError without such a row, PositionError for bad moves."""
    nodes, texts = document["nodes"], document["moves"]
    if not 0 <= node < len(nodes["parent"]):
        raise RecordingError(f"there is no node {node}: the recording has {len(nodes['parent'])}")
    path: list[str] = []
    while node >= 0:
        if nodes["move"][node] >= 0:
            path.append(texts[nodes["move"][node]])
        node = nodes["parent"][node]
    return replay(document["fen"], [*document["before"], *reversed(path)], chess960=document["chess960"])


# --------------------------------------------------------------------------------------------------------------
# Searching
# --------------------------------------------------------------------------------------------------------------


def _run(
    game: Game,
    limits: Limits,
    capacity: int,
    classical: bool,
    without: list[str],
    hash_mebibytes: int,
    on_iteration: Callable[[int, int], None] | None,
    on_start: Callable[[Callable[[], None]], None] | None,
) -> _Search:
    """The engine's iterative deepening, one thread, with a look at the recording between iterations."""
    if limits.depth is None and limits.nodes is None and limits.move_time is None:
        raise RecordingError("a recorded search needs a limit: depth, nodes or time")
    for name, value in (("depth", limits.depth), ("nodes", limits.nodes), ("time", limits.move_time)):
        if value is not None and value < 1:
            raise RecordingError(f"the limit of {name} is at least 1, not {value}")
    moves = list(game.board.legal_moves)
    if not moves:
        raise RecordingError(f"the game is over here ({game.board.fen()}): there is no move to search")
    worker = new_worker()
    set_tunables(worker, switched_off(TECHNIQUES[key] for key in without))
    network = None if classical else shipped_network()
    set_network(worker, None if network is None else network.record())
    deepest = MAX_DEPTH if limits.depth is None else min(limits.depth, MAX_DEPTH)
    write_board(game.board, worker["stack"][0]["position"])
    root = Root(game.keys, [encode(game.board, move) for move in moves], generation=1, deepest=deepest)
    set_root(worker, root, NO_NODE_LIMIT if limits.nodes is None else limits.nodes)
    tracing.start_recording(worker, capacity)
    search = _Search(worker)

    def stop() -> None:
        worker["stop"] = STOP

    alarm = Alarm(stop)
    if limits.move_time is not None:
        alarm.set(limits.move_time / 1000)
    if on_start is not None:
        on_start(stop)
    try:
        for iteration in Deepening(worker, allocate_table(hash_mebibytes), root).iterations():
            search.iterations.append(iteration)
            search.ends.append((int(worker["recording"]["node_count"]), int(worker["nodes"])))
            if on_iteration is not None:
                on_iteration(iteration.depth, int(worker["nodes"]))
            if worker["stop"] or worker["nodes"] >= worker["node_limit"]:
                break
    finally:
        alarm.close()
    return search


# --------------------------------------------------------------------------------------------------------------
# From rows to columns
# --------------------------------------------------------------------------------------------------------------


def _document(game: Game, limits: Limits, search: _Search, without: list[str], classical: bool) -> Document:
    trace = search.worker["recording"]
    rows = trace["nodes"][: int(trace["node_count"])].copy()
    skips = trace["skipped"][: int(trace["skip_count"])].copy()
    visits, skipped = int(trace["visits"]), int(trace["skips"])
    # A node that was open when the search ended still holds the number of its visit.
    is_open = rows["end"] == tracing.STOPPED
    rows["visits"][is_open] = visits - rows["visits"][is_open] + 1

    board = game.board
    root = board.root()
    scores = {"infinite": INFINITE, "mate": MATE, "mate_bound": MATE_BOUND}
    texts, node_moves, skip_moves = _move_texts(rows, skips, board.chess960)
    document: Document = {
        "format": chess_document.FORMAT,
        "version": chess_document.VERSION,
        "kind": chess_document.KIND,
        "engine": full_name(),
        "evaluation": _evaluation(search, classical),
        "fen": root.fen(),
        "before": [root_move.uci() for root_move in board.move_stack],
        "position": board.fen(),
        "chess960": board.chess960,
        "limits": {"depth": limits.depth, "nodes": limits.nodes, "milliseconds": limits.move_time},
        "without": without,
        "scores": scores,
        "nodes": _node_columns(rows, node_moves),
        "pruned": {
            "node": skips["node"].tolist(),
            "move": skip_moves,
            "reason": skips["reason"].tolist(),
        },
        "moves": texts,
        "reasons": chess_document.table(chess_document.REASONS),
        "searches": chess_document.table(chess_document.SEARCHES),
        "stages": chess_document.table(chess_document.STAGES),
        "types": chess_document.table(chess_document.TYPES),
        "truncated": visits > len(rows) or skipped > len(skips),
        "left_out": {"visits": visits - len(rows), "pruned": skipped - len(skips)},
        "costs": None,
    }
    document["iterations"] = _iterations(search, rows, board.chess960, scores)
    document["result"] = _result(search, visits, board, scores)
    document["statistics"] = statistics(document)
    return document


def _evaluation(search: _Search, classical: bool) -> str:
    """What evaluated: a custom evaluation by its name, the classical one, or a network."""
    if CHOICE is not None:
        return CHOICE.name
    return "classical" if classical or not int(search.worker["network"]["hidden"]) else "network"


def _result(search: _Search, visits: int, board: chess.Board, scores: dict[str, int]) -> dict[str, Any]:
    """What was found. A search that ended within its first iteration has nothing but a legal move, like the engine."""
    last = search.iterations[-1] if search.iterations else None
    line = [next(iter(board.legal_moves))] if last is None else [decode(move, board.chess960) for move in last.line]
    value = None if last is None else last.score
    return {
        "move": line[0].uci(),
        "score": score_text(value, scores),
        "value": value,
        "depth": 0 if last is None else last.depth,
        "line": [move.uci() for move in line],
        "nodes": int(search.worker["nodes"]),
        "visits": visits,
    }


def _move_texts(rows: Any, skips: Any, chess960: bool) -> tuple[list[str], list[int], list[int]]:
    """The texts of all moves met, and the moves of rows and of skips as indexes of them (-1: none)."""
    codes = np.unique(np.concatenate([rows["move"], skips["move"].astype(np.int32)]))
    texts = [decode(code, chess960).uci() if code else "0000" for code in codes.tolist()]
    indexes = np.searchsorted(codes, rows["move"])
    has_none = (rows["move"] == 0) & (rows["search"] != tracing.NULL)
    return texts, np.where(has_none, -1, indexes).tolist(), np.searchsorted(codes, skips["move"]).tolist()


def _node_columns(rows: Any, moves: list[int]) -> dict[str, list[Any]]:
    stages = np.full(max(_STAGE_KEYS) + 2, -1)
    for state, key in _STAGE_KEYS.items():
        stages[state + 1] = _STAGE_ORDER.index(key)
    columns = {
        "parent": rows["parent"].tolist(),
        "move": moves,
        "ply": rows["ply"].tolist(),
        "depth": rows["depth"].tolist(),
        "alpha": rows["alpha"].tolist(),
        "beta": rows["beta"].tolist(),
        "type": rows["expected"].tolist(),
        "eval": _or_none(rows["static_eval"], rows["static_eval"] == NO_SCORE),
        "estimate": _or_none(rows["eval"], rows["eval"] == NO_SCORE),
        "improving": rows["improving"].tolist(),
        "value": _or_none(rows["value"], rows["end"] == tracing.STOPPED),
        "stage": stages[rows["stage"].astype(np.int64) + 1].tolist(),
        "search": rows["search"].tolist(),
        "reduction": rows["reduction"].tolist(),
        "extension": rows["extension"].tolist(),
        "end": rows["end"].tolist(),
        "cutter": rows["cutter"].tolist(),
        "moves_searched": rows["searched"].tolist(),
        "moves_pruned": rows["skipped"].tolist(),
        "legal": rows["legal"].tolist(),
        "size": rows["visits"].tolist(),
        "quiescence": rows["quiescence"].tolist(),
    }
    assert tuple(columns) == chess_document.NODE_COLUMNS
    return columns


def _or_none(column: Any, is_none: Any) -> list[int | None]:
    return [None if none else value for value, none in zip(column.tolist(), is_none.tolist(), strict=True)]


def _iterations(search: _Search, rows: Any, chess960: bool, scores: dict[str, int]) -> list[dict[str, Any]]:
    """The iterations with the rows of each, and one that the end of the search cut short last."""
    found: list[tuple[int, Iteration | None, int, int]] = []
    for iteration, (row_end, node_end) in zip(search.iterations, search.ends, strict=True):
        found.append((iteration.depth, iteration, row_end, node_end))
    total = int(search.worker["nodes"])
    if not search.ends or search.ends[-1] != (len(rows), total):
        found.append((int(search.worker["root_depth"]), None, len(rows), total))
    result: list[dict[str, Any]] = []
    first = nodes_before = 0
    for depth, known, row_end, node_end in found:
        windows = [_window(rows, row) for row in range(first, row_end) if rows["parent"][row] == -1]
        for window, following in pairwise(windows):
            window["last_node"] = following["first_node"] - 1
        if windows:
            windows[-1]["last_node"] = row_end - 1
        value = None if known is None else known.score
        result.append(
            {
                "depth": depth,
                "score": score_text(value, scores),
                "value": value,
                "alpha": windows[-1]["alpha"] if windows else -INFINITE,
                "beta": windows[-1]["beta"] if windows else INFINITE,
                "nodes": node_end - nodes_before,
                "line": [] if known is None else [decode(move, chess960).uci() for move in known.line],
                "first_node": first if windows else -1,
                "last_node": row_end - 1 if windows else -1,
                "complete": known is not None and known.complete,
                "windows": windows,
            }
        )
        first, nodes_before = row_end, node_end
    return result


def _window(rows: Any, row: int) -> dict[str, Any]:
    """One search of the root: its window and what came of it."""
    alpha, beta = int(rows["alpha"][row]), int(rows["beta"][row])
    if rows["end"][row] == tracing.STOPPED:
        return {"alpha": alpha, "beta": beta, "value": None, "outcome": "stopped", "first_node": row}
    value = int(rows["value"][row])
    outcome = "fail low" if value <= alpha else "fail high" if value >= beta else "exact"
    return {"alpha": alpha, "beta": beta, "value": value, "outcome": outcome, "first_node": row}


__all__ = [
    "DEFAULT_CAPACITY",
    "MOST_VISITS",
    "TECHNIQUES",
    "PositionError",
    "RecordingError",
    "counted_nodes",
    "game_at",
    "read_game",
    "record",
]
