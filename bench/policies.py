"""Trains the policies of small games (see `search.theory.policy`) on moves that searches find best.

The positions come from random games. A search to a few plies says which moves of a position are best, and the weights
minimise the cross entropy between these moves and the policy's priors, plus a small penalty on large weights. This sum
is convex, so the result does not depend on starting weights, and Newton's method finds it in a few steps.
"""

from __future__ import annotations

import functools
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import chess
import numpy as np
import numpy.typing as npt

from engine.errors import CommandError
from engine.files import Output, reason, shown
from search.theory import connect_four, tictactoe
from search.theory.enhanced import Memory, enhanced
from search.theory.games import INFINITE, SearchGame
from search.theory.ordering import ByGuess, arrange
from search.theory.plain_chess import PlainChess
from search.theory.policy import GAMES, HEAD, SCALE, WEIGHTS, Policy, policy_of
from search.theory.table import Table

Reals = npt.NDArray[np.float64]

#: The positions of training, of the test, and of the counts in `claims` are all different, but come from one seed.
SEED: Final = 22

#: The weight of the penalty, half the sum of squares of the logits' weights.
_PENALTY: Final = 1e-3

#: Newton's method ends if no weight changes by more than this.
_PRECISE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Source:
    """Where the positions of a game come from: `plies` random moves, at least and at most, from `start`.

    `depths` are the depths of the searches that say which moves are best; each position has one of them at random.
    """

    start: Any
    plies: tuple[int, int]
    depths: tuple[int, ...]
    training: int
    test: int


#: The games, by the names of their policies.
PLAYED: Final[dict[str, SearchGame[Any, Any]]] = {**GAMES, "chess": PlainChess()}


