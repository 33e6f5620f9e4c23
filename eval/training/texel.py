"""The tuner of the classical evaluation, after Peter Österlund's method for Texel ("Texel's Tuning Method", Chess
Programming Wiki): it moves the weights so that the evaluation, as an expected result, is closest to the games' results.

    value    v = (middlegame * phase + endgame * scale / 64 * (24 - phase)) / 24, White's view, centipawns
    expected p = 1 / (1 + exp(-v / slope))
    loss     mean of (p - target)^2, plus `pull` * sum of (weight - prior)^2
    target   share * result + (1 - share) * 1 / (1 + exp(-score / score slope))

The slopes are fitted first, with the prior weights, and then held, so that a centipawn keeps its meaning for the
search's margins. The prior keeps weights with little evidence in the games near their old values: `pull` is the weight
in the loss of a normal prior of the given spread, if one position in `CORRELATION` counts as independent.

The gradient is exact, the price of danger included. Steps are Adam's (Kingma and Ba 2015) on shuffled batches with a
falling rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.board.position import POSITION
from engine.files import Output
from engine.memory import allocate
from eval import weights as layout
from eval.kernels.classical import PHASE, SCALE, SUMMARY
from eval.kernels.workspace import new_workspace
from eval.training.kernels.tuning import COLUMNS, Coefficients, collect, loss_and_gradient, values
from eval.training.samples import Samples, game_numbers
from eval.training.shards import ShardError
from eval.training.slope import Floats, expected_results, fit_slope
from eval.weights import COUNT, DANGER, GROUPS, ROWS

#: Rows of the breakdown that games cannot teach: the side that drives a bare king wins anyway.
FIXED_ROWS: Final = (ROWS.index("Endings"),)
#: The unit of danger is smaller than a centipawn, so the prior spread of its weights is this many times larger.
DANGER_SPREAD: Final = 2.0

#: Neighbouring positions of a game share its result: about this many are worth one independent position.
CORRELATION: Final = 30.0
#: Variance of a result around its expectation, half points of draws included.
RESULT_VARIANCE: Final = 0.12

_MOMENTUM, _SQUARES, _TINY = 0.9, 0.999, 1e-10

#: Positions traced at a time.
_CHUNK: Final = 4096

#: bool[COUNT]: the weights whose unit is danger; those that are not tuned.
IS_DANGER: Final = np.repeat([group.row == DANGER for group in GROUPS], [group.size for group in GROUPS])
IS_FIXED: Final = np.repeat([group.row in FIXED_ROWS for group in GROUPS], [group.size for group in GROUPS])

VALUES_FILE: Final = Path(layout.__file__).with_name("values.py")


@dataclass(frozen=True)
class Recipe:
    """How to tune.

    `result_share` of the target is the game's result, the rest the search's score. `prior` is the assumed spread of
    weights around their old values, in centipawns (or units of danger), `rate` the first step's length in the same
    units, `batch` the positions a step. `validation` is the share of all games held out for validation. Raises
    ValueError, in one line, for values that make no sense.
    """

    result_share: float = 0.05
    prior: float = 30.0
    epochs: int = 10
    seed: int = 1
    rate: float = 1.0
    batch: int = 16_384
    validation: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 <= self.result_share <= 1.0:
            raise ValueError(f"--result-share lies between 0 and 1, not at {self.result_share:g}")
        for name in ("prior", "epochs"):
            if not getattr(self, name) > 0:
                raise ValueError(f"--{name} is more than 0, not {getattr(self, name):g}")
        if self.seed < 0:
            raise ValueError(f"--seed is 0 or more, not {self.seed}")


# --------------------------------------------------------------------------------------------------------------
# Positions
# --------------------------------------------------------------------------------------------------------------


class Labelled(NamedTuple):
    """Positions with labels: their coefficients, White's result, the search's score in centipawns (both float64[n]) and
    the number of the game (int64[n]).
    """

    coefficients: Coefficients
    results: Floats
    scores: Floats
    games: npt.NDArray[np.int64]


def trace_samples(samples: Samples) -> tuple[Coefficients, npt.NDArray[np.int64]]:
    """The coefficients of SAMPLE[n], with targets of 0, and the evaluations' summaries, int64[n][SUMMARY]."""
    line, workspace, trace = allocate(POSITION, 1), new_workspace(), np.zeros((2, COUNT), np.int32)
    # Every weight may count in every column.
    most = _CHUNK * COLUMNS * COUNT
    weights, counts = np.zeros(most, np.uint16), np.zeros(most, np.int16)
    summary = np.zeros((len(samples), SUMMARY), np.int64)
    parts = []
    for first in range(0, len(samples), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        starts = np.zeros(COLUMNS * len(samples[chunk]) + 1, np.int64)
        collect(samples[chunk], line, workspace, trace, summary[chunk], IS_DANGER, starts, weights, counts)
        phases, scales = summary[chunk, PHASE].astype(np.uint8), summary[chunk, SCALE].astype(np.uint8)
        size = starts[-1]
        parts.append(
            Coefficients(starts, weights[:size].copy(), counts[:size].copy(), phases, scales, np.zeros(len(phases)))
        )
    return _join(parts), summary


def _join(parts: list[Coefficients]) -> Coefficients:
    """Several sets of positions as one."""
    empty = Coefficients(
        np.zeros(1, np.int64),
        np.zeros(0, np.uint16),
        np.zeros(0, np.int16),
        np.zeros(0, np.uint8),
        np.zeros(0, np.uint8),
        np.zeros(0),
    )
    whole = Coefficients(*(np.concatenate(arrays) for arrays in zip(empty, *parts, strict=True)))
    offsets = np.cumsum([0, *(len(part.weights) for part in parts)])
    starts = [part.starts[1:] + offset for part, offset in zip(parts, offsets, strict=False)]
    return whole._replace(starts=np.concatenate([empty.starts, *starts]))


def load(shards: Iterable[Samples]) -> Labelled:
    """Traces the samples of shards, SAMPLE[n] each."""
    parts: list[Coefficients] = []
    results, scores, games = [np.zeros(0)], [np.zeros(0)], [np.zeros(0, np.int64)]
    begun = 0
    for samples in shards:
        if not len(samples):
            continue
        parts.append(trace_samples(samples)[0])
        results.append(samples["result"] * 0.5)
        scores.append(samples["score"].astype(np.float64))
        games.append(begun + game_numbers(samples))
        begun = int(games[-1][-1]) + 1
    return Labelled(_join(parts), np.concatenate(results), np.concatenate(scores), np.concatenate(games))


# --------------------------------------------------------------------------------------------------------------
# Tuning
# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """Tuned weights float64[COUNT][2], the slopes of evaluation and score, and the mean squared errors on training
    and validation positions: before tuning and after each epoch.
    """

    weights: Floats
    slope: float
    score_slope: float
    training: list[float]
    validation: list[float]


def split_games(games: npt.NDArray[np.int64], share: float, seed: int) -> npt.NDArray[np.bool_]:
    """Which positions are for validation: those of about `share` of the games, chosen by `seed`."""
    numbers, inverse = np.unique(games, return_inverse=True)
    held_out: npt.NDArray[np.bool_] = (np.random.default_rng(seed).random(len(numbers)) < share)[inverse]
    return held_out


def mean_error(data: Coefficients, weights: Floats, chosen: npt.NDArray[np.int64], slope: float) -> float:
    """Mean squared error over some positions."""
    return float(loss_and_gradient(data, weights, chosen, slope, np.zeros_like(weights))) if len(chosen) else math.nan


def tune(
    labelled: Labelled, prior: Floats, recipe: Recipe, on_epoch: Callable[[int, float, float], None] | None = None
) -> Outcome:
    """Tunes all weights from their `prior` values. The same positions, recipe and machine give the same weights.

    `on_epoch(number, training error, validation error)` is called before the first epoch (number 0) and after each.
    Raises ShardError when there are no positions.
    """
    held_out = split_games(labelled.games, recipe.validation, recipe.seed)
    training, validation = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    if not len(training):
        raise ShardError("there are no positions to tune on")
    score_slope = fit_slope(labelled.scores, labelled.results)
    share = recipe.result_share
    targets = share * labelled.results + (1.0 - share) * expected_results(labelled.scores, score_slope)
    data = labelled.coefficients._replace(targets=targets)
    initial = np.zeros(len(targets))
    values(data, prior, initial)
    slope = fit_slope(initial, labelled.results)
    is_free = ~IS_FIXED[:, None]
    spreads = recipe.prior * np.where(IS_DANGER, DANGER_SPREAD, 1.0)[:, None]
    pull = np.where(is_free, RESULT_VARIANCE * CORRELATION / len(training) / spreads**2, 0.0)

    weights, rng = prior.copy(), np.random.default_rng(recipe.seed)
    momentum, squares = np.zeros_like(weights), np.zeros_like(weights)
    steps = -(-len(training) // recipe.batch)
    errors: list[tuple[float, float]] = []

    # The training error of a sample as large as the validation set is accurate enough.
    sample = training[:: max(1, len(training) // max(len(validation), recipe.batch))].copy()

    def note(epoch: int) -> None:
        errors.append((mean_error(data, weights, sample, slope), mean_error(data, weights, validation, slope)))
        if on_epoch is not None:
            on_epoch(epoch, *errors[-1])

    note(0)
    for epoch in range(recipe.epochs):
        rng.shuffle(training)
        for step in range(steps):
            done = epoch * steps + step
            rate = recipe.rate * (0.01 + 0.99 * 0.5 * (1.0 + math.cos(math.pi * done / (steps * recipe.epochs))))
            gradient = 2.0 * pull * (weights - prior)
            loss_and_gradient(data, weights, training[step * recipe.batch : (step + 1) * recipe.batch], slope, gradient)
            momentum += (1.0 - _MOMENTUM) * (gradient - momentum)
            squares += (1.0 - _SQUARES) * (gradient**2 - squares)
            corrected = momentum / (1.0 - _MOMENTUM ** (done + 1))
            size = np.sqrt(squares / (1.0 - _SQUARES ** (done + 1)))
            weights -= np.where(is_free, rate * corrected / (size + _TINY), 0.0)
        note(epoch + 1)
    return Outcome(weights, slope, score_slope, [one for one, _ in errors], [two for _, two in errors])


# --------------------------------------------------------------------------------------------------------------
# The file of the values
# --------------------------------------------------------------------------------------------------------------

_HEAD: Final = '''\
"""The values of the evaluation's weights, written by `secateur texel`; `eval.weights` says what each is for.

Middlegame first, then endgame. Square tables are seen as White sees the board, rank 8 first. Groups by rank begin with
the owner's first rank.
"""

from __future__ import annotations

from typing import Final

'''


def _block(numbers: npt.NDArray[np.int64]) -> list[str]:
    """The source lines of one phase of a group: a string literal, in the shape of a board for square tables."""
    if len(numbers) != 64:
        return [f'        "{" ".join(map(str, numbers))}",']
    rows = [" ".join(f"{number:4d}" for number in row) for row in numbers.reshape(8, 8)[::-1]]
    return ['        """', *(f"        {row}" for row in rows), '        """,']


def values_source(values: npt.NDArray[np.int64]) -> str:
    """The text of `eval/values.py` for int64[COUNT][2] values."""
    lines = ["VALUES: Final[dict[str, tuple[str, str]]] = {"]
    for group in GROUPS:
        part = values[group.first : group.first + group.size]
        lines += [f'    "{group.name}": (', *_block(part[:, 0]), *_block(part[:, 1]), "    ),"]
    return _HEAD + "\n".join([*lines, "}"]) + "\n"


def values_output(path: Path) -> Output:
    """The file to write `values_source` to. Raises OSError when another kind of file exists there."""
    return Output(path, lambda head: head.startswith(_HEAD.encode()[:60]), "file of the evaluation's values")
