"""What many techniques are worth, from one set of games: sides lack a random few, and one regression tells them apart.

A match for each technique spends every game on one question. Here every game asks about all of them: in each pair of
games each side plays without every technique with the probability `SHARE`, and the result counts for each technique
that one side had and the other had not. So an interval takes a fraction of the games; what is measured is a
technique's worth beside most of the others, not beside all of them, and not how two of them help each other. (Designs
of this kind are called random balance: F. E. Satterthwaite, "Random Balance Experimentation", Technometrics 1, 1959.)

The model is that of `bench.rating` with a side's rating being the sum of what its techniques are worth: with the
difference d, in Elo, a side is expected to score 1 / (1 + 10 ** (-d / 400)). The likeliest worths are found by Newton's
method, and their intervals by the sandwich estimator on pairs, which takes the spread of the results as it was.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
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
from bench.tuning import MINUS, PATIENCE, PLUS, IterationTask, play_iteration, points_of

#: Probability that a side plays a pair without a technique.
SHARE: Final = 0.15

#: The first line of a state file has this key.
FORMAT_KEY: Final = "secateur-worth"
FORMAT: Final = 1

#: Natural units in one Elo.
_PER_ELO: Final = math.log(10.0) / ELO_SCALE

_NEWTON_STEPS: Final = 50
#: Elo that a Newton step must not exceed, and below which the last one was small enough.
_LONGEST_STEP: Final = 400.0
_SMALL_STEP: Final = 1e-6


class ScreeningError(ValueError):
    """Games that cannot be played, kept or told apart; the message is one line."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two games of one opening: its number from 0, and games won less games lost by the first side, -2 to 2."""

    number: int
    points: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What a technique is worth: Elo, and half of the 95 % interval."""

    elo: float
    error: float


def left_out(techniques: Sequence[str], seed: int, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the first and the second side of pair `number` play without: the same for the same `seed`."""
    rng = random.Random(f"{seed}/{number}")
    first, second = (tuple(key for key in techniques if rng.random() < SHARE) for _ in range(2))
    return first, second


