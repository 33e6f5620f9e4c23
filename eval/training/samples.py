"""Turns games into training positions: decodes, filters and packs at the speed of the disk.

`positions` yields complete POSITION records in batches. `samples` yields 32-byte SAMPLE records, small enough to keep
and shuffle in memory (`unpack_samples` turns them into positions). Scores and results are White's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.board.position import POSITION
from engine.memory import allocate
from eval.training.decoding import decode_samples
from eval.training.records import SAMPLE, unpack_samples
from eval.training.shards import Shard, ShardError, open_shards

#: Scores from here on are as good as mates.
SCORE_LIMIT: Final = 10_000
#: The search scales evaluations towards 0 by half a percent for each ply since the last capture or pawn move
#: (`search.kernels.correction.corrected`), and will do so again with a network that learns from the scores. Up to this
#: many plies, a score is at most a fifth too small; docs/training.md has the counts.
HALFMOVES: Final = 40
#: More than the clock of any position: the fifty-move rule ends games at 100.
ANY_HALFMOVES: Final = 256


@dataclass(frozen=True)
class Filter:
    """Selects positions of a game by leaving others out.

    `skip` leaves out the first plies of the game, random ones included; `score_limit` positions with a score
    (centipawns) of at least that size; `quiet` those in check and those whose best move is a capture or a promotion;
    `halfmoves` those with at least that many plies since the last capture or pawn move.
    """

    skip: int = 0
    score_limit: int = SCORE_LIMIT
    quiet: bool = True
    halfmoves: int = HALFMOVES

    def as_array(self) -> npt.NDArray[np.int64]:
        """As the kernels take it: int64[4]."""
        return np.array([self.skip, self.score_limit, self.quiet, self.halfmoves], np.int64)


ALL: Final = Filter(score_limit=1 << 15, quiet=False, halfmoves=ANY_HALFMOVES)


class Batch(NamedTuple):
    """Positions with their scores and results, from White's point of view.

    `positions` POSITION[n], whose keys are not kept up to date; `scores` int16[n] centipawns; `results` float32[n]:
    0, 0.5 or 1; `plies` uint16[n] plies from the start of the game; `games` uint8[n], a number that changes where the
    next game begins.
    """

    positions: Any
    scores: npt.NDArray[np.int16]
    results: npt.NDArray[np.float32]
    plies: npt.NDArray[np.uint16]
    games: npt.NDArray[np.uint8]


def _parts(shard: Shard, most: int) -> Iterator[tuple[slice, int]]:
    """Cuts the games of a shard into runs of at most `most` positions (or one game), each with its position count."""
    ends = np.cumsum(shard.games["plies"], dtype=np.int64)
    start = done = 0
    while start < len(ends):
        end = max(int(np.searchsorted(ends, done + most, "right")), start + 1)
        yield slice(start, end), int(ends[end - 1]) - done
        start, done = end, int(ends[end - 1])


def shard_samples(
    shard: Shard, wanted: Filter = Filter(), chosen: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.void]:
    """The wanted positions of one shard in order, SAMPLE[n]; only those of the `chosen` games, if that is given."""
    games, first = shard.games, shard.first
    if chosen is not None:
        games, first = games[chosen], first[chosen]
    line, samples = allocate(POSITION, 2), allocate(SAMPLE, int(games["plies"].sum()))
    count = decode_samples(games, shard.plies, first, wanted.as_array(), line, samples)
    return samples[:count]  # type: ignore[no-any-return]


def wanted_count(shard: Shard, wanted: Filter = Filter()) -> int:
    """How many positions of a shard pass the filter."""
    return len(shard_samples(shard, wanted))


def samples(
    paths: Sequence[str | Path] | str | Path,
    wanted: Filter = Filter(),
    partial: bool = False,
    on_problem: Callable[[ShardError], None] | None = None,
) -> Iterator[npt.NDArray[np.void]]:
    """The wanted positions of each shard, SAMPLE[n]; for the arguments see `open_shards`."""
    for shard in open_shards(paths, partial, on_problem):
        yield shard_samples(shard, wanted)


def positions(
    paths: Sequence[str | Path] | str | Path,
    wanted: Filter = Filter(),
    partial: bool = False,
    on_problem: Callable[[ShardError], None] | None = None,
    batch: int = 65_536,
) -> Iterator[Batch]:
    """The wanted positions in batches of at most `batch` (or one game) before filtering; see `open_shards`.

    Each batch has arrays of its own.
    """
    line, earlier_games = allocate(POSITION, 2), 0
    for shard in open_shards(paths, partial, on_problem):
        for part, size in _parts(shard, batch):
            packed = allocate(SAMPLE, size)
            count = decode_samples(shard.games[part], shard.plies, shard.first[part], wanted.as_array(), line, packed)
            packed, records = packed[:count], allocate(POSITION, count)
            unpack_samples(packed, records)
            yield Batch(
                records,
                packed["score"].astype(np.int16),
                np.multiply(packed["result"], 0.5, dtype=np.float32),
                packed["ply"].astype(np.uint16),
                packed["game"] + np.uint8((earlier_games + part.start) & 0xFF),
            )
        earlier_games += len(shard.games)
