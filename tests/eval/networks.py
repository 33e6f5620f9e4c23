"""Networks that the tests of this room share."""

from __future__ import annotations

import numpy as np

from eval.network.format import Network
from eval.network.layout import FEATURES, OUTPUT_LIMIT


def random_network(seed: int = 1, hidden: int = 32, buckets: int = 8) -> Network:
    """A network of noise, wide enough for accumulators on both sides of both clips."""
    rng = np.random.default_rng(seed)
    return Network(
        rng.integers(-90, 91, (FEATURES, hidden)).astype(np.int16),
        rng.integers(-100, 300, hidden).astype(np.int16),
        rng.integers(-OUTPUT_LIMIT, OUTPUT_LIMIT + 1, (buckets, 2, hidden)).astype(np.int16),
        rng.integers(-20_000, 20_000, buckets).astype(np.int32),
        provenance={"data": "noise", "seed": seed},
    )
