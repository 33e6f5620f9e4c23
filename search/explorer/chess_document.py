"""The document of a recorded chess search: what it holds, how it is saved, and what is refused.

A document is one JSON object, in columns so that 100,000 visits stay small. Imports nothing heavy: a recording can be
read where there is no compiler.

    format, version, kind   "secateur trace", 1, "chess"
    engine, evaluation      what searched, with its version, and what valued its positions
    fen, before, position   the game's start, its moves (UCI), and the position that was searched (FEN)
    chess960                whether castling is written as king takes rook
    limits, without         {"depth", "nodes", "milliseconds"} with null for none; techniques that were switched off
    scores                  {"infinite", "mate", "mate_bound"}: a score of mate in n plies is mate - n
    result                  {"move", "score", "value", "depth", "line", "nodes", "visits"}
    iterations              one object a depth: {"depth", "score", "value", "alpha", "beta", "nodes", "line",
                            "first_node", "last_node", "complete", "windows"}; alpha and beta are the last window's, and
                            each of the windows has {"alpha", "beta", "value", "outcome", "first_node", "last_node"}
    nodes                   the columns NODE_COLUMNS, a row a visit, in order of entering
    pruned                  the columns PRUNED_COLUMNS, a row a move that was skipped
    moves                   texts (UCI, "0000" for passing) that the columns "move" index; -1 is no move
    reasons                 [{"key", "text"}] that the columns "end" and "reason" index
    searches, stages, types [{"key", "text"}] that the columns "search", "stage" and "type" index
    statistics              see `search.explorer.measures`
    truncated, left_out     whether visits or skipped moves found no room, and how many: {"visits", "pruned"}
    costs                   null, or what the search takes without single techniques, see `search.explorer.costs`

All scores in columns are centipawns from the view of the side to move at that node. A position that is searched again,
with another depth or window, is another visit below the same parent; "search" says why.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Any, Final

from engine.files import Output, parse_json, read_bytes, shown

FORMAT: Final = "secateur trace"
VERSION: Final = 1
KIND: Final = "chess"

#: A recording is at most this large, compressed and decompressed, in bytes: much larger than a tree's text.
MOST_BYTES: Final = 512 << 20

#: JSON objects have no better type than this one.
Document = dict[str, Any]

#: How a node ended and why a move was skipped: key and what it means, in the order of the codes of
#: `search.kernels.tracing`.
REASONS: Final = (
    ("stopped", "the search was stopped before this node was done"),
    ("draw", "drawn by the rules: repetition, fifty moves, or too little material to mate"),
    ("mate-distance", "a shorter mate is already known: nothing from here could change the result"),
    ("table", "the transposition table holds a search as deep whose result settles this window"),
    ("razoring", "so far below alpha that only captures could help, and quiescence says they do not"),
    ("reverse-futility", "so far above beta that the opponent's next plies will not bring it back"),
    ("null-move", "even passing fails high: a real move surely would"),
    ("probcut", "a capture comes out far above beta in a shallower search"),
    ("multi-cut", "even without the table's move the position fails high: there is more than one refutation"),
    ("cutoff", "a move is worth beta or more: the opponent would not let this happen"),
    ("all-moves", "every move that was not skipped has been searched"),
    ("only-move", "but for the move that was left out to test whether it is singular, there is none"),
    ("checkmate", "the side to move is checkmated"),
    ("stalemate", "the side to move has no legal move: stalemate"),
    ("stand-pat", "in quiescence the static evaluation alone is worth beta or more"),
    ("horizon", "the search is as deep as it can go"),
    ("late-move", "late move pruning: so many quiet moves came before it"),
    ("futility", "futility: it will not lift an evaluation so far below alpha"),
    ("evasions", "quiescence: enough other ways out of the check have been tried"),
    ("history", "history pruning: it has failed time and again"),
    ("exchange-quiet", "exchange pruning: the piece would be lost on its new square"),
    ("exchange-noisy", "exchange pruning: it loses more material than the depth can win back"),
    ("delta", "delta pruning: not even the victim for free lifts the score to alpha"),
    ("exchange-quiescence", "quiescence: the exchange loses material"),
    ("excluded", "left out on purpose, to see whether the others come near it"),
)

#: Reasons that can be searched without: each is a technique that can be switched off.
SWITCHES: Final = (
    "table",
    "razoring",
    "reverse-futility",
    "null-move",
    "probcut",
    "multi-cut",
    "late-move",
    "futility",
    "history",
    "exchange-quiet",
    "exchange-noisy",
    "delta",
    "exchange-quiescence",
    "evasions",
)

#: Why a position is searched, in the order of the codes of `search.kernels.tracing`.
SEARCHES: Final = (
    ("window", "the root, with this window"),
    ("razor", "quiescence at the same position, to see whether captures help (razoring)"),
    ("verify", "the same position again without passing, to confirm a null move's cutoff"),
    ("singular", "the same position without the table's move, to see whether that is singular"),
    ("null", "the position after passing"),
    ("probe", "ProbCut: quiescence behind a capture"),
    ("probcut", "ProbCut: a shallower search behind a capture"),
    ("move", "a move, for the first time"),
    ("full-depth", "the same move again to its full depth: its reduced search beat alpha"),
    ("open-window", "the same move again with an open window: it beat alpha"),
)
#: Searches that count as nodes: those that begin with making a move or passing.
COUNTED_SEARCHES: Final = ("null", "probe", "move")
#: Searches of one move: the first, and those that repeat it.
MOVE_SEARCHES: Final = ("move", "full-depth", "open-window")

#: Where the move picker had the move from.
STAGES: Final = (
    ("root", "the root's moves, in the order of the last iteration"),
    ("table", "the move that the transposition table remembers"),
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

NODE_COLUMNS: Final = (
    "parent",
    "move",
    "ply",
    "depth",
    "alpha",
    "beta",
    "type",
    "eval",
    "estimate",
    "improving",
    "value",
    "stage",
    "search",
    "reduction",
    "extension",
    "end",
    "cutter",
    "moves_searched",
    "moves_pruned",
    "legal",
    "size",
    "quiescence",
)
PRUNED_COLUMNS: Final = ("node", "move", "reason")

#: Columns that hold null where there is nothing to say.
_NULLABLE: Final = ("eval", "estimate", "value")

#: Further fields of a document, and their types.
_FIELDS: Final[dict[str, type]] = {
    "engine": str,
    "evaluation": str,
    "fen": str,
    "before": list,
    "position": str,
    "chess960": bool,
    "limits": dict,
    "without": list,
    "scores": dict,
    "result": dict,
    "iterations": list,
    "nodes": dict,
    "pruned": dict,
    "moves": list,
    "reasons": list,
    "searches": list,
    "stages": list,
    "types": list,
    "statistics": dict,
    "truncated": bool,
    "left_out": dict,
}


class DocumentError(ValueError):
    """A document that cannot be used; the message says in one line what was expected and what was found."""


def table(pairs: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    """Keys with their texts as a document holds them."""
    return [{"key": key, "text": text} for key, text in pairs]


def keys(rows: list[dict[str, str]]) -> list[str]:
    """The keys of such a table, by index."""
    return [row["key"] for row in rows]


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
    """Writes a document to a file, compressed when its name ends in ".gz". Raises OSError."""
    output = recording_output(path)
    data = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    # Without a time stamp, so that the same search gives the same file.
    output.replace(gzip.compress(data, mtime=0) if output.path.suffix == ".gz" else data)


def recording_output(path: Path | Output) -> Output:
    """The file that a document is to be saved to. Raises OSError unless there is nothing, or a recording."""
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
        return check(parse(read_bytes(path, MOST_BYTES)))
    except DocumentError as error:
        raise DocumentError(f"{shown(path)}: {error}") from None


def parse(data: bytes) -> Any:
    """The JSON value in a file's bytes, compressed or not. Raises DocumentError."""
    data = decompressed(data)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DocumentError(f"expected UTF-8 text, found a byte {data[error.start]:#04x} at {error.start}") from None
    if not text.strip():
        raise DocumentError("expected a JSON object, found an empty file")
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
            raise DocumentError(f"the JSON text ends too early, at line {error.lineno}: it was cut off") from None
        raise DocumentError(f"no JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except ValueError as error:
        raise DocumentError(f"no JSON: {error}") from None


def decompressed(data: bytes) -> bytes:
    """A file's bytes, decompressed if it is compressed. Raises DocumentError."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            content = stream.read(MOST_BYTES + 1)
    except EOFError:
        raise DocumentError("the compressed file ends too early: it was cut off") from None
    except (OSError, zlib.error) as error:
        raise DocumentError(f"the compressed file is damaged: {error}") from None
    if len(content) > MOST_BYTES:
        raise DocumentError(f"is larger than {MOST_BYTES >> 20} MiB when it is decompressed")
    return content


# --------------------------------------------------------------------------------------------------------------
# What is refused
# --------------------------------------------------------------------------------------------------------------


def check(document: Any) -> Document:
    """The document if it is one that can be shown. Raises DocumentError."""
    if not isinstance(document, dict):
        raise DocumentError(f"expected a JSON object, found {_kind_of(document)}")
    for name, wanted in (("format", FORMAT), ("version", VERSION), ("kind", KIND)):
        found = document.get(name)
        if found != wanted or isinstance(found, bool):
            raise DocumentError(
                f'not a recorded chess search: expected "{name}": {_json(wanted)}, found {_json(found)}'
            )
    for name, kind in _FIELDS.items():
        if not isinstance(document.get(name), kind):
            raise DocumentError(f'"{name}": expected {_NAMES[kind]}, found {_kind_of(document.get(name))}')
    for name in ("infinite", "mate", "mate_bound"):
        _check_integer(document["scores"].get(name), f'"scores", "{name}"', 1, 1 << 31)
    for name in ("visits", "pruned"):
        _check_integer(document["left_out"].get(name), f'"left_out", "{name}"', 0, 1 << 62)
    for name in ("reasons", "searches", "stages", "types"):
        _check_table(document[name], name)
    if not all(isinstance(text, str) for text in document["moves"] + document["before"]):
        raise DocumentError('"moves" and "before": expected texts')
    _check_nodes(document)
    _check_pruned(document)
    _check_iterations(document)
    _check_costs(document.get("costs"))
    return document


def _check_table(rows: list[Any], name: str) -> None:
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("key"), str) or not isinstance(row.get("text"), str):
            raise DocumentError(f'"{name}": expected objects with "key" and "text", found {_json(row)}')
    wanted = {"searches": SEARCHES, "types": TYPES, "reasons": REASONS, "stages": STAGES}[name]
    missing = {key for key, _ in wanted} - {row["key"] for row in rows}
    if missing:
        raise DocumentError(f'"{name}": {min(missing)!r} is missing')


def _check_columns(columns: dict[str, Any], names: tuple[str, ...], where: str) -> int:
    """The rows of a table whose columns are there, all as long, and of whole numbers."""
    count = None
    for name in names:
        column = columns.get(name)
        if not isinstance(column, list):
            raise DocumentError(f'"{where}", "{name}": expected a list, found {_kind_of(column)}')
        if count is not None and len(column) != count:
            raise DocumentError(f'"{where}", "{name}": expected {count} rows, found {len(column)}')
        count = len(column)
        may_be_null = name in _NULLABLE
        for row, value in enumerate(column):
            if type(value) is not int and not (value is None and may_be_null):
                raise DocumentError(f'"{where}", "{name}", row {row}: expected a whole number, found {_json(value)}')
    return count or 0


def _check_range(column: list[int], low: int, high: int, where: str) -> None:
    """Values are within `low` to `high`, the latter excluded."""
    if column and not (min(column) >= low and max(column) < high):
        row = next(index for index, value in enumerate(column) if not low <= value < high)
        raise DocumentError(f"{where}, row {row}: expected {low} to {high - 1}, found {column[row]}")


def _check_nodes(document: Document) -> None:
    nodes = document["nodes"]
    count = _check_columns(nodes, NODE_COLUMNS, "nodes")
    for row, parent in enumerate(nodes["parent"]):
        if not -1 <= parent < row:
            raise DocumentError(f'"nodes", "parent", row {row}: expected -1 to {row - 1}, found {parent}')
    bounds = {
        "move": (-1, len(document["moves"])),
        "end": (0, len(document["reasons"])),
        "search": (0, len(document["searches"])),
        "stage": (-1, len(document["stages"])),
        "type": (0, len(document["types"])),
        "size": (1, 1 << 31),
        "ply": (0, 1 << 15),
        "quiescence": (0, 2),
    }
    for name, (low, high) in bounds.items():
        _check_range(nodes[name], low, high, f'"nodes", "{name}"')
    if count and nodes["parent"][0] != -1:
        raise DocumentError('"nodes": expected the root in row 0')


def _check_pruned(document: Document) -> None:
    pruned = document["pruned"]
    _check_columns(pruned, PRUNED_COLUMNS, "pruned")
    _check_range(pruned["node"], 0, len(document["nodes"]["parent"]), '"pruned", "node"')
    _check_range(pruned["move"], 0, len(document["moves"]), '"pruned", "move"')
    _check_range(pruned["reason"], 0, len(document["reasons"]), '"pruned", "reason"')


def _check_iterations(document: Document) -> None:
    count = len(document["nodes"]["parent"])
    for number, iteration in enumerate(document["iterations"], start=1):
        where = f'"iterations", number {number}'
        if not isinstance(iteration, dict):
            raise DocumentError(f"{where}: expected an object, found {_kind_of(iteration)}")
        for name in ("depth", "nodes", "alpha", "beta"):
            _check_integer(iteration.get(name), f'{where}, "{name}"', -(1 << 62), 1 << 62)
        for name in ("first_node", "last_node"):
            _check_integer(iteration.get(name), f'{where}, "{name}"', -1, count)
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
        _check_integer(row.get("nodes"), f'{where}, "nodes"', 1, 1 << 62)
        _check_integer(row.get("value"), f'{where}, "value"', -(1 << 31), 1 << 31)
    _check_integer(costs.get("depth"), '"costs", "depth"', 1, 1 << 15)


def _check_integer(value: Any, where: str, low: int, high: int) -> None:
    """`value` is a whole number from `low` up to, but not including, `high`."""
    if type(value) is not int:
        raise DocumentError(f"{where}: expected a whole number, found {_json(value)}")
    if not low <= value < high:
        raise DocumentError(f"{where}: expected {low} to {high - 1}, found {value}")


_NAMES: Final[dict[type, str]] = {
    str: "a text",
    list: "a list",
    dict: "an object",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


def _kind_of(value: Any) -> str:
    return _NAMES[type(value)]


def _json(value: Any) -> str:
    """A value as it may stand in a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