def effects(techniques: Sequence[str], seed: int, pairs: Iterable[Pair]) -> dict[str, Effect]:
    """What each technique is worth by these pairs. Raises `ScreeningError` when they are too few to tell."""
    pairs = list(pairs)
    had = np.zeros((len(pairs), len(techniques)))
    for row, pair in enumerate(pairs):
        first, second = left_out(techniques, seed, pair.number)
        had[row] = [(key in second) - (key in first) for key in techniques]
    scores = np.array([(pair.points + 2) / 4 for pair in pairs])
    if not pairs or np.linalg.matrix_rank(had) < len(techniques):
        raise ScreeningError(f"{2 * len(pairs)} games do not tell {len(techniques)} techniques apart: play more")
    worths = np.zeros(len(techniques))
    for _ in range(_NEWTON_STEPS):
        expected, information = _model(had, worths)
        step = np.linalg.solve(information, had.T @ (scores - expected))
        worths += step * min(1.0, _LONGEST_STEP * _PER_ELO / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < _SMALL_STEP * _PER_ELO:
            break
    else:
        raise ScreeningError(f"{2 * len(pairs)} games are too one-sided to say what a technique is worth: play more")
    expected, information = _model(had, worths)
    bread = np.linalg.inv(information)
    spread = had * (scores - expected)[:, None]
    errors = Z95 * np.sqrt(np.diag(bread @ (spread.T @ spread) @ bread))
    return {
        key: Effect(float(worth) / _PER_ELO, float(error) / _PER_ELO)
        for key, worth, error in zip(techniques, worths, errors, strict=True)
    }


def _model(had: NDArray[np.float64], worths: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The expected scores, float64[pairs], and the information matrix, float64[techniques, techniques]."""
    expected = 1 / (1 + np.exp(-np.clip(had @ worths, -30, 30)))
    return expected, (had.T * (expected * (1 - expected))) @ had


# --------------------------------------------------------------------------------------------------------------
# What was played, in a file
# --------------------------------------------------------------------------------------------------------------


class Played:
    """The pairs that were played, in memory and, if there is a path, in a file of JSON lines as well.

    The first line of the file is `circumstances`, all that the games depend on. A file that is there is gone on from.
    Raises `ScreeningError` when it is of other games or cannot be used.
    """

    def __init__(self, circumstances: Mapping[str, Any], path: Path | None = None) -> None:
        self.pairs: list[Pair] = []
        self._path = path
        if path is None:
            return
        header = {FORMAT_KEY: FORMAT, **circumstances}
        try:
            if not path.exists():
                path.write_text(json.dumps(header) + "\n", encoding="utf-8")
                return
            text = path.read_bytes()
            whole = text[: text.rfind(b"\n") + 1]
            self._read(whole, json.loads(json.dumps(header)), path)
            if len(whole) < len(text):  # a line that was only half written
                os.truncate(path, len(whole))
        except OSError as error:
            raise ScreeningError(f"{path}: {error.strerror}") from None

    def _read(self, text: bytes, header: Mapping[str, Any], path: Path) -> None:
        """Takes the pairs from a file's text."""
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                data = json.loads(line)
                if number > 1:
                    self.pairs.append(Pair(int(data["number"]), int(data["points"])))
                    continue
                known = data[FORMAT_KEY] == FORMAT
            except (ValueError, KeyError, TypeError):
                raise ScreeningError(f"{path}:{number}: no pair of games of `worth --together`") from None
            if not known or data != header:
                names = [name for name in {**header, **data} if header.get(name) != data.get(name)]
                raise ScreeningError(f"{path}: is of other games ({', '.join(names)} differ); name another file")
        if not text:
            raise ScreeningError(f"{path}: is empty; delete it or name another file")
        if len({pair.number for pair in self.pairs}) < len(self.pairs):
            raise ScreeningError(f"{path}: a pair is there twice")

    def missing(self, count: int) -> Iterator[int]:
        """The numbers below `count` that were not played, in order."""
        done = {pair.number for pair in self.pairs}
        return (number for number in range(count) if number not in done)

    def add(self, pair: Pair) -> None:
        """Takes a pair; it is in the file before this returns. Raises `ScreeningError`."""
        if self._path is not None:
            try:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"number": pair.number, "points": pair.points}) + "\n")
            except OSError as error:
                raise ScreeningError(f"{self._path}: {error.strerror}") from None
        self.pairs.append(pair)


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

    def task(self, number: int) -> IterationTask:
        """Pair `number`: one opening, played with each colour."""
        lacks = left_out(self.techniques, self.seed, number)
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
    on_pair: Callable[[Pair], None],
    on_problem: Callable[[str], None],
    concurrency: int,
) -> int:
    """Plays what is missing, `concurrency` pairs at a time; returns how many were lost to a fault of an engine.

    Such a pair is reported and counts for nothing. Raises `ScreeningError` when the engine cannot play, and
    KeyboardInterrupt; what was played is in `played` then.
    """
    problem = check_engine(screening.engine(PLUS, ()))
    if problem is not None:
        raise ScreeningError(problem)

    def tasks() -> Generator[IterationTask, None, None]:
        for number in played.missing(screening.pairs):
            yield screening.task(number)

    spoilt = in_a_row = 0
    outcomes = map_unordered(play_iteration, tasks(), None, workers=concurrency)
    with closing(outcomes):
        for outcome in outcomes:
            games = outcome.value or ()
            faults = [outcome.error] if outcome.error is not None else [game.fault for game in games if game.fault]
            for fault in faults:
                on_problem(f"pair {outcome.item.iteration + 1}: {fault}")
            in_a_row = in_a_row + 1 if faults else 0
            if in_a_row >= PATIENCE:
                raise ScreeningError(f"given up after {in_a_row} pairs in a row that an engine spoilt")
            if faults:
                spoilt += 1
                continue
            pair = Pair(outcome.item.iteration, points_of(games))
            played.add(pair)
            on_pair(pair)
    return spoilt
