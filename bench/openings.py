"""Opening books: EPD (or FEN) lines and PGN games, plain or compressed, become a list of `Opening`.

A book of a quarter of a million lines is cut into entries without looking at them; only the entries that are asked
for (`count`) are parsed and checked for legality. An entry that is broken, or of another variant than standard chess,
is reported as `file:line: why` and left out, and the rest goes on.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import chess
import chess.pgn

from engine.errors import CommandError
from engine.files import printable, quoted, read_bytes, reason, shown

#: Orders in which a book is read.
ORDERS: Final = ("sequential", "random")

#: A book is at most this large, compressed and decompressed, in bytes.
MOST_BYTES: Final = 512 << 20

#: One entry is at most this long, in characters: a position, or a game.
_LONGEST_LINE: Final = 10_000
_LONGEST_GAME: Final = 1_000_000

_DECOMPRESSORS: Final[dict[str, Callable[[IO[bytes]], io.BufferedIOBase]]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}

#: What reading damaged compressed data raises.
_DAMAGED: Final = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    MemoryError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)

#: The counters of checks in the FEN of a Three-check position: "3+3" or "+0+0".
_CHECKS: Final = re.compile(r"\d\+\d|\+\d\+\d")


class BookError(CommandError, ValueError):
    """A book that cannot be used at all; the message names the file."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Where a game starts: the position `fen`, then `moves` in UCI notation that both sides have to accept."""

    fen: str = chess.STARTING_FEN
    moves: tuple[str, ...] = ()
    name: str = ""

    def board(self) -> chess.Board:
        """The position after `moves`, with the moves on its stack."""
        board = chess.Board(self.fen)
        for move in self.moves:
            board.push_uci(move)
        return board


@dataclass(frozen=True, slots=True)
class _Entry:
    """One uninterpreted entry of a book and the line on which it starts."""

    line: int
    text: str


def load_openings(
    path: str | Path,
    order: str = "sequential",
    seed: int = 0,
    *,
    count: int | None = None,
    plies: int | None = None,
    problems: list[str] | None = None,
) -> list[Opening]:
    """Reads the book `path` (`.epd`, `.fen`, `.txt`, `.pgn`, or one of them in `.zip`, `.gz`, `.bz2` or `.xz`).

    At most `count` openings are returned (all without it), in the book's order or in a random one that depends on
    `seed` alone. `plies` cuts the openings of a PGN book. What is wrong with single entries is appended to `problems`
    as `file:line: why`. Raises `BookError` when the file cannot be read or holds no usable opening.
    """
    if order not in ORDERS:
        raise BookError(f"{shown(path)}: the order of a book is one of {', '.join(ORDERS)}, not {quoted(order)}")
    path = Path(path)
    name, text = _read_book(path)
    is_pgn = name.lower().endswith(".pgn")
    entries = list(_pgn_entries(text) if is_pgn else _epd_entries(text))
    if order == "random":
        random.Random(seed).shuffle(entries)
    openings: list[Opening] = []
    for entry in entries:
        if count is not None and len(openings) >= count:
            break
        try:
            openings.append(_pgn_opening(entry, plies) if is_pgn else _epd_opening(entry))
        except ValueError as error:
            if problems is not None:
                problems.append(f"{shown(path)}:{entry.line}: {shown(str(error))}")
    if not openings and (count is None or count > 0):
        raise BookError(f"{shown(path)}: holds no usable opening")
    return openings


# --------------------------------------------------------------------------------------------------------------
# The file
# --------------------------------------------------------------------------------------------------------------


def _read_book(path: Path) -> tuple[str, str]:
    """The name that tells the format, without a compressor's ending, and the decoded text."""
    try:
        data = read_bytes(path, MOST_BYTES)
    except FileNotFoundError:
        raise BookError(f"{shown(path)}: there is no such book") from None
    except OSError as error:
        raise BookError(f"{shown(path)}: {reason(error)}") from None
    name = path.name
    ending = path.suffix.lower()
    try:
        if ending == ".zip":
            name, data = _unzip(data)
        elif ending in _DECOMPRESSORS:
            with _DECOMPRESSORS[ending](io.BytesIO(data)) as stream:
                name, data = path.stem, _decompressed(stream)
    except BookError as error:
        raise BookError(f"{shown(path)}: {error}") from None
    except _DAMAGED as error:
        why = str(error) or type(error).__name__
        raise BookError(f"{shown(path)}: cannot be read: {shown(why)}") from None
    try:
        return name, data.decode("utf-8-sig")
    except UnicodeDecodeError:  # PGN was Latin-1 for most of its life
        return name, data.decode("latin-1")


def _decompressed(stream: io.BufferedIOBase | IO[bytes]) -> bytes:
    """The rest of a stream. Raises BookError, without the file's name, once it is larger than any book."""
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise BookError(f"is larger than {MOST_BYTES >> 20} MiB when it is decompressed")
    return data


