"""Trains a network: superbatches of steps, and a falling learning rate.

    step         one batch: each thread computes the gradient of a part; sum in the threads' order; then AdamW
    superbatch   many steps, then the error on the validation positions
    rate         rises over the first steps, then falls along a cosine to its last value in the last step

The same recipe and data give the same network, to the last bit, on one machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.errors import CommandError
from eval.network.format import SCALE, Network
from eval.network.layout import BLOCK, BUCKETS, MAX_HIDDEN
from eval.training.kernels.gradients import (
    CHUNK,
    Blend,
    Floats,
    add_gradients,
    layers_of,
    new_scratch,
    new_vector,
    outputs,
    parameter_count,
)
from eval.training.kernels.optimizer import adamw_step, make_step, reduce_gradients
from eval.training.pool import Pool, batches
from eval.training.quantise import restore

#: Standard deviation of the first feature weights: with some 22 pieces, accumulators begin between 0 and 1.
_FEATURE_SPREAD: Final = 0.1
#: The initial value of the accumulators' biases.
_FIRST_BIAS: Final = 0.1


class TrainingError(CommandError, ValueError):
    """A recipe or a run is unusable; the message is one line."""


@dataclass(frozen=True)
class Recipe:
    """The settings of a training run: with the data, they determine the network.

    `superbatch_size` is the number of positions in a superbatch, 0 for one pass over the data. `scale` is the sigmoid's
    in centipawns, 0 for the one that fits scores to results best. `rate` falls to `last_rate` after `warm_up` steps (or
    a tenth of all steps, if that is less). Weights decay by `decay` times the rate a step. Gradients of a norm beyond
    `clip` are scaled down to it. `start` is the SHA-256 of the network file whose weights the run began with, empty for
    random weights.
    """

    hidden: int = 128
    buckets: int = 8
    superbatches: int = 40
    superbatch_size: int = 0
    batch_size: int = 4096
    result_share: float = 0.0
    scale: float = 0.0
    rate: float = 4e-3
    last_rate: float = 2e-6
    warm_up: int = 400
    decay: float = 0.01
    clip: float = 1.0
    seed: int = 1
    threads: int = 1
    start: str = ""

    def __post_init__(self) -> None:
        if self.hidden % BLOCK or not BLOCK <= self.hidden <= MAX_HIDDEN:
            raise TrainingError(f"hidden is a multiple of {BLOCK} up to {MAX_HIDDEN}, not {self.hidden}")
        if self.buckets not in BUCKETS:
            raise TrainingError(f"buckets is {' or '.join(map(str, BUCKETS))}, not {self.buckets}")
        if self.batch_size < 1 or self.batch_size % (CHUNK * max(self.threads, 1)):
            per_thread = f" for each of {self.threads} threads" if self.threads > 1 else ""
            raise TrainingError(f"batch-size is a multiple of {CHUNK}{per_thread}, not {self.batch_size}")
        if not 0.0 <= self.result_share <= 1.0:
            raise TrainingError(f"result-share is 0 to 1, not {self.result_share:g}")
        for name in ("superbatches", "threads", "rate", "clip"):
            if not getattr(self, name) > 0:
                raise TrainingError(f"{name.replace('_', '-')} is more than 0, not {getattr(self, name):g}")
        for name in ("superbatch_size", "scale", "last_rate", "warm_up", "decay", "seed"):
            if not getattr(self, name) >= 0:
                raise TrainingError(f"{name.replace('_', '-')} is 0 or more, not {getattr(self, name):g}")

    def steps_of_pass(self, positions: int) -> int:
        """The number of whole batches in `positions` positions. Raises TrainingError if there is none."""
        steps = positions // CHUNK // (self.batch_size // CHUNK)
        if not steps:
            raise TrainingError(f"{positions} positions to train on do not fill a batch of {self.batch_size}")
        return steps


@dataclass(frozen=True)
class Entry:
    """A superbatch in the log: mean squared errors (`validation` is None without such positions), the learning rate of
    its last step, and the speed of its steps.
    """

    superbatch: int
    positions: int
    training: float
    validation: float | None
    rate: float
    positions_per_second: float


@dataclass
class State:
    """The state of a run: `parameters` and the averages of gradients and of their squares, float32[n]; the log so far;
    the checksum of the pool that it was trained on, None before training.
    """

    parameters: Floats
    momentum: Floats
    squares: Floats
    log: list[Entry] = field(default_factory=list)
    pool: int | None = None


@dataclass(frozen=True)
class Moment:
    """The progress for `on_step`: steps done of the superbatch's steps, its mean error so far, positions a second."""

    superbatch: int
    step: int
    steps: int
    training: float
    positions_per_second: float


def first_state(recipe: Recipe) -> State:
    """A network of random weights."""
    size = parameter_count(recipe.hidden, recipe.buckets)
    state = State(new_vector(size), new_vector(size), new_vector(size))
    layers = layers_of(state.parameters, recipe.hidden, recipe.buckets)
    rng = np.random.default_rng([recipe.seed, 2])
    layers.features[:] = rng.normal(0.0, _FEATURE_SPREAD, layers.features.shape)
    layers.bias[:] = _FIRST_BIAS
    bound = 1.0 / math.sqrt(2 * recipe.hidden)
    # All buckets begin alike, because each learns from its own positions only, even what they have in common.
    layers.output[:] = rng.uniform(-bound, bound, layers.output.shape[1])
    return state


