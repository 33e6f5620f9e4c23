"""Training on a GPU, or on another device of JAX: the network of `eval.training.kernels.gradients` as dense products.

The processor prepares batches (features, buckets, targets) while the device trains on earlier ones. The features of a
position become a row of zeros and ones, so that a batch is one matrix product. The multiplication rounds its inputs as
the device prefers, so a network differs slightly from one trained on the processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from engine.board.position import POSITION
from engine.errors import CommandError
from engine.extras import remedy
from engine.memory import allocate
from eval.network.layout import BLOCK, SCALE
from eval.training.kernels.gradients import CHUNK, MOST_ROWS, Blend, network_inputs, part_sizes, row_count
from eval.training.kernels.optimizer import MOMENTUM, MOST_WEIGHT, SQUARES, TINY, make_step

if TYPE_CHECKING:
    from eval.training.trainer import Recipe, State

#: Batches that are prepared before the device needs them.
_AHEAD: Final = 4


class DeviceError(CommandError):
    """Raised if there is no such device; the message is one line."""


class Accelerator:
    """Trains the network of a recipe on a device of JAX: "gpu", or "jax" for the device that JAX prefers.

    `scale` is the sigmoid's scale in centipawns. Raises DeviceError if JAX or the device is missing.
    """

    def __init__(self, recipe: Recipe, scale: float) -> None:
        try:
            import jax

            self._device = jax.devices("gpu" if recipe.device == "gpu" else None)[0]
        except ImportError:
            raise DeviceError(f"training on a GPU needs JAX: {remedy('gpu')}") from None
        except RuntimeError as error:
            raise DeviceError(f"JAX finds no GPU: {str(error).splitlines()[0]}") from None
        self._recipe = recipe
        self._blend = Blend(float(recipe.result_share), float(scale))
        self._step = _compiled(recipe, SCALE / scale)

    def losses(
        self, samples: Any, batches: Iterator[npt.NDArray[np.int64]], state: State, rates: list[float], first: int
    ) -> Iterator[float]:
        """Trains one step for each of `rates`, the first of them step number `first` (from 0 on) of the run.

        Yields the sum of squared errors of each batch. Then writes the weights and averages to `state` (mutated).
        """
        import jax

        recipe, device = self._recipe, self._device
        vectors = tuple(jax.device_put(v, device) for v in (state.parameters, state.momentum, state.squares))
        with ThreadPoolExecutor(recipe.threads) as threads:
            waiting = [self._prepared(threads, samples, next(batches)) for _ in range(min(_AHEAD, len(rates)))]
            for number, rate in enumerate(rates):
                inputs = jax.device_put(waiting.pop(0)(), device)
                if number + _AHEAD < len(rates):
                    waiting.append(self._prepared(threads, samples, next(batches)))
                step = make_step(first + number + 1, rate, recipe.decay, 0.0, recipe.clip)
                loss, *vectors = self._step(vectors, inputs, np.array(step[1:], np.float32), np.float32(recipe.clip))
                yield float(loss)
        for mine, its in zip((state.parameters, state.momentum, state.squares), vectors, strict=True):
            mine[:] = np.asarray(its)

    def _prepared(self, threads: ThreadPoolExecutor, samples: Any, chunks: npt.NDArray[np.int64]) -> Any:
        """Starts to prepare a batch; returns a function that waits for it and returns its arrays."""
        count = len(chunks) * CHUNK
        rows = np.empty((count, 2, MOST_ROWS), np.int16)
        buckets = np.empty(count, np.int32)
        targets = np.empty(count, np.float32)

        def work(part: npt.NDArray[np.int64], begin: int) -> None:
            end = begin + len(part) * CHUNK
            network_inputs(
                samples,
                part,
                self._blend,
                self._recipe.buckets,
                row_count(self._recipe.threats),
                (allocate(POSITION, 1)[0], np.empty((2, MOST_ROWS), np.int64)),
                (rows[begin:end], buckets[begin:end], targets[begin:end]),
            )

        parts = np.split(chunks, self._recipe.threads)  # equal parts: `Recipe` checks that
        size = count // len(parts)
        tasks = [threads.submit(work, part, number * size) for number, part in enumerate(parts)]

        def arrays() -> tuple[npt.NDArray[Any], ...]:
            for task in tasks:
                task.result()
            return rows, buckets, targets

        return arrays


def _compiled(recipe: Recipe, factor: float) -> Any:
    """Returns a step as a function that JAX compiles at its first call: one of (vectors, inputs, factors, clip) to the
    sum of squared errors and the new vectors. `factors` is a Step without its first factor.
    """
    import jax
    import jax.numpy as jnp

    hidden, buckets, batch_size = recipe.hidden, recipe.buckets, recipe.batch_size
    count = row_count(recipe.threats)
    ends = np.cumsum(part_sizes(hidden, buckets, recipe.threats))

    def loss(parameters: Any, rows: Any, bucket: Any, targets: Any) -> Any:
        blocks, bias, output, output_bias, _ = jnp.split(parameters, ends)
        features = blocks.reshape(hidden // BLOCK, count, BLOCK).transpose(1, 0, 2).reshape(count, hidden)
        views = rows.reshape(-1, MOST_ROWS)
        # The column behind the rows takes the places without a row.
        present = jnp.zeros((len(views), count + 1), jnp.float32).at[jnp.arange(len(views))[:, None], views].add(1.0)
        active = jnp.square(jnp.clip(present[:, :count] @ features + bias, 0.0, 1.0)).reshape(batch_size, 2 * hidden)
        outputs = active @ output.reshape(buckets, 2 * hidden).T + output_bias
        chosen = jnp.take_along_axis(outputs, bucket[:, None].astype(jnp.int32), 1)[:, 0]
        return jnp.sum(jnp.square(jax.nn.sigmoid(factor * chosen) - targets))

    def step(vectors: tuple[Any, ...], inputs: tuple[Any, ...], factors: Any, clip: Any) -> tuple[Any, ...]:
        parameters, momentum, squares = vectors
        keep, length, spread = factors
        error, slopes = jax.value_and_grad(loss)(parameters, *inputs)
        slopes = slopes / batch_size
        norm = jnp.sqrt(jnp.sum(jnp.square(slopes)))
        slopes = slopes * (clip / jnp.maximum(norm, clip))
        momentum = momentum + (1.0 - MOMENTUM) * (slopes - momentum)
        squares = squares + (1.0 - SQUARES) * (jnp.square(slopes) - squares)
        parameters = parameters * keep - length * momentum / (jnp.sqrt(squares * spread) + TINY)
        return error, jnp.clip(parameters, -MOST_WEIGHT, MOST_WEIGHT), momentum, squares

    return jax.jit(step, donate_argnums=0)
