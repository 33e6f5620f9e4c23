"""Reads opening books (EPD, FEN or PGN, plain or compressed) and plays random openings.

Entries of a book are parsed and checked only until there are enough openings (`count`). An entry that is invalid, or
not standard chess, is skipped and reported as `file:line: reason`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Final
from zipfile import BadZipFile

import chess

from bench.pgn import RawGame, decode, split_games
from engine.errors import CommandError
from engine.files import printable, quoted, read_bytes, reason, shown

#: The orders in which a book can be read.
ORDERS: Final = ("sequential", "random")

#: The largest book that can be read, in bytes. The limit applies to the file and to its decompressed contents.
MOST_BYTES: Final = 512 << 20

#: The longest position, in characters, and the longest game, in bytes, that a book may contain.
_LONGEST_LINE: Final = 10_000
_LONGEST_GAME: Final = 1_000_000

_DECOMPRESSORS: Final[dict[str, Callable[[IO[bytes]], io.BufferedIOBase]]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}

#: The exceptions that reading damaged compressed data can raise.
DAMAGED: Final = (
    *(OSError, EOFError, ValueError, RuntimeError, MemoryError),
    *(struct.error, zlib.error, lzma.LZMAError, BadZipFile),
)


class BookError(CommandError, ValueError):
    """Raised if a book or an option for openings cannot be used, or if too few random openings are suitable."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The start of a game: the position `fen`, and the `moves` in UCI notation that are played from it."""

    fen: str = chess.STARTING_FEN
    moves: tuple[str, ...] = ()
    name: str = ""

    def board(self) -> chess.Board:
        """Returns the position after `moves`, with the moves on its stack."""
        board = chess.Board(self.fen)
        for move in self.moves:
            board.push_uci(move)
        return board


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

    Returns the first `count` openings (default: all). If `order` is "random", the entries are first shuffled with
    `seed`. Openings of a PGN book are cut to `plies` plies (default: not cut). Problems with single entries are added
    to `problems` as `file:line: reason`. Raises `BookError` if the file cannot be read or has no usable openings.
    """
    path = Path(path)
    name, data = read_book(path)
    entries: list[tuple[int, RawGame | str]]
    if name.lower().endswith(".pgn"):
        entries = [(game.line, game) for game in split_games(data)]
    else:
        lines = enumerate(map(str.strip, decode(data).splitlines()), start=1)
        entries = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if order == "random":
        random.Random(seed).shuffle(entries)
    openings: list[Opening] = []
    for line, entry in entries:
        if count is not None and len(openings) >= count:
            break
        try:
            openings.append(_epd_opening(entry) if isinstance(entry, str) else _pgn_opening(entry, plies))
        except ValueError as error:
            if problems is not None:
                problems.append(f"{shown(path)}:{line}: {shown(str(error))}")
    if not openings and (count is None or count > 0):
        raise BookError(f"{shown(path)}: no usable openings")
    return openings


def read_book(path: Path) -> tuple[str, bytes]:
    """Returns the name and the contents of a book after decompression. Raises BookError if the file is unreadable."""
    name, ending = path.name, path.suffix.lower()
    try:
        data = read_bytes(path, MOST_BYTES)
        if ending == ".zip":
            name, data = _unzip(data)
        elif ending in _DECOMPRESSORS:
            with _DECOMPRESSORS[ending](io.BytesIO(data)) as stream:
                name, data = path.stem, _decompressed(stream)
    except FileNotFoundError:
        raise BookError(f"{shown(path)}: no such book") from None
    except BookError as error:
        raise BookError(f"{shown(path)}: {error}") from None
    except DAMAGED as error:
        raise BookError(f"{shown(path)}: cannot be read: {shown(reason(error))}") from None
    return name, data


def _decompressed(stream: io.BufferedIOBase | IO[bytes]) -> bytes:
    """Reads a stream to its end. Raises BookError (without the file's name) if the stream exceeds MOST_BYTES bytes."""
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise BookError(f"is larger than {MOST_BYTES >> 20} MiB after decompression")
    return data


def _unzip(data: bytes) -> tuple[str, bytes]:
    """Returns the name and contents of the book in a ZIP archive. Raises BookError unless there is exactly one book."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
        books = [name for name in names if name.lower().endswith((".pgn", ".epd", ".fen", ".txt"))] or names
        if len(books) != 1:
            raise BookError(f"the archive must contain exactly one book (got {len(books)})")
        with archive.open(books[0]) as stream:
            return books[0], _decompressed(stream)


def _epd_opening(line: str) -> Opening:
    """Parses a line of an EPD or FEN book. Raises ValueError if it is not a playable position."""
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"the line is too long for a position ({len(line)} characters)")
    board, operations = parse_position(line)
    identity = operations.get("id")
    return Opening(board.fen(), (), printable(identity) if isinstance(identity, str) else "")


def parse_position(line: str, chess960: bool = False) -> tuple[chess.Board, dict[str, object]]:
    """Returns the position and operations (by opcode) of an EPD or FEN line. Raises ValueError for an invalid line."""
    fields = line.split()
    board = chess.Board(chess960=chess960)
    operations: dict[str, object] = {}
    if len(fields) < 4:
        raise ValueError(f"a position must have at least four fields (got {len(fields)})")
    if len(fields) >= 6 and fields[4].isdigit() and fields[5].isdigit():
        board.set_fen(" ".join(fields[:6]))
    else:
        operations.update(board.set_epd(line))
    _check_playable(board)
    return board, operations


def _check_playable(board: chess.Board) -> None:
    """Raises ValueError if a position is illegal or has no legal moves."""
    if not board.is_valid():
        raise ValueError(f"not a legal position: {board.fen()}")
    if not any(board.legal_moves):
        raise ValueError(f"no legal moves: {board.fen()}")


def _pgn_opening(raw: RawGame, plies: int | None) -> Opening:
    """Returns the first `plies` plies (None: all) of a game as an opening. Raises ValueError for an unusable game."""
    if len(raw.data) > _LONGEST_GAME:
        raise ValueError(f"the game is too long for an opening ({len(raw.data)} bytes)")
    game = raw.parse()
    start = game.board()
    if start.uci_variant != "chess" or start.chess960:
        variant = quoted(raw.tags.get("Variant", "Chess960"))
        raise ValueError(f"variant {variant} is not supported: openings must be of standard chess")
    moves = tuple(move.uci() for move in islice(game.mainline_moves(), plies))
    names = (raw.tags.get(tag, "") for tag in ("Opening", "ECO", "Eco"))
    opening = Opening(start.fen(), moves, next((name for name in names if name not in ("", "?")), ""))
    _check_playable(opening.board())
    return opening


def parse_plies(text: str) -> tuple[int, int]:
    """Returns the ends of a range of plies (0 to 100), such as `8-10` or `8`. Raises `BookError` for other texts."""
    first, _, last = text.partition("-")
    try:
        plies = int(first), int(last or first)
    except ValueError:
        plies = 0, -1
    if not 0 <= plies[0] <= plies[1] <= 100:
        raise BookError(f"--plies {text}: expected a number of plies from 0 to 100, or a range such as 8-10")
    return plies


def play_random_moves(board: chess.Board, plies: tuple[int, int], generator: random.Random) -> bool:
    """Plays `plies[0]` to `plies[1]` random legal moves, or fewer if the game ends. Mutates `board` and `generator`.

    Returns whether the final position is a usable opening: the side to move has a legal move and is not in check.
    """
    for _ in range(generator.randint(*plies)):
        moves = list(board.legal_moves)
        if not moves:
            return False
        board.push(generator.choice(moves))
    return not board.is_check() and any(board.legal_moves)
