"""The document of a recorded chess search: its fields, its files, and its check. Needs no compiler.

A document is one JSON object. Its long tables are columns, so that 100,000 visits stay small.

    format, version, kind   "secateur trace", 1, "chess"
    engine, evaluation      the engine with its version, and the evaluation that it used
    fen, before, position   the game's first position, its moves (UCI), and the position that was searched (FEN)
    chess960                whether castling is written as king takes rook
    limits, without         {"depth", "nodes", "milliseconds"}, null for none; the techniques that were switched off
    scores                  {"infinite", "mate", "mate_bound"}: a mate in n plies scores mate - n
    result                  {"move", "score", "value", "depth", "line", "nodes", "visits"}
    iterations              one object for each depth: {"depth", "score", "value", "alpha", "beta", "nodes", "line",
                            "first_node", "last_node", "complete", "windows"}; alpha and beta are those of the last
                            window; a window is {"alpha", "beta", "value", "outcome", "first_node", "last_node"}
    nodes                   the columns NODE_COLUMNS, a row for each visit, in the order of entering
    pruned                  the columns PRUNED_COLUMNS, a row for each skipped move
    moves                   texts (UCI, "0000" for a null move) that the columns "move" index; -1 is no move
    reasons                 [{"key", "text"}] that the columns "end" and "reason" index
    searches, stages, types [{"key", "text"}] that the columns "search", "stage" and "type" index
    statistics              see `search.explorer.measures`
    truncated, left_out     whether the recording was too small, and how much is missing: {"visits", "pruned"}
    costs                   null, or the costs without single techniques, see `search.explorer.costs`

Scores in columns are centipawns from the view of the side to move at that node. When a position is searched again, with
another depth or window, that is another visit below the same parent; "search" says why.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Any, Final

from engine.files import Output, parse_json, read_bytes, shown
from search.techniques import BY_NAME

FORMAT: Final = "secateur trace"
VERSION: Final = 1
KIND: Final = "chess"

#: The largest recording in bytes, compressed and decompressed.
MOST_BYTES: Final = 512 << 20

#: A JSON object.
Document = dict[str, Any]

#: How a node ended or why a move was skipped: key and meaning, by the codes of `search.kernels.tracing`.
REASONS: Final = (
    ("stopped", "the search was stopped before this node ended"),
    ("draw", "a draw by the rules: repetition, fifty moves, or too little material to mate"),
    ("mate-distance", "a shorter mate is already known: nothing here can change the result"),
    ("table", "the transposition table holds a result of at least this depth that settles this window"),
    ("razoring", "so far below alpha that only captures could help, and quiescence says they do not"),
    ("reverse-futility", "so far above beta that the opponent cannot catch up in the next plies"),
    ("null-move", "even passing fails high: a real move surely would"),
    ("probcut", "a capture is far above beta in a shallower search"),
    ("multi-cut", "the position fails high even without the table's move: more than one move refutes it"),
    ("cutoff", "a move is worth beta or more: the opponent would not allow this position"),
    ("all-moves", "every move that was not skipped has been searched"),
    ("only-move", "the test for a singular move leaves that move out, and there is no other"),
    ("checkmate", "the side to move is checkmated"),
    ("stalemate", "the side to move has no legal move: stalemate"),
    ("stand-pat", "in quiescence the static evaluation alone is worth beta or more"),
    ("horizon", "the search is as deep as it can go"),
    ("late-move", "late move pruning: enough quiet moves came before it"),
    ("futility", "futility: it will not lift an evaluation so far below alpha"),
    ("evasions", "quiescence: enough other ways out of the check have been tried"),
    ("history", "history pruning: it has failed again and again"),
    ("exchange-quiet", "SEE pruning: the piece would be lost on its new square"),
    ("exchange-noisy", "SEE pruning: it loses more material than the depth can win back"),
    ("delta", "delta pruning: not even a free capture lifts the score to alpha"),
    ("exchange-quiescence", "quiescence: the exchange loses material"),
    ("excluded", "left out on purpose, to see whether the other moves come near it"),
)

#: Reasons whose technique can be switched off, so that a search without it shows what it saves.
SWITCHES: Final = tuple(key for key, _ in REASONS if key in BY_NAME)

#: Why a position is searched, by the codes of `search.kernels.tracing`.
SEARCHES: Final = (
    ("window", "the root, with this window"),
    ("razor", "quiescence at the same position, to see whether captures help (razoring)"),
    ("verify", "the same position again without passing, to confirm a null move's cutoff"),
    ("singular", "the same position without the table's move, to see whether that move is singular"),
    ("null", "the position after passing"),
    ("probe", "ProbCut: quiescence after a capture"),
    ("probcut", "ProbCut: a shallower search after a capture"),
    ("move", "a move, for the first time"),
    ("full-depth", "the same move again to its full depth: its reduced search beat alpha"),
    ("open-window", "the same move again with an open window: it beat alpha"),
)
#: Searches of one move: the first, and those that repeat it.
MOVE_SEARCHES: Final = ("move", "full-depth", "open-window")

#: Where the move picker got the move from.
STAGES: Final = (
    ("root", "the root's moves, in the order of the last iteration"),
    ("table", "the move that the transposition table holds"),
    ("noisy", "captures and promotions that lose no material"),
    ("killer", "a quiet move that refuted a sibling"),
    ("counter", "the quiet move that last refuted the opponent's move"),
    ("quiet", "quiet moves by their history"),
    ("loser", "captures that lose material"),
)

TYPES: Final = (
    ("PV", "an exact value is wanted"),
    ("CUT", "a cutoff is expected"),
    ("ALL", "no move is expected to beat alpha"),
)

_TABLES: Final = {"reasons": REASONS, "searches": SEARCHES, "stages": STAGES, "types": TYPES}
#: The tables that columns of nodes index.
_CODES: Final = {"end": "reasons", "search": "searches", "stage": "stages", "type": "types"}

_SCORE: Final = (-(1 << 15), 1 << 15)
_COUNT: Final = (0, 1 << 31)
#: The columns of nodes and the values that they may hold: from the first number up to, but not including, the second. A
#: text stands for the length of that table.
NODE_COLUMNS: Final[dict[str, tuple[int, int | str]]] = {
    "parent": (-1, "nodes"),
    "move": (-1, "moves"),
    "ply": (0, 1 << 15),
    "depth": _SCORE,
    "alpha": _SCORE,
    "beta": _SCORE,
    "type": (0, "types"),
    "eval": _SCORE,
    "estimate": _SCORE,
    "improving": (0, 2),
    "value": _SCORE,
    "stage": (-1, "stages"),
    "search": (0, "searches"),
    "reduction": _SCORE,
    "extension": _SCORE,
    "end": (0, "reasons"),
    "cutter": _COUNT,
    "moves_searched": _COUNT,
    "moves_pruned": _COUNT,
    "legal": _COUNT,
    "size": (1, 1 << 31),
    "quiescence": (0, 2),
}
PRUNED_COLUMNS: Final[dict[str, tuple[int, int | str]]] = {
    "node": (0, "nodes"),
    "move": (0, "moves"),
    "reason": (0, "reasons"),
}
#: Columns that may hold null.
_NULLABLE: Final = ("eval", "estimate", "value")

#: The other fields by type, and the types' names in messages.
_FIELDS: Final[dict[type, tuple[str, ...]]] = {
    str: ("engine", "evaluation", "fen", "position"),
    bool: ("chess960", "truncated"),
    list: ("before", "without", "iterations", "moves", *_TABLES),
    dict: ("limits", "scores", "result", "nodes", "pruned", "statistics", "left_out"),
}
_NAMES: Final = {str: "a text", bool: "true or false", list: "a list", dict: "an object"}


class DocumentError(ValueError):
    """A document that cannot be used; the message says in one line what was expected and what was found."""


class RecordingError(ValueError):
    """A search that cannot be recorded; the message says why in one line."""


def tables() -> dict[str, list[dict[str, str]]]:
    """The tables of keys and texts as a document holds them."""
    return {name: [{"key": key, "text": text} for key, text in rows] for name, rows in _TABLES.items()}


def decoded(document: Document) -> dict[str, list[Any]]:
    """The columns of nodes, with keys instead of codes; "" for no stage."""
    nodes: dict[str, list[Any]] = dict(document["nodes"])
    for name, table in _CODES.items():
        keys = [*(row["key"] for row in document[table]), ""]
        nodes[name] = [keys[code] for code in nodes[name]]
    return nodes


def skips(document: Document) -> list[tuple[int, str, str]]:
    """The skipped moves: node, move and the key of the reason."""
    pruned, moves, reasons = document["pruned"], document["moves"], document["reasons"]
    rows = zip(pruned["node"], pruned["move"], pruned["reason"], strict=True)
    return [(node, moves[move], reasons[reason]["key"]) for node, move, reason in rows]


def score_text(score: int | None, scores: dict[str, int]) -> str:
    """A score for people: "+0.31", "#3" (mates in three moves), "#-2", an infinity, or "-" for none."""
    if score is None:
        return "-"
    if abs(score) >= scores["infinite"]:
        return "+∞" if score > 0 else "-∞"
    if score >= scores["mate_bound"]:
        return f"#{(scores['mate'] - score + 1) // 2}"
    if score <= -scores["mate_bound"]:
        return f"#-{(scores['mate'] + score) // 2}"
    return f"{score / 100:+.2f}"


# --------------------------------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------------------------------


def save(document: Document, path: Path | Output) -> None:
    """Writes a document to a file, compressed if the file's name ends in ".gz". Raises OSError."""
    output = recording_output(path)
    data = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    # Without a time stamp, so that the same search gives the same file.
    output.replace(gzip.compress(data, mtime=0) if output.path.suffix == ".gz" else data)


