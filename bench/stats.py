"""Match statistics: Elo and normalised Elo with intervals, likelihood of superiority, and the SPRT's LLR.

Two games that play an opening with colours swapped are a pair. Pairs count as independent of each other, but the games
of a pair do not, so intervals and the LLR use the counts of pairs worth 0, 1/2, 1, 3/2 and 2 points (the pentanomial).
If there are no pairs, they use the counts of losses, draws and wins (the trinomial).

Formulas and conventions are those of fastchess, so the figures agree with those that fastchess prints. Sources:
  M. Van den Bergh, "Comparing the approximations for the generalized log likelihood ratio of a multinomial
  distribution" (equations 1.2, 1.3) and "Comments on normalized Elo" (section 4.1), cantate.be/Fishtest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.results import GameResult, complete_pairs
from engine.files import count_of, quoted

Floats = NDArray[np.float64]

_NORMAL: Final = NormalDist()

#: The two-sided 95 % quantile of the normal distribution.
Z95: Final = 1.959963984540054

#: Normalised Elo per standard deviation of one game.
NELO_PER_SIGMA: Final = 800 / math.log(10)

#: The value that replaces a count of 0, because 0 has no logarithm.
REGULARISED_ZERO: Final = 1e-3

MODELS: Final = ("normalized", "logistic")

#: The largest absolute value of an SPRT's `elo0` and `elo1`, by model, and the smallest `alpha` and `beta`.
MOST_ELO: Final = {"normalized": 200.0, "logistic": 1000.0}
LEAST_RISK: Final = 1e-9


@dataclass(slots=True)
class Tally:
    """The games of one engine against the others, and the complete pairs among these games.

    `pentanomial` counts the pairs worth 0, 1/2, 1, 3/2 and 2 points. If there are pairs, the other games count only
    in `unpaired`, because the engine has played their openings with one colour only.
    """

    wins: int = 0
    draws: int = 0
    losses: int = 0
    pentanomial: tuple[int, ...] = (0, 0, 0, 0, 0)
    unpaired: int = 0

    @classmethod
    def of(cls, games: Iterable[GameResult], engine: str) -> Tally:
        """Returns the tally of the finished games in which `engine` played."""
        played = [game for game in games if game.is_finished and engine in (game.white, game.black)]
        tally = cls()
        for first, second in complete_pairs(played):
            tally.add_pair(first.points(engine), second.points(engine))
        if tally.pairs == 0:
            for game in played:
                tally.add_game(game.points(engine))
        tally.unpaired = len(played) - tally.games
        return tally

    def add_game(self, points: float) -> None:
        """Counts a game without counting a pair; `points` is 1, 0.5 or 0."""
        if points == 1.0:
            self.wins += 1
        elif points == 0.5:
            self.draws += 1
        else:
            self.losses += 1

    def add_pair(self, first: float, second: float) -> None:
        """Counts a pair and its two games, which earned `first` and `second` points."""
        self.add_game(first)
        self.add_game(second)
        place = round(2 * (first + second))
        self.pentanomial = tuple(count + (index == place) for index, count in enumerate(self.pentanomial))

    @property
    def games(self) -> int:
        """The number of games counted."""
        return self.wins + self.draws + self.losses

    @property
    def pairs(self) -> int:
        """The number of complete pairs."""
        return sum(self.pentanomial)

    @property
    def points(self) -> float:
        """The points of the engine."""
        return self.wins + self.draws / 2

    @property
    def counts(self) -> tuple[int, ...]:
        """The counts that the statistics use: the pentanomial or, without pairs, the losses, draws and wins."""
        return self.pentanomial if self.pairs else (self.losses, self.draws, self.wins)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimates of the difference in strength, from counts. Each `*_error` is half the width of a 95 % interval.

    `elo` is infinite for a score of 0 or 1. `elo_error` is not finite if the score's interval reaches 0 or 1. `los` is
    the probability that the engine is stronger. `draw_ratio` is the share of drawn pairs. `pairs_ratio` is the number
    of won pairs per lost pair. If there are no pairs, the ratios are of games.
    """

    score: float
    score_error: float
    elo: float
    elo_error: float
    nelo: float
    nelo_error: float
    los: float
    draw_ratio: float
    pairs_ratio: float

    @property
    def has_interval(self) -> bool:
        """True if the counts give a finite interval."""
        return self.score_error > 0.0 and math.isfinite(self.elo) and math.isfinite(self.elo_error)


def elo_of_score(score: float) -> float:
    """Returns the Elo difference for an expected score per game. It is infinite for 0 and 1, and NaN beyond them."""
    if score <= 0.0 or score >= 1.0:
        return {0.0: -math.inf, 1.0: math.inf}.get(score, math.nan)
    return -400.0 * math.log10(1.0 / score - 1.0)