def state_from(network: Network, recipe: Recipe) -> State:
    """A state that begins with a network's weights. Raises TrainingError when the recipe is for another size."""
    if (network.hidden, network.buckets) != (recipe.hidden, recipe.buckets):
        raise TrainingError(
            f"the network to start from has hidden {network.hidden} and buckets {network.buckets}, "
            f"not {recipe.hidden} and {recipe.buckets}"
        )
    size = parameter_count(recipe.hidden, recipe.buckets)
    state = State(new_vector(size), new_vector(size), new_vector(size))
    restore(network, layers_of(state.parameters, recipe.hidden, recipe.buckets))
    return state


class Trainer:
    """Trains a state (mutated) on a pool. Raises TrainingError for a pool that is too small."""

    def __init__(self, recipe: Recipe, pool: Pool, state: State) -> None:
        self.recipe, self.pool, self.state = recipe, pool, state
        a_pass = recipe.steps_of_pass(len(pool.training))
        if state.pool not in (None, pool.facts.crc):
            raise TrainingError("the data are not those that the run began with")
        state.pool = pool.facts.crc
        self.scale = recipe.scale or pool.facts.slope
        self.steps = max(1, recipe.superbatch_size // recipe.batch_size) if recipe.superbatch_size else a_pass
        self.layers = layers_of(state.parameters, recipe.hidden, recipe.buckets)
        self._blend = Blend(float(recipe.result_share), float(self.scale))
        size = len(state.parameters)
        self._gradients = new_vector(recipe.threads * size).reshape(recipe.threads, size)
        self._gradient_layers = [layers_of(row, recipe.hidden, recipe.buckets) for row in self._gradients]
        self._scratch = [new_scratch(recipe.hidden) for _ in range(recipe.threads)]

    @property
    def is_finished(self) -> bool:
        """Whether all superbatches have been trained."""
        return len(self.state.log) >= self.recipe.superbatches

    def pace(self) -> float:
        """Positions a second in the steps of the superbatches in the log, which must not be empty."""
        positions = sum(entry.positions for entry in self.state.log)
        return positions / sum(entry.positions / entry.positions_per_second for entry in self.state.log)

    def rate(self, step: int) -> float:
        """The learning rate of a step (from 0 on) of the run."""
        recipe, total = self.recipe, self.recipe.superbatches * self.steps
        warm_up = min(recipe.warm_up, total // 10)
        if step < warm_up:
            return recipe.rate * (step + 1) / (warm_up + 1)
        progress = (step - warm_up) / max(total - 1 - warm_up, 1)
        return recipe.last_rate + (recipe.rate - recipe.last_rate) * 0.5 * (1.0 + math.cos(math.pi * progress))

    def superbatch(self, on_step: Callable[[Moment], None] = lambda moment: None) -> Entry:
        """Trains one superbatch and adds it to the state's log. Raises TrainingError when the numbers diverge."""
        number, recipe = len(self.state.log), self.recipe
        first = number * self.steps
        stream = batches(recipe.seed, len(self.pool.training) // CHUNK, recipe.batch_size // CHUNK, first)
        loss, began = 0.0, time.perf_counter()
        # The caller's thread takes the first part of each batch.
        with ThreadPoolExecutor(max(recipe.threads - 1, 1)) as threads:
            for step in range(self.steps):
                loss += self._step(threads, next(stream), first + step)
                if not math.isfinite(loss):
                    raise TrainingError(f"superbatch {number + 1}: the error is no number any more; lower --rate")
                done = (step + 1) * recipe.batch_size
                speed = done / (time.perf_counter() - began)
                on_step(Moment(number + 1, step + 1, self.steps, loss / done, speed))
            positions = self.steps * recipe.batch_size
            seconds = time.perf_counter() - began
            validation, _ = self.validate()
        rate = self.rate(first + self.steps - 1)
        entry = Entry(number + 1, positions, loss / positions, validation, rate, round(positions / seconds, 1))
        self.state.log.append(entry)
        return entry

    def _step(self, threads: ThreadPoolExecutor, chunks: npt.NDArray[np.int64], step: int) -> float:
        """One batch; returns the sum of its squared errors."""
        recipe, state = self.recipe, self.state
        parts = np.split(chunks, recipe.threads)

        def work(thread: int) -> float:
            samples, scratch = self.pool.training, self._scratch[thread]
            return float(
                add_gradients(self.layers, samples, parts[thread], self._blend, scratch, self._gradient_layers[thread])
            )

        others = [threads.submit(work, thread) for thread in range(1, recipe.threads)]
        loss = work(0)
        loss += sum(other.result() for other in others)
        norm = math.sqrt(reduce_gradients(self._gradients, np.float32(1.0 / recipe.batch_size)))
        update = make_step(step + 1, self.rate(step), recipe.decay, norm, recipe.clip)
        adamw_step(state.parameters, state.momentum, state.squares, self._gradients[0], update)
        return loss

    def validate(self) -> tuple[float | None, npt.NDArray[np.float64]]:
        """The mean squared error over the validation positions, None without any, and their scores in centipawns."""
        samples = self.pool.validation
        values = np.zeros(len(samples), np.float32)
        loss = float(outputs(self.layers, samples, self._blend, self._scratch[0], values))
        return (loss / len(samples) if len(samples) else None), values.astype(np.float64) * SCALE