def recording_output(path: Path | Output) -> Output:
    """The file for a document. Raises OSError unless the file is new or holds a recording."""
    return Output.at(path, _is_recording, "recording")


def _is_recording(head: bytes) -> bool:
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(31).decompress(head, 100)
        except zlib.error:
            return False
    return head.startswith(b'{"format":' + json.dumps(FORMAT).encode())


def load(path: Path) -> Document:
    """Reads and checks a recording that `save` wrote. Raises OSError, or DocumentError that names the file."""
    try:
        return check(parse_json(read_text(path)))
    except ValueError as error:
        problem = str(error) if isinstance(error, DocumentError) else f"no JSON: {error}"
        raise DocumentError(f"{shown(path)}: {problem}") from None


def read_text(path: Path) -> str:
    """The text of a file, which may be compressed. Raises OSError, DocumentError."""
    data = read_bytes(path, MOST_BYTES)
    if data.startswith(b"\x1f\x8b"):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                data = stream.read(MOST_BYTES + 1)
        except EOFError:
            raise DocumentError("the compressed file ends too early: it was cut off") from None
        except (OSError, zlib.error) as error:
            raise DocumentError(f"the compressed file is damaged: {error}") from None
        if len(data) > MOST_BYTES:
            raise DocumentError(f"is larger than {MOST_BYTES >> 20} MiB after decompression")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"no text: byte {error.start} is not UTF-8") from None


