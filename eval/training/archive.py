"""An archive: the finished shards of one run or several in compressed form, with a manifest of their origin.

    archive/manifest.json                  the runs: settings, commit, counts, and each file's size and SHA-256
    archive/first/shard-000000.archive     a shard of the run whose folder was `first`; see `eval.training.shards`

Every function continues after an interruption. It replaces no file but the archive of a shard that has grown since.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, TypeVar

from engine.files import Output, built, parse_json, printable, read_bytes, reason, shown
from engine.progress import say
from eval.training.kernels.archiving import CANCELLED
from eval.training.shards import (
    ARCHIVE_MAGIC,
    ARCHIVED,
    FINISHED,
    FOOT,
    MAGIC,
    NAME,
    UNFINISHED,
    ShardError,
    check_only_writer,
    check_settings,
    decode_archive,
    encode_archive,
    is_archive_of,
    only_writer,
    read_head,
    read_shard,
)

MANIFEST: Final = "manifest.json"

Item = TypeVar("Item")
Result = TypeVar("Result")

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
        for name, run in runs.items():
            if Path(name).name != name or name in ("", "..") or "\0" in name:
                raise ValueError(f"{name!r} is no name of a folder")
            for file in run["shards"]:
                if not fnmatchcase(file, f"{NAME}{ARCHIVED}"):
                    raise ValueError(f"{file!r} is no name of an archived shard")
        return {
            name: Run(
                built(dict, run["settings"], "settings"),
                built(str | None, run["commit"], "commit"),
                {file: built(Entry, entry, file) for file, entry in sorted(run["shards"].items())},
            )
            for name, run in sorted(runs.items())
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ShardError(f"{shown(path)}: is damaged: {printable(str(error))}") from None


def find_runs(path: Path) -> list[tuple[Path, dict[str, Entry]]]:
    """Returns the folders of the archived runs that `path` names, each with the manifest's entries of its files.

    `path` is an archive, or the folder of a run in one; runs that the manifest lacks have no entries. Returns [] for
    other paths, and for folders with shards that are not archived. Raises OSError, and ShardError for a damaged
    manifest and for an archive without runs.
    """
    if any(file.suffix != ARCHIVED for file in path.glob(f"{NAME}.*")):
        return []
    if (path / MANIFEST).is_file():
        runs = read_manifest(path)
        present = {file.parent.name for file in path.glob(f"*/{NAME}{ARCHIVED}")}
        folders = {name: path / name for name in sorted(present.union(runs))}
        if not folders:
            raise ShardError(f"{shown(path)}: contains no runs")
    else:
        folder = Path(os.path.normpath(Path.cwd() / path))  # `resolve` would follow a link out of the archive
        if not (folder.parent / MANIFEST).is_file():
            return []
        runs = read_manifest(folder.parent)
        if folder.name not in runs and not path.is_dir():
            return []
        folders = {folder.name: path}
    return [(folder, runs[name].shards if name in runs else {}) for name, folder in folders.items()]


def differences(folder: Path, listed: dict[str, Entry]) -> Iterator[tuple[Path, str]]:
    """Compares the archived shards in a run's folder with the manifest's entries `listed`.

    Yields each file that differs, and a line that says how.
    """
    present = {path.name for path in folder.glob(f"{NAME}{ARCHIVED}")}
    for file in sorted(present.union(listed)):
        path = folder / file
        if file not in listed:
            yield path, f"{shown(path)}: is not in {MANIFEST}"
        elif file not in present:
            yield path, f"{shown(path)}: is in {MANIFEST}, but missing"
        else:
            try:
                code = read_bytes(path, _MOST_BYTES)
            except OSError as error:
                yield path, f"{shown(path)}: cannot be read: {reason(error)}"
            else:
                if hashlib.sha256(code).hexdigest() != listed[file].sha256:
                    yield path, _differs(path)


def _differs(path: Path) -> str:
    return f"{shown(path)}: differs from the manifest: wrong SHA-256"


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

    Calls `on_shard(shards, all shards)` after each shard. Raises OSError, and ShardError for a folder without finished
    shards, an edited manifest, and a run in the archive that has the same name but other settings or another commit.
    Raises ShardError for damaged shards and archives and those of other runs, after it has added all other shards.
    """
    shards = {folder.resolve().name: sorted(folder.glob(f"{NAME}{FINISHED}")) for folder in folders}
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
            run = runs.get(name, Run(settings, commit, {}))
            runs[name] = run = replace(run, commit=run.commit or commit)
            check_settings(archive / name, run.settings, settings)
            if commit not in (None, run.commit):
                raise ShardError(f"{shown(archive / name)}: has the commit {run.commit} in {MANIFEST}, not {commit}")
            (archive / name).mkdir(exist_ok=True)

        def work(item: tuple[Run, Path, Path]) -> None:
            run, path, folder = item
            target = folder / path.with_suffix(ARCHIVED).name
            try:
                check_settings(path, read_head(path), run.settings)
                run.shards[target.name] = _archive_shard(path, target, run.shards.get(target.name))
            except ShardError as error:
                problems.append(str(error))

        problems: list[str] = []
        items = [(runs[name], path, archive / name) for name, paths in shards.items() for path in paths]
        try:
            for done, _ in enumerate(in_threads(work, items), start=1):
                on_shard(done, len(items))
        finally:
            check_only_writer(archive)
            output.replace(_manifest(runs))
        if problems:
            raise ShardError("; ".join(problems))
        return runs


