"""Shards: round trip, resuming after any cut, and the refusal of whatever is not whole."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from engine.files import open_regular
from eval.training import shards
from eval.training.shards import (
    BLOCK,
    FOOT,
    ShardError,
    ShardWriter,
    encode_block,
    find_shards,
    is_empty,
    read_shard,
)
from tests.training.conftest import Record

SETTINGS = {"seed": 1, "name": "ä test"}


@pytest.fixture(scope="module")
def blocks(records: list[Record]) -> list[bytes]:
    """Five blocks of three games each."""
    parts = [records[start : start + 3] for start in range(0, 15, 3)]
    return [
        encode_block(number, np.concatenate([r.game for r in part]), np.concatenate([r.plies for r in part]))
        for number, part in enumerate(parts)
    ]


def write(folder: Path, blocks: list[bytes], settings: dict[str, Any] = SETTINGS) -> Path:
    folder.mkdir(exist_ok=True)
    with closing(ShardWriter(folder, 7, settings)) as writer:
        for block in blocks[writer.blocks :]:
            writer.append(block)
        return writer.finish()


def test_games_come_back_as_they_were(tmp_path: Path, blocks: list[bytes], records: list[Record]) -> None:
    shard = read_shard(write(tmp_path, blocks))
    assert (shard.number, shard.settings, shard.blocks) == (7, SETTINGS, 5)
    assert shard.path.name == "shard-000007.games"
    assert len(shard.games) == 15
    assert shard.positions == sum(len(record.plies) for record in records[:15])
    for record, game, first in zip(records, shard.games, shard.first, strict=False):
        assert game.tobytes() == record.game.tobytes()
        assert shard.plies[first : first + len(record.plies)].tobytes() == record.plies.tobytes()


def test_a_shard_that_was_finished_since_it_was_found_is_read(tmp_path: Path, blocks: list[bytes]) -> None:
    with closing(ShardWriter(tmp_path, 7, SETTINGS)) as writer:
        writer.append(blocks[0])
        (path,) = find_shards(tmp_path, partial=True)
        writer.append(blocks[1])
        writer.finish()
    assert read_shard(path).blocks == 2


def test_writing_is_resumed_after_any_cut(tmp_path: Path, blocks: list[bytes]) -> None:
    """Whatever a crash leaves, the same blocks make the same file in the end, and whole blocks are not asked for."""
    whole = write(tmp_path, blocks).read_bytes()
    size = len(whole)
    ends = [size - FOOT.itemsize]
    for block in reversed(blocks):
        ends.append(ends[-1] - len(block))
    cuts = {0, 1, 7, 8, 20, 24, 30, *ends, *(end + 1 for end in ends), *(end - 1 for end in ends)}
    cuts |= {end + BLOCK.itemsize for end in ends[1:]} | {size - 1, size, *range(40, size, 997)}
    for number, cut in enumerate(sorted(cuts)):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "shard-000007.part").write_bytes(whole[:cut])
        with closing(ShardWriter(folder, 7, SETTINGS)) as writer:
            kept = sum(end <= cut for end in ends[:-1])
            assert writer.blocks == kept
            if kept:
                assert read_shard(writer.path).positions == writer.positions
        assert write(folder, blocks).read_bytes() == whole
        assert [path.name for path in folder.iterdir()] == ["shard-000007.games"]


def test_zeros_that_a_loss_of_power_leaves_are_cut_off(tmp_path: Path, blocks: list[bytes]) -> None:
    """The size of a file reaches the disk before what was appended does."""
    whole = write(tmp_path, blocks).read_bytes()
    first = len(whole) - FOOT.itemsize - sum(map(len, blocks))
    ends = {0: 0, first: 0, first + len(blocks[0]): 1, len(whole) - FOOT.itemsize: len(blocks)}
    for end, kept in ends.items():
        for zeros in (1, 5, BLOCK.itemsize, 4096):
            folder = tmp_path / f"{end}-{zeros}"
            folder.mkdir()
            part = folder / "shard-000007.part"
            part.write_bytes(whole[:end] + bytes(zeros))
            assert is_empty(part, 7, SETTINGS) == (end < first)
            if kept:
                assert read_shard(part).blocks == kept
            with closing(ShardWriter(folder, 7, SETTINGS)) as writer:
                assert writer.blocks == kept
            assert write(folder, blocks).read_bytes() == whole


@pytest.mark.parametrize(
    ("after_foot", "text"),
    [(False, b"something else that is here"), (False, b"FOOTNOTE: my thesis"), (True, b"my notes")],
)
def test_bytes_that_no_crash_leaves_are_not_cut_off(
    tmp_path: Path, blocks: list[bytes], after_foot: bool, text: bytes
) -> None:
    path = write(tmp_path, blocks)
    whole = path.read_bytes()
    path.unlink()
    end = len(whole) if after_foot else len(whole) - FOOT.itemsize
    part = path.with_suffix(".part")
    data = whole[:end] + text
    part.write_bytes(data)
    with pytest.raises(ShardError, match=r"shard-000007\.part: is corrupt: no block at byte \d+$"):
        ShardWriter(tmp_path, 7, SETTINGS)
    assert part.read_bytes() == data


def test_wrong_lengths_do_not_pass_for_a_cut(tmp_path: Path, blocks: list[bytes]) -> None:
    """A damaged length may reach beyond the file's end: what it would take along stays."""
    path = write(tmp_path, blocks)
    data = bytearray(path.read_bytes()[: -FOOT.itemsize])
    path.unlink()
    part = tmp_path / "shard-000007.part"
    head = len(data) - sum(map(len, blocks))
    # The length of the settings, that of the first block's games, and that of the last but one's.
    for place in (19, head + 11, len(data) - len(blocks[4]) - len(blocks[3]) + 11):
        damaged = data.copy()
        damaged[place] ^= 0x7F
        part.write_bytes(damaged)
        with pytest.raises(ShardError, match=r"shard-000007\.part: is (corrupt|truncated)"):
            ShardWriter(tmp_path, 7, SETTINGS)
        assert part.read_bytes() == damaged


