"""Turns games into training positions: decodes the games, then filters and packs their positions.

A position is a SAMPLE of 32 bytes (see `eval.training.kernels.records`). Scores and results are from White's view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.board.position import POSITION
from engine.memory import allocate
from eval.training.kernels.decoding import decode_samples
from eval.training.kernels.records import SAMPLE, TREE
from eval.training.shards import Shard, find_shards, read_shard

#: Scores of at least this many centipawns for either side count as mates; the default filter omits their positions.
SCORE_LIMIT: Final = 10_000
#: The search scales evaluations towards 0 by half a percent for each ply since the last capture or pawn move (see
#: `search.kernels.correction.corrected_eval`). Below this many plies, that shrinks an evaluation by at most a fifth.
HALFMOVES: Final = 40
#: Greater than any recorded halfmove clock, which has one byte.
ANY_HALFMOVES: Final = 256

Samples = npt.NDArray[np.void]


@dataclass(frozen=True)
class Filter:
    """A filter of positions, and the label that replaces a position's score.

    The filter leaves out the first `skip` plies of a game, random ones included; positions that score at least
    `score_limit` centipawns for either side; positions with at least `halfmoves` plies since the last capture or pawn
    move; and, if `quiet` is true, positions in check and those whose best move is a capture or a promotion. Without
    `trees` it leaves out positions of search trees; without `games`, those of games, except in shards without trees.

    The label is a mean of the scores from this position on, as expected results. Each further ply counts `lookahead` %
    of the ply before, and the result takes the place of all plies after the end: 0 gives the score, 100 the result. If
    the game ended by its length, or is only a position of a search tree, the last score takes the place of the result.
    Later searches of the same line see further, and errors that change from ply to ply cancel. (This is the lambda
    return of R. S. Sutton, "Learning to predict by the methods of temporal differences", 1988.)
    """

    skip: int = 0
    score_limit: int = SCORE_LIMIT
    quiet: bool = True
    halfmoves: int = HALFMOVES
    lookahead: int = 0
    games: bool = True
    trees: bool = True

    def as_array(self) -> npt.NDArray[np.int64]:
        """Returns the first five fields in their order, as int64[5] for the kernels."""
        return np.array([self.skip, self.score_limit, self.quiet, self.halfmoves, self.lookahead], np.int64)


ALL: Final = Filter(score_limit=1 << 15, quiet=False, halfmoves=ANY_HALFMOVES)


def shard_samples(shard: Shard, wanted: Filter = Filter(), chosen: npt.NDArray[np.bool_] | None = None) -> Samples:
    """Returns a shard's wanted positions in order, SAMPLE[n]. `chosen`, bool[games], is a mask of the games to use."""
    of_trees = shard.games["ending"] == TREE
    used = np.where(of_trees, wanted.trees, wanted.games or not of_trees.any())
    if chosen is not None:
        used &= chosen
    games, first = shard.games[used], shard.first[used]
    line, samples = allocate(POSITION, 2), allocate(SAMPLE, int(games["plies"].sum()))
    labels = np.zeros(len(shard.plies), np.int16)
    count = decode_samples(games, shard.plies, first, wanted.as_array(), line, labels, samples)
    return samples[:count]  # type: ignore[no-any-return]


def samples(
    paths: Sequence[str | Path] | str | Path, wanted: Filter = Filter(), partial: bool = False
) -> Iterator[Samples]:
    """Yields the wanted positions of each shard in `paths`, SAMPLE[n]. Raises ShardError if a shard is unusable."""
    for path in find_shards(paths, partial):
        yield shard_samples(read_shard(path), wanted)
