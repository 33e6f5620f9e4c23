"""Statistics of a data set: counts, results, endings of games, and histograms of scores, phases and lengths."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import numpy as np

from engine.board.moves import MAX_MOVES
from engine.board.position import POSITION
from engine.memory import allocate
from eval.kernels.classical import FULL_PHASE
from eval.training.generation import Settings
from eval.training.kernels.checking import PROBLEMS, SOUND, check_games
from eval.training.kernels.records import ENDINGS, VARIANTS
from eval.training.samples import ALL, ANY_HALFMOVES, Filter, Samples, shard_samples
from eval.training.shards import Shard, ShardError

#: Histogram of scores: centipawns a bin, and the score from which on all scores fall into the last bin.
SCORE_BIN: Final = 50
SCORE_END: Final = 2000
_SCORE_BINS: Final = 2 * SCORE_END // SCORE_BIN + 1
#: The text reports the share of positions with scores below each of these in size, in centipawns.
SCORE_EDGES: Final = (50, 100, 200, 400, 800, 1600)

#: Histogram of lengths: plies a bin, and their number.
LENGTH_BIN: Final = 10
_LENGTH_BINS: Final = 61

#: What each code of a packed position adds to the game phase; 7 is a rook that may castle.
_CODE_PHASE: Final = np.array([0, 0, 1, 1, 2, 4, 0, 2], np.int64)
#: The text counts positions by these ranges of phases.
_PHASES: Final = ((24, 24), (18, 23), (12, 17), (6, 11), (1, 5), (0, 0))

#: The most keys: those of a game and of the position after it.
_MOST_KEYS: Final = 65_537


def phases_of(samples: Samples) -> Any:
    """The game phase of each of SAMPLE[n], FULL_PHASE to 0, int64[n]."""
    pieces = samples["position"]["pieces"]
    return np.minimum((_CODE_PHASE[pieces & 7] + _CODE_PHASE[pieces >> 4 & 7]).sum(axis=1), FULL_PHASE)


class Statistics:
    """Counts over shards; call `add` for each. Arrays are int64, results in the order lost, drawn, won by White.

    `quiet` counts positions that pass the default filter, the halfmove clock ignored; `below[i]` those with a score
    below SCORE_EDGES[i] in size. `scores` is [bin], with bins SCORE_BIN wide and the middle one around 0; `phases` is
    [phase]; `lengths` is [bin], with bins LENGTH_BIN recorded plies wide.
    """

    def __init__(self) -> None:
        self.shards = self.size = self.games = self.positions = self.quiet = 0
        self.results = np.zeros(3, np.int64)
        self.endings = np.zeros(len(ENDINGS), np.int64)
        self.variants = np.zeros(len(VARIANTS), np.int64)
        self.scores = np.zeros(_SCORE_BINS, np.int64)
        self.below = np.zeros(len(SCORE_EDGES), np.int64)
        self.phases = np.zeros(FULL_PHASE + 1, np.int64)
        self.lengths = np.zeros(_LENGTH_BINS, np.int64)

    def add(self, shard: Shard) -> None:
        """Adds a shard to the counts."""
        games, samples = shard.games, shard_samples(shard, ALL)
        scores = samples["score"].astype(np.int64)
        bins = (np.clip(scores, -SCORE_END, SCORE_END) + SCORE_END + SCORE_BIN // 2) // SCORE_BIN
        lengths = np.minimum(games["plies"] // LENGTH_BIN, _LENGTH_BINS - 1)
        self.shards += 1
        self.size += shard.path.stat().st_size
        self.games += len(games)
        self.positions += len(samples)
        self.quiet += len(shard_samples(shard, Filter(halfmoves=ANY_HALFMOVES)))
        self.below += np.array([np.count_nonzero(abs(scores) < edge) for edge in SCORE_EDGES])
        for counts, values in (
            (self.results, games["result"]),
            (self.endings, games["ending"]),
            (self.variants, games["variant"]),
            (self.scores, bins),
            (self.phases, phases_of(samples)),
            (self.lengths, lengths),
        ):
            counts += np.bincount(values, minlength=len(counts))

    def as_dict(self) -> dict[str, Any]:
        """The statistics for JSON."""
        return {
            "shards": self.shards,
            "bytes": self.size,
            "games": self.games,
            "positions": self.positions,
            "quiet": self.quiet,
            "results": dict(zip(("black", "draw", "white"), self.results.tolist(), strict=True)),
            "endings": dict(zip(ENDINGS, self.endings.tolist(), strict=True)),
            "variants": dict(zip(VARIANTS, self.variants.tolist(), strict=True)),
            "score_bin": SCORE_BIN,
            "scores": self.scores.tolist(),
            "phases": self.phases.tolist(),
            "length_bin": LENGTH_BIN,
            "lengths": self.lengths.tolist(),
        }

    def lines(self) -> list[str]:
        """The statistics as lines of text."""
        positions, games = max(self.positions, 1), max(self.games, 1)
        results = zip(self.results.tolist(), ("lost", "drawn", "won by White"), strict=True)
        scores = [f"{int(count) / positions:.1%} < {edge}" for count, edge in zip(self.below, SCORE_EDGES, strict=True)]
        phases = [
            f"{int(self.phases[low : high + 1].sum()) / positions:.1%} {low if low == high else f'{low}-{high}'}"
            for low, high in _PHASES
        ]
        return [
            f"shards     {self.shards} ({self.size / 1e6:.1f} MB, {self.size / positions:.2f} bytes a position)",
            f"games      {self.games}, {self.positions / games:.1f} plies each",
            f"positions  {self.positions}, {self.quiet} quiet ({self.quiet / positions:.1%})",
            "results    " + ", ".join(f"{count} {name} ({count / games:.1%})" for count, name in reversed([*results])),
            "endings    " + _shares(ENDINGS, self.endings.tolist(), games),
            "starts     " + _shares(VARIANTS, self.variants.tolist(), games),
            "|scores|   " + ", ".join(scores),
            "phases     " + ", ".join(phases) + "  (24: all pieces, 0: pawns only)",
        ]


def _shares(names: tuple[str, ...], counts: list[int], total: int) -> str:
    pairs = sorted(zip(counts, names, strict=True), reverse=True)
    return ", ".join(f"{name} {count / total:.1%}" for count, name in pairs if count)


def verify(shard: Shard) -> None:
    """Replays and checks every game of a shard, by the settings in its head.

    Raises ShardError, naming the first game with a problem.
    """
    try:
        settings = Settings(**{entry.name: shard.settings[entry.name] for entry in fields(Settings)})
    except KeyError as error:
        raise ShardError(f"{shard.path}: its head does not say {error.args[0]}") from None
    except (TypeError, ValueError) as error:
        raise ShardError(f"{shard.path}: its head cannot be used: {error}") from None
    scratch = (
        allocate(POSITION, 2),
        np.zeros(MAX_MOVES, np.int32),
        np.zeros(_MOST_KEYS, np.uint64),
        np.zeros(3, np.int64),
    )
    place = np.zeros(2, np.int64)
    problem = int(check_games(shard.games, shard.plies, shard.first, settings.as_rules(), scratch, place))
    if problem != SOUND:
        raise ShardError(f"{shard.path}: game {place[0]}, ply {place[1]}: {PROBLEMS[problem]}")
