"""What many techniques are worth, from one set of games: sides lack a random few, and one regression tells them apart.

A match for each technique spends every game on one question. Here every game asks about all of them: in each pair of
games each side may lack each technique, with the probability `SHARE` and independently of the others, and the result
counts for each technique that one side had and the other had not. So an interval takes a fraction of the games. What
is measured is a technique's worth beside most of the others, not beside all of them, and not how two of them help each
other; where one is part of another and idle without that, its worth comes out by about `SHARE` too low. (Designs of
this kind are called random balance: F. E. Satterthwaite, "Random Balance Experimentation", Technometrics 1, 1959.)

The model is that of `bench.rating` with a side's rating being the sum of what its techniques are worth: with the
difference d, in Elo, a side is expected to score 1 / (1 + 10 ** (-d / 400)). The likeliest worths are found by Newton's
method, and their intervals by the sandwich estimator on pairs, which takes the spread of the results as it was. Pairs
that weigh much in the fit are corrected for that (the estimator HC3 of J. G. MacKinnon and H. White, "Some
heteroskedasticity-consistent covariance matrix estimators with improved finite sample properties", Journal of
Econometrics 29, 1985), and where pairs are few an interval is at least the model's own.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.adjudication import Adjudication
from bench.cluster import map_unordered
from bench.engines import EngineSpec
from bench.game import GameTask, check_engine
from bench.openings import Opening
from bench.rating import ELO_SCALE
from bench.stats import Z95
from bench.tuning import MINUS, PATIENCE, PLUS, IterationTask, is_cut_line, play_iteration, points_of
from engine.errors import CommandError
from engine.files import Output, parse_json, read_bytes, reason, shown

#: Probability that a side lacks a technique in a pair of games.
SHARE: Final = 0.15

#: The first line of a state file has this key.
FORMAT_KEY: Final = "secateur-worth"
FORMAT: Final = 1

#: A file of pairs is at most this large, in bytes.
_MOST_BYTES: Final = 1 << 30

#: Natural units in one Elo.
_PER_ELO: Final = math.log(10.0) / ELO_SCALE

#: With fewer pairs than this for each technique the observed spread is a poor guide.
FEW_PAIRS: Final = 10

_NEWTON_STEPS: Final = 50
#: Elo that a Newton step must not exceed, and below which the last one was small enough.
_LONGEST_STEP: Final = 400.0
_SMALL_STEP: Final = 1e-6


class ScreeningError(CommandError, ValueError):
    """Games that cannot be played, kept or told apart; the message is one line."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two games of one opening: its number from 0, and games won less games lost by the first side, -2 to 2."""

    number: int
    points: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What a technique is worth: the Elo that having it gains, and half of the 95 % interval."""

    elo: float
    error: float


def left_out(techniques: Sequence[str], seed: int, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the first and the second side of pair `number` lack: the same for the same `seed` and order of `techniques`.

    Never the same of both, which would tell nothing.
    """
    rng = random.Random(f"{seed}/{number}")
    while True:
        first, second = (tuple(key for key in techniques if rng.random() < SHARE) for _ in range(2))
        if first != second:
            return first, second


def effects(techniques: Sequence[str], seed: int, pairs: Iterable[Pair]) -> dict[str, Effect]:
    """What each technique is worth by pairs that were played with these `techniques`, in this order, and this `seed`.

    In whichever order the pairs come, the answer is the same. Raises `ScreeningError` when they cannot tell: they are
    too few, or so one-sided that a worth has no bound.
    """
    pairs = sorted(pairs, key=lambda pair: pair.number)
    had = np.zeros((len(pairs), len(techniques)))
    for row, pair in enumerate(pairs):
        first, second = left_out(techniques, seed, pair.number)
        had[row] = [(key in second) - (key in first) for key in techniques]
    scores = np.array([(pair.points + 2) / 4 for pair in pairs])
    if not pairs or np.linalg.matrix_rank(had) < len(techniques):
        raise ScreeningError(f"{2 * len(pairs)} games do not tell {len(techniques)} techniques apart: play more")
    worths = np.zeros(len(techniques))
    try:
        is_found = _climb(had, scores, worths)
        expected, information = _model(had, worths)
        bread = np.linalg.inv(information)
    except np.linalg.LinAlgError:
        is_found = False
    if not is_found:
        worst = techniques[int(np.abs(worths).argmax())]
        raise ScreeningError(f"{2 * len(pairs)} games are too one-sided to say what {worst} is worth: play more")
    errors = Z95 * _deviations(had, scores - expected, expected * (1 - expected), bread)
    return {
        key: Effect(float(worth) / _PER_ELO, float(error) / _PER_ELO)
        for key, worth, error in zip(techniques, worths, errors, strict=True)
    }


