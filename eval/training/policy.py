"""Trains the policy of a network: the ratings of quiet moves from the accumulators of the finished network."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from eval.network.format import Network
from eval.network.layout import LOGIT, POLICY_QB
from eval.training.kernels.policy import Weights, add_policy_gradients, new_policy_scratch, rate_samples, weights_of
from eval.training.pool import Pool
from eval.training.trainer import Recipe, State, Trainer


class PolicyTrainer(Trainer):
    """A trainer of a policy for `network`. It differs from its base in the weights, the gradient and the error.

    The error is the mean cross-entropy of the played move in nats: the logarithm of the number of moves if all rate the
    same. Positions that teach nothing count with an error of 0 in training, and not at all in validation.
    """

    def __init__(self, recipe: Recipe, pool: Pool, state: State, network: Network) -> None:
        self.network = network
        self._record = network.record()
        super().__init__(recipe, pool, state)

    def _prepare(self, threads: int) -> None:
        hidden = self.recipe.hidden
        self.weights = weights_of(self.state.parameters, hidden)
        self._gradient_weights = [weights_of(row, hidden) for row in self._gradients]
        self._memory = [new_policy_scratch(hidden) for _ in range(threads)]

    def _add_gradients(self, chunks: npt.NDArray[np.int64], thread: int) -> float:
        gradient, memory = self._gradient_weights[thread], self._memory[thread]
        return float(add_policy_gradients(self._record, self.weights, self.pool.training, chunks, memory, gradient))

    def validate(self) -> tuple[float | None, npt.NDArray[np.float64]]:
        """Returns the error on the validation positions (None without any).

        Also returns, for each position that counts, how many other moves rate at least as high as the played one,
        float64[n].
        """
        return self._rate(self.weights)

    def _rate(self, weights: Weights) -> tuple[float | None, npt.NDArray[np.float64]]:
        ranks = np.zeros(len(self.pool.validation), np.int64)
        loss = float(rate_samples(self._record, weights, self.pool.validation, self._memory[0], ranks))
        counted = ranks[ranks >= 0]
        return (loss / len(counted) if len(counted) else None), counted.astype(np.float64)

    def measure(self, network: Network) -> dict[str, Any]:
        """Measures the trained policy and its rounded form in `network` on the validation positions.

        Returns a dictionary: `positions` that count; `error`, `top_1` and `top_3`, the shares of positions in which the
        played move rates first, and among the first three; and the same after rounding, with the prefix `rounded_`.
        """
        assert network.policy_rows is not None
        assert network.policy_bias is not None
        rounded = Weights(
            network.policy_rows.astype(np.float32) / np.float32(POLICY_QB),
            network.policy_bias.astype(np.float32) / np.float32(LOGIT),
        )
        found: dict[str, Any] = {}
        for prefix, weights in (("", self.weights), ("rounded_", rounded)):
            error, ranks = self._rate(weights)
            found["positions"] = len(ranks)
            found[prefix + "error"] = None if error is None else round(error, 4)
            for most in (1, 3):
                share = round(float((ranks < most).mean()), 4) if len(ranks) else None
                found[f"{prefix}top_{most}"] = share
        return found


def trainer_of(recipe: Recipe, pool: Pool, state: State, start: Network | None) -> Trainer:
    """Returns the trainer that the recipe asks for. `start` is the start network, which a policy needs."""
    if not recipe.policy:
        return Trainer(recipe, pool, state)
    assert start is not None
    return PolicyTrainer(recipe, pool, state, start)
