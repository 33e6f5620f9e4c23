"""Functions that record chess searches with the tracing build, and make documents from the recordings.

Importing this module imports the kernels, so call `search.explorer.build.choose_tracing` first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import chess
import numpy as np

from engine.board.convert import decode, encode, write_board
from engine.compiler.jit import TRACING, TRACING_VARIABLE
from engine.version import full_name
from eval.custom import CHOICE
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import Network, shipped_network
from search.deepening import Deepening, Iteration, Root, set_root
from search.explorer import chess_document
from search.explorer.chess_document import SWITCHES, Document, RecordingError, score_text
from search.explorer.jobs import Job
from search.explorer.measures import statistics
from search.game import Game
from search.kernels import tracing
from search.kernels.picker import BAD_NOISY, NOISY, NOISY_START, QUIETS, ROOT
from search.kernels.score import INFINITE, MATE, MATE_BOUND, NO_SCORE
from search.kernels.transposition import allocate_table
from search.kernels.worker import STOP, new_worker, set_network, set_tunables
from search.limits import DEFAULT_HASH, MAX_DEPTH, NO_NODE_LIMIT, Limits
from search.techniques import BY_NAME, switched_off

#: The default number of visits that a recording can hold.
DEFAULT_CAPACITY: Final = 200_000

# The keys of `chess_document.STAGES` by the stage of the picker just after it has returned a move. After the TT move,
# the picker is already at the next stage.
_STAGE_KEYS: Final = {
    ROOT: "root",
    NOISY_START: "table",
    NOISY: "noisy",
    QUIETS: "quiet",
    BAD_NOISY: "loser",
}
_SCORES: Final = {"infinite": INFINITE, "mate": MATE, "mate_bound": MATE_BOUND}


@dataclass
class _Search:
    """A finished search: its iterations, and for each one the total numbers of rows and nodes at its end."""

    worker: Any
    iterations: list[Iteration] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)


def record(
    game: Game,
    limits: Limits,
    capacity: int = DEFAULT_CAPACITY,
    *,
    classical: bool = False,
    without: Iterable[str] = (),
    job: Job | None = None,
) -> Document:
    """Searches a game's position within `limits`, on one thread from an empty TT, and returns the search's document.

    Of the limits, only depth and nodes are used. The same arguments give the same document. It contains up to
    `capacity` visits; further visits are only counted. The evaluation is the process's custom one, if any; otherwise
    the engine's own network, or the classical one if `classical` is set. `without` contains keys of SWITCHES, whose
    techniques are switched off. The search reports each iteration to the job. If the job is stopped, the search ends,
    and the document contains what was searched so far.

    Raises RecordingError if an argument is invalid or the game is over, MemoryError if the recording does not fit in
    memory, and RuntimeError in the playing build.
    """
    if not TRACING:
        raise RuntimeError(f"recording needs the tracing build: set {TRACING_VARIABLE}=1 before importing the engine")
    if not 1 <= capacity <= tracing.MOST_VISITS:
        raise RecordingError(f"the capacity must be 1 to {tracing.MOST_VISITS} visits (got {capacity})")
    off = sorted(set(without))
    unknown = sorted(set(off) - set(SWITCHES))
    if unknown:
        raise RecordingError(f"{unknown[0]!r} cannot be switched off; expected one of {', '.join(SWITCHES)}")
    if not any(game.board.legal_moves):
        raise RecordingError(f"the game is over, so there is no move to search: {game.board.fen()}")
    worker = new_worker()
    set_tunables(worker, switched_off(BY_NAME[key] for key in off))
    network = None if classical else shipped_network()
    set_network(worker, None if network is None else network.record())
    search = _search(worker, game, limits, capacity, job or Job())
    document = _document(game, limits, search, off, classical)
    if network is not None and network.has_policy and CHOICE is None:
        document["nodes"]["prior"] = _priors(game.board, document, network, int(worker["tune"]["policy_depth"]))
    return document


def _search(worker: Any, game: Game, limits: Limits, capacity: int, job: Job) -> _Search:
    """Searches and records a game's position by iterative deepening, on one thread. Mutates `worker`."""
    write_board(game.board, worker["stack"][0]["position"])
    moves = [encode(game.board, move) for move in game.board.legal_moves]
    root = Root(game.keys, moves, generation=1, deepest=limits.deepest(MAX_DEPTH))
    set_root(worker, root, NO_NODE_LIMIT if limits.nodes is None else limits.nodes)
    tracing.start_recording(worker, capacity)
    search = _Search(worker)

    def stop() -> None:
        worker["stop"] = STOP

    job.when_stopped(stop)
    for iteration in Deepening(worker, allocate_table(DEFAULT_HASH), root).iterations():
        search.iterations.append(iteration)
        search.ends.append((int(worker["recording"]["node_count"]), int(worker["nodes"])))
        job.tell(f"completed depth {iteration.depth}, {int(worker['nodes']):,} nodes")
        if worker["stop"] or worker["nodes"] >= worker["node_limit"]:
            break
    return search


