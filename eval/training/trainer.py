"""Trains a network in superbatches of steps, with a falling learning rate.

    step         one batch: each thread sums the gradients of its part; AdamW uses the total, added in thread order
    superbatch   one or more steps, then the error on the validation positions
    rate         rises over the first steps, then falls along a cosine to its final value in the last step

On one machine with the same software, the same recipe and data give the same weights, to the last bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.errors import CommandError
from engine.files import count_of, quoted
from eval.network.format import Network
from eval.network.layout import BLOCK, BUCKETS, FEATURES, MAX_HIDDEN, POLICY_BLOCK, SCALE
from eval.training.accelerator import Accelerator
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
from eval.training.kernels.policy import policy_count
from eval.training.pool import FACTS, Facts, Pool, batches
from eval.training.quantise import restore

#: The standard deviation of the initial feature weights. For a sum of 22 weights, one per piece, it is about 0.5.
_FEATURE_SPREAD: Final = 0.1
#: Standard deviation of the noise in the feature weights of copied neurons: a twentieth of these weights' own.
_COPY_NOISE: Final = 0.01
#: The initial value of the accumulators' biases.
_FIRST_BIAS: Final = 0.1


#: Where to train: see `Recipe.device`.
DEVICES: Final = ("cpu", "gpu", "jax")


class TrainingError(CommandError, ValueError):
    """Raised if a recipe or a run is unusable; the message is one line."""


@dataclass(frozen=True)
class Recipe:
    """The settings of a training run: with the data, they determine the network.

    `superbatch_size` is the number of positions in a superbatch (rounded to whole batches), 0 for one pass over the
    data. `scale` is the sigmoid's scale in centipawns, 0 for the scale with which scores predict results best. After
    `warm_up` steps (at most a tenth of all steps), the learning rate falls from `rate` to `last_rate`. In each step,
    weights decay by `decay` times the learning rate. Gradients with a norm above `clip` are scaled down to `clip`.
    `start` is the start network's digest, or "" for random weights. At the end, the weights move `start_share` of the
    way back to those of the start network: the mean can be better than both ends, above all with few data. (Mitchell
    Wortsman et al., "Robust fine-tuning of zero-shot models", 2022.) `device` is "cpu" for the kernels, or a device of
    JAX: "gpu", or "jax" for the one that JAX prefers. With `policy`, the run trains a policy for the start network,
    which does not change (see `eval.training.policy`). Raises TrainingError if a value is out of range.
    """

    hidden: int = 128
    buckets: int = 8
    threats: bool = False
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
    start_share: float = 0.0
    device: str = "cpu"
    policy: bool = False

    def __post_init__(self) -> None:
        if self.hidden % BLOCK or not BLOCK <= self.hidden <= MAX_HIDDEN:
            raise TrainingError(f"hidden must be a multiple of {BLOCK} up to {MAX_HIDDEN} (got {self.hidden})")
        if self.buckets not in BUCKETS:
            raise TrainingError(f"buckets must be {' or '.join(map(str, BUCKETS))} (got {self.buckets})")
        unit = CHUNK * max(self.threads, 1)
        if self.batch_size < 1 or self.batch_size % unit:
            threads = f" with {self.threads} threads" if self.threads > 1 else ""
            raise TrainingError(f"batch-size must be a positive multiple of {unit}{threads} (got {self.batch_size})")
        if not 0.0 <= self.result_share <= 1.0:
            raise TrainingError(f"result-share must be 0 to 1 (got {self.result_share:g})")
        if not 0.0 <= self.start_share < 1.0:
            raise TrainingError(f"start-share must be at least 0 and less than 1 (got {self.start_share:g})")
        if self.start_share and (self.policy or not self.start):
            raise TrainingError("start-share needs a start network, and no policy")
        if self.device not in DEVICES:
            raise TrainingError(
                f"device must be {', '.join(DEVICES[:-1])} or {DEVICES[-1]} (got {quoted(self.device)})"
            )
        if self.policy and not self.start:
            raise TrainingError("policy needs the network that it is for, as start")
        if self.policy and self.device != "cpu":
            raise TrainingError(f"a policy trains only on device cpu (got {self.device})")
        if self.policy and self.hidden % POLICY_BLOCK:
            raise TrainingError(f"policy needs a hidden that is a multiple of {POLICY_BLOCK} (got {self.hidden})")
        if self.policy and (self.result_share or self.scale):
            raise TrainingError("a policy learns moves, so it takes neither result-share nor scale")
        for name in ("superbatches", "threads", "rate", "clip"):
            if not getattr(self, name) > 0:
                raise TrainingError(f"{name.replace('_', '-')} must be greater than 0 (got {getattr(self, name):g})")
        for name in ("superbatch_size", "scale", "last_rate", "warm_up", "decay", "seed"):
            if not getattr(self, name) >= 0:
                raise TrainingError(f"{name.replace('_', '-')} must be 0 or more (got {getattr(self, name):g})")

    def shape(self) -> tuple[int, int, bool]:
        """Returns the network's `hidden`, `buckets` and `has_threats`."""
        return self.hidden, self.buckets, self.threats

    def size(self) -> int:
        """Returns the length of the vectors in the run's state."""
        return policy_count(self.hidden) if self.policy else parameter_count(*self.shape())

    def steps_of_pass(self, positions: int) -> int:
        """Returns the number of whole batches in `positions` positions. Raises TrainingError if it is 0."""
        steps = positions // CHUNK // (self.batch_size // CHUNK)
        if not steps:
            raise TrainingError(f"only {count_of(positions, 'position')} to train on; a batch needs {self.batch_size}")
        return steps