def _climb(had: NDArray[np.float64], scores: NDArray[np.float64], worths: NDArray[np.float64]) -> bool:
    """Newton's method: changes `worths` until they are the likeliest; False where it does not get there."""
    for _ in range(_NEWTON_STEPS):
        expected, information = _model(had, worths)
        step = np.linalg.solve(information, had.T @ (scores - expected))
        longest = float(np.abs(step).max())
        if longest < _SMALL_STEP * _PER_ELO:
            return True
        worths += step * min(1.0, _LONGEST_STEP * _PER_ELO / longest)
    return False


def _deviations(
    had: NDArray[np.float64],
    residuals: NDArray[np.float64],
    weights: NDArray[np.float64],
    bread: NDArray[np.floating[Any]],
) -> NDArray[np.float64]:
    """Standard deviations of the worths, in natural units: float64[techniques]."""
    leverages = weights * np.einsum("ij,jk,ik->i", had, bread, had)
    spread = had * (residuals / np.maximum(1 - leverages, 1e-3))[:, None]
    variances = np.diag(bread @ (spread.T @ spread) @ bread)
    if len(had) < FEW_PAIRS * had.shape[1]:
        variances = np.maximum(variances, np.diag(bread))
    return np.asarray(np.sqrt(variances), np.float64)