SOURCES: Final[dict[str, Source]] = {
    "tic-tac-toe": Source(tictactoe.START, (0, 7), (2, 3, 4, 9), 200, 60),
    "connect-four": Source(connect_four.START, (0, 16), (2, 3, 4, 5), 1500, 500),
    "chess": Source(chess.Board(), (2, 40), (1, 2), 300, 100),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A position: a row of feature counts for each move, and each move's share of the best moves."""

    features: Reals
    best: Reals


def random_position(game: SearchGame[Any, Any], source: Source, generator: random.Random) -> Any:
    """Returns a position after random moves, in which the game goes on."""
    while True:
        position = source.start
        for _ in range(generator.randint(*source.plies)):
            if not (moves := list(game.moves(position))):
                break
            position = game.apply(position, generator.choice(moves))
        if list(game.moves(position)):
            return position


def best_moves(game: SearchGame[Any, Any], position: Any, depth: int) -> set[Any]:
    """Returns all moves with the largest minimax value in a search to `depth` plies."""
    memory: Memory[Any, Any] = Memory(Table(), [ByGuess(game)])
    best, found = -INFINITE, set[Any]()
    for move in arrange(memory.orderings, position, game.moves(position), 0):
        # With a bound below the best value, an equal value is exact, not only a bound.
        beta = INFINITE if best == -INFINITE else 1 - best
        value = -enhanced(game, game.apply(position, move), depth - 1, memory, -INFINITE, beta)
        if value > best:
            best, found = value, set()
        if value == best:
            found.add(move)
    return found


def samples(
    name: str, count: int, generator: random.Random, seen: set[bytes], show: Callable[[str], None] = lambda _: None
) -> list[Sample]:
    """Returns samples of different positions, and adds them to `seen`.

    Positions that the policy cannot tell apart, such as mirror images, count as one. Positions in which all moves are
    equally good teach nothing, and are left out.
    """
    game, source = PLAYED[name], SOURCES[name]
    found: list[Sample] = []
    while len(found) < count:
        position = random_position(game, source, generator)
        features, key = rows(name, position)
        if key in seen:
            continue
        seen.add(key)
        best = best_moves(game, position, generator.choice(source.depths))
        if len(best) < len(features):
            share = [(move in best) / len(best) for move in game.moves(position)]
            found.append(Sample(features, np.array(share)))
            show(f"{name}: searching positions ({len(found)} of {count})")
    return found


def rows(name: str, position: Any) -> tuple[Reals, bytes]:
    """Returns the feature counts of each move, and a key that positions share if the policy cannot tell them apart."""
    policy, size = _untrained(name)
    moves = PLAYED[name].moves(position)
    features = [np.bincount(policy.features(position, move), minlength=size) for move in moves]
    return np.array(features, np.float64), b"".join(sorted(row.astype(np.uint8).tobytes() for row in features))


@functools.cache
def _untrained(name: str) -> tuple[Policy[Any, Any], int]:
    """Returns a policy of the game with weights of 0, and their number."""
    size = sum(map(len, WEIGHTS[name].values()))
    return policy_of(name, [0] * size), size


def fit(training: list[Sample]) -> Reals:
    """Returns the weights, in logits, that minimise the mean cross entropy of the samples plus the penalty."""
    size = training[0].features.shape[1]
    weights = np.zeros(size)
    cost = _cost(training, weights)
    while True:
        slope, curve = _PENALTY * weights, _PENALTY * np.eye(size)
        for sample in training:
            priors = _softmax(sample.features @ weights)
            slope += sample.features.T @ (priors - sample.best) / len(training)
            centred = sample.features - priors @ sample.features
            curve += (sample.features.T * priors) @ centred / len(training)
        step = np.linalg.solve(curve, slope)
        # Far from the minimum, a whole step can overshoot.
        while (reached := _cost(training, weights - step)) > cost and np.abs(step).max() >= _PRECISE:
            step /= 2
        if np.abs(step).max() < _PRECISE:
            return weights
        weights, cost = weights - step, reached


def _cost(training: list[Sample], weights: Reals) -> float:
    """Returns what `fit` minimises."""
    total = _PENALTY / 2 * float(weights @ weights)
    for sample in training:
        logits = sample.features @ weights
        most = float(logits.max())
        total += (most + math.log(float(np.exp(logits - most).sum())) - float(sample.best @ logits)) / len(training)
    return total


def _softmax(logits: Reals) -> Reals:
    shares = np.exp(logits - logits.max())
    return np.asarray(shares / shares.sum())


def assess(test: list[Sample], weights: Reals) -> dict[str, float]:
    """Returns the mean cross entropy ("loss"), that of equal priors, and how often the first move is a best one."""
    losses: list[float] = []
    hits: list[float] = []
    chance: list[float] = []
    lucky: list[float] = []
    for sample in test:
        priors = _softmax(sample.features @ weights)
        losses.append(-float(sample.best @ np.log(priors)))
        hits.append(float(sample.best[int(np.argmax(priors))] > 0))
        chance.append(math.log(len(priors)))
        lucky.append(np.count_nonzero(sample.best) / len(priors))
    means = {"loss": losses, "loss_of_equal_priors": chance, "hits": hits, "hits_of_random_moves": lucky}
    return {key: round(float(np.mean(values)), 3) for key, values in means.items()}


def train(name: str, seed: int = SEED, show: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Returns a new entry for the file of policies: the weights of a game, with the record of their training."""
    source = SOURCES[name]
    generator, seen = random.Random(seed), {rows(name, position)[1] for position in counted_positions(name, seed)}
    test = samples(name, source.test, generator, seen, show)
    training = samples(name, source.training, generator, seen, show)
    weights = [round(SCALE * float(weight)) for weight in fit(training)]
    record = {
        "seed": seed,
        "plies": list(source.plies),
        "depths": list(source.depths),
        "training_positions": len(training),
        "test_positions": len(test),
        **assess(test, np.array(weights) / SCALE),
    }
    each = iter(weights)
    groups = {group: {kind: next(each) for kind in kinds} for group, kinds in WEIGHTS[name].items()}
    return {"record": record, **groups}


def counted_positions(name: str, seed: int = SEED, count: int = 20) -> list[Any]:
    """Returns positions for the counts of leaves. Training leaves them out."""
    game, source, generator = PLAYED[name], SOURCES[name], random.Random(seed + 1)
    return [random_position(game, source, generator) for _ in range(count)]


def write(path: Path, show: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """Trains all policies, writes them to a file and returns them. Raises `CommandError` if the file is not writable.

    The file may exist only if it is a file of policies. The old one is then kept beside it.
    """
    try:
        output = Output.at(path, lambda head: head.startswith(_text({})[:30].encode()), "file of policies")
        entries = {name: train(name, show=show) for name in WEIGHTS}
        output.replace(_text(entries), keep_old=True)
    except OSError as error:
        raise CommandError(f"{shown(path)}: {reason(error)}") from None
    return entries


def _text(entries: dict[str, dict[str, Any]]) -> str:
    """Returns the text of the file, with one line for the record and for each group of weights."""
    policies = ",\n".join(
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(f"   {json.dumps(key)}: {json.dumps(value)}" for key, value in entry.items())
        + "\n  }"
        for name, entry in entries.items()
    )
    return f'{{\n {json.dumps(HEAD)[1:-1]},\n "policies": {{\n{policies}\n }}\n}}\n'
