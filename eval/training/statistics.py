"""Statistics of a data set: counts, results, endings of games, and histograms of scores, phases and lengths."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engine.board.moves import MAX_MOVES
from engine.board.position import POSITION
from engine.files import Output
from engine.memory import allocate
from eval.classical import FULL_PHASE
from eval.training.checking import PROBLEMS, SOUND, check_games
from eval.training.decoding import sample_phases
from eval.training.generation import Settings
from eval.training.records import ENDINGS, VARIANTS
from eval.training.samples import ALL, ANY_HALFMOVES, Filter, shard_samples, wanted_count
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

Counts = npt.NDArray[np.int64]

#: The most keys: those of a game and of the position after it.
_MOST_KEYS: Final = 65_537


class Statistics:
    """Counts over shards; call `add` for each. Arrays are int64, results in the order lost, drawn, won by White.

    `quiet` counts positions that pass the default filter, the halfmove clock ignored; `below[i]` those with a score
    below SCORE_EDGES[i] in size. `scores` is [result of the game][bin], with bins SCORE_BIN wide and the middle one
    around 0; `phases` is [phase]; `lengths` is [bin], with bins LENGTH_BIN recorded plies wide.
    """

    def __init__(self) -> None:
        self.shards = self.size = self.games = self.positions = self.quiet = 0
        self.results: Counts = np.zeros(3, np.int64)
        self.endings: Counts = np.zeros(len(ENDINGS), np.int64)
        self.variants: Counts = np.zeros(len(VARIANTS), np.int64)
        self.scores: Counts = np.zeros((3, _SCORE_BINS), np.int64)
        self.below: Counts = np.zeros(len(SCORE_EDGES), np.int64)
        self.phases: Counts = np.zeros(FULL_PHASE + 1, np.int64)
        self.lengths: Counts = np.zeros(_LENGTH_BINS, np.int64)

    def add(self, shard: Shard) -> None:
        """Adds a shard to the counts."""
        games = shard.games
        samples = shard_samples(shard, ALL)
        phases = np.zeros(len(samples), np.int64)
        sample_phases(samples, allocate(POSITION, 1), phases)
        scores = samples["score"].astype(np.int64)
        bins = (np.clip(scores, -SCORE_END, SCORE_END) + SCORE_END + SCORE_BIN // 2) // SCORE_BIN
        by_result = np.bincount(samples["result"] * _SCORE_BINS + bins, minlength=3 * _SCORE_BINS)
        self.shards += 1
        self.size += shard.path.stat().st_size
        self.games += len(games)
        self.positions += len(samples)
        self.quiet += wanted_count(shard, Filter(halfmoves=ANY_HALFMOVES))
        self.results += np.bincount(games["result"], minlength=3)
        self.endings += np.bincount(games["ending"], minlength=len(ENDINGS))
        self.variants += np.bincount(games["variant"], minlength=len(VARIANTS))
        self.scores += by_result.reshape(3, -1)
        self.below += np.array([np.count_nonzero(abs(scores) < edge) for edge in SCORE_EDGES])
        self.phases += np.bincount(phases, minlength=FULL_PHASE + 1)
        lengths = np.minimum(games["plies"] // LENGTH_BIN, _LENGTH_BINS - 1)
        self.lengths += np.bincount(lengths, minlength=_LENGTH_BINS)

    def as_dict(self) -> dict[str, Any]:
        """The statistics for JSON."""
        lost, drawn, won = map(int, self.results)
        return {
            "shards": self.shards,
            "bytes": self.size,
            "games": self.games,
            "positions": self.positions,
            "quiet": self.quiet,
            "results": {"white": won, "draw": drawn, "black": lost},
            "endings": dict(zip(ENDINGS, map(int, self.endings), strict=True)),
            "variants": dict(zip(VARIANTS, map(int, self.variants), strict=True)),
            "score_bin": SCORE_BIN,
            "scores": self.scores.sum(axis=0).tolist(),
            "phases": self.phases.tolist(),
            "length_bin": LENGTH_BIN,
            "lengths": self.lengths.tolist(),
        }

    def lines(self) -> list[str]:
        """The statistics as lines of text."""
        lost, drawn, won = map(int, self.results)
        positions, games = max(self.positions, 1), max(self.games, 1)
        size = f"{self.size / 1e6:.1f} MB, {self.size / positions:.2f} bytes a position"
        lines = [
            f"shards     {self.shards} ({size})",
            f"games      {self.games}, {self.positions / games:.1f} plies each",
            f"positions  {self.positions}, {self.quiet} quiet ({self.quiet / positions:.1%})",
            f"results    {won} won by White ({won / games:.1%}), {drawn} drawn ({drawn / games:.1%}), "
            f"{lost} lost ({lost / games:.1%})",
            "endings    " + _shares(ENDINGS, self.endings, games),
            "starts     " + _shares(VARIANTS, self.variants, games),
        ]
        shares = [f"{int(count) / positions:.1%} < {edge}" for count, edge in zip(self.below, SCORE_EDGES, strict=True)]
        lines.append("|scores|   " + ", ".join(shares))
        groups = ((24, 24), (18, 23), (12, 17), (6, 11), (1, 5), (0, 0))
        parts = [
            f"{int(self.phases[low : high + 1].sum()) / positions:.1%} {low}-{high}"
            if low < high
            else f"{int(self.phases[low]) / positions:.1%} {low}"
            for low, high in groups
        ]
        lines.append("phases     " + ", ".join(parts) + "  (24: all pieces, 0: pawns only)")
        return lines


def _shares(names: tuple[str, ...], counts: npt.NDArray[np.int64], total: int) -> str:
    pairs = sorted(zip(map(int, counts), names, strict=True), reverse=True)
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


def plot(statistics: Statistics, path: Path | Output, title: str) -> None:
    """Draws the histograms as PNG or SVG. Raises `bench.plots.PlotError` when that fails."""
    from bench.plots import PlotError, check_path, new_figure, save_figure

    picture = check_path(path)
    if not statistics.positions:
        raise PlotError(f"{picture.path}: not drawn, there are no positions")
    figure, (scores, results, phases, lengths) = new_figure(2, height=7.5, columns=2, width=11.0, share=False)
    figure.suptitle(f"{title}: {statistics.games:,} games, {statistics.positions:,} positions")
    _plot_scores(statistics, scores, results)
    phases.bar(np.arange(FULL_PHASE + 1), statistics.phases / statistics.positions * 100, width=0.9, color=_BAR)
    phases.set(xlabel="phase (24: all pieces, 0: pawns only)", ylabel="positions, %")
    places = (np.arange(_LENGTH_BINS) + 0.5) * LENGTH_BIN
    lengths.bar(places, statistics.lengths / statistics.games * 100, width=0.9 * LENGTH_BIN, color=_BAR)
    lengths.set(xlabel="recorded plies of a game", ylabel="games, %")
    lengths.set_xlim(0, (int(np.flatnonzero(statistics.lengths)[-1]) + 2) * LENGTH_BIN)
    save_figure(figure, picture)


_BAR: Final = "#1f5f8b"
_RESULTS: Final = (("Black won", "#3c3c3c"), ("drawn", "#9aa5ad"), ("White won", "#e0b65c"))
#: A bin with fewer positions is too small for a mean result.
_LEAST: Final = 20


def _plot_scores(statistics: Statistics, histogram: Any, results: Any) -> None:
    """Plots scores by the results of their games, and the mean points for each score."""
    middles = (np.arange(_SCORE_BINS) - _SCORE_BINS // 2) * SCORE_BIN
    below = np.zeros(_SCORE_BINS)
    for counts, (label, color) in zip(statistics.scores, _RESULTS, strict=True):
        share = counts / statistics.positions * 100
        histogram.bar(middles, share, width=SCORE_BIN, bottom=below, color=color, label=label)
        below += share
    histogram.set(xlabel=f"score of White, centipawns (beyond {SCORE_END} in the last bin)", ylabel="positions, %")
    histogram.legend(frameon=False)
    total = statistics.scores.sum(axis=0)
    enough = total >= _LEAST
    points = (statistics.scores[1] * 0.5 + statistics.scores[2])[enough] / total[enough]
    results.plot(middles[enough], points * 100, color=_BAR, marker=".")
    results.set(xlabel="score of White, centipawns", ylabel="points of White, %", ylim=(0, 100))
    results.grid(alpha=0.3)