def _model(had: NDArray[np.float64], worths: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The expected scores, float64[pairs], and the information matrix, float64[techniques, techniques]."""
    expected = 1 / (1 + np.exp(-np.clip(had @ worths, -30, 30)))
    return expected, (had.T * (expected * (1 - expected))) @ had


# --------------------------------------------------------------------------------------------------------------
# What was played, in a file
# --------------------------------------------------------------------------------------------------------------


class Played:
    """What was played: pairs, and games that an engine spoilt; in memory and, if there is a path, in a file as well.

    The file has JSON lines. The first one has `circumstances`, all that the games depend on, and `provenance`, which
    need not be the same when a file that is there is gone on from: then the file's is kept. Only who holds its lock may
    use it (`engine.files.locked`). Raises `ScreeningError` when it is of other games or cannot be used.
    """

    def __init__(
        self, circumstances: Mapping[str, Any], provenance: Mapping[str, Any], path: Path | None = None
    ) -> None:
        self.pairs: list[Pair] = []
        self.faults = 0
        self.provenance = dict(provenance)
        self._output: Output | None = None
        self._lines: list[bytes] = []
        if path is None:
            return
        try:
            self._output = Output(path, _is_played, "file of games of `worth --together`")
            text = read_bytes(path, _MOST_BYTES) if self._output.size else b""
        except OSError as error:
            raise ScreeningError(f"{shown(path)}: {reason(error)}") from None
        if not text:
            self._append({FORMAT_KEY: FORMAT, "games": circumstances, "provenance": provenance})
            return
        whole = text[: text.rfind(b"\n") + 1]
        self._read(whole, json.loads(json.dumps(circumstances)), path)
        lines = ({"number": 0, name: 0} for name in ("points", "faults"))
        if not any(is_cut_line(text[len(whole) :], line) for line in lines):
            raise ScreeningError(f"{path}:{len(whole.splitlines()) + 1}: no pair of games")
        self._output.keep = len(whole)  # drops a half-written line
        self._lines.append(whole)

    def _read(self, text: bytes, circumstances: Mapping[str, Any], path: Path) -> None:
        """Takes what a file's text has."""
        lines = text.splitlines()
        try:
            header = parse_json(lines[0])
            played, self.provenance = header["games"], dict(header["provenance"])
            if header[FORMAT_KEY] != FORMAT:
                raise ValueError
            names = [name for name in {**circumstances, **played} if circumstances.get(name) != played.get(name)]
        except (IndexError, ValueError, KeyError, TypeError):
            raise ScreeningError(f"{path}: has no games of this version of `worth --together`") from None
        if names:
            raise ScreeningError(f"{path}: is of other games ({', '.join(names)} differ); name another file")
        for number, line in enumerate(lines[1:], start=2):
            try:
                self._take(parse_json(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise ScreeningError(f"{path}:{number}: no pair of games") from None
        if len({pair.number for pair in self.pairs}) < len(self.pairs):
            raise ScreeningError(f"{path}: a pair is there twice")

    def _take(self, data: dict[str, int]) -> None:
        """Takes a line. Raises KeyError, TypeError or ValueError for anything else."""
        number, faults = data["number"], data.get("faults", 0)
        if any(not isinstance(value, int) for value in data.values()) or number < 0 or faults < 0:
            raise ValueError
        if faults:
            self.faults += faults
        elif -2 <= data["points"] <= 2:
            self.pairs.append(Pair(number, data["points"]))
        else:
            raise ValueError

    def missing(self, count: int) -> Iterator[int]:
        """The numbers below `count` of which there is no pair, in order."""
        done = {pair.number for pair in self.pairs}
        return (number for number in range(count) if number not in done)

    def add(self, pair: Pair) -> None:
        """Takes a pair; it is in the file before this returns. Raises `ScreeningError`."""
        self._write({"number": pair.number, "points": pair.points})

    def add_faults(self, number: int, count: int) -> None:
        """Takes the games of a pair that an engine spoilt, which tell nothing. Raises `ScreeningError`."""
        self._write({"number": number, "faults": count})

    def _write(self, data: dict[str, int]) -> None:
        self._append(data)
        self._take(data)

    def _append(self, data: Mapping[str, Any]) -> None:
        if self._output is not None:
            self._lines.append(json.dumps(data).encode() + b"\n")
            try:
                self._output.append(self._lines[-1])
            except OSError as error:
                error = self._output.saved_beside(b"".join(self._lines), error)
                raise ScreeningError(f"{shown(self._output.path)}: {reason(error)}") from None


def _is_played(head: bytes) -> bool:
    return head.startswith(b'{"%s": ' % FORMAT_KEY.encode())


# --------------------------------------------------------------------------------------------------------------
# The games
# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Screening:
    """The games to play: what each side may lack, how often, and the rules.

    `engine` makes a side of a name and the techniques that it plays without.
    """

    techniques: tuple[str, ...]
    pairs: int
    seed: int
    engine: Callable[[str, Sequence[str]], EngineSpec]
    openings: tuple[Opening, ...]
    adjudication: Adjudication

    def lacks(self, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the sides of pair `number` play without."""
        return left_out(self.techniques, self.seed, number)

    def task(self, number: int) -> IterationTask:
        """Pair `number`: one opening, played with each colour."""
        lacks = self.lacks(number)
        first, second = self.engine(PLUS, lacks[0]), self.engine(MINUS, lacks[1])
        opening = self.openings[number % len(self.openings)]
        colours = enumerate(((first, second), (second, first)))
        return IterationTask(
            number,
            tuple(
                GameTask(2 * number + swapped, number, white, black, opening, self.adjudication)
                for swapped, (white, black) in colours
            ),
        )


def play(
    screening: Screening,
    played: Played,
    on_problem: Callable[[str], None],
    concurrency: int,
) -> None:
    """Plays what is missing, `concurrency` pairs at a time, into `played`.

    A pair with a fault of an engine is reported and tells nothing. Raises `ScreeningError` when the engine cannot play,
    and KeyboardInterrupt; what was played is in `played` then.
    """
    missing = list(played.missing(screening.pairs))
    problem = check_engine(screening.engine(PLUS, ())) if missing else None
    if problem is not None:
        raise ScreeningError(problem.replace(f"engine {PLUS}", "the engine"))
    in_a_row = 0
    outcomes = map_unordered(play_iteration, map(screening.task, missing), None, workers=concurrency)
    with closing(outcomes):
        for outcome in outcomes:
            number, games = outcome.item.iteration, outcome.value or ()
            faults = [outcome.error] if outcome.error is not None else [game.fault for game in games if game.fault]
            for fault in faults:
                lacks = " against ".join(" ".join(keys) or "nothing" for keys in screening.lacks(number))
                on_problem(f"pair {number + 1} (without {lacks}): {fault}")
            in_a_row = in_a_row + 1 if faults else 0
            if faults:
                played.add_faults(number, len(faults))
            else:
                played.add(Pair(number, points_of(games)))
            if in_a_row >= PATIENCE:
                raise ScreeningError(f"given up after {in_a_row} pairs in a row that an engine spoilt")
