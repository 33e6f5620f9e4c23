"""The layout of a network and its accumulators in memory, and the formula of the evaluation.

    accumulator[p]  = bias + sum of the rows of the features that perspective p sees          int16[hidden]
    threats[p]      = sum of the rows of the threats that perspective p sees, int8 each; 0 in a
                      network without such rows                                               int16[hidden]
    clipped         = min(max(accumulator + threats, 0), QA)
    activation      = (clipped^2 + 256) // 512                                                0 to ONE
    total           = sum over own and opponent's perspective of activation * output weight   exact integer
    evaluation      = (total + output bias) * scale // (ONE * QB)                             centipawns

Divisions round down; `eval.kernels.inference` clamps the result. The evaluation is from the view of the side to move,
whose perspective comes first in the output weights. QA, ONE and QB represent 1.0 in accumulators, activations and
output weights.

A network may also have a policy, which rates the quiet moves of a position (see `eval.kernels.policy`):

    input           = for own, then opponent's perspective: (activation[i] + activation[i + hidden / 2]) // 8
                      for i below hidden / 2                                                  0 to 127, int8[hidden]
    logit           = dot(input, row of the origin) + dot(input, row of the target) + bias of the move's class

These activations are without the rows of threats. LOGIT represents a logit of 1.0, POLICY_QB a weight of 1.0 in
the rows. The pairs of activations suit a network that was widened to twice its width, because its halves began as
copies (see `eval.training.trainer.state_from`). Adding them halves the work. In other networks, a pair has nothing in
common, so its sum says less.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.memory import allocate

#: The number of features of each perspective: own and enemy pieces of six types on 64 squares.
FEATURES: Final = 768

#: The number of threats of each perspective: hanging pieces, one for each feature; then safe checks to the own and the
#: enemy king by four piece types, knight to queen, one for each square of the king.
THREATS: Final = FEATURES + 2 * 4 * 64

#: The largest number of pieces that a position can have.
MOST_PIECES: Final = 32

#: The largest number of threats in a position: all pieces but the kings hang, and all types check.
MOST_THREATS: Final = MOST_PIECES - 2 + 2 * 4

#: The integers that represent 1.0 in accumulators, in activations and in output weights.
QA: Final = 511
ONE: Final = (QA * QA + 256) // 512
QB: Final = 8192

#: The default number of centipawns for an output of 1.
SCALE: Final = 400

#: The largest absolute value of an output weight, twice QB. It keeps the sums of `vectors.screlu_dot` within 32 bits.
OUTPUT_LIMIT: Final = 2 * QB

#: An accumulator's length is a multiple of BLOCK and at most MAX_HIDDEN.
BLOCK: Final = 32
MAX_HIDDEN: Final = 1024

#: The policy's rows: one for each piece type and the square that it leaves; then, for each of three dangers on the
#: target, one for each piece type and that square.
ORIGIN_ROWS: Final = 6 * 64
POLICY_ROWS: Final = ORIGIN_ROWS + 3 * 6 * 64

#: The classes of moves that have a bias each: three dangers before the move, three after it, check or not, piece type.
POLICY_CLASSES: Final = 3 * 3 * 2 * 6

#: The integers that represent 1.0 in the policy's inputs, weights and logits.
POLICY_ONE: Final = 127
POLICY_QB: Final = 64
LOGIT: Final = POLICY_ONE * POLICY_QB

#: With a policy, an accumulator's length is a multiple of this.
POLICY_BLOCK: Final = 64

#: The numbers of output layers (buckets) that a network may have; see `eval.kernels.features.output_bucket`.
BUCKETS: Final = (1, 8)

NETWORK: Final = np.dtype(
    [
        # The arrays are long enough for the largest network; `hidden` is the length of a row. Row r is
        # features[r * hidden : (r + 1) * hidden], and in the same way for threats and the policy. The weights of bucket
        # b for the own and the opponent's accumulator are output[b * 2 * hidden : (b + 1) * 2 * hidden].
        ("features", np.int16, (FEATURES * MAX_HIDDEN,)),
        ("bias", np.int16, (MAX_HIDDEN,)),
        ("output", np.int16, (max(BUCKETS) * 2 * MAX_HIDDEN,)),
        ("threats", np.int8, (THREATS * MAX_HIDDEN,)),
        ("policy_rows", np.int8, (POLICY_ROWS * MAX_HIDDEN,)),
        # In units of 1 / LOGIT.
        ("policy_bias", np.int32, (POLICY_CLASSES,)),
        # In units of 1 / (ONE * QB).
        ("output_bias", np.int32, (max(BUCKETS),)),
        # The length of an accumulator; 0 if there is no network.
        ("hidden", np.int64),
        ("buckets", np.int64),
        # 1 if the network has rows for threats, else 0.
        ("has_threats", np.int64),
        # Centipawns for an output of 1.
        ("scale", np.int64),
        # 1 if the network has a policy, else 0.
        ("has_policy", np.int64),
        # Makes the record's size a multiple of a cache line, 64 bytes.
        ("unused", np.int64, (1,)),
    ],
    align=True,
)


#: The number of entries of the cache for refreshes, see `accumulator_stack`.
CACHE_ENTRIES: Final = 2 * 2


def accumulator_stack(plies: int) -> np.dtype[Any]:
    """Returns the dtype of a record with the accumulators of both perspectives for `plies` plies."""
    return np.dtype(
        [
            # [ply][perspective][hidden], without gaps; `hidden` is the network's.
            ("values", np.int16, (plies * 2 * MAX_HIDDEN,)),
            # [perspective][mirrored or not][hidden]: the sums of the last refresh, and its pieces by
            # colour and type. Bit e of `cached` is set if entry e is in use, numbered in this order. The arrays
            # of int16 come first, so that they begin on cache lines.
            ("cached_values", np.int16, (CACHE_ENTRIES * MAX_HIDDEN,)),
            ("cached_pieces", np.uint64, (CACHE_ENTRIES, 2, 6)),
            ("cached", np.int64),
            # The rows of threats of the last position evaluated, as White and Black see them.
            ("white_threats", np.int64, (MOST_THREATS,)),
            ("black_threats", np.int64, (MOST_THREATS,)),
            # [ply]: bit p is set if perspective p's accumulator matches the position of that ply.
            ("computed", np.int64, (plies,)),
        ],
        align=True,
    )


def new_network() -> Any:
    """Returns a NETWORK record of zeros, which contains no network."""
    return allocate(NETWORK, 1)[0]
