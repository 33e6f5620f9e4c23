"""The pool: the data that a network is trained on, in one file of shuffled positions that training maps into memory.

    training.samples    SAMPLE[n], shuffled, of the games to learn from
    validation.samples  SAMPLE[m] of the games that are held out for validation
    pool.json           their origin; written last, so that a pool that has it is complete

A hash of a game's moves decides whether it is held out. So whole games are held out, because neighbouring positions
share their result; the same games are held out with every seed; and a game that was played twice is never on both
sides.

The file is shuffled once, in two passes that need little memory: positions go to random buckets, then each bucket is
shuffled. A pass over the data (an epoch) reads runs of `CHUNK` positions in an order of its own, so that batches never
repeat, while the disk is read in whole pages.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engine.files import HEAD_LENGTH, Output, leads_to, open_regular, parse_json, read_bytes
from engine.memory import readable
from eval.training.gradients import CHUNK, count_unsound
from eval.training.records import PLY, SAMPLE
from eval.training.samples import Filter, shard_samples
from eval.training.shards import Shard, ShardError, find_shards, open_shards
from eval.training.texel import fit_slope

TRAINING: Final = "training.samples"
VALIDATION: Final = "validation.samples"
FACTS: Final = "pool.json"
#: A folder with a file for each bucket, numbered, while the pool is made.
BUCKET_FOLDER: Final = "buckets"

#: Positions that a bucket holds on average: 64 MiB.
BUCKET: Final = 1 << 21
#: The slope of the scores is fitted to at most this many positions.
SLOPE_POSITIONS: Final = 500_000

Samples = npt.NDArray[np.void]


@dataclass(frozen=True)
class Facts:
    """The contents of a pool and their origin.

    `sources` are the settings that games were played by, each with the number of its games; `share` is the share of the
    games held out, `wanted` the filter. `slope` is the scale in centipawns with which scores predict results best,
    `crc` the CRC-32 of the training positions. `seconds` is the time it took to make the pool, None if it was not
    measured; comparisons of facts ignore it.
    """

    shards: int
    games: int
    training: int
    validation: int
    share: float
    wanted: dict[str, Any]
    slope: float
    crc: int
    sources: list[dict[str, Any]]
    seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Pool:
    """An open pool: SAMPLE[n] to learn from, SAMPLE[m] for validation."""

    training: Samples
    validation: Samples
    facts: Facts

    @property
    def chunks(self) -> int:
        """Whole runs of CHUNK training positions."""
        return len(self.training) // CHUNK


def held_out(shard: Shard, share: float) -> npt.NDArray[np.bool_]:
    """Which games of a shard are held out for validation, bool[n]: about `share` of them."""
    chosen = np.zeros(len(shard.games), np.bool_)
    limit = share * 2.0**32
    for index, (first, count) in enumerate(zip(shard.first.tolist(), shard.games["plies"].tolist(), strict=True)):
        moves = np.ascontiguousarray(shard.plies[first : first + count]["move"])
        chosen[index] = zlib.crc32(moves.tobytes(), zlib.crc32(shard.games[index]["start"].tobytes())) < limit
    return chosen


def _sides(shard: Shard, wanted: Filter, share: float) -> tuple[Samples, Samples]:
    """The training and the validation positions of a shard. Raises ShardError."""
    checking = held_out(shard, share)
    training, validation = shard_samples(shard, wanted, ~checking), shard_samples(shard, wanted, checking)
    unsound = int(count_unsound(training) + count_unsound(validation))
    if unsound:
        raise ShardError(f"{shard.path}: {unsound} positions are not of chess; see `secateur datagen verify`")
    return training, validation


def build_pool(
    folder: Path,
    paths: Sequence[str | Path],
    wanted: Filter,
    share: float,
    seed: int,
    partial: bool = False,
    on_problem: Callable[[ShardError], None] | None = None,
    on_shard: Callable[[int, int], None] | None = None,
) -> Facts:
    """Decodes, filters, splits and shuffles shards (see `open_shards`) into a pool in `folder`, which must exist.

    The same shards in the same order and the same arguments give the same pool. `on_shard(shards, positions)` is called
    after each shard. Raises ShardError and OSError, also where a file of another kind has the name of one of the pool's
    files.
    """
    began = time.perf_counter()
    check_samples(folder)
    output = facts_output(folder)
    (folder / FACTS).unlink(missing_ok=True)
    buckets = folder / BUCKET_FOLDER
    clear_buckets(folder)
    buckets.mkdir()
    for name in (TRAINING, VALIDATION):
        (folder / name).unlink(missing_ok=True)
    rng = np.random.default_rng([seed, 0])
    # A position takes at least the four bytes of its move and score.
    most = sum(path.stat().st_size for path in find_shards(paths, partial)) // PLY.itemsize
    count = most // BUCKET + 1
    training = validation = 0
    sources: list[dict[str, Any]] = []
    with ExitStack() as files:
        dealt = [files.enter_context(open_regular(buckets / str(number), "x+b")) for number in range(count)]
        checking = files.enter_context(open_regular(folder / VALIDATION, "xb"))
        for shard in open_shards(paths, partial, on_problem):
            try:
                learning, kept = _sides(shard, wanted, share)
            except ShardError as error:
                if on_problem is None:
                    raise
                on_problem(error)
                continue
            checking.write(kept.tobytes())
            choice = rng.integers(count, size=len(learning))
            for number, file in enumerate(dealt):
                file.write(learning[choice == number].tobytes())
            training, validation = training + len(learning), validation + len(kept)
            sources.append({**shard.settings, "games": len(shard.games)})
            if on_shard is not None:
                on_shard(len(sources), training + validation)
        crc = 0
        learnt = files.enter_context(open_regular(folder / TRAINING, "xb"))
        for number, file in enumerate(dealt):
            file.seek(0)
            data = rng.permutation(np.fromfile(file, SAMPLE)).tobytes()
            crc = zlib.crc32(data, crc)
            learnt.write(data)
            path = buckets / str(number)
            if not leads_to(path, file):
                raise FileExistsError(errno.EEXIST, "another file took its place; it is left as it is", str(path))
            file.close()
            path.unlink()
    buckets.rmdir()
    # The file is in random order, so its beginning is a fair sample.
    slope = _slope(_mapped(folder / TRAINING)[:SLOPE_POSITIONS])
    games = sum(source["games"] for source in sources)
    summary = _summed_up(sources)
    seconds = round(time.perf_counter() - began, 3)
    facts = Facts(len(sources), games, training, validation, share, asdict(wanted), slope, crc, summary, seconds)
    output.replace(json.dumps(asdict(facts), indent=2) + "\n")
    return facts


def facts_output(folder: Path) -> Output:
    """The file for a pool's facts. Raises OSError where another file has its name."""
    return Output(folder / FACTS, lambda head: head.startswith(b'{\n  "shards": '), "pool of positions")


