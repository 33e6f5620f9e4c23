"""How a network lies in memory, and what of it is known at each ply of a line.

    accumulator[p]  = bias + sum of the rows of the features that perspective p sees          int16[hidden]
    clipped         = min(max(accumulator, 0), QA)
    total           = sum over own and opponent's perspective of clipped^2 * output weight    exact integer
    evaluation      = (total // QA + output bias) * scale // (QA * QB)                        centipawns

Divisions round down. The evaluation is the side to move's, whose own perspective comes first in the output weights.
QA and QB are the units of 1.0 for accumulators and output weights.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.memory import allocate

#: Features of a perspective: own and enemy pieces of six types on 64 squares.
FEATURES: Final = 768

#: More pieces than this no position has.
MOST_PIECES: Final = 32

#: Accumulator units that stand for 1, and output weight units.
QA: Final = 255
QB: Final = 64

#: The largest output weight in size: times QA it still fits an int16, which the dot product relies on.
OUTPUT_LIMIT: Final = 127

#: Accumulators come in whole blocks of this many values, and in so many at most.
BLOCK: Final = 32
MAX_HIDDEN: Final = 512

#: Numbers of output buckets that exist; by the count of pieces: see `eval.network.features.output_bucket`.
BUCKETS: Final = (1, 8)

NETWORK: Final = np.dtype(
    [
        # Arrays are as long as the widest network needs and packed by `hidden`: feature f has its row in
        # features[f * hidden : (f + 1) * hidden], bucket b its weights for the own and the opponent's accumulator in
        # output[b * 2 * hidden : (b + 1) * 2 * hidden].
        ("features", np.int16, (FEATURES * MAX_HIDDEN,)),
        ("bias", np.int16, (MAX_HIDDEN,)),
        ("output", np.int16, (max(BUCKETS) * 2 * MAX_HIDDEN,)),
        # In units of 1 / (QA * QB).
        ("output_bias", np.int32, (max(BUCKETS),)),
        # Values of an accumulator; 0 when there is no network.
        ("hidden", np.int64),
        ("buckets", np.int64),
        # Centipawns for an output of 1.
        ("scale", np.int64),
        # The arrays' sizes are multiples of a cache line, and so is the record's.
        ("unused", np.int64),
    ],
    align=True,
)


def accumulator_stack(plies: int) -> np.dtype[Any]:
    """The type of a record with the accumulators of both perspectives for so many plies."""
    return np.dtype(
        [
            # Packed by the network's `hidden`: [ply][perspective][hidden].
            ("values", np.int16, (plies * 2 * MAX_HIDDEN,)),
            # [ply] bit p is set when perspective p's accumulator belongs to the position of that ply.
            ("computed", np.int64, (plies,)),
        ],
        align=True,
    )


def new_network() -> Any:
    """A NETWORK record without a network."""
    return allocate(NETWORK, 1)[0]