def score_of_elo(elo: float) -> float:
    """Returns the expected score per game of an engine that is `elo` points stronger."""
    return 1.0 / (1.0 + math.pow(10.0, -elo / 400.0))


def estimate(tally: Tally) -> Estimate | None:
    """Returns the estimates from the counts of pairs or games (see `Tally.counts`), or None if all counts are 0."""
    counts = tally.counts
    total = sum(counts)
    if total == 0:
        return None
    middle = len(counts) // 2
    values = np.linspace(0.0, 1.0, len(counts))
    score = float(np.average(values, weights=counts))
    variance = float(np.average((values - score) ** 2, weights=counts))
    margin = Z95 * math.sqrt(variance / total)
    if variance > 0.0:
        # The mean of two independent games has half the variance of one game.
        unit = NELO_PER_SIGMA / math.sqrt(variance * (2 if tally.pairs else 1))
        nelo, nelo_error = (score - 0.5) * unit, margin * unit
        los = _NORMAL.cdf((score - 0.5) / math.sqrt(variance / total))
    else:
        nelo = math.copysign(math.inf, score - 0.5) if score != 0.5 else 0.0
        nelo_error = math.nan
        los = score if score == 0.5 else float(score > 0.5)
    below, above = sum(counts[:middle]), sum(counts[middle + 1 :])
    return Estimate(
        score=score,
        score_error=margin,
        elo=elo_of_score(score),
        elo_error=(elo_of_score(score + margin) - elo_of_score(score - margin)) / 2.0,
        nelo=nelo,
        nelo_error=nelo_error,
        los=los,
        draw_ratio=counts[middle] / total,
        pairs_ratio=above / below if below else (math.inf if above else math.nan),
    )


