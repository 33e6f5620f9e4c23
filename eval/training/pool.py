"""The pool: the training data of a network, in files of positions that training maps into memory.

    training.samples    SAMPLE[n]: the positions to train on, shuffled
    validation.samples  SAMPLE[m]: the positions held out for validation
    pool.json           `Facts` about these positions and their games

Whole games are held out, with the positions of their search trees, because neighbouring positions are alike and share
their result. A hash of a game's start and moves decides whether the game is held out. So the choice does not depend on
the seed, and no game has copies in both files.

The training file is shuffled once, in two passes that need little memory: positions go to random buckets, then each
bucket is shuffled. Every epoch (pass over the data) reads chunks of `CHUNK` positions in a new random order.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engine.files import built, count_of, open_regular, parse_json, printable, read_bytes, shown
from engine.memory import readable
from eval.training.archive import in_threads
from eval.training.kernels.gradients import count_invalid
from eval.training.kernels.records import PLY, SAMPLE, TREE
from eval.training.samples import Filter, Samples, shard_samples
from eval.training.shards import ARCHIVED, Shard, ShardError, find_shards, present_path, read_shard

Reals = npt.NDArray[np.float64]

TRAINING: Final = "training.samples"
VALIDATION: Final = "validation.samples"
FACTS: Final = "pool.json"

#: Buckets contain at most this many positions (64 MiB) on average, unless MOST_BUCKETS are too few.
BUCKET: Final = 1 << 21

#: The greatest number of buckets. Each is an open file, and a process may often open only 1024.
MOST_BUCKETS: Final = 512
#: Times this odd number, hashes are in another order: `used` and `held_out`, which compare hashes with a limit, select
#: almost independently.
_OTHER_HASH: Final = np.uint32(0x9E37_79B1)
#: `Facts.slope` is fitted to the scores of at most this many positions.
SLOPE_POSITIONS: Final = 500_000


@dataclass(frozen=True)
class Facts:
    """The facts about a pool: its contents and their origin.

    The first four fields count shards, games, training positions and validation positions. `share` is the share of
    games to hold out. `wanted` is the filter of positions. `slope` is the scale in centipawns with which scores predict
    results best. `sources` lists the different settings of the games, each with the number of games. `seconds` is the
    time that making the pool took, or None if the time was not measured. `crc` is the CRC-32 of the training positions.
    `validation_crc` is the CRC-32 of the validation positions, or None in an older pool.
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
    validation_crc: int | None = None


@dataclass(frozen=True)
class Pool:
    """An open pool: SAMPLE[n] for training and SAMPLE[m] for validation."""

    training: Samples
    validation: Samples
    facts: Facts


def game_hashes(shard: Shard) -> npt.NDArray[np.uint32]:
    """Returns a hash of each game's start and moves, uint32[n]. Positions of its trees have the hash of their game."""
    own = shard.games["ending"] != TREE
    own[:1] = True  # a damaged shard may begin with a position of a tree
    games, first = shard.games[own], shard.first[own].tolist()
    hashes = np.zeros(len(games), np.uint32)
    for index, (begin, count) in enumerate(zip(first, games["plies"].tolist(), strict=True)):
        moves = np.ascontiguousarray(shard.plies[begin : begin + count]["move"])
        hashes[index] = zlib.crc32(moves.tobytes(), zlib.crc32(games[index]["start"].tobytes()))
    of_each: npt.NDArray[np.uint32] = hashes[np.cumsum(own) - 1]
    return of_each


def held_out(hashes: npt.NDArray[np.uint32], share: float) -> npt.NDArray[np.bool_]:
    """Selects about `share` of the games for validation by their hashes; returns a mask, bool[n]."""
    return hashes < share * 2.0**32


def used(hashes: npt.NDArray[np.uint32], weight: float) -> npt.NDArray[np.bool_]:
    """Selects about `weight` of the games for use by their hashes, whether they are held out or not; bool[n]."""
    return hashes * _OTHER_HASH < weight * 2.0**32


