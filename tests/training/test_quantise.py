"""Rounding: what is exported is nowhere further off the trained network than can be computed beforehand."""

from __future__ import annotations

from dataclasses import replace

import chess
import numpy as np
import pytest

from eval.network.format import Network
from eval.network.layout import FEATURES, SCALE
from eval.network.reference import integer_score
from eval.training.kernels.gradients import layers_of, new_vector, parameter_count
from eval.training.quantise import quantised
from tests.eval.eval_positions import varied
from tests.training.float_network import Parameters, exact, output_of, rounding_bound

HIDDEN = 64


def shares_of_bound(parameters: Parameters, network: Network, boards: list[chess.Board]) -> list[float]:
    """What rounding costs on each board, as a share of what it may cost."""
    return [
        abs(integer_score(network, board) - SCALE * output_of(parameters, board)) / rounding_bound(parameters, board)
        for board in boards
    ]


def check(parameters: Parameters, network: Network, boards: list[chess.Board]) -> None:
    """Holds the file to its bound, and the bound to being worth something."""
    shares = shares_of_bound(parameters, network, boards)
    assert 0.0 < np.mean(shares) < max(shares) <= 1.0
    # A network that is scaled by as little as a tenth exceeds the bound.
    assert max(shares_of_bound(parameters, replace(network, scale=SCALE * 11 // 10), boards)) > 1.0


@pytest.mark.parametrize(("buckets", "threats"), [(1, False), (8, True)])
@pytest.mark.parametrize("most", [0.02, 0.3])
def test_any_network_keeps_to_its_bound(buckets: int, threats: bool, most: float) -> None:
    """Accumulators on both sides of both clips, output weights of `most` at most."""
    shape = HIDDEN, buckets, threats
    layers = layers_of(new_vector(parameter_count(*shape)), *shape)
    rng = np.random.default_rng(9)
    layers.features[:] = rng.normal(0.0, 0.25, layers.features.shape)
    # Those of threats are bytes: at most 127 / QA.
    layers.features[:, FEATURES:] = layers.features[:, FEATURES:].clip(-0.248, 0.248)
    layers.bias[:] = rng.normal(0.3, 0.2, HIDDEN)
    layers.output[:] = rng.uniform(-most, most, layers.output.shape)
    layers.output_bias[:] = rng.normal(0.0, 0.5, buckets)
    check(exact(layers), quantised(layers, {}), varied(seed=9, count=120))
