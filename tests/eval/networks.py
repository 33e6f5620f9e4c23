"""Networks that several tests share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eval.network.format import Network
from eval.network.layout import BLOCK, FEATURES, OUTPUT_LIMIT, POLICY_CLASSES, POLICY_ROWS, QA, QB, THREATS


def random_network(seed: int = 1, hidden: int = 32, buckets: int = 8, threats: bool = False) -> Network:
    """A network of noise, wide enough for accumulators on both sides of both clips."""
    rng = np.random.default_rng(seed)
    return Network(
        rng.integers(-180, 181, (FEATURES, hidden)).astype(np.int16),
        rng.integers(-200, 600, hidden).astype(np.int16),
        rng.integers(-OUTPUT_LIMIT, OUTPUT_LIMIT + 1, (buckets, 2, hidden)).astype(np.int16),
        rng.integers(-5_000_000, 5_000_000, buckets).astype(np.int32),
        provenance={"data": "noise", "seed": seed},
        threats=rng.integers(-128, 128, (THREATS, hidden)).astype(np.int8) if threats else None,
    )


def rating_network(seed: int = 1, hidden: int = 64, threats: bool = False) -> Network:
    """`random_network` with a policy of noise; `hidden` is a multiple of POLICY_BLOCK."""
    rng = np.random.default_rng([seed, 1])
    return replace(
        random_network(seed, hidden, threats=threats),
        policy_rows=rng.integers(-128, 128, (POLICY_ROWS, hidden)).astype(np.int8),
        policy_bias=rng.integers(-20_000, 20_000, POLICY_CLASSES).astype(np.int32),
    )


#: Pawns, which the network below counts a piece of each type as: pawn to king.
PAWNS_OF_A_PIECE = (1, 3, 3, 5, 9, 0)


def material_network() -> Network:
    """A network that counts pieces as beginners do and knows nothing else: a hundred centipawns for each pawn ahead.

    All its hidden values are alike: 200 and 16 for each pawn ahead, at most QA, so that the difference of the two
    sides' squares grows as the lead does, up to 19 pawns.
    """
    rows = np.repeat([16 * pawns for pawns in PAWNS_OF_A_PIECE] + [-16 * pawns for pawns in PAWNS_OF_A_PIECE], 64)
    output = np.full((1, 2, BLOCK), QB // 64, np.int16)
    output[:, 1] *= -1
    return Network(
        np.repeat(rows[:, np.newaxis], BLOCK, axis=1).astype(np.int16),
        np.full(BLOCK, 200, np.int16),
        output,
        np.zeros(1, np.int32),
        scale=round(100 * QA * QA * 64 / (BLOCK * 4 * 200 * 16)),
        provenance={"data": "none: material alone"},
    )