@dataclass(frozen=True)
class Entry:
    """A superbatch in the log: its number (from 1 on), the number of positions, the mean errors (`validation` is None
    if there are no validation positions), the learning rate of the last step, and the speed. The errors are squared
    errors, or for a policy cross entropies (see `eval.training.policy`).
    """

    superbatch: int
    positions: int
    training: float
    validation: float | None
    rate: float
    positions_per_second: float


@dataclass
class State:
    """The state of a run. `momentum` and `squares` are averages of the gradients and of the gradients' squares. All
    vectors are float32[n]. `pool` is the checksum of the run's pool and `slope` its slope, both None before training.
    """

    parameters: Floats
    momentum: Floats
    squares: Floats
    log: list[Entry] = field(default_factory=list)
    pool: int | None = None
    slope: float | None = None

    def use(self, facts: Facts) -> None:
        """Records the pool to use. Raises TrainingError if training began with another pool."""
        if self.pool not in (None, facts.crc):
            raise TrainingError("the data differ from those that the run began with")
        if self.slope not in (None, facts.slope):
            raise TrainingError(f"{FACTS}: has slope {facts.slope:g} instead of {self.slope:g} as in the checkpoint")
        self.pool, self.slope = facts.crc, facts.slope


@dataclass(frozen=True)
class Moment:
    """The progress of superbatch number `superbatch`: steps done, all steps, mean error so far, and speed."""

    superbatch: int
    step: int
    steps: int
    training: float
    positions_per_second: float