def _unzip(data: bytes) -> tuple[str, bytes]:
    """The name and content of the one book in an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        books = [
            item.filename
            for item in archive.infolist()
            if not item.is_dir() and not item.filename.startswith("__MACOSX/")
        ]
        books = [book for book in books if book.lower().endswith((".pgn", ".epd", ".fen", ".txt"))] or books
        if len(books) != 1:
            raise BookError(f"one book is expected in the archive, not {len(books)}")
        with archive.open(books[0]) as stream:
            return books[0], _decompressed(stream)


# --------------------------------------------------------------------------------------------------------------
# EPD and FEN lines
# --------------------------------------------------------------------------------------------------------------


def _epd_entries(text: str) -> Iterator[_Entry]:
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if line and not line.startswith("#"):
            yield _Entry(number, line)


def _epd_opening(entry: _Entry) -> Opening:
    """Parses one line; raises `ValueError` saying what is wrong with it."""
    if len(entry.text) > _LONGEST_LINE:
        raise ValueError(f"a line of {len(entry.text)} characters is no position")
    board, operations = parse_position(entry.text)
    identity = operations.get("id")
    return Opening(board.fen(), (), printable(identity) if isinstance(identity, str) else f"line {entry.line}")


def parse_position(line: str, chess960: bool = False) -> tuple[chess.Board, dict[str, object]]:
    """The position and the EPD operations of a FEN or EPD line; raises `ValueError` if it cannot be played from."""
    fields = line.split()
    board = chess.Board(chess960=chess960)
    operations: dict[str, object] = {}
    if len(fields) < 4:
        raise ValueError("a position needs at least four fields")
    if "[" in fields[0] or "~" in fields[0] or fields[0].count("/") > 7:
        raise ValueError("a position of Crazyhouse, with pieces in hand or marked as promoted: only chess is played")
    if any(_CHECKS.fullmatch(field) for field in fields[4:7]):
        raise ValueError("a position of Three-check, which counts checks: only chess is played")
    if len(fields) >= 6 and fields[4].isdigit() and fields[5].isdigit():
        board.set_fen(" ".join(fields[:6]))
    else:
        operations.update(board.set_epd(line))
    if not board.is_valid():
        raise ValueError(f"not a legal position: {board.fen()}")
    if not any(board.legal_moves):
        raise ValueError(f"nobody can move: {board.fen()}")
    return board, operations


# --------------------------------------------------------------------------------------------------------------
# PGN games
# --------------------------------------------------------------------------------------------------------------


def _pgn_entries(text: str) -> Iterator[_Entry]:
    """Cuts a PGN file before each tag section. A `[` that opens a line inside a comment does not start a game."""
    lines = text.splitlines(keepends=True)
    start = 0
    in_moves = in_comment = False
    for number, line in enumerate(lines):
        if line.startswith("[") and not in_comment:
            if in_moves:
                yield _Entry(start + 1, "".join(lines[start:number]))
                start, in_moves = number, False
        elif line.strip() and not line.startswith("%"):
            in_moves = True
            opened, closed = line.rfind("{"), line.rfind("}")
            if opened != closed:
                in_comment = opened > closed
    if in_moves or start < len(lines):
        last = "".join(lines[start:])
        if last.strip():
            yield _Entry(start + 1, last)


class _Line(chess.pgn.BaseVisitor[Opening]):
    """Collects the main line of one game while it is parsed, which is twice as fast as a tree of moves."""

    def __init__(self, entry: _Entry, plies: int | None) -> None:
        self._entry = entry
        self._plies = plies
        self._tags: dict[str, str] = {}
        self._moves: list[str] = []
        self._start = chess.STARTING_FEN
        self._end = chess.Board()
        self._error: Exception | None = None

    def visit_header(self, tagname: str, tagvalue: str) -> None:
        self._tags[tagname] = tagvalue

    def begin_variation(self) -> chess.pgn.SkipType:
        return chess.pgn.SKIP

    def visit_board(self, board: chess.Board) -> None:
        if self._error is None and (board.uci_variant != "chess" or board.chess960):
            variant = quoted(self._tags.get("Variant", "Chess960"))
            self._error = ValueError(f"a game of the variant {variant}: openings are of standard chess")
        if not self._moves:
            self._start = board.fen()
        if self._plies is None or len(self._moves) <= self._plies:
            self._end = board.copy(stack=False)

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        self._moves.append(move.uci())

    def handle_error(self, error: Exception) -> None:
        self._error = self._error or error

    def result(self) -> Opening:
        if self._error is not None:
            raise ValueError(str(self._error))
        if not self._end.is_valid():
            raise ValueError(f"not a legal position: {self._end.fen()}")
        if not any(self._end.legal_moves):
            raise ValueError("nobody can move at the end of the opening")
        named = (self._tags.get(tag, "") for tag in ("Opening", "ECO", "Eco"))
        name = next((value for value in named if value not in ("", "?")), f"line {self._entry.line}")
        return Opening(self._start, tuple(self._moves[: self._plies]), printable(name))


def _pgn_opening(entry: _Entry, plies: int | None) -> Opening:
    """Parses one game; raises `ValueError` saying what is wrong with it."""
    if len(entry.text) > _LONGEST_GAME:
        raise ValueError(f"a game of {len(entry.text)} characters is no opening")
    opening = chess.pgn.read_game(io.StringIO(entry.text), Visitor=lambda: _Line(entry, plies))
    if opening is None:
        raise ValueError("no game here")
    return opening


# --------------------------------------------------------------------------------------------------------------
# Random openings
# --------------------------------------------------------------------------------------------------------------


def parse_plies(text: str) -> tuple[int, int]:
    """Reads `8` or `8-10`: the least and the most random plies. Raises `BookError` for anything else."""
    first, _, last = text.partition("-")
    try:
        plies = int(first), int(last or first)
    except ValueError:
        plies = 0, -1
    if not 0 <= plies[0] <= plies[1] <= 100:
        raise BookError(f"--plies {text}: expected a number up to 100, or two with a dash between them")
    return plies


def play_random_moves(board: chess.Board, plies: tuple[int, int], generator: random.Random) -> bool:
    """Plays random legal moves, from `plies[0]` to `plies[1]` of them. Mutates `board` and `generator`.

    False where the game ends on the way or the side to move is in check in the end: no opening to play a game from.
    """
    for _ in range(generator.randint(*plies)):
        moves = list(board.legal_moves)
        if not moves:
            return False
        board.push(generator.choice(moves))
    return not board.is_check() and any(board.legal_moves)
