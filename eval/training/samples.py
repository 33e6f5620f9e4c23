"""Turns games into training positions: decodes, filters and packs at the speed of the disk.

A position is a SAMPLE of 32 bytes; `unpacked` makes POSITION records of them. Scores and results are White's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engine.board.position import POSITION
from engine.memory import allocate
from eval.training.kernels.decoding import decode_samples
from eval.training.kernels.records import SAMPLE, unpack_samples
from eval.training.shards import Shard, find_shards, read_shard

#: Scores from here on are as good as mates.
SCORE_LIMIT: Final = 10_000
#: The search scales evaluations towards 0 by half a percent for each ply since the last capture or pawn move
#: (`search.kernels.correction.corrected`). Below this many plies, a score is at most a fifth too small.
HALFMOVES: Final = 40
#: More than the clock of any position: the fifty-move rule ends games at 100.
ANY_HALFMOVES: Final = 256

Samples = npt.NDArray[np.void]


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


def shard_samples(shard: Shard, wanted: Filter = Filter(), chosen: npt.NDArray[np.bool_] | None = None) -> Samples:
    """The wanted positions of one shard in order, SAMPLE[n]; only those of the `chosen` games, if that is given."""
    games, first = shard.games, shard.first
    if chosen is not None:
        games, first = games[chosen], first[chosen]
    line, samples = allocate(POSITION, 2), allocate(SAMPLE, int(games["plies"].sum()))
    count = decode_samples(games, shard.plies, first, wanted.as_array(), line, samples)
    return samples[:count]  # type: ignore[no-any-return]


def samples(
    paths: Sequence[str | Path] | str | Path, wanted: Filter = Filter(), partial: bool = False
) -> Iterator[Samples]:
    """The wanted positions of each shard, SAMPLE[n]; for `paths` and `partial` see `find_shards`. Raises ShardError."""
    for path in find_shards(paths, partial):
        yield shard_samples(read_shard(path), wanted)


def unpacked(samples: Samples) -> Any:
    """The positions of SAMPLE[n] as complete POSITION[n]."""
    positions = allocate(POSITION, len(samples))
    unpack_samples(samples, positions)
    return positions


def game_numbers(samples: Samples) -> npt.NDArray[np.int64]:
    """Numbers the games of one shard's SAMPLE[n] from 0 on: int64[n]."""
    numbers: npt.NDArray[np.int64] = np.cumsum(np.diff(samples["game"], prepend=samples["game"][:1]) != 0)
    return numbers