def _summed_up(sources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merges sources that differ only in their games."""
    games: dict[str, int] = {}
    for source in sources:
        settings = {name: value for name, value in source.items() if name != "games"}
        text = json.dumps(settings, sort_keys=True)
        games[text] = games.get(text, 0) + source["games"]
    return [{**json.loads(text), "games": count} for text, count in games.items()]


def _slope(samples: Samples) -> float:
    """The scale with which scores predict results best; 400 where there is nothing to fit it to."""
    if not len(samples):
        return 400.0
    return round(fit_slope(samples["score"].astype(np.float64), samples["result"] * 0.5), 1)


def clear_buckets(folder: Path) -> None:
    """Removes the buckets of an unfinished pool. Raises OSError.

    Callers run `check_samples` first, which checks that the files are buckets.
    """
    for path in _buckets(folder):
        path.unlink()
    with suppress(FileNotFoundError):
        (folder / BUCKET_FOLDER).rmdir()


def _buckets(folder: Path) -> list[Path]:
    """The files that have the names of buckets."""
    buckets = folder / BUCKET_FOLDER
    if buckets.is_symlink() or not buckets.exists():
        return []
    return [path for path in buckets.iterdir() if path.name.isdecimal()]


def check_samples(folder: Path) -> None:
    """Raises OSError where a link, or a file without positions, has the name of a pool's file of positions."""
    for path in (folder / TRAINING, folder / VALIDATION, *_buckets(folder)):
        _check_samples(path)


def _check_samples(path: Path) -> None:
    try:
        if not path.is_symlink():
            with open_regular(path) as file:
                head = file.read(HEAD_LENGTH)
            # A file of an unfinished pool may end within a position.
            samples = np.frombuffer(head, SAMPLE, len(head) // SAMPLE.itemsize).copy()
            if not head or (len(samples) and not count_unsound(readable(samples))):
                return
    except FileNotFoundError:
        return
    raise FileExistsError(errno.EEXIST, "is there already, and no pool says that it is its own", str(path))


def _mapped(path: Path) -> Any:
    """The positions of a file, mapped into memory. Raises OSError, and ShardError where the last one is incomplete."""
    with open_regular(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return readable(np.zeros(0, SAMPLE))
        # Copy on write makes the array writable: a kernel would have to be compiled again for read-only arrays.
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    if len(data) % SAMPLE.itemsize:
        raise ShardError(f"{path}: ends within a position")
    return readable(np.frombuffer(data, SAMPLE))


def read_facts(folder: Path) -> Facts:
    """The facts in a pool's file. Raises OSError, and ShardError where that file is damaged."""
    try:
        return Facts(**parse_json(read_bytes(folder / FACTS, 1 << 20)))
    except (ValueError, TypeError) as error:
        raise ShardError(f"{folder / FACTS}: is damaged: {error}") from None


def open_pool(folder: Path) -> Pool:
    """Opens a pool. Raises OSError, and ShardError where it is incomplete."""
    facts = read_facts(folder)
    pool = Pool(_mapped(folder / TRAINING), _mapped(folder / VALIDATION), facts)
    for name, samples, count in (
        (TRAINING, pool.training, facts.training),
        (VALIDATION, pool.validation, facts.validation),
    ):
        if len(samples) != count:
            raise ShardError(f"{folder / name}: holds {len(samples)} positions instead of {count}")
    return pool


def epoch_order(seed: int, epoch: int, chunks: int) -> npt.NDArray[np.int64]:
    """The order in which epoch `epoch` (from 0 on) reads the chunks."""
    return np.random.default_rng([seed, 1, epoch]).permutation(chunks)


def batches(seed: int, chunks: int, size: int, step: int) -> Iterator[npt.NDArray[np.int64]]:
    """The chunks of each batch, int64[size], from step `step` (from 0 on) of an endless training run.

    An epoch is cut into whole batches; the few chunks left over differ from epoch to epoch. The batch of step n depends
    on n alone, so that a run can resume at any step.
    """
    a_pass = chunks // size
    while True:
        order = epoch_order(seed, step // a_pass, chunks)
        for index in range(step % a_pass, a_pass):
            yield order[index * size : (index + 1) * size]
            step += 1
