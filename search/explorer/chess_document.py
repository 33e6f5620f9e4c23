"""The document of a recorded chess search: its fields and its files. This module does not import the kernels.

A document is one JSON object. Its long tables are stored as columns, so that a document with 100,000 visits is small.

    format, version, kind   "secateur trace", 1, "chess"
    engine, evaluation      the engine with its version, and the evaluation that it used
    fen, before, position   the game's first position (FEN), its moves (UCI), and the position that was searched (FEN)
    chess960                whether castling is written as king takes rook
    limits, without         {"depth", "nodes"}, null for no limit; the SWITCHES that were switched off
    scores                  {"infinite", "mate", "mate_bound"}: a mate in n plies scores mate - n, at least mate_bound
    result                  {"move", "score", "value", "depth", "line", "nodes", "visits"}: "score" is a text for
                            people, "value" the same as a number, "line" the principal variation. If the last iteration
                            is incomplete, "depth" and "line" are from that one, the score from the one before
    iterations              one object for each depth: {"depth", "score", "value", "nodes", "line", "first_node",
                            "last_node", "complete"}; "value" is null for an incomplete iteration
    nodes                   the columns NODE_COLUMNS, a row for each visit, in the order in which the visits began; if
                            the network has a policy, also "prior": the percentage that it gives to the row's quiet move
                            if its parent's depth is great enough for the policy to be asked, else null
    pruned                  the columns "node" (a row of `nodes`), "move" and "reason", a row for each skipped move
    moves                   UCI texts ("0000" for a null move); the columns "move" are indices into them, -1 for no move
    reasons                 [{"key", "text"}]; the columns "end" and "reason" are indices into this list
    searches, stages, types [{"key", "text"}]; the columns "search", "stage" and "type" are indices into these lists
    statistics              see `search.explorer.measures`
    truncated, left_out     whether the recording is incomplete, and how much is missing: {"visits", "pruned"}
    costs                   null, or node counts without each technique in turn, see `search.explorer.costs`

Scores in columns are centipawns from the view of the side to move at the row's node. If a move is searched again, with
another depth or window, the new search is another visit below the same parent; its column "search" says why.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Any, Final

from engine.files import Output, read_bytes
from search.techniques import BY_NAME

FORMAT: Final = "secateur trace"
VERSION: Final = 1
KIND: Final = "chess"

#: The maximum size, in bytes, of a file that `read_text` accepts, before and after decompression.
MOST_BYTES: Final = 512 << 20

#: A JSON object.
Document = dict[str, Any]

#: Why a node ended or a move was skipped: the key and meaning of each reason, in the order of the kernels' codes.
REASONS: Final = (
    ("stopped", "the search was stopped before this node ended"),
    ("draw", "a draw by the rules: repetition, fifty moves, or too little material to mate"),
    ("mate-distance", "a shorter mate is already known: nothing here can change the result"),
    ("table", "the transposition table has a score or bound from an equal or greater depth that decides this window"),
    ("reverse-futility", "the evaluation is so far above beta that the opponent cannot catch up within the next plies"),
    ("null-move", "even passing fails high, so a real move surely will"),
    ("probcut", "a shallower search of a capture scores far above beta"),
    ("multi-cut", "the position fails high even without the TT move: more than one move refutes it"),
    ("cutoff", "a move scores at least beta, which the opponent would not allow; the result is that or nearer beta"),
    ("all-moves", "every move that was not skipped has been searched"),
    ("only-move", "the singular search leaves out the only legal move"),
    ("checkmate", "the side to move is checkmated"),
    ("stalemate", "the side to move has no legal move: stalemate"),
    ("stand-pat", "in quiescence, the static evaluation alone is at least beta"),
    ("horizon", "the search has reached its greatest distance from the root"),
    ("late-move", "late move pruning: enough moves came before this one"),
    ("futility", "futility pruning: the evaluation is so far below alpha that this move will hardly raise it to alpha"),
    ("evasions", "quiescence: enough other check evasions have been tried"),
    ("history", "history pruning: this move has often failed before"),
    ("exchange-quiet", "SEE pruning: the moved piece would lose too much material on its new square"),
    ("exchange-noisy", "SEE pruning: this move loses more material than a search of this depth can win back"),
    ("delta", "quiescence: even winning the captured piece for nothing would hardly raise the score above alpha"),
    ("enough", "quiescence: enough moves were tried, and this one is neither a check nor a recapture"),
    ("exchange-quiescence", "quiescence: the exchange that this move starts loses material"),
    ("excluded", "the TT move, which the singular search leaves out to see whether any other move is nearly as good"),
)

#: The keys of reasons whose technique can be switched off. A search without a technique shows what it saves.
SWITCHES: Final = tuple(key for key, _ in REASONS if key in BY_NAME)

#: Why a position is searched: the key and meaning of each reason, in the order of the kernels' codes (see `tracing`).
SEARCHES: Final = (
    ("window", "the root, with this window"),
    ("verify", "the same position again without passing, to confirm a null move's cutoff"),
    ("singular", "the same position without the TT move, to see whether that move is singular"),
    ("null", "the position after passing"),
    ("probe", "ProbCut: quiescence after a capture"),
    ("probcut", "ProbCut: a shallower search after a capture"),
    ("move", "a move, for the first time"),
    ("full-depth", "the same move again to its full depth, because its reduced search beat alpha"),
    ("open-window", "the same move again with an open window, because it beat alpha"),
)
#: The keys of SEARCHES for a move: its first search, and the repetitions of this search.
MOVE_SEARCHES: Final = ("move", "full-depth", "open-window")

#: The stages in which the move picker returns moves: key and meaning.
STAGES: Final = (
    ("root", "the root's moves, in the order of the last iteration"),
    ("table", "the move from the transposition table (TT)"),
    ("noisy", "captures and promotions that lose no material"),
    ("quiet", "quiet moves by their history"),
    ("loser", "captures and promotions that lose material, and underpromotions"),
)

TYPES: Final = (
    ("PV", "an exact value is wanted"),
    ("CUT", "a cutoff is expected"),
    ("ALL", "no move is expected to beat alpha"),
)

_TABLES: Final = {"reasons": REASONS, "searches": SEARCHES, "stages": STAGES, "types": TYPES}
#: For each column of nodes that contains codes, the table into which the codes are indices.
_CODES: Final = {"end": "reasons", "search": "searches", "stage": "stages", "type": "types"}

#: The columns of nodes.
NODE_COLUMNS: Final = (
    *("parent", "move", "ply", "depth", "alpha", "beta", "type", "eval", "estimate", "improving", "value", "stage"),
    *("search", "reduction", "extension", "end", "cutter", "moves_searched", "moves_pruned", "legal", "size"),
    "quiescence",
)


class DocumentError(ValueError):
    """Raised if a file cannot be read as text; the message says why in one line."""


class RecordingError(ValueError):
    """Raised if a search cannot be recorded; the message says why in one line."""


def tables() -> dict[str, list[dict[str, str]]]:
    """Returns the tables that every document contains, by name; each one is a list of {"key", "text"}."""
    return {name: [{"key": key, "text": text} for key, text in rows] for name, rows in _TABLES.items()}


def decoded(document: Document) -> dict[str, list[Any]]:
    """Returns the columns of nodes by name, with keys instead of codes; "" means no stage."""
    nodes: dict[str, list[Any]] = dict(document["nodes"])
    for name, table in _CODES.items():
        keys = [*(row["key"] for row in document[table]), ""]
        nodes[name] = [keys[code] for code in nodes[name]]
    return nodes


def skips(document: Document) -> list[tuple[int, str, str]]:
    """Returns a triple for each skipped move: the row of its node, the move (UCI), and the key of the reason."""
    pruned, moves, reasons = document["pruned"], document["moves"], document["reasons"]
    rows = zip(pruned["node"], pruned["move"], pruned["reason"], strict=True)
    return [(node, moves[move], reasons[reason]["key"]) for node, move, reason in rows]


def score_text(score: int | None, scores: dict[str, int]) -> str:
    """Formats a score, given a document's `scores`, as "+0.31", "#3" (mate in 3 moves), "#-2", "+∞", or "-" if None."""
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
    """Writes a document as JSON, compressed if the name ends in ".gz". Keeps an old file beside it. Raises OSError."""
    output = recording_output(path)
    data = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    # There is no time stamp, so the same search gives the same file.
    output.replace(gzip.compress(data, mtime=0) if output.path.suffix == ".gz" else data, keep_old=True)


def recording_output(path: Path | Output) -> Output:
    """Returns a document's output file. Raises OSError unless it is writable and new, empty or a chess recording."""
    return Output.at(path, _is_recording, "recording")


def _is_recording(head: bytes) -> bool:
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(31).decompress(head, 100)
        except zlib.error:
            return False
    return head.startswith(b'{"format":"%s","version":%d,"kind":"%s"' % (FORMAT.encode(), VERSION, KIND.encode()))


def read_text(path: Path) -> str:
    """Returns a file's text, decompressed if necessary. Raises OSError, and DocumentError if the content is invalid."""
    data = read_bytes(path, MOST_BYTES)
    if data.startswith(b"\x1f\x8b"):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                data = stream.read(MOST_BYTES + 1)
        except EOFError:
            raise DocumentError("the compressed file is truncated") from None
        except (OSError, zlib.error) as error:
            raise DocumentError(f"the compressed file is damaged: {error}") from None
        if len(data) > MOST_BYTES:
            raise DocumentError(f"larger than {MOST_BYTES >> 20} MiB after decompression")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"not a text file: byte {error.start} is not UTF-8") from None
