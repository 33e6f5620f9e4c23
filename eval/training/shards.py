"""Shards: the files that contain games. They take about 4.3 bytes a position.

    file     head, settings (JSON, UTF-8, padded with spaces), blocks, and, if it is finished, a foot
    head     "SECGAMES", then four uint32: version, number of the shard, length of settings, CRC-32 of
             the bytes before this CRC and of the settings; 24 bytes
    block    BLOCK (24 bytes), then GAME[games] (32 bytes each), then PLY[positions] (4 bytes each): the games' plies
             one game after the other; padded with zeros to a multiple of 8
    foot     FOOT (32 bytes)

Numbers are little-endian; `eval.training.kernels.records` describes GAME and PLY. An unfinished shard has the name
`shard-000000.part`. Blocks are appended whole. When writing resumes after a crash, an incomplete last block is cut off.
A finished shard has the name `shard-000000.games`. A shard whose CRC, length or counts are wrong is rejected.

An archived shard has the name `shard-000000.archive` and about 1.4 bytes a position. Decoding it gives the finished
shard, byte for byte:

    file     ARCHIVE (64 bytes), the shard's head and settings, and the games and plies in the code of
             `eval.training.kernels.archiving`
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from engine.errors import CommandError
from engine.files import check_lock, leads_to, locked, open_regular, parse_json, reason, shown
from eval.training.kernels.archiving import decode_games, encode_games
from eval.training.kernels.records import ENDINGS, GAME, PLY, VARIANTS

MAGIC: Final = b"SECGAMES"
VERSION: Final = 1

_HEAD: Final = np.dtype([("magic", "S8"), ("version", "<u4"), ("number", "<u4"), ("settings", "<u4"), ("crc", "<u4")])
BLOCK: Final = np.dtype(
    [
        ("magic", "S4"),
        # The block's number among the blocks of all shards of a folder. The index of its first game is number * games.
        ("number", "<u4"),
        ("games", "<u4"),
        ("positions", "<u4"),
        # CRC-32 of the four fields before it and of the games and plies after this head.
        ("crc", "<u4"),
        ("spare", "<u4"),
    ]
)
FOOT: Final = np.dtype(
    [
        ("magic", "S4"),
        ("blocks", "<u4"),
        ("games", "<u8"),
        ("positions", "<u8"),
        # CRC-32 of the whole file before the foot.
        ("crc", "<u4"),
        ("spare", "<u4"),
    ]
)
#: The head of an archived shard.
ARCHIVE: Final = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        # CRC-32 of the file after this field.
        ("crc", "<u4"),
        # CRC-32 of the shard before its foot.
        ("shard_crc", "<u4"),
        # Bytes of the shard's head and settings.
        ("head", "<u4"),
        # The number of the first block; the number of blocks; games in each block.
        ("first", "<u4"),
        ("blocks", "<u4"),
        ("block_games", "<u4"),
        ("spare", "<u4"),
        ("positions", "<u8"),
        ("reserved", "<u8", (2,)),
    ]
)
ARCHIVE_MAGIC: Final = b"SECARCHV"
ARCHIVE_VERSION: Final = 1
_ARCHIVE_CRC_END: Final = 16

_BLOCK_MAGIC: Final = b"BLCK"
_FOOT_MAGIC: Final = b"FOOT"

#: Archived shards have at most this many games, of 256 positions on average.
_MOST_GAMES: Final = 1 << 18
#: Settings take less than this many bytes.
_MOST_SETTINGS: Final = 1 << 16

#: The pattern of a shard's name before its ending, and the endings.
NAME: Final = "shard-" + 6 * "[0-9]"
FINISHED, UNFINISHED, ARCHIVED = ".games", ".part", ".archive"


#: The file in a folder of shards or of a run that its writer locks.
_LOCK: Final = "lock"


class ShardError(CommandError, ValueError):
    """Raised if a shard, a pool or a folder is unusable, or if there are no positions; the message is one line."""


@dataclass(frozen=True)
class Shard:
    """The games of one file, mapped into memory.

    `settings` are those in the file's head, and `blocks` is the number of blocks. `games` is GAME[n], `plies` is
    PLY[m], a view of the whole file, and `first` (int64[n]) gives the index in `plies` of each game's first ply.
    """

    path: Path
    number: int
    settings: dict[str, Any]
    blocks: int
    games: npt.NDArray[np.void]
    plies: npt.NDArray[np.void]
    first: npt.NDArray[np.int64]

    @property
    def positions(self) -> int:
        """The number of positions, one for each recorded ply."""
        return int(self.games["plies"].sum())


def encode_block(number: int, games: npt.NDArray[np.void], plies: npt.NDArray[np.void]) -> bytes:
    """Returns the bytes of a block with `games`, GAME[n], and all their `plies`, PLY[m], in order."""
    head = np.zeros(1, BLOCK)
    head["magic"], head["number"], head["games"], head["positions"] = _BLOCK_MAGIC, number, len(games), len(plies)
    body = games.tobytes() + plies.tobytes()
    head["crc"] = zlib.crc32(body, zlib.crc32(head.tobytes()[:16]))
    return head.tobytes() + body + bytes(-len(body) % 8)


def shard_path(folder: Path, number: int, ending: str = FINISHED) -> Path:
    """Returns the path of shard `number` in a folder; `ending` is FINISHED or UNFINISHED."""
    return folder / f"shard-{number:06}{ending}"


class ShardWriter:
    """A writer that appends blocks to an unfinished shard and finishes it; callers must close it.

    It continues an existing shard, even a finished one, after its last whole block. The constructor raises ShardError
    if the existing shard is a link, is damaged, exists twice, or has another number or other settings. `append` and
    `finish` raise ShardError if another file has taken the shard's place. All three methods can raise OSError.
    """

    def __init__(self, folder: Path, number: int, settings: dict[str, Any]) -> None:
        self.path = shard_path(folder, number, UNFINISHED)
        self._finished = shard_path(folder, number)
        for path in (self.path, self._finished):
            if path.is_symlink():
                raise ShardError(f"{shown(path)}: is a symbolic link; its target was not changed")
        if self._finished.exists():
            if self.path.exists():
                raise ShardError(f"{self._finished}: {self.path.name} also exists; remove one of them")
            shard = read_shard(self._finished)
            check_head(self._finished, (shard.number, shard.settings), number, settings)
            del shard  # Windows does not rename a mapped file
            open_regular(self._finished, "r+b").close()  # raises if the file is write-protected
            self._finished.rename(self.path)
        self.blocks = self.positions = self._games = self._crc = 0
        self._file: BinaryIO = open_regular(self.path, "ab+")  # type: ignore[assignment]
        try:
            self._resume(number, settings)
        except BaseException:
            self._file.close()
            raise

    def _resume(self, number: int, settings: dict[str, Any]) -> None:
        """Writes the head if the file contains only zeros or no more than the head. Otherwise restores the counts and
        removes an incomplete block, a foot or zeros at the end. Raises ShardError if the file is faulty.
        """
        self._file.seek(0)
        data = self._file.read()
        if _is_empty(data, _encode_head(number, settings)):
            self._file.truncate(0)
            self._write(_encode_head(number, settings))
            return
        *found, at = _read_head(self.path, data)
        check_head(self.path, found, number, settings)
        blocks, end = _read_blocks(self.path, data, at)
        rest = data[end:]
        self._crc = zlib.crc32(data[:end])
        self.blocks = len(blocks)
        self._games = sum(len(games) for games, _ in blocks)
        self.positions = sum(int(games["plies"].sum()) for games, _ in blocks)
        is_foot = len(rest) <= FOOT.itemsize and self._foot().startswith(rest.rstrip(b"\0"))
        is_cut = is_foot or not rest.strip(b"\0") or _BLOCK_MAGIC.startswith(rest[:4])
        # A block with wrong lengths may look incomplete; cutting it off would also cut off all blocks after it.
        if not is_cut or _BLOCK_MAGIC in rest[4:]:
            raise ShardError(f"{self.path}: is corrupt: no block at byte {end}")
        self._file.truncate(end)

    def _write(self, data: bytes) -> None:
        self._check()
        self._file.write(data)
        self._file.flush()
        self._crc = zlib.crc32(data, self._crc)

    def _check(self) -> None:
        """Raises ShardError if the file at the path is no longer the open one."""
        if not leads_to(self.path, self._file):
            raise ShardError(f"{shown(self.path)}: was replaced by another file, which was not changed")

    def append(self, block: bytes) -> None:
        """Appends a block from `encode_block`. The block is kept even if this process is killed."""
        self._write(block)
        head = np.frombuffer(block, BLOCK, 1)[0]
        self.blocks += 1
        self._games += int(head["games"])
        self.positions += int(head["positions"])

    def _foot(self) -> bytes:
        return _encode_foot(self.blocks, self._games, self.positions, self._crc)

    def finish(self) -> Path:
        """Writes the foot, forces all data to the disk, closes the file and renames it; returns its final path."""
        self._file.write(self._foot())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._check()
        self._file.close()
        if self._finished.exists():
            raise ShardError(f"{self._finished}: already exists")
        self.path.rename(self._finished)
        return self._finished

    def close(self) -> None:
        """Closes the file, which keeps the appended blocks."""
        self._file.close()


def _encode_foot(blocks: int, games: int, positions: int, crc: int) -> bytes:
    foot = np.zeros(1, FOOT)
    foot["magic"], foot["blocks"], foot["games"] = _FOOT_MAGIC, blocks, games
    foot["positions"], foot["crc"] = positions, crc
    return foot.tobytes()


def _encode_head(number: int, settings: dict[str, Any]) -> bytes:
    text = json.dumps(settings, sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    head = np.zeros(1, _HEAD)
    head["magic"], head["version"], head["number"], head["settings"] = MAGIC, VERSION, number, len(text)
    head["crc"] = zlib.crc32(text, zlib.crc32(head.tobytes()[:20]))
    return head.tobytes() + text


def check_head(path: Path, found: Sequence[Any], number: int, wanted: dict[str, Any]) -> None:
    """Raises ShardError unless a shard's number and settings, `found`, equal `number` and `wanted`."""
    if found[0] != number:
        raise ShardError(f"{path}: contains shard {found[0]} instead of {number}")
    check_settings(path, found[1], wanted)


