"""Opening books: EPD (or FEN) lines and PGN games, plain or compressed, become a list of `Opening`.

A book of a quarter of a million lines is cut into entries without looking at them; only the entries that are asked
for (`count`) are parsed and checked for legality. An entry that is broken is reported as `file:line: why` and left
out, and the rest goes on.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import chess
import chess.pgn

from engine.errors import CommandError

#: Orders in which a book is read.
ORDERS: Final = ("sequential", "random")

_DECOMPRESSORS: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}


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
        raise BookError(f"{path}: the order of a book is one of {', '.join(ORDERS)}, not '{order}'")
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
                problems.append(f"{path}:{entry.line}: {error}")
    if not openings and (count is None or count > 0):
        raise BookError(f"{path}: holds no usable opening")
    return openings


# --------------------------------------------------------------------------------------------------------------
# The file
# --------------------------------------------------------------------------------------------------------------


def _read_book(path: Path) -> tuple[str, str]:
    """The name that tells the format, without a compressor's ending, and the decoded text."""
    try:
        data = path.read_bytes()
        name = path.name
        ending = path.suffix.lower()
        if ending == ".zip":
            name, data = _unzip(data)
        elif ending in _DECOMPRESSORS:
            name, data = path.stem, _DECOMPRESSORS[ending](data)
    except FileNotFoundError:
        raise BookError(f"{path}: there is no such book") from None
    except (OSError, EOFError, zipfile.BadZipFile, lzma.LZMAError, NotImplementedError, RuntimeError) as error:
        raise BookError(f"{path}: cannot be read: {error}") from error
    try:
        return name, data.decode("utf-8-sig")
    except UnicodeDecodeError:  # PGN was Latin-1 for most of its life
        return name, data.decode("latin-1")


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
            raise zipfile.BadZipFile(f"expected one book in the archive, found {len(books)}")
        return books[0], archive.read(books[0])


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
    board, operations = parse_position(entry.text)
    identity = operations.get("id")
    return Opening(board.fen(), (), identity if isinstance(identity, str) else f"line {entry.line}")


def parse_position(line: str, chess960: bool = False) -> tuple[chess.Board, dict[str, object]]:
    """The position and the EPD operations of a FEN or EPD line; raises `ValueError` if it cannot be played from."""
    fields = line.split()
    board = chess.Board(chess960=chess960)
    operations: dict[str, object] = {}
    if len(fields) < 4:
        raise ValueError("a position needs at least four fields")
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
        return Opening(self._start, tuple(self._moves[: self._plies]), name)


def _pgn_opening(entry: _Entry, plies: int | None) -> Opening:
    """Parses one game; raises `ValueError` saying what is wrong with it."""
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
