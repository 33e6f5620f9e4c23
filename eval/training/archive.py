"""An archive: the finished shards of one run or several in compressed form, with a manifest of their origin.

    archive/manifest.json                  the runs: settings, commit, counts, and each file's size and SHA-256
    archive/first/shard-000000.archive     a shard of the run whose folder was `first`; see `eval.training.shards`

Every function continues after an interruption: it skips files that are already there and replaces no other file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from engine.files import Output, parse_json, printable, read_bytes, shown
from eval.training.shards import (
    ARCHIVE_MAGIC,
    ARCHIVED,
    FINISHED,
    MAGIC,
    ShardError,
    check_settings,
    decode_archive,
    encode_archive,
    is_archive_of,
    only_writer,
    read_head,
    read_shard,
)

MANIFEST: Final = "manifest.json"

#: More than the manifest of a billion positions needs.
_MOST_BYTES: Final = 1 << 26


@dataclass(frozen=True)
class Entry:
    """A file in the manifest: its games and positions, and its own size in bytes and SHA-256."""

    games: int
    positions: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Run:
    """A run in the manifest: the settings of its games, the commit that played them if known, and its files by name."""

    settings: dict[str, Any]
    commit: str | None
    shards: dict[str, Entry]

    @property
    def totals(self) -> tuple[int, int, int]:
        """Games, positions and bytes of all files."""
        entries = self.shards.values()
        return sum(e.games for e in entries), sum(e.positions for e in entries), sum(e.bytes for e in entries)


def read_manifest(folder: Path) -> dict[str, Run]:
    """Returns the runs in a folder's manifest by name. Raises OSError, and ShardError for a damaged manifest."""
    path = folder / MANIFEST
    try:
        runs = parse_json(read_bytes(path, _MOST_BYTES), with_paths=True)["runs"]
        for name in runs:
            if Path(name).name != name or name in ("", ".."):
                raise ValueError(f"{name!r} is no name of a folder")
        return {
            str(name): Run(
                dict(run["settings"]),
                run["commit"],
                {str(file): Entry(**entry) for file, entry in sorted(run["shards"].items())},
            )
            for name, run in sorted(runs.items())
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ShardError(f"{shown(path)}: is damaged: {printable(str(error))}") from None


def _manifest(runs: dict[str, Run]) -> str:
    """Returns the contents of the manifest."""
    counts = ("games", "positions", "bytes")
    content = {
        name: {**dict(zip(counts, run.totals, strict=True)), **asdict(run)} for name, run in sorted(runs.items())
    }
    return json.dumps({"runs": content}, indent=1, sort_keys=True) + "\n"


def archive_runs(
    folders: Sequence[Path], archive: Path, commit: str | None, on_shard: Callable[[int, int], None]
) -> dict[str, Run]:
    """Adds the finished shards of each folder to `archive` and returns the manifest's runs.

    Calls `on_shard(shards, all shards)` after each shard. Raises OSError, and ShardError for a damaged shard, a folder
    without finished shards, an edited manifest, and a run in the archive that has the same name but other settings.
    """
    shards = {folder.resolve().name: sorted(folder.glob(f"shard-*{FINISHED}")) for folder in folders}
    for folder in folders:
        if not shards[folder.resolve().name]:
            raise ShardError(f"{shown(folder)}: contains no finished shards")
    if len(shards) < len(folders):
        raise ShardError("two folders have the same name, and the archive keeps runs by name")
    archive.mkdir(parents=True, exist_ok=True)
    with only_writer(archive, "writing"):
        output = Output(archive / MANIFEST, lambda head: head.startswith(b'{\n "runs": '), "manifest of an archive")
        runs = read_manifest(archive) if output.size else {}
        if output.size and output.digest != hashlib.sha256(_manifest(runs).encode()).hexdigest():
            raise ShardError(f"{shown(output.path)}: was edited; move it, and the same command writes it anew")
        for name, paths in shards.items():
            settings = read_head(paths[0])
            run = runs.setdefault(name, Run(settings, commit, {}))
            check_settings(archive / name, run.settings, settings)
            (archive / name).mkdir(exist_ok=True)

        def work(item: tuple[str, Path]) -> tuple[str, str, Entry]:
            name, path = item
            check_settings(path, read_head(path), runs[name].settings)
            target = archive / name / path.with_suffix(ARCHIVED).name
            return name, target.name, _archive_shard(path, target, runs[name].shards.get(target.name))

        items = [(name, path) for name, paths in shards.items() for path in paths]
        try:
            for done, (name, file, entry) in enumerate(_in_threads(work, items), start=1):
                runs[name].shards[file] = entry
                on_shard(done, len(items))
        finally:
            output.replace(_manifest(runs))
        return runs


def _archive_shard(path: Path, target: Path, known: Entry | None) -> Entry:
    """Writes a shard's archive unless it is already there; `known` is its entry in the manifest.

    Raises OSError, and ShardError if the archive of another shard is in the way.
    """
    if target.exists():
        data = read_bytes(target, _MOST_BYTES)
        if known is not None and known.sha256 == hashlib.sha256(data).hexdigest() and is_archive_of(data, path):
            return known
        if decode_archive(target, data) != path.read_bytes():
            raise ShardError(f"{shown(target)}: is the archive of another shard; it is not replaced")
    else:
        data = encode_archive(path)
        Output(target, lambda head: head.startswith(ARCHIVE_MAGIC), "archived shard").replace(data)
    shard = read_shard(path)
    return Entry(len(shard.games), shard.positions, len(data), hashlib.sha256(data).hexdigest())


def restore_runs(archive: Path, folder: Path, on_shard: Callable[[int, int], None]) -> dict[str, Run]:
    """Restores each run of an archive as a folder of shards in `folder`, byte for byte, and returns the runs.

    Calls `on_shard(shards, all shards)` after each shard. Raises OSError, and ShardError for a file that is missing,
    damaged or not as the manifest describes it, and for another shard that is in the way.
    """
    runs = read_manifest(archive)
    items = [(name, file) for name, run in runs.items() for file in run.shards]
    for name in runs:
        (folder / name).mkdir(parents=True, exist_ok=True)

    def work(item: tuple[str, str]) -> None:
        name, file = item
        target = (folder / name / file).with_suffix(FINISHED)
        data = decode_archive(archive / name / file, check_entry(archive, name, file, runs[name].shards[file]))
        if target.exists():
            if target.read_bytes() != data:
                raise ShardError(f"{shown(target)}: is another shard; it is not replaced")
            return
        Output(target, lambda head: head.startswith(MAGIC), "shard").replace(data)

    for done, _ in enumerate(_in_threads(work, items), start=1):
        on_shard(done, len(items))
    return runs


def check_entry(archive: Path, name: str, file: str, entry: Entry) -> bytes:
    """Returns the bytes of a file in an archive. Raises OSError, and ShardError if the manifest describes another."""
    path = archive / name / file
    if Path(file).name != file:
        raise ShardError(f"{shown(archive / MANIFEST)}: is damaged: {printable(file)} is no file in it")
    data = read_bytes(path, _MOST_BYTES)
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise ShardError(f"{shown(path)}: differs from the manifest: wrong SHA-256")
    return data


def _in_threads(work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    """Yields the results in order; an error or the end of the caller cancels the items that have not begun."""
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(cancel_futures=True)