# --------------------------------------------------------------------------------------------------------------
# From rows to columns
# --------------------------------------------------------------------------------------------------------------


def _document(game: Game, limits: Limits, search: _Search, without: list[str], classical: bool) -> Document:
    trace = search.worker["recording"]
    rows = trace["nodes"][: int(trace["node_count"])].copy()
    skips = trace["skipped"][: int(trace["skip_count"])].copy()
    visits, skipped = int(trace["visits"]), int(trace["skips"])
    # If a node was open when the search ended, `visits` is still the number of its visit, not the size of its subtree.
    is_open = rows["end"] == tracing.STOPPED
    rows["visits"][is_open] = visits - rows["visits"][is_open] + 1

    board = game.board
    texts, node_moves, skip_moves = _move_texts(rows, skips, board.chess960)
    document: Document = {
        "format": chess_document.FORMAT,
        "version": chess_document.VERSION,
        "kind": chess_document.KIND,
        "engine": full_name(),
        "evaluation": _evaluation(search, classical),
        "fen": board.root().fen(),
        "before": [move.uci() for move in board.move_stack],
        "position": board.fen(),
        "chess960": board.chess960,
        "limits": {"depth": limits.depth, "nodes": limits.nodes},
        "without": without,
        "scores": _SCORES,
        "nodes": _node_columns(rows, node_moves),
        "pruned": {"node": skips["node"].tolist(), "move": skip_moves, "reason": skips["reason"].tolist()},
        "moves": texts,
        **chess_document.tables(),
        "truncated": visits > len(rows) or skipped > len(skips),
        "left_out": {"visits": visits - len(rows), "pruned": skipped - len(skips)},
        "costs": None,
    }
    document["iterations"] = _iterations(search, rows, board.chess960)
    # If the first iteration found no move, the result is the first legal move, as in the engine.
    last = search.iterations[-1] if search.iterations else None
    line = [next(iter(board.legal_moves))] if last is None else [decode(move, board.chess960) for move in last.line]
    value = _value(last)
    document["result"] = {
        "move": line[0].uci(),
        "score": score_text(value, _SCORES),
        "value": value,
        "depth": 0 if last is None else last.depth,
        "line": [move.uci() for move in line],
        "nodes": int(search.worker["nodes"]),
        "visits": visits,
    }
    document["statistics"] = statistics(document)
    return document


def _evaluation(search: _Search, classical: bool) -> str:
    """Returns the evaluation that was used: the name of a custom evaluation, or else "classical" or "network"."""
    if CHOICE is not None:
        return CHOICE.name
    return "classical" if classical or not int(search.worker["network"]["hidden"]) else "network"


def _move_texts(rows: Any, skips: Any, chess960: bool) -> tuple[list[str], list[int], list[int]]:
    """Returns the UCI texts of all moves, and the indices into them for `rows` (-1 means no move) and for `skips`."""
    codes = np.unique(np.concatenate([rows["move"], skips["move"].astype(np.int32)]))
    texts = [decode(code, chess960).uci() if code else "0000" for code in codes.tolist()]
    indexes = np.searchsorted(codes, rows["move"])
    has_none = (rows["move"] == 0) & (rows["search"] != tracing.NULL)
    return texts, np.where(has_none, -1, indexes).tolist(), np.searchsorted(codes, skips["move"]).tolist()


