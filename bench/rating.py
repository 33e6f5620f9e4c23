"""Ratings of many engines from one set of games: maximum likelihood, anchored, with 95 % intervals.

The model is Ordo's, Bradley and Terry's: with the rating difference d (white's minus black's, plus the white
advantage), white is expected to score 1 / (1 + 10 ** (-d / scale)), and a draw is half a point. The likeliest ratings
are those at which every engine is expected to score what it did score. Ordo's own scale makes 202 points of an
expectation of 76 % (`ORDO_SCALE`); ours is the usual 400, so that ratings and match Elo are the same unit.

Intervals are not simulated but computed, with the sandwich estimator on pairs of games: it takes the spread of the
results as it was, so drawish engines get narrower intervals, and knows that the two games of an opening are related.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.results import GameResult, win_draw_loss
from bench.stats import Z95
from engine.errors import CommandError

Floats = NDArray[np.float64]

#: Rating difference at which ten to one is expected.
ELO_SCALE: Final = 400.0
ORDO_SCALE: Final = 202.0 * math.log(10.0) / math.log(0.76 / 0.24)

#: With fewer pairs than this the observed spread is a poor guide: the interval is at least the model's own.
FEW_PAIRS: Final = 16

#: A white advantage beyond this (in natural units, odds of 160 000 to 1) has run away to infinity.
RUNAWAY: Final = 12.0


class RatingError(CommandError, ValueError):
    """Games from which nothing can be rated as asked; the message is one line."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One engine's line. `rating` is None where the games allow no finite one, and `note` says why.

    `error` is half of the 95 % interval, relative to the anchor (or to the average without one): 0 for an anchor.
    """

    name: str
    rating: float | None
    error: float | None
    games: int
    wins: int
    draws: int
    losses: int
    note: str = ""

    @property
    def score(self) -> float:
        """Points a game."""
        return (self.wins + self.draws / 2) / self.games


@dataclass(frozen=True, slots=True)
class RatingList:
    """Ratings, best first and unrated last; the white advantage in rating points; the draw rate between equals.

    `superiority[i][j]` is the probability that `ratings[i]` is stronger than `ratings[j]`, over the rated ones.
    """

    ratings: tuple[Rating, ...]
    white_advantage: float
    white_error: float
    draw_rate: float
    games: int
    superiority: tuple[tuple[float, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """The whole list for machines."""
        return {
            "games": self.games,
            "white_advantage": self.white_advantage,
            "white_error": self.white_error,
            "draw_rate": self.draw_rate,
            "ratings": [
                {**{name: getattr(line, name) for name in Rating.__slots__}, "score": line.score}
                for line in self.ratings
            ],
        }


@dataclass(frozen=True, slots=True)
class _Games:
    """Games as arrays of length n: indices of white and black, white's points, and the pair each belongs to."""

    white: NDArray[np.intp]
    black: NDArray[np.intp]
    points: Floats
    pair: NDArray[np.intp]


def rate(
    games: Sequence[GameResult],
    anchors: Mapping[str, float] | None = None,
    *,
    average: float = 0.0,
    white_advantage: float | None = 0.0,
    scale: float = ELO_SCALE,
) -> RatingList:
    """Rates everyone who played. `anchors` keep their ratings; without any, the ratings average `average`.

    `white_advantage` is in rating points; None estimates it from the games. Raises `RatingError`.
    """
    anchors = dict(anchors or {})
    finished = [game for game in games if game.is_finished]
    names = sorted({name for game in finished for name in (game.white, game.black)})
    if len(names) < 2:
        raise RatingError("ratings need finished games of at least two players")
    for name in anchors:
        if name not in names:
            raise RatingError(f"the anchor {name} has played no game; players are {', '.join(names)}")
    rated = _connected(finished, names, list(anchors))
    data = _arrays([game for game in finished if game.white in rated and game.black in rated], rated)
    unit = scale / math.log(10.0)
    fixed = {rated.index(name): value / unit for name, value in anchors.items()}
    white = None if white_advantage is None else white_advantage / unit
    strengths, white_fit = _fit(data, len(rated), fixed, white)
    if not fixed:
        strengths += average / unit - strengths.mean()
    covariance = _covariance(data, strengths, white_fit, list(fixed), white is None)
    lines = []
    for index, name in enumerate(rated):
        wins, draws, losses = win_draw_loss(finished, name)
        error = 0.0 if index in fixed else Z95 * math.sqrt(max(covariance[index, index], 0.0)) * unit
        lines.append(Rating(name, float(strengths[index]) * unit, error, wins + draws + losses, wins, draws, losses))
    order = sorted(range(len(rated)), key=lambda index: -strengths[index])
    unrated = [_unrated(name, finished) for name in names if name not in rated]
    return RatingList(
        ratings=tuple([lines[index] for index in order] + sorted(unrated, key=lambda line: -line.score)),
        white_advantage=white_fit * unit,
        white_error=Z95 * math.sqrt(max(covariance[-1, -1], 0.0)) * unit,
        draw_rate=_draw_rate(data, strengths, white_fit),
        games=len(finished),
        superiority=_superiority(strengths, covariance, order),
    )