# --------------------------------------------------------------------------------------------------------------
# The check
# --------------------------------------------------------------------------------------------------------------


def check(document: Any) -> Document:
    """Returns a valid document unchanged. Raises DocumentError."""
    if not isinstance(document, dict):
        raise DocumentError(f"expected a JSON object, found {_json(document)}")
    for name, wanted in (("format", FORMAT), ("version", VERSION), ("kind", KIND)):
        found = document.get(name)
        if found != wanted or isinstance(found, bool):
            raise DocumentError(
                f'not a recorded chess search: expected "{name}": {_json(wanted)}, found {_json(found)}'
            )
    for kind, names in _FIELDS.items():
        for name in names:
            if not isinstance(document.get(name), kind):
                raise DocumentError(f'"{name}": expected {_NAMES[kind]}, found {_json(document.get(name))}')
    for name in ("infinite", "mate", "mate_bound"):
        _check_number(document["scores"].get(name), 1, 1 << 31, f'"scores", "{name}"')
    for name in ("visits", "pruned"):
        _check_number(document["left_out"].get(name), 0, 1 << 62, f'"left_out", "{name}"')
    if not all(isinstance(text, str) for text in document["moves"] + document["before"]):
        raise DocumentError('"moves" and "before": expected texts')
    for name, rows in _TABLES.items():
        _check_table(document[name], rows, name)
    _check_columns(document, "nodes", NODE_COLUMNS)
    for row, parent in enumerate(document["nodes"]["parent"]):
        _check_number(parent, -1, row, f'"nodes", "parent", row {row}')
    _check_columns(document, "pruned", PRUNED_COLUMNS)
    _check_iterations(document)
    _check_costs(document.get("costs"))
    return document


