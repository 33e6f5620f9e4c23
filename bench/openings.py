"""Opening books: EPD (or FEN) lines and PGN games, plain or compressed, become a list of `Opening`.

Only the entries that are asked for (`count`) are parsed and checked. An entry that is broken, or of another variant
than standard chess, is reported as `file:line: why` and left out.
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
    *(OSError, EOFError, ValueError, RuntimeError, MemoryError),
    *(struct.error, zlib.error, lzma.LZMAError, BadZipFile),
)


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
    path = Path(path)
    name, data = _read_book(path)
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
        raise BookError(f"{shown(path)}: holds no usable opening")
    return openings


def _read_book(path: Path) -> tuple[str, bytes]:
    """The name that shows the format, without the ending of a compressor, and the decompressed contents."""
    name, ending = path.name, path.suffix.lower()
    try:
        data = read_bytes(path, MOST_BYTES)
        if ending == ".zip":
            name, data = _unzip(data)
        elif ending in _DECOMPRESSORS:
            with _DECOMPRESSORS[ending](io.BytesIO(data)) as stream:
                name, data = path.stem, _decompressed(stream)
    except FileNotFoundError:
        raise BookError(f"{shown(path)}: there is no such book") from None
    except BookError as error:
        raise BookError(f"{shown(path)}: {error}") from None
    except _DAMAGED as error:
        why = reason(error) if isinstance(error, OSError) else str(error) or type(error).__name__
        raise BookError(f"{shown(path)}: cannot be read: {shown(why)}") from None
    return name, data


def _decompressed(stream: io.BufferedIOBase | IO[bytes]) -> bytes:
    """The rest of a stream. Raises BookError, without the file's name, once it is larger than any book."""
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise BookError(f"is larger than {MOST_BYTES >> 20} MiB when it is decompressed")
    return data


def _unzip(data: bytes) -> tuple[str, bytes]:
    """The name and content of the one book in an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
        books = [name for name in names if name.lower().endswith((".pgn", ".epd", ".fen", ".txt"))] or names
        if len(books) != 1:
            raise BookError(f"one book is expected in the archive, not {len(books)}")
        with archive.open(books[0]) as stream:
            return books[0], _decompressed(stream)


def _epd_opening(line: str) -> Opening:
    """Parses one line; raises `ValueError` saying what is wrong with it."""
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"a line of {len(line)} characters is not a position")
    board, operations = parse_position(line)
    identity = operations.get("id")
    return Opening(board.fen(), (), printable(identity) if isinstance(identity, str) else "")


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
    _check_playable(board)
    return board, operations


def _check_playable(board: chess.Board) -> None:
    """Raises ValueError for a position from which nobody can play."""
    if not board.is_valid():
        raise ValueError(f"not a legal position: {board.fen()}")
    if not any(board.legal_moves):
        raise ValueError(f"nobody can move: {board.fen()}")


def _pgn_opening(raw: RawGame, plies: int | None) -> Opening:
    """Parses one game and keeps `plies` of it; raises `ValueError` saying what is wrong with it."""
    if len(raw.data) > _LONGEST_GAME:
        raise ValueError(f"a game of {len(raw.data)} bytes is not an opening")
    game = raw.parse()
    start = game.board()
    if start.uci_variant != "chess" or start.chess960:
        variant = quoted(raw.tags.get("Variant", "Chess960"))
        raise ValueError(f"a game of the variant {variant}: openings are of standard chess")
    moves = tuple(move.uci() for move in islice(game.mainline_moves(), plies))
    names = (raw.tags.get(tag, "") for tag in ("Opening", "ECO", "Eco"))
    opening = Opening(start.fen(), moves, next((name for name in names if name not in ("", "?")), ""))
    _check_playable(opening.board())
    return opening


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