def _decoded(path: Path, weight: float, wanted: Filter, share: float) -> tuple[Samples, Samples, dict[str, Any]]:
    """Decodes a shard for `build_pool`.

    Returns the positions to train on, those held out, and the entry for `Facts.sources`. Raises OSError, and ShardError
    if the shard or a position is unusable.
    """
    shard = read_shard(path)
    hashes = game_hashes(shard)
    out, use = held_out(hashes, share), used(hashes, weight)
    training_samples = shard_samples(shard, wanted, use & ~out)
    validation_samples = shard_samples(shard, wanted, use & out)
    invalid_count = int(count_invalid(training_samples) + count_invalid(validation_samples))
    if invalid_count:
        invalid = count_of(invalid_count, "invalid position")
        raise ShardError(f"{path}: contains {invalid}; check the file with `secateur datagen verify`")
    games = int((use & (shard.games["ending"] != TREE)).sum())
    return training_samples, validation_samples, {**shard.settings, "games": games}


def build_pool(
    folder: Path,
    paths: Sequence[str | Path],
    wanted: Filter,
    share: float,
    seed: int,
    partial: bool = False,
    on_shard: Callable[[int, int], None] = lambda shards, positions: None,
    weights: Mapping[str, float] = MappingProxyType({}),
) -> Facts:
    """Decodes, filters, splits and shuffles shards (see `find_shards`) into a pool in `folder`; returns its facts.

    `folder` must contain no files of a pool. `share` is the share of games to hold out for validation. `weights` gives
    the share of the games to use, 0 to 1, for some of `paths`; all games of the other paths are used. The same shards
    in the same order and the same arguments give the same files of positions. After each shard, calls `on_shard` with
    the total numbers of shards and positions. Raises OSError, and ShardError if shards or positions are unusable.
    """
    began = time.perf_counter()
    rng = np.random.default_rng([seed, 0])
    # Each position takes at least the four bytes of a PLY, or one in an archive, so the sizes of the files bound the
    # number of positions.
    shards = [(shard, weights.get(str(path), 1.0)) for path in paths for shard in find_shards([path], partial)]
    sizes = ((path, present_path(path).stat().st_size) for path, _ in shards)
    most = sum(size // (1 if path.suffix == ARCHIVED else PLY.itemsize) for path, size in sizes)
    count = min(most // BUCKET + 1, MOST_BUCKETS)
    training = validation = crc = validation_crc = 0
    sources: list[dict[str, Any]] = []
    with ExitStack() as files:
        buckets = [files.enter_context(open_regular(folder / str(number), "x+b")) for number in range(count)]
        validation_file = files.enter_context(open_regular(folder / VALIDATION, "xb"))
        decoded = in_threads(lambda shard: _decoded(*shard, wanted, share), shards)
        for training_samples, validation_samples, source in decoded:
            validation_file.write(validation_samples.tobytes())
            validation_crc = zlib.crc32(validation_samples.tobytes(), validation_crc)
            choice = rng.integers(count, size=len(training_samples))
            for number, file in enumerate(buckets):
                file.write(training_samples[choice == number].tobytes())
            training, validation = training + len(training_samples), validation + len(validation_samples)
            sources.append(source)
            on_shard(len(sources), training + validation)
        training_file = files.enter_context(open_regular(folder / TRAINING, "xb"))
        for number, file in enumerate(buckets):
            file.seek(0)
            data = rng.permutation(np.fromfile(file, SAMPLE)).tobytes()
            crc = zlib.crc32(data, crc)
            training_file.write(data)
            file.close()
            (folder / str(number)).unlink()
    # The file is shuffled, so its beginning is a random sample.
    slope = _slope(np.fromfile(folder / TRAINING, SAMPLE, SLOPE_POSITIONS))
    counts = (len(sources), sum(source["games"] for source in sources), training, validation)
    seconds = round(time.perf_counter() - began, 3)
    facts = Facts(*counts, share, asdict(wanted), slope, crc, _summed_up(sources), seconds, validation_crc)
    (folder / FACTS).write_text(json.dumps(asdict(facts), indent=2) + "\n", encoding="utf-8")
    return facts


def _summed_up(sources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merges sources that differ only in `games`. The merged source has the sum of their `games`."""
    games: dict[str, int] = {}
    for source in sources:
        settings = {name: value for name, value in source.items() if name != "games"}
        text = json.dumps(settings, sort_keys=True)
        games[text] = games.get(text, 0) + source["games"]
    return [{**json.loads(text), "games": count} for text, count in games.items()]


def _slope(samples: Samples) -> float:
    """Returns the scale in centipawns with which scores predict results best, or 400 if there are no samples."""
    if not len(samples):
        return 400.0
    return round(fit_slope(samples["score"].astype(np.float64), samples["result"] * 0.5), 1)


def expected_results(centipawns: npt.NDArray[Any], slope: float) -> Reals:
    """Converts centipawns to expected results of the same side, 0 to 1: 1 / (1 + exp(-centipawns / slope))."""
    expected: Reals = 1.0 / (1.0 + np.exp(-np.clip(centipawns / slope, -500.0, 500.0)))
    return expected


def fit_slope(centipawns: Reals, results: Reals) -> float:
    """Returns the slope, 20 to 2000, that minimises the mean squared error between expected results and `results`."""

    def loss(log_slope: float) -> float:
        return float(np.mean((expected_results(centipawns, math.exp(log_slope)) - results) ** 2))

    low, high, ratio = math.log(20.0), math.log(2000.0), (math.sqrt(5.0) - 1.0) / 2.0
    while high - low > 1e-4:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if loss(left) <= loss(right):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2.0)


def holds_samples(head: bytes) -> bool:
    """Returns whether `head`, the beginning of a file, contains at least one position and no invalid position."""
    samples = np.frombuffer(head, SAMPLE, len(head) // SAMPLE.itemsize).copy()
    return bool(len(samples)) and not count_invalid(readable(samples))


def _mapped(path: Path, count: int, crc: int | None, show: Callable[[str], None]) -> Any:
    """Maps a file of SAMPLE[count] into memory. Raises OSError, and ShardError if its size or checksum is wrong."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size != count * SAMPLE.itemsize:
            raise ShardError(f"{shown(path)}: has {size} bytes instead of {count * SAMPLE.itemsize}")
        if not size:
            return readable(np.zeros(0, SAMPLE))
        # Copy on write makes the array writable. Kernels would have to be compiled again for a read-only array.
        samples = readable(np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), SAMPLE))
    found = 0
    for first in range(0, count, BUCKET):
        show(f"checking {path.name}: {first / count:.0%}")
        found = zlib.crc32(samples[first : first + BUCKET].data, found)
    if crc not in (None, found):
        raise ShardError(f"{shown(path)}: is damaged: wrong checksum")
    return samples


def open_pool(folder: Path, show: Callable[[str], None] = lambda text: None) -> Pool:
    """Opens and checks a pool; calls `show` with the progress. Raises OSError, and ShardError if a file is damaged."""
    try:
        facts: Facts = built(Facts, parse_json(read_bytes(folder / FACTS, 1 << 20)), "the pool")
        if facts.slope <= 0:
            raise ValueError("slope must be greater than 0")
    except (ValueError, TypeError) as error:
        raise ShardError(f"{shown(folder / FACTS)}: is damaged: {printable(str(error))}") from None
    training = _mapped(folder / TRAINING, facts.training, facts.crc, show)
    return Pool(training, _mapped(folder / VALIDATION, facts.validation, facts.validation_crc, show), facts)


def batches(seed: int, chunks: int, size: int, step: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yields batches without end, the first for step `step` (0 or more). A batch is an int64[size] of chunk numbers.

    `size` must not exceed `chunks`. An epoch divides `chunks` shuffled chunks into whole batches and omits the last
    chunks if they are too few for a batch. A step's batch depends only on the step, `seed`, `chunks` and `size`, so a
    run can resume at any step.
    """
    batches_per_epoch = chunks // size
    while True:
        order = np.random.default_rng([seed, 1, step // batches_per_epoch]).permutation(chunks)
        for index in range(step % batches_per_epoch, batches_per_epoch):
            yield order[index * size : (index + 1) * size]
            step += 1