def _archive_shard(path: Path, target: Path, known: Entry | None) -> Entry:
    """Writes a shard's archive unless it is already there; `known` is its entry in the manifest.

    Replaces the archive of a shorter version of the shard. Raises OSError, and ShardError if a damaged file or the
    archive of another shard is in the way.
    """
    content, data, old = path.read_bytes(), b"", b""
    if target.exists():
        data = read_bytes(target, _MOST_BYTES)
        if known is not None and known.sha256 == hashlib.sha256(data).hexdigest() and is_archive_of(data, content):
            return known
        try:
            old = decode_archive(target, data)
        except ShardError as error:
            raise ShardError(f"{error}; move or remove it, and the same command writes it anew") from None
    if old != content:
        if not content.startswith(old[: -FOOT.itemsize]):
            raise ShardError(f"{shown(target)}: is the archive of another shard; it is not replaced")
        data = encode_archive(path)
        check_only_writer(target.parent.parent)
        Output(target, lambda head: head.startswith(ARCHIVE_MAGIC), "archived shard").replace(data)
    shard = read_shard(path)
    return Entry(len(shard.games), shard.positions, len(data), hashlib.sha256(data).hexdigest())


def restore_runs(archive: Path, folder: Path, on_shard: Callable[[int, int], None]) -> dict[str, Run]:
    """Restores each run of an archive as a folder of shards in `folder`, byte for byte, and returns the runs.

    Leaves a shard as it is, and says so, if it has the archive's games and more. Calls `on_shard(shards, all shards)`
    after each shard. Raises OSError, and ShardError for a file that is missing, damaged or not as the manifest
    describes it, for another or an unfinished shard that is in the way, and for a folder that another process uses.
    """
    runs = read_manifest(archive)
    items = [(archive / name / file, entry.sha256) for name, run in runs.items() for file, entry in run.shards.items()]

    def work(item: tuple[Path, str]) -> None:
        path, sha256 = item
        target = (folder / path.parent.name / path.name).with_suffix(FINISHED)
        if os.path.lexists(part := target.with_suffix(UNFINISHED)):
            raise ShardError(f"{shown(part)}: is the same shard, unfinished; finish it with `secateur datagen`")
        code = read_bytes(path, _MOST_BYTES)
        if hashlib.sha256(code).hexdigest() != sha256:
            raise ShardError(_differs(path))
        data = decode_archive(path, code)
        there = read_bytes(target, target.stat().st_size) if target.exists() else b""
        if not there:
            Output(target, lambda head: head.startswith(MAGIC), "shard").replace(data)
        elif len(there) > len(data) and there.startswith(data[: -FOOT.itemsize]):
            say(f"note: {shown(target)}: has more games than its archive; it is left unchanged")
        elif there != data:
            raise ShardError(f"{shown(target)}: is another shard; it is not replaced")

    with ExitStack() as locks:
        for name in runs:
            (folder / name).mkdir(parents=True, exist_ok=True)
            locks.enter_context(only_writer(folder / name, "making or restoring games"))
        for done, _ in enumerate(in_threads(work, items), start=1):
            on_shard(done, len(items))
    return runs


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yields `work(item)` for each item, in order, from a thread for each core.

    Works at most two items per thread ahead, because results may be large. An error or the end of the caller cancels
    all other items. Raises the errors of `work`.
    """
    threads = os.cpu_count() or 1
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        CANCELLED.set()
        pool.shutdown(cancel_futures=True)
        CANCELLED.clear()
