"""Maximum-likelihood ratings of engines from a set of games, with anchors and 95 % intervals.

The model is that of Bradley and Terry, which Ordo uses. White's expected score is 1 / (1 + 10 ** (-d / 400)). The
rating difference d is White's rating minus Black's rating plus the white advantage. A draw is half a point. At the
likeliest ratings, a rated engine that is not an anchor scores exactly as expected against the other rated engines.

The intervals come from the sandwich estimator, applied to pairs. It uses the observed spread of the results and
allows for the correlation between the two games of a pair. This module needs SciPy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.results import GameResult, win_draw_loss
from bench.stats import Z95
from engine.errors import CommandError

Floats = NDArray[np.float64]

#: The number of rating points in a natural unit. A difference of x natural units means odds of exp(x) to 1.
UNIT: Final = 400.0 / math.log(10.0)

#: With fewer pairs than this, the observed spread is unreliable, so an interval is at least as wide as the model's.
FEW_PAIRS: Final = 16

#: A coefficient whose absolute value exceeds this (in natural units; odds of 160 000 to 1) counts as diverged.
RUNAWAY: Final = 12.0


class RatingError(CommandError, ValueError):
    """Raised if the games do not determine the ratings; the message is one line."""


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of an engine. If the games allow no finite rating, `rating` and `error` are None, and `note` says why.

    The 95 % interval is `rating` +- `error`. It does not include the error of the anchors or, without anchors, of the
    average rating. An anchor's `error` is 0.
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
        """The points per game."""
        return (self.wins + self.draws / 2) / self.games


@dataclass(frozen=True, slots=True)
class RatingList:
    """A list of ratings, best first and unrated last, with the white advantage and its error in rating points."""

    ratings: tuple[Rating, ...]
    white_advantage: float
    white_error: float
    games: int

    def to_json(self) -> dict[str, Any]:
        """Returns the whole list as a dict for JSON."""
        answer: dict[str, Any] = {name: getattr(self, name) for name in ("games", "white_advantage", "white_error")}
        return answer | {"ratings": [asdict(line) | {"score": line.score} for line in self.ratings]}


def rate(
    games: Sequence[GameResult],
    anchors: Mapping[str, float] | None = None,
    white_advantage: float | None = 0.0,
) -> RatingList:
    """Rates the engines that played. `anchors` have fixed ratings; without anchors, the average rating is 0.

    `white_advantage` is in rating points, or None to estimate it. Games of a player against itself do not count. Raises
    `RatingError` if the other games do not suffice.
    """
    anchors = dict(anchors or {})
    finished = [game for game in games if game.is_finished and game.white != game.black]
    names = sorted({name for game in finished for name in (game.white, game.black)})
    if len(names) < 2:
        raise RatingError("ratings need finished games of at least two players")
    for name in anchors:
        if name not in names:
            raise RatingError(f"the anchor {name} has played no game; the players are {', '.join(names)}")
    rated = _connected(finished, names, list(anchors))
    fixed = {rated.index(name): value / UNIT for name, value in anchors.items()}
    white = None if white_advantage is None else white_advantage / UNIT
    data = _Games(finished, rated)
    strengths, white_fit = _fit(data, fixed, white)
    if not fixed:
        strengths -= strengths.mean()
    covariance = _covariance(data, strengths, white_fit, list(fixed), white is None)
    errors = Z95 * np.sqrt(np.maximum(np.diag(covariance), 0.0)) * UNIT
    lines = []
    for name in names:
        wins, draws, losses = win_draw_loss(finished, name)
        rating = error = None
        note = ""
        if name in rated:
            index = rated.index(name)
            rating, error = float(strengths[index]) * UNIT, 0.0 if index in fixed else float(errors[index])
        elif draws == losses == 0 or wins == draws == 0:
            note = "lost every game" if wins == 0 else "won every game"
        else:
            note = "no chain of points leads to the rated players and back"
        lines.append(Rating(name, rating, error, wins + draws + losses, wins, draws, losses, note))
    lines.sort(key=lambda line: (1, -line.score) if line.rating is None else (0, -line.rating))
    return RatingList(
        ratings=tuple(lines),
        white_advantage=white_fit * UNIT,
        white_error=float(errors[-1]),
        games=len(finished),
    )


def _connected(games: Sequence[GameResult], names: list[str], anchors: list[str]) -> list[str]:
    """Returns the players with finite ratings: the anchors' group or, without anchors, the largest group.

    In a group, a chain of players leads from every player to every other. Each player of a chain has scored against the
    next, or both are anchors (Ford's condition). Raises `RatingError` if the group has only one player.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    index = {name: number for number, name in enumerate(names)}
    scored = {(index[game.white], index[game.black]) for game in games if game.white_points > 0.0}
    scored |= {(index[game.black], index[game.white]) for game in games if game.white_points < 1.0}
    # Anchors count as connected, because their ratings are known.
    scored |= {(index[one], index[other]) for one in anchors for other in anchors}
    rows, columns = zip(*scored, strict=True)
    graph = coo_array((np.ones(len(scored)), (rows, columns)), shape=(len(names), len(names)))
    _, labels = connected_components(graph.tocsr(), directed=True, connection="strong")
    label = labels[index[anchors[0]]] if anchors else Counter(labels.tolist()).most_common(1)[0][0]
    group = [name for name in names if labels[index[name]] == label]
    if len(group) < 2:
        whose = f" relative to the anchor {anchors[0]}: in each of its pairings" if anchors else ": in each pairing"
        raise RatingError(f"no finite ratings{whose}, one player won every game")
    return group


class _Games:
    """The n games between `players`, as arrays of length n: `white`, `black` (indices), `points` (White's) and `pair`.

    `design` is float64[n, players + 1]. A row has 1 in White's column, -1 in Black's column and 1 in the last column.
    """

    def __init__(self, games: Sequence[GameResult], players: list[str]) -> None:
        index = {name: number for number, name in enumerate(players)}
        games = [game for game in games if game.white in index and game.black in index]
        pairs: dict[tuple[int, frozenset[str]], int] = {}
        pair = [pairs.setdefault((game.pair, frozenset((game.white, game.black))), len(pairs)) for game in games]
        self.white = np.array([index[game.white] for game in games], dtype=np.intp)
        self.black = np.array([index[game.black] for game in games], dtype=np.intp)
        self.points = np.array([game.white_points for game in games])
        self.pair = np.array(pair, dtype=np.intp)
        count = np.arange(len(games))
        self.design = np.zeros((len(games), len(players) + 1))
        self.design[count, self.white] = 1.0
        self.design[count, self.black] = -1.0
        self.design[:, -1] = 1.0


def fit_logistic(slopes: Floats, points: Floats, offset: Floats | float = 0.0) -> Floats:
    """Returns the x that makes `points` (0 to 1) likeliest if 1 / (1 + exp(-(offset + slopes @ x))) is their mean.

    `points` is float64[n], `slopes` is float64[n, k] of rank k, and x is float64[k]. If the likelihood has no maximum,
    x is large (see RUNAWAY). Raises `RatingError` if the fit does not converge.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    def loss(x: Floats) -> float:
        z = offset + slopes @ x
        return float(np.sum(np.logaddexp(0.0, z) - points * z))

    def gradient(x: Floats) -> Floats:
        result: Floats = slopes.T @ (expit(offset + slopes @ x) - points)
        return result

    def hessian(x: Floats) -> Floats:
        expected = expit(offset + slopes @ x)
        result: Floats = (slopes.T * (expected * (1.0 - expected))) @ slopes
        return result

    start = np.zeros(slopes.shape[1])
    solution = minimize(loss, start, jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-8})
    if np.abs(gradient(solution.x)).max() > 1e-3:
        raise RatingError("the ratings cannot be fitted: the games contradict the fixed values")
    found: Floats = solution.x
    return found


def _fit(data: _Games, fixed: Mapping[int, float], white: float | None) -> tuple[Floats, float]:
    """Returns the likeliest strengths (float64[players]) and white advantage; keeps `fixed`, and `white` if given."""
    players = data.design.shape[1] - 1
    values = np.full(players + 1, np.mean(list(fixed.values())) if fixed else 0.0)
    values[list(fixed)] = list(fixed.values())
    values[players] = white or 0.0
    held = set(fixed) or {0}
    free = [index for index in range(players + 1) if index not in held and (index < players or white is None)]
    if free:
        slopes = data.design[:, free]
        if np.linalg.matrix_rank(slopes) < len(free):
            raise RatingError("the white advantage cannot be fitted: too few players had both colours; fix its value")
        values[free] += fit_logistic(slopes, data.points, data.design @ values)
        if white is None and abs(values[players]) > RUNAWAY:
            raise RatingError("the white advantage cannot be estimated: one colour won every game; fix its value")
    return values[:players], float(values[players])


def _covariance(data: _Games, strengths: Floats, white: float, fixed: list[int], white_is_free: bool) -> Floats:
    """Returns the covariance matrix of the strengths and (last) the white advantage, float64[players + 1, players + 1].

    Without anchors, the pseudo-inverse keeps the average strength fixed.
    """
    from scipy.sparse import coo_array
    from scipy.special import expit

    design = data.design.copy()
    design[:, fixed if white_is_free else [*fixed, len(strengths)]] = 0.0
    expected = expit(strengths[data.white] - strengths[data.black] + white)
    information = np.linalg.pinv((design.T * (expected * (1.0 - expected))) @ design, hermitian=True)
    belongs = coo_array((np.ones(len(data.pair)), (data.pair, np.arange(len(data.pair)))))
    surprise = belongs.tocsr() @ (design * (data.points - expected)[:, None])
    sandwich: Floats = information @ (surprise.T @ surprise) @ information
    for index in range(len(strengths)):
        played = (data.white == index) | (data.black == index)
        if len(np.unique(data.pair[played])) < FEW_PAIRS:
            sandwich[index, index] = max(sandwich[index, index], information[index, index])
    return sandwich