def test_a_shard_never_takes_the_place_of_another(tmp_path: Path, blocks: list[bytes]) -> None:
    whole = write(tmp_path, blocks).read_bytes()
    part = tmp_path / "shard-000007.part"
    part.write_bytes(b"")
    with pytest.raises(ShardError, match=r"shard-000007\.games: shard-000007\.part also exists"):
        ShardWriter(tmp_path, 7, SETTINGS)
    part.unlink()
    finished = tmp_path / "shard-000007.games"
    finished.rename(tmp_path / "aside")
    with closing(ShardWriter(tmp_path, 7, SETTINGS)) as writer:
        writer.append(blocks[0])
        (tmp_path / "aside").rename(finished)
        with pytest.raises(ShardError, match=r"shard-000007\.games: already exists"):
            writer.finish()
    assert finished.read_bytes() == whole


def test_a_finished_shard_that_cannot_be_continued_keeps_its_name(
    tmp_path: Path, blocks: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, blocks)
    whole = path.read_bytes()
    with pytest.raises(ShardError, match=r"shard-000007\.games: was made with seed 1 instead of 2"):
        ShardWriter(tmp_path, 7, SETTINGS | {"seed": 2})

    def protected(file: Path, mode: str = "rb") -> IO[Any]:  # the tests may run as root, who may write any file
        if mode != "rb":
            raise PermissionError(13, "Permission denied", str(file))
        return open_regular(file, mode)

    monkeypatch.setattr(shards, "open_regular", protected)
    with pytest.raises(PermissionError, match=r"shard-000007\.games"):
        ShardWriter(tmp_path, 7, SETTINGS)
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_bytes() == whole


def test_every_truncation_is_refused(tmp_path: Path, blocks: list[bytes]) -> None:
    path = write(tmp_path, blocks)
    whole = path.read_bytes()
    for size in (0, 1, 8, 23, 24, 40, *range(100, len(whole), 331), len(whole) - 32, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ShardError, match=r"shard-000007\.games: is (truncated|corrupt)"):
            read_shard(path)
    path.write_bytes(whole + bytes(8))
    with pytest.raises(ShardError, match="is truncated: it has no foot"):
        read_shard(path)


def test_every_flipped_bit_is_noticed(tmp_path: Path, blocks: list[bytes]) -> None:
    path = write(tmp_path, blocks)
    whole = path.read_bytes()
    places = {*range(140), *range(len(whole) - 64, len(whole)), *range(140, len(whole), 61)}
    places -= {len(whole) - n for n in (1, 2, 3, 4)}  # the foot's spare bytes mean nothing
    for place in sorted(places):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(ShardError, match=r"^\S*shard-000007\.games: "):
            read_shard(path)