def first_state(recipe: Recipe) -> State:
    """Returns a state with random weights from the seed of the recipe."""
    size = recipe.size()
    state = State(new_vector(size), new_vector(size), new_vector(size))
    layers = layers_of(state.parameters, *recipe.shape())
    rng = np.random.default_rng([recipe.seed, 2])
    # The rows of threats begin as zeros.
    layers.features[:, :FEATURES] = rng.normal(0.0, _FEATURE_SPREAD, (recipe.hidden // BLOCK, FEATURES, BLOCK))
    layers.bias[:] = _FIRST_BIAS
    bound = 1.0 / math.sqrt(2 * recipe.hidden)
    # All buckets can begin with the same weights, because each learns only from its own positions.
    layers.output[:] = rng.uniform(-bound, bound, layers.output.shape[1])
    return state


def state_from(network: Network, recipe: Recipe) -> State:
    """Returns a state with a network's weights, widened if the recipe asks for a multiple of its width.

    Each neuron is copied, with a little noise so that its copies learn different things, and its output weights are
    divided among them. (Tianqi Chen et al., "Net2Net", 2016.) If only the recipe has rows for threats, they
    begin as zeros. Raises TrainingError unless the network's `hidden` divides that of the recipe, its `buckets` are
    equal and the recipe keeps its rows. For a policy, returns zeros instead.
    """
    if recipe.policy:
        if recipe.shape() != network.shape():
            raise TrainingError(
                f"a policy needs the start network's hidden, buckets and threats, {network.shape()} "
                f"(got {recipe.shape()})"
            )
        return State(new_vector(recipe.size()), new_vector(recipe.size()), new_vector(recipe.size()))
    copies, hidden_rest = divmod(recipe.hidden, network.hidden)
    if hidden_rest or network.buckets != recipe.buckets or network.has_threats > recipe.threats:
        raise TrainingError(
            f"the start network's hidden must divide {recipe.hidden}, its buckets must be {recipe.buckets}, and its "
            f"threats at most {recipe.threats} (got {network.shape()})"
        )
    narrow = layers_of(new_vector(parameter_count(*network.shape())), *network.shape())
    restore(network, narrow)
    size = recipe.size()
    state = State(new_vector(size), new_vector(size), new_vector(size))
    layers = layers_of(state.parameters, *recipe.shape())
    rows = narrow.features.shape[1]
    layers.features[:, :rows] = np.tile(narrow.features, (copies, 1, 1))
    layers.bias[:] = np.tile(narrow.bias, copies)
    output = narrow.output.reshape(network.buckets, 2, network.hidden) / copies
    layers.output[:] = np.tile(output, copies).reshape(layers.output.shape)
    layers.output_bias[:] = narrow.output_bias
    if copies > 1:
        rng = np.random.default_rng([recipe.seed, 3])
        layers.features[:, :rows] += rng.normal(0.0, _COPY_NOISE, (recipe.hidden // BLOCK, rows, BLOCK))
    return state


class Trainer:
    """A trainer of the network in `state` (mutated). Raises TrainingError if the pool is too small or has changed."""

    def __init__(self, recipe: Recipe, pool: Pool, state: State) -> None:
        self.recipe, self.pool, self.state = recipe, pool, state
        a_pass = recipe.steps_of_pass(len(pool.training))
        state.use(pool.facts)
        self.scale = recipe.scale or pool.facts.slope
        self.steps = max(1, recipe.superbatch_size // recipe.batch_size) if recipe.superbatch_size else a_pass
        self._accelerator = None if recipe.device == "cpu" else Accelerator(recipe, self.scale)
        # The accelerator has its own gradients; validation needs the scratch memory of one thread.
        size, threads = len(state.parameters), recipe.threads if self._accelerator is None else 1
        self._gradients = new_vector(threads * size).reshape(threads, size)
        self._prepare(threads)

    def _prepare(self, threads: int) -> None:
        """Allocates what `_add_gradients` and `validate` need."""
        recipe = self.recipe
        self.layers = layers_of(self.state.parameters, *recipe.shape())
        self._blend = Blend(float(recipe.result_share), float(self.scale))
        self._gradient_layers = [layers_of(row, *recipe.shape()) for row in self._gradients]
        self._scratch = [new_scratch(recipe.hidden, recipe.threats) for _ in range(threads)]

    def _add_gradients(self, chunks: npt.NDArray[np.int64], thread: int) -> float:
        """Adds the gradient of some chunks to the thread's; returns the sum of their errors."""
        samples, scratch, gradient = self.pool.training, self._scratch[thread], self._gradient_layers[thread]
        return float(add_gradients(self.layers, samples, chunks, self._blend, scratch, gradient))

    @property
    def is_finished(self) -> bool:
        """True if all superbatches have been trained."""
        return len(self.state.log) >= self.recipe.superbatches

    def pace(self) -> float:
        """Returns the training speed over the whole log, which must not be empty, in positions per second."""
        positions = sum(entry.positions for entry in self.state.log)
        return positions / sum(entry.positions / entry.positions_per_second for entry in self.state.log)

    def rate(self, step: int) -> float:
        """Returns the learning rate of step number `step` of the run (from 0 on)."""
        recipe, total = self.recipe, self.recipe.superbatches * self.steps
        warm_up = min(recipe.warm_up, total // 10)
        if step < warm_up:
            return recipe.rate * (step + 1) / (warm_up + 1)
        progress = (step - warm_up) / max(total - 1 - warm_up, 1)
        return recipe.last_rate + (recipe.rate - recipe.last_rate) * 0.5 * (1.0 + math.cos(math.pi * progress))

    def superbatch(self, on_step: Callable[[Moment], None] = lambda moment: None) -> Entry:
        """Trains one superbatch and logs it; returns the log entry. Raises TrainingError if training diverges."""
        number, recipe = len(self.state.log), self.recipe
        first = number * self.steps
        stream = batches(recipe.seed, len(self.pool.training) // CHUNK, recipe.batch_size // CHUNK, first)
        loss, began = 0.0, time.perf_counter()
        for step, error in enumerate(self._errors(stream, first)):
            loss += error
            if not math.isfinite(loss):
                raise TrainingError(f"superbatch {number + 1}: the training error diverged; lower --rate")
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

    def _errors(self, stream: Iterator[npt.NDArray[np.int64]], first: int) -> Iterator[float]:
        """Trains a superbatch from step `first` of the run on; yields the sum of errors of each step."""
        steps = range(first, first + self.steps)
        if self._accelerator is not None:
            rates = [self.rate(step) for step in steps]
            yield from self._accelerator.losses(self.pool.training, stream, self.state, rates, first)
            return
        # The caller's thread takes the first part of each batch.
        with ThreadPoolExecutor(max(self.recipe.threads - 1, 1)) as threads:
            for step in steps:
                yield self._step(threads, next(stream), step)

    def _step(self, threads: ThreadPoolExecutor, chunks: npt.NDArray[np.int64], step: int) -> float:
        """Trains on the batch `chunks`, in step `step` (from 0 on) of the run; returns the sum of errors."""
        recipe, state = self.recipe, self.state
        parts = np.split(chunks, recipe.threads)
        others = [threads.submit(self._add_gradients, parts[thread], thread) for thread in range(1, recipe.threads)]
        loss = self._add_gradients(parts[0], 0)
        loss += sum(other.result() for other in others)
        norm = math.sqrt(reduce_gradients(self._gradients, np.float32(1.0 / recipe.batch_size)))
        update = make_step(step + 1, self.rate(step), recipe.decay, norm, recipe.clip)
        adamw_step(state.parameters, state.momentum, state.squares, self._gradients[0], update)
        return loss

    def errors_of_means(self, start: Floats, shares: Iterable[float]) -> dict[str, float | None]:
        """Returns the validation error that each of `shares` would have as `start_share`, by that share as a text.

        `start` is the vector of the start network's weights. Call it before `return_to`.
        """
        parameters, trained = self.state.parameters, self.state.parameters.copy()
        found = {}
        for share in shares:
            parameters[:] = trained + np.float32(share) * (start - trained)
            found[f"{share:g}"] = self.validate()[0]
        parameters[:] = trained
        return found

    def return_to(self, start: Floats) -> None:
        """Moves the weights `start_share` of the way to the weights `start`. Call it once, after all superbatches."""
        share = np.float32(self.recipe.start_share)
        self.state.parameters[:] += share * (start - self.state.parameters)

    def validate(self) -> tuple[float | None, npt.NDArray[np.float64]]:
        """Returns the validation error (None without positions) and the network's score of each position in cp."""
        samples = self.pool.validation
        values = np.zeros(len(samples), np.float32)
        loss = float(outputs(self.layers, samples, self._blend, self._scratch[0], values))
        return (loss / len(samples) if len(samples) else None), values.astype(np.float64) * SCALE