#: The fields of `search.kernels.tracing.NODE` by the name of their column, if the two names differ.
_FIELDS: Final = {
    "type": "expected",
    "eval": "static_eval",
    "estimate": "eval",
    "moves_searched": "searched",
    "moves_pruned": "skipped",
    "size": "visits",
}


def _node_columns(rows: Any, moves: list[int]) -> dict[str, list[Any]]:
    columns = {name: rows[_FIELDS.get(name, name)].tolist() for name in chess_document.NODE_COLUMNS}
    order = [key for key, _ in chess_document.STAGES]
    stages = {stage: order.index(key) for stage, key in _STAGE_KEYS.items()}
    columns["move"] = moves
    columns["stage"] = [stages.get(stage, -1) for stage in columns["stage"]]
    for name in ("eval", "estimate"):
        columns[name] = [None if value == NO_SCORE else value for value in columns[name]]
    ends = zip(columns["value"], columns["end"], strict=True)
    columns["value"] = [None if end == tracing.STOPPED else value for value, end in ends]
    return columns


def _priors(board: chess.Board, document: Document, network: Network, least_depth: int) -> list[float | None]:
    """Returns the column "prior", for the quiet moves of nodes from `least_depth` on that are not in check.

    `board` is the recording's position.
    """
    nodes, moves = document["nodes"], document["moves"]
    evaluator = NetworkEvaluator(network)
    boards: dict[int, chess.Board] = {-1: board}

    def board_at(row: int) -> chess.Board:
        if row not in boards:
            boards[row] = board_at(nodes["parent"][row]).copy(stack=False)
            if nodes["move"][row] >= 0:
                boards[row].push(chess.Move.from_uci(moves[nodes["move"][row]]))
        return boards[row]

    priors: dict[int, dict[str, float]] = {}
    for row, (depth, in_quiescence) in enumerate(zip(nodes["depth"], nodes["quiescence"], strict=True)):
        if depth >= least_depth and not in_quiescence and not board_at(row).is_check():
            rated = evaluator.priors(board_at(row))
            priors[row] = {move.uci(): round(100 * prior, 1) for move, prior in rated.items()}
    parents = zip(nodes["parent"], nodes["move"], strict=True)
    return [priors.get(parent, {}).get(moves[move] if move >= 0 else "") for parent, move in parents]


def _value(iteration: Iteration | None) -> int | None:
    """Returns the score of an iteration; None without one, or if the search stopped in the first iteration."""
    return None if iteration is None or iteration.score == NO_SCORE else iteration.score


def _iterations(search: _Search, rows: Any, chess960: bool) -> list[dict[str, Any]]:
    """Returns the document's "iterations". If the search ended during the last iteration, its "complete" is false."""
    found: list[tuple[int, Iteration | None, int, int]] = []
    for iteration, (row_end, node_end) in zip(search.iterations, search.ends, strict=True):
        found.append((iteration.depth, iteration, row_end, node_end))
    total = int(search.worker["nodes"])
    if not search.ends or search.ends[-1] != (len(rows), total):
        found.append((int(search.worker["root_depth"]), None, len(rows), total))
    result: list[dict[str, Any]] = []
    first = nodes_before = 0
    for depth, known, row_end, node_end in found:
        # The score of an incomplete iteration is that of the iteration before it.
        value = known.score if known is not None and known.complete else None
        result.append(
            {
                "depth": depth,
                "score": score_text(value, _SCORES),
                "value": value,
                "nodes": node_end - nodes_before,
                "line": [] if known is None else [decode(move, chess960).uci() for move in known.line],
                "first_node": first if row_end > first else -1,
                "last_node": row_end - 1 if row_end > first else -1,
                "complete": value is not None,
            }
        )
        first, nodes_before = row_end, node_end
    return result