def test_damage_in_an_unfinished_shard_is_noticed(tmp_path: Path, blocks: list[bytes]) -> None:
    path = write(tmp_path, blocks)
    whole = path.read_bytes()[: -FOOT.itemsize]
    part = path.with_suffix(".part")
    path.unlink()
    damaged = bytearray(whole)
    damaged[len(whole) - len(blocks[4]) - 50] ^= 4
    part.write_bytes(damaged)
    with pytest.raises(ShardError, match=r"is corrupt: wrong checksum of block 3$"):
        read_shard(part)
    with pytest.raises(ShardError, match=r"is corrupt: wrong checksum of block 3$"):
        ShardWriter(tmp_path, 7, SETTINGS)


def test_blocks_that_do_not_follow_each_other_are_noticed(tmp_path: Path, blocks: list[bytes]) -> None:
    """As if two processes had written the same games, or a block were missing."""
    assert read_shard(write(tmp_path / "later", blocks[2:])).blocks == 3
    for name, found, message in (
        ("twice", [0, 1, 0, 1], "block 0 follows block 1"),
        ("gap", [0, 2], "block 2 follows"),
    ):
        path = write(tmp_path / name, [blocks[number] for number in found])
        with pytest.raises(ShardError, match=rf"shard-000007\.games: is corrupt: {message}"):
            read_shard(path)
        path.rename(path.with_suffix(".part"))
        with pytest.raises(ShardError, match=rf"shard-000007\.part: is corrupt: {message}"):
            ShardWriter(path.parent, 7, SETTINGS)


def test_other_files_and_versions_are_named(tmp_path: Path, blocks: list[bytes]) -> None:
    path = write(tmp_path, blocks[:1])
    other = bytearray(path.read_bytes())
    other[8] = 9
    path.write_bytes(other)
    with pytest.raises(ShardError, match=r"has format version 9; only version 1 is supported$"):
        read_shard(path)
    path.write_text("PGN, perhaps")
    with pytest.raises(ShardError, match=r"is not a shard of games$"):
        read_shard(path)
    with pytest.raises(ShardError, match=r"missing\.games: cannot be read: No such file or directory$"):
        read_shard(tmp_path / "missing.games")


def test_shards_are_found(tmp_path: Path, copied: Callable[[], Path]) -> None:
    path = copied()
    part = tmp_path / "shard-000001.part"
    part.write_bytes(path.read_bytes()[:-40])
    (tmp_path / "lock").touch()
    assert find_shards(tmp_path) == [path]
    assert find_shards(str(tmp_path), partial=True) == [path, part]
    assert find_shards([part, tmp_path]) == [part, path]
    # An archive is better than an unfinished shard, and a shard better than its archive.
    archive = part.with_suffix(".archive")
    archive.touch()
    assert find_shards(tmp_path, partial=True) == [path, archive]
    part.with_suffix(".games").touch()
    assert find_shards(tmp_path, partial=True) == [path, part.with_suffix(".games")]
    with pytest.raises(ShardError, match=r"nowhere: no such file or folder$"):
        find_shards(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ShardError, match=r"empty: contains no finished shards$"):
        find_shards(tmp_path / "empty")


@pytest.mark.parametrize("name", ["shard-000007.games", "shard-000007.part"])
def test_nothing_is_written_through_a_symbolic_link(tmp_path: Path, blocks: list[bytes], name: str) -> None:
    (tmp_path / "archive").mkdir()
    archive = write(tmp_path / "archive", blocks[:2])
    before = archive.read_bytes()
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / name).symlink_to(archive)
    with pytest.raises(ShardError, match="is a symbolic link"):
        write(folder, blocks)
    assert archive.read_bytes() == before


def test_what_somebody_puts_in_the_place_of_a_shard_stays(tmp_path: Path, blocks: list[bytes]) -> None:
    mine = tmp_path / "mine"
    for last in (False, True):
        mine.write_bytes(b"mine")
        with closing(ShardWriter(tmp_path, 7, SETTINGS)) as writer:
            writer.append(blocks[0])
            mine.replace(writer.path)
            with pytest.raises(ShardError, match="was replaced by another file, which was not changed"):
                writer.finish() if last else writer.append(blocks[1])
        assert writer.path.read_bytes() == b"mine"
        assert not (tmp_path / "shard-000007.games").exists()
        writer.path.unlink()