# --------------------------------------------------------------------------------------------------------------
# Who can be rated
# --------------------------------------------------------------------------------------------------------------


def _connected(games: Sequence[GameResult], names: list[str], anchors: list[str]) -> list[str]:
    """The players with finite ratings: each scored against the others, along some chain, and the others against it.

    (Ford's condition.) Where there are several such groups, the anchor's is taken, otherwise the largest.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    index = {name: number for number, name in enumerate(names)}
    scored = set()
    for game in games:
        if game.white_points > 0.0:
            scored.add((index[game.white], index[game.black]))
        if game.white_points < 1.0:
            scored.add((index[game.black], index[game.white]))
    # What is known of one anchor is known of all.
    scored |= {(index[one], index[other]) for one in anchors for other in anchors}
    rows, columns = zip(*scored, strict=True)
    graph = coo_array((np.ones(len(scored)), (rows, columns)), shape=(len(names), len(names)))
    _, labels = connected_components(graph.tocsr(), directed=True, connection="strong")
    label = labels[index[anchors[0]]] if anchors else Counter(labels.tolist()).most_common(1)[0][0]
    group = [name for name in names if labels[index[name]] == label]
    if len(group) < 2:
        who = f"the anchor {anchors[0]}" if anchors else "anyone"
        raise RatingError(f"no finite rating relative to {who}: one side has won every game")
    return group


def _unrated(name: str, games: Sequence[GameResult]) -> Rating:
    wins, draws, losses = win_draw_loss(games, name)
    if draws == losses == 0:
        note = "won every game"
    elif wins == draws == 0:
        note = "lost every game"
    else:
        note = "no chain of points both ways connects it with the rated players"
    return Rating(name, None, None, wins + draws + losses, wins, draws, losses, note)


# --------------------------------------------------------------------------------------------------------------
# The fit, in natural units: a difference of 1 means odds of e to 1
# --------------------------------------------------------------------------------------------------------------


def _arrays(games: Sequence[GameResult], names: list[str]) -> _Games:
    index = {name: number for number, name in enumerate(names)}
    pairs: dict[tuple[int, frozenset[str]], int] = {}
    pair = [pairs.setdefault((game.pair, frozenset((game.white, game.black))), len(pairs)) for game in games]
    return _Games(
        np.array([index[game.white] for game in games], dtype=np.intp),
        np.array([index[game.black] for game in games], dtype=np.intp),
        np.array([game.white_points for game in games]),
        np.array(pair, dtype=np.intp),
    )


def _design(data: _Games, players: int) -> Floats:
    """One row a game: +1 for white, -1 for black, 1 for the white advantage. Shape (n, players + 1)."""
    rows = np.zeros((len(data.white), players + 1))
    count = np.arange(len(data.white))
    rows[count, data.white] = 1.0
    rows[count, data.black] = -1.0
    rows[:, players] = 1.0
    return rows


def _encounters(data: _Games, players: int) -> tuple[_Games, Floats]:
    """One row for all games with the same white and black, with their average result, and how many they are."""
    _, first, inverse, counts = np.unique(
        data.white * players + data.black, return_index=True, return_inverse=True, return_counts=True
    )
    mean = np.bincount(inverse, weights=data.points) / counts
    return _Games(data.white[first], data.black[first], mean, data.pair[first]), counts.astype(np.float64)


def _fit(data: _Games, players: int, fixed: Mapping[int, float], white: float | None) -> tuple[Floats, float]:
    """The likeliest strengths, shape (players,), and white advantage; `fixed` and a given `white` stay as they are."""
    from scipy.optimize import minimize
    from scipy.special import expit

    encounters, weights = _encounters(data, players)
    design = _design(encounters, players)
    start = np.zeros(players + 1)
    for index, value in fixed.items():
        start[index] = value
    if fixed:
        start[:players][[i for i in range(players) if i not in fixed]] = np.mean(list(fixed.values()))
    start[players] = white or 0.0
    held = set(fixed) or {0}
    free = [i for i in range(players + 1) if i not in held and (i < players or white is None)]
    slopes, offset = design[:, free], design @ start

    def loss(x: Floats) -> float:
        z = offset + slopes @ x
        return float(weights @ (np.logaddexp(0.0, z) - encounters.points * z))

    def gradient(x: Floats) -> Floats:
        result: Floats = slopes.T @ (weights * (expit(offset + slopes @ x) - encounters.points))
        return result

    def hessian(x: Floats) -> Floats:
        expected = expit(offset + slopes @ x)
        result: Floats = (slopes.T * (weights * expected * (1.0 - expected))) @ slopes
        return result

    if free and np.linalg.matrix_rank(slopes) < len(free):
        raise RatingError("the white advantage cannot be told from strength here: nobody had both colours; fix it")
    values = start.copy()
    if free:
        solution = minimize(
            loss, np.zeros(len(free)), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-8}
        )
        values[free] += solution.x
        if np.abs(gradient(solution.x)).max() > 1e-3:
            raise RatingError("no likeliest ratings were found: the anchors contradict the games")
        if white is None and abs(values[players]) > RUNAWAY:
            raise RatingError("the likeliest white advantage is infinite: one colour won everything; fix it")
    return values[:players], float(values[players])


def _covariance(data: _Games, strengths: Floats, white: float, fixed: list[int], white_is_free: bool) -> Floats:
    """The covariance of the strengths and, last, the white advantage. Shape (players + 1, players + 1).

    Without anchors the average is what stands still, and the pseudo-inverse does exactly that.
    """
    from scipy.sparse import coo_array
    from scipy.special import expit

    players = len(strengths)
    design = _design(data, players)
    if not white_is_free:
        design[:, players] = 0.0
    design[:, fixed] = 0.0
    expected = expit(strengths[data.white] - strengths[data.black] + white)
    information = np.linalg.pinv((design.T * (expected * (1.0 - expected))) @ design, hermitian=True)
    pairs = int(data.pair.max()) + 1
    belongs = coo_array(
        (np.ones(len(data.pair)), (data.pair, np.arange(len(data.pair)))), shape=(pairs, len(data.pair))
    )
    surprise = belongs.tocsr() @ (design * (data.points - expected)[:, None])
    sandwich: Floats = information @ (surprise.T @ surprise) @ information
    for index in range(players):
        played = (data.white == index) | (data.black == index)
        if len(np.unique(data.pair[played])) < FEW_PAIRS:
            sandwich[index, index] = max(sandwich[index, index], information[index, index])
    return sandwich


def _superiority(strengths: Floats, covariance: Floats, order: list[int]) -> tuple[tuple[float, ...], ...]:
    from scipy.special import ndtr

    rows = []
    for i in order:
        variances = [max(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j], 1e-12) for j in order]
        differences = [strengths[i] - strengths[j] for j in order]
        rows.append(tuple(float(ndtr(d / math.sqrt(v))) for d, v in zip(differences, variances, strict=True)))
    return tuple(rows)


def _draw_rate(data: _Games, strengths: Floats, white: float) -> float:
    """The draw rate between equals at which as many draws are expected as there were.

    As in Ordo, wins times losses stand in a fixed ratio to the square of draws (Davidson's model), so draws get rarer
    as the difference grows.
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    expected = expit(strengths[data.white] - strengths[data.black] + white)
    draws = float(np.count_nonzero(data.points == 0.5))

    def excess(rate: float) -> float:
        return float(draws_expected(expected, rate).sum()) - draws

    low, high = 1e-9, 1.0 - 1e-9
    if draws == 0.0 or excess(low) >= 0.0:
        return 0.0
    return 1.0 if excess(high) <= 0.0 else float(brentq(excess, low, high, xtol=1e-9))


def draws_expected(score: Floats, rate: float) -> Floats:
    """The share of draws in encounters with these expected scores, when equals draw with probability `rate`.

    Solves (score - x/2) (1 - score - x/2) = ((1 - rate) / (2 rate))**2 x**2 for x, in the form without cancellation.
    """
    ratio = ((1.0 - rate) / rate) ** 2
    product = 4.0 * score * (1.0 - score)
    result: Floats = product / (1.0 + np.sqrt(1.0 + (ratio - 1.0) * product))
    return result