@dataclass(frozen=True, slots=True)
class Sprt:
    """Wald's sequential test of two hypotheses: a change is worth `elo1`, or the change is worth only `elo0`.

    `alpha` is the tolerated probability of accepting a change that is worth only `elo0`. `beta` is that of rejecting a
    change that is worth `elo1`. `model` is the unit of `elo0` and `elo1`. Raises ValueError for invalid settings.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: str = "normalized"

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ValueError(f"SPRT: the model must be one of {', '.join(MODELS)} (got {quoted(self.model)})")
        most = MOST_ELO[self.model]
        if not -most <= self.elo0 < self.elo1 <= most:
            both = f"both from {-most:g} to {most:g}"
            raise ValueError(f"SPRT: elo0 must be below elo1, {both} (got {self.elo0:g} and {self.elo1:g})")
        if not (self.alpha >= LEAST_RISK and self.beta >= LEAST_RISK and self.alpha + self.beta < 1.0):
            got = f"(got {self.alpha:g} and {self.beta:g})"
            raise ValueError(f"SPRT: alpha and beta must be at least {LEAST_RISK:g}, with a sum below 1 {got}")

    @property
    def lower(self) -> float:
        """The LLR at or below which the change is rejected."""
        return math.log(self.beta / (1.0 - self.alpha))

    @property
    def upper(self) -> float:
        """The LLR at or above which the change is accepted."""
        return math.log((1.0 - self.beta) / self.alpha)

    def llr(self, tally: Tally) -> float:
        """Returns the generalised log-likelihood ratio of `elo1` to `elo0`, or 0 if all counts are 0. Needs SciPy."""
        counts = tally.counts
        if not any(counts):
            return 0.0
        regular = np.array([count or REGULARISED_ZERO for count in counts], dtype=np.float64)
        shares = regular / regular.sum()
        values = np.linspace(0.0, 1.0, len(counts))
        if self.model == "logistic":
            likely = [_tilted(shares, values - score_of_elo(elo)) for elo in (self.elo0, self.elo1)]
        else:
            per_sample = math.sqrt(2.0 if tally.pairs else 1.0) / NELO_PER_SIGMA
            likely = [_with_ratio(values, shares, elo * per_sample) for elo in (self.elo0, self.elo1)]
        return float(regular.sum() * (shares @ np.log(likely[1] / likely[0])))

    def verdict(self, llr: float) -> str | None:
        """Returns `"accepted"`, `"rejected"`, or None if the test must continue."""
        if llr >= self.upper:
            return "accepted"
        return "rejected" if llr <= self.lower else None

    def progress(self, llr: float) -> float:
        """Returns `llr` relative to the bound of the same sign: 1 at the upper bound, -1 at the lower bound."""
        return llr / self.upper if llr >= 0.0 else -llr / self.lower


def _tilted(shares: Floats, slopes: Floats) -> Floats:
    """Returns the distribution p that makes the observed `shares` likeliest, among those with p . slopes = 0.

    Here, p = shares / (1 + theta slopes). As theta rises from the pole below 0 to the pole above 0, p . slopes falls
    from plus to minus infinity, so it is 0 for exactly one theta. `slopes` must have a positive and a negative number.
    """
    from scipy.optimize import brentq

    low, high = -1.0 / float(slopes.max()), -1.0 / float(slopes.min())
    # If a share is 1e-9, theta can be at a relative distance of 1e-9 from a pole. The bounds must be closer to it.
    inset = (high - low) * 1e-13
    theta = brentq(
        lambda x: float((shares * slopes / (1.0 + x * slopes)).sum()), low + inset, high - inset, xtol=1e-13, rtol=1e-15
    )
    tilted: Floats = shares / (1.0 + theta * slopes)
    return tilted


def _with_ratio(values: Floats, shares: Floats, ratio: float) -> Floats:
    """Returns the distribution over `values` that makes the observed `shares` likeliest, among those whose mean is
    `ratio` standard deviations above 0.5.

    This fixed-point iteration linearises the constraint around the last distribution. Like fastchess, it stops after
    ten rounds or a change below 1e-4. Further changes are usually smaller than the noise of a single game.
    """
    likely = np.full(len(values), 1.0 / len(values))
    for _ in range(10):
        mean = float(values @ likely)
        sigma = math.sqrt(float(likely @ (values - mean) ** 2))
        slopes = values - 0.5 - 0.5 * ratio * sigma * (1.0 + ((values - mean) / sigma) ** 2)
        last, likely = likely, _tilted(shares, slopes)
        if float(np.abs(likely - last).max()) < 1e-4:
            break
    return likely


def with_error(value: float, error: float) -> str:
    """Formats a value and its error, such as `+12.34 +- 5.67`."""
    value = round(value, 2) + 0.0  # avoids -0.00
    return f"{value:+.2f} +- {error:.2f}"


def elo_text(found: Estimate) -> str:
    """Returns the Elo difference with its error, or a remark if there is no finite difference or error."""
    if not math.isfinite(found.elo):
        return "every game won" if found.elo > 0.0 else "every game lost"
    if not found.has_interval:
        return f"{found.elo + 0.0:+.2f} (too few games for an interval)"
    return with_error(found.elo, found.elo_error)


def summary(tally: Tally, sprt: Sprt | None = None) -> list[str]:
    """Returns the statistics of a match as a few lines of text."""
    losses = f"{tally.losses} loss" if tally.losses == 1 else f"{tally.losses} losses"
    first = f"Games    {tally.games}: {count_of(tally.wins, 'win')}, {count_of(tally.draws, 'draw')}, {losses}, "
    first += f"{tally.points:g} point{'' if tally.points == 1 else 's'}"
    if tally.games:
        first += f" ({100.0 * tally.points / tally.games:.2f} %)"
    found = estimate(tally)
    if found is None:
        return [first]
    if tally.unpaired:
        first += f"; {count_of(tally.unpaired, 'game')} of incomplete pairs not counted"
    nelo = f"   nElo {with_error(found.nelo, found.nelo_error)}" if found.score_error > 0.0 else ""
    lines = [
        first,
        f"Elo      {elo_text(found)}{nelo}",
        f"LOS      {100.0 * found.los:.2f} %   draw ratio {100.0 * found.draw_ratio:.2f} %",
    ]
    if tally.pairs:
        ratio = f"{found.pairs_ratio:.2f}" if math.isfinite(found.pairs_ratio) else "-"
        counts = list(tally.pentanomial)
        lines.append(f"Pairs    {tally.pairs}: {counts} (0, 1/2, 1, 3/2, 2 points), pairs ratio {ratio}")
    if sprt is not None:
        llr = sprt.llr(tally)
        bounds = f"({sprt.lower:.2f}, {sprt.upper:.2f}) [{sprt.elo0:.2f}, {sprt.elo1:.2f}] {sprt.model}"
        verdict = sprt.verdict(llr) or "undecided"
        lines.append(f"LLR      {llr:.2f} ({100.0 * sprt.progress(llr):.1f} %) {bounds} -> {verdict}")
    return lines


def to_json(tally: Tally, sprt: Sprt | None = None) -> dict[str, Any]:
    """Returns the statistics as a dict for JSON; infinite and undefined values are None, because JSON has neither."""
    found = estimate(tally)
    answer: dict[str, Any] = {**asdict(tally), "games": tally.games, "pairs": tally.pairs}
    if found is not None:
        answer |= {name: value if math.isfinite(value) else None for name, value in asdict(found).items()}
        if not found.has_interval:
            answer["elo_error"] = None
        if found.score_error == 0.0:
            answer["score_error"] = answer["nelo_error"] = None
    if sprt is not None:
        llr = sprt.llr(tally)
        answer["sprt"] = {**asdict(sprt), "lower": sprt.lower, "upper": sprt.upper, "llr": llr}
        answer["sprt"]["verdict"] = sprt.verdict(llr)
    return answer