def _check_table(rows: list[Any], known: tuple[tuple[str, str], ...], name: str) -> None:
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("key"), str) or not isinstance(row.get("text"), str):
            raise DocumentError(f'"{name}": expected objects with "key" and "text", found {_json(row)}')
    missing = {key for key, _ in known} - {row["key"] for row in rows}
    if missing:
        raise DocumentError(f'"{name}": {min(missing)!r} is missing')


def _check_columns(document: Document, where: str, columns: dict[str, tuple[int, int | str]]) -> None:
    """Every column is there, as long as the first, and holds whole numbers within its bounds."""
    table = document[where]
    lengths = {name: len(document[name]) for name in ("moves", *_TABLES)}
    lengths["nodes"] = len(document["nodes"]["parent"]) if where == "pruned" else 1 << 31
    count = None
    for name, (low, end) in columns.items():
        column = table.get(name)
        if not isinstance(column, list):
            raise DocumentError(f'"{where}", "{name}": expected a list, found {_json(column)}')
        count = len(column) if count is None else count
        if len(column) != count:
            raise DocumentError(f'"{where}", "{name}": expected {count} rows, found {len(column)}')
        high = lengths[end] if isinstance(end, str) else end
        may_be_null = name in _NULLABLE
        for row, value in enumerate(column):
            if not (type(value) is int and low <= value < high) and not (value is None and may_be_null):
                _check_number(value, low, high, f'"{where}", "{name}", row {row}')


def _check_iterations(document: Document) -> None:
    count = len(document["nodes"]["parent"])
    for number, iteration in enumerate(document["iterations"], start=1):
        where = f'"iterations", number {number}'
        if not isinstance(iteration, dict):
            raise DocumentError(f"{where}: expected an object, found {_json(iteration)}")
        for name in ("depth", "nodes", "alpha", "beta"):
            _check_number(iteration.get(name), -(1 << 62), 1 << 62, f'{where}, "{name}"')
        for name in ("first_node", "last_node"):
            _check_number(iteration.get(name), -1, count, f'{where}, "{name}"')
        if not isinstance(iteration.get("score"), str) or not isinstance(iteration.get("line"), list):
            raise DocumentError(f'{where}: expected "score" and "line"')


def _check_costs(costs: Any) -> None:
    if costs is None:
        return
    if not isinstance(costs, dict) or not isinstance(costs.get("without"), list):
        raise DocumentError('"costs": expected null or an object with a list "without", found ' + _json(costs))
    for number, row in enumerate([costs, *costs["without"]]):
        where = f'"costs", "without", number {number}' if number else '"costs"'
        if not isinstance(row, dict) or (number and row.get("reason") not in SWITCHES):
            raise DocumentError(f'{where}: expected an object with a "reason" that can be switched off')
        _check_number(row.get("nodes"), 1, 1 << 62, f'{where}, "nodes"')
        _check_number(row.get("value"), -(1 << 31), 1 << 31, f'{where}, "value"')
    _check_number(costs.get("depth"), 1, 1 << 15, '"costs", "depth"')


def _check_number(value: Any, low: int, high: int, where: str) -> None:
    """`value` is a whole number from `low` up to, but not including, `high`."""
    if type(value) is not int:
        raise DocumentError(f"{where}: expected a whole number, found {_json(value)}")
    if not low <= value < high:
        raise DocumentError(f"{where}: expected {low} to {high - 1}, found {value}")


def _json(value: Any) -> str:
    """A value as it may stand in a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