def check_settings(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raises ShardError, which names the differences, if the settings `found` in a shard differ from `wanted`."""
    keys = [key for key in sorted(found.keys() | wanted.keys()) if found.get(key) != wanted.get(key)]
    if keys:
        differences = ", ".join(f"{key} {found.get(key)} instead of {wanted.get(key)}" for key in keys)
        raise ShardError(f"{path}: was made with {differences}; use another folder")


def is_empty(path: Path, number: int, settings: dict[str, Any]) -> bool:
    """Returns whether an unfinished shard has only a part of its head, or zeros instead of it. Raises OSError."""
    with open_regular(path) as file:
        head = _encode_head(number, settings)
        data: bytes = file.read(len(head))
    return data != head and _is_empty(data, head)


def _is_empty(data: bytes, head: bytes) -> bool:
    """Returns whether `data` is the beginning of `head` or only zeros, which a loss of power can leave."""
    return head.startswith(data) or not data.strip(b"\0")


def _read_head(path: Path, data: bytes | mmap.mmap) -> tuple[int, dict[str, Any], int]:
    """Returns a shard's number, its settings and its first block's offset. Raises ShardError if the head is invalid."""
    if bytes(data[:8]) != MAGIC[: len(data)]:
        raise ShardError(f"{path}: is not a shard of games")
    truncated = ShardError(f"{path}: is truncated: its head is incomplete")
    if len(data) < _HEAD.itemsize:
        raise truncated
    head = np.frombuffer(data[: _HEAD.itemsize], _HEAD)[0]
    if head["version"] != VERSION:
        raise ShardError(f"{path}: has format version {head['version']}; only version {VERSION} is supported")
    end = _HEAD.itemsize + int(head["settings"])
    if len(data) < end:
        raise truncated
    text = bytes(data[_HEAD.itemsize : end])
    if zlib.crc32(text, zlib.crc32(bytes(data[:20]))) != head["crc"]:
        raise ShardError(f"{path}: is corrupt: wrong checksum of its head")
    try:
        settings = dict(parse_json(text))
    except (ValueError, TypeError) as error:
        raise ShardError(f"{path}: is corrupt: its settings cannot be read: {error}") from None
    return int(head["number"]), settings, end


def read_head(path: Path) -> dict[str, Any]:
    """Returns the settings in a shard's head. Raises ShardError."""
    with open_regular(path) as file:
        data: bytes = file.read(_HEAD.itemsize + _MOST_SETTINGS)
    return _read_head(path, data)[1]


def _read_blocks(
    path: Path, data: bytes | mmap.mmap, at: int, check: bool = True
) -> tuple[list[tuple[npt.NDArray[np.void], int]], int]:
    """Returns each whole block as (GAME[n], index of its first ply in `Shard.plies`), and the last block's end offset.

    Begins at offset `at`. Ignores an incomplete block, a foot and zeros at the end. Raises ShardError if a block is
    faulty or its number does not follow that of the block before; compares checksums only if `check` is true.
    """
    blocks: list[tuple[npt.NDArray[np.void], int]] = []
    number = -1
    while at + BLOCK.itemsize <= len(data):
        head = np.frombuffer(data, BLOCK, 1, at)[0]
        if head["magic"] == _FOOT_MAGIC:
            break
        start = at + BLOCK.itemsize
        games = int(head["games"])
        plies = start + games * GAME.itemsize
        end = plies + int(head["positions"]) * PLY.itemsize
        if head["magic"] != _BLOCK_MAGIC:
            # A loss of power leaves zeros for appended data that had not reached the disk.
            if not data[at:].strip(b"\0"):
                break
            raise ShardError(f"{path}: is corrupt: no block at byte {at}")
        if end + -(end - start) % 8 > len(data):
            break
        if check and zlib.crc32(data[start:end], zlib.crc32(data[at : at + 16])) != head["crc"]:
            raise ShardError(f"{path}: is corrupt: wrong checksum of block {head['number']}")
        if blocks and head["number"] != number + 1:
            raise ShardError(f"{path}: is corrupt: block {head['number']} follows block {number}")
        number = int(head["number"])
        records = np.frombuffer(data, GAME, games, start)
        if int(records["plies"].sum()) != head["positions"]:
            raise ShardError(f"{path}: is corrupt: wrong lengths of games in block {head['number']}")
        blocks.append((records, plies // PLY.itemsize))
        at = end + -(end - start) % 8
    return blocks, at


def _check_foot(path: Path, data: bytes | mmap.mmap) -> npt.NDArray[np.void]:
    """Returns the foot of a finished shard. Raises ShardError if it is missing or its checksum is wrong."""
    at = len(data) - FOOT.itemsize
    foot = np.frombuffer(data, FOOT, 1, at)[0] if at >= _HEAD.itemsize else None
    if foot is None or foot["magic"] != _FOOT_MAGIC:
        raise ShardError(f"{path}: is truncated: it has no foot")
    with memoryview(data) as view:
        crc = zlib.crc32(view[:at])
    if crc != foot["crc"]:
        raise ShardError(f"{path}: is corrupt: wrong checksum")
    return foot  # type: ignore[no-any-return]


def present_path(path: Path) -> Path:
    """Returns the path at which a shard is now: that of the finished shard if `datagen` has finished `path` since."""
    moved = path.suffix == UNFINISHED and not path.exists() and path.with_suffix(FINISHED).exists()
    return path.with_suffix(FINISHED) if moved else path


def read_shard(path: str | Path) -> Shard:
    """Opens a shard and checks its checksums. If the shard is unfinished, reads only its whole blocks.

    If `datagen` has finished the shard since its path was found, reads the finished one. Raises ShardError if the shard
    is truncated, corrupt, of another version, or unreadable.
    """
    path = present_path(Path(path))
    finished = path.suffix != UNFINISHED
    try:
        with open_regular(path) as file:
            # Empty files cannot be mapped.
            data: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if os.fstat(file.fileno()).st_size else b""
    except OSError as error:
        raise ShardError(f"{shown(path)}: cannot be read: {reason(error)}") from None
    if path.suffix == ARCHIVED:
        data = decode_archive(path, data)
    number, settings, at = _read_head(path, data)
    foot = _check_foot(path, data) if finished else None
    # The foot's checksum also covers the blocks.
    blocks, end = _read_blocks(path, data, at, check=not finished)
    games = np.concatenate([records for records, _ in blocks]) if blocks else np.zeros(0, GAME)
    first = np.zeros(len(games), np.int64)
    at = 0
    for records, start in blocks:
        ends = np.cumsum(records["plies"], dtype=np.int64)
        first[at : at + len(records)] = start + ends - records["plies"]
        at += len(records)
    counts = (len(blocks), len(games), int(games["plies"].sum()))
    if foot is not None and (
        end != len(data) - FOOT.itemsize or counts != foot[["blocks", "games", "positions"]].item()
    ):
        raise ShardError(f"{path}: is corrupt: its foot does not match its games")
    for field, count in (("result", 3), ("ending", len(ENDINGS)), ("variant", len(VARIANTS))):
        if len(games) and games[field].max() >= count:
            raise ShardError(f"{path}: is corrupt: a game has an invalid {field}, {games[field].max()}")
    plies = np.frombuffer(data, PLY, len(data) // PLY.itemsize)
    return Shard(path, number, settings, len(blocks), games, plies, first)


def encode_archive(path: Path) -> bytes:
    """Returns the bytes of a finished shard's archive. Raises ShardError for a shard that an archive cannot hold."""
    shard = read_shard(path)
    data = path.read_bytes()
    _, _, end = _read_head(path, data)
    blocks, _ = _read_blocks(path, data, end, check=False)
    sizes = {len(records) for records, _ in blocks}
    if len(sizes) != 1:
        raise ShardError(f"{shown(path)}: cannot be archived: its blocks must have the same number of games")
    plies = np.concatenate(
        [
            shard.plies[first : first + size]
            for first, size in zip(shard.first.tolist(), shard.games["plies"].tolist(), strict=True)
        ]
    )
    if len(shard.games) > _MOST_GAMES or len(plies) > _MOST_GAMES << 8:
        raise ShardError(f"{shown(path)}: cannot be archived: it has more than {_MOST_GAMES} games")
    code = encode_games(shard.games, plies)
    if code is None:
        raise ShardError(f"{shown(path)}: cannot be archived: a game is not of chess; see `secateur datagen verify`")
    head = np.zeros(1, ARCHIVE)
    head["magic"], head["version"], head["head"], head["positions"] = ARCHIVE_MAGIC, ARCHIVE_VERSION, end, len(plies)
    head["first"] = np.frombuffer(data, BLOCK, 1, end)["number"]
    head["blocks"], head["block_games"], head["shard_crc"] = len(blocks), sizes.pop(), _check_foot(path, data)["crc"]
    rest = head.tobytes()[_ARCHIVE_CRC_END:] + data[:end] + code
    head["crc"] = zlib.crc32(rest)
    archive: bytes = head.tobytes()[:_ARCHIVE_CRC_END] + rest
    if decode_archive(path, archive) != data:
        raise ShardError(f"{shown(path)}: cannot be archived: `secateur datagen` did not write it")
    return archive


def is_archive_of(archive: bytes, shard: bytes) -> bool:
    """Returns whether a sound archive is that of a finished shard with these bytes, judged by their checksum."""
    return bool(np.frombuffer(archive, ARCHIVE, 1)["shard_crc"][0] == zlib.crc32(shard[: -FOOT.itemsize]))


def decode_archive(path: Path, archive: bytes | mmap.mmap) -> bytes:
    """Returns the bytes of the finished shard in an archive. Raises ShardError for a damaged one; `path` names it."""
    if bytes(archive[:8]) != ARCHIVE_MAGIC[: len(archive)]:
        raise ShardError(f"{shown(path)}: is not an archived shard")
    if len(archive) < ARCHIVE.itemsize:
        raise ShardError(f"{shown(path)}: is truncated: its head is not whole")
    head = np.frombuffer(archive, ARCHIVE, 1)[0]
    if head["version"] != ARCHIVE_VERSION:
        raise ShardError(
            f"{shown(path)}: has format version {head['version']}, this program reads version {ARCHIVE_VERSION}"
        )
    with memoryview(archive) as view:
        if zlib.crc32(view[_ARCHIVE_CRC_END:]) != head["crc"]:
            raise ShardError(f"{shown(path)}: is corrupt: wrong checksum")
    start = ARCHIVE.itemsize + int(head["head"])
    size, games = int(head["block_games"]), int(head["blocks"]) * int(head["block_games"])
    if not 0 < games <= _MOST_GAMES or head["positions"] > _MOST_GAMES << 8:
        raise ShardError(f"{shown(path)}: is corrupt: its counts")
    decoded = decode_games(archive[start:], games, int(head["positions"]))
    if decoded is None:
        raise ShardError(f"{shown(path)}: is corrupt: its code does not give games of chess")
    records, plies = decoded
    parts = [bytes(archive[ARCHIVE.itemsize : start])]
    ends = np.cumsum(records["plies"], dtype=np.int64)
    for index in range(int(head["blocks"])):
        first, last = index * size, (index + 1) * size
        begin = ends[first] - records["plies"][first]
        parts.append(encode_block(int(head["first"]) + index, records[first:last], plies[begin : ends[last - 1]]))
    data = b"".join(parts)
    if zlib.crc32(data) != head["shard_crc"]:
        raise ShardError(f"{shown(path)}: is corrupt: it gives another shard than the one that was archived")
    return data + _encode_foot(int(head["blocks"]), games, len(plies), int(head["shard_crc"]))


def find_shards(paths: Sequence[str | Path] | str | Path, partial: bool = False) -> list[Path]:
    """Returns `paths` with each folder replaced by its finished shards and, if `partial`, its unfinished shards.

    An archived shard counts as finished. Of a shard's files in one folder, only one counts: the shard itself or else
    its archive or else the unfinished shard. Files in a folder that are not named like shards do not count. Raises
    ShardError if a path is missing or a folder contains no shards.
    """
    found: list[Path] = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        path = Path(path)
        if path.is_dir():
            endings = (FINISHED, ARCHIVED, UNFINISHED) if partial else (FINISHED, ARCHIVED)
            # The first kind of file of each shard.
            kinds: dict[str, Path] = {}
            for ending in endings:
                for file in path.glob(f"{NAME}{ending}"):
                    kinds.setdefault(file.stem, file)
            inside = sorted(kinds.values())
            if not inside:
                raise ShardError(f"{path}: contains no {'' if partial else 'finished '}shards")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise ShardError(f"{path}: no such file or folder")
    return found


@contextmanager
def only_writer(folder: Path, doing: str) -> Iterator[None]:
    """Locks a folder until the `with` block or the process ends. Raises ShardError if the lock file cannot be used, or
    if another process has locked the folder; the message says what that process is `doing` there, such as "training".
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(folder / _LOCK, remove=True))
        except BlockingIOError:
            raise ShardError(f"{shown(folder)}: another process is {doing} there") from None
        except OSError as error:
            raise ShardError(f"{shown(folder / _LOCK)}: {reason(error)}") from None
        yield


def check_only_writer(folder: Path) -> None:
    """Raises OSError if the folder that `only_writer` locked, or its lock, was moved or replaced."""
    check_lock(folder / _LOCK)
