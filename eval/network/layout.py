"""The layout of a network and its accumulators in memory, and the formula of the evaluation.

    accumulator[p]  = bias + sum of the rows of the features that perspective p sees, in the
                      king bucket of p                                                        int16[hidden]
    clipped         = min(max(accumulator, 0), QA)
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

LOGIT represents a logit of 1.0, POLICY_QB a weight of 1.0 in the rows. The pairs of activations suit a network that was
widened to twice its width, because its halves began as copies (see `eval.training.trainer.state_from`). Adding them
halves the work. In other networks, a pair has nothing in common, so its sum says less.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.memory import allocate

#: The number of features of each perspective in each king bucket: own and enemy pieces of six types on 64 squares.
FEATURES: Final = 768

#: The numbers of king buckets that a network may have. With 4, the square of a perspective's own king selects one of
#: four sets of feature rows.
KING_BUCKETS: Final = (1, 4)

#: The king bucket of a square as its perspective sees it (see `eval.kernels.features`), int64[64]: 0 for a1 and b1,
#: where a king stands after castling on its side, 1 for c1 and d1, 2 for the second rank, 3 for the others. A
#: perspective sees its king on files a to d, so the entries of files e to h are never read.
KING_BUCKET_OF_SQUARE: Final = np.array([0, 0, 1, 1, 1, 1, 0, 0] + [2] * 8 + [3] * 48, np.int64)

#: The largest number of pieces that a position can have.
MOST_PIECES: Final = 32

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
        # The arrays are long enough for the largest network; `hidden` is the length of a row. Row r, that of feature
        # f in king bucket k for r = k * FEATURES + f, is features[r * hidden : (r + 1) * hidden]. The weights of bucket
        # b for the own and the opponent's accumulator are output[b * 2 * hidden : (b + 1) * 2 * hidden].
        ("features", np.int16, (max(KING_BUCKETS) * FEATURES * MAX_HIDDEN,)),
        ("bias", np.int16, (MAX_HIDDEN,)),
        ("output", np.int16, (max(BUCKETS) * 2 * MAX_HIDDEN,)),
        # Row r of the policy is policy_rows[r * hidden : (r + 1) * hidden].
        ("policy_rows", np.int8, (POLICY_ROWS * MAX_HIDDEN,)),
        # In units of 1 / LOGIT.
        ("policy_bias", np.int32, (POLICY_CLASSES,)),
        # In units of 1 / (ONE * QB).
        ("output_bias", np.int32, (max(BUCKETS),)),
        # The length of an accumulator; 0 if there is no network.
        ("hidden", np.int64),
        ("buckets", np.int64),
        ("king_buckets", np.int64),
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
CACHE_ENTRIES: Final = 2 * max(KING_BUCKETS) * 2


def accumulator_stack(plies: int) -> np.dtype[Any]:
    """Returns the dtype of a record with the accumulators of both perspectives for `plies` plies."""
    return np.dtype(
        [
            # [ply][perspective][hidden], without gaps; `hidden` is the network's.
            ("values", np.int16, (plies * 2 * MAX_HIDDEN,)),
            # [perspective][king bucket][mirrored or not][hidden]: the sums of the last refresh, and its pieces by
            # colour and type. Bit e of `cached` is set if entry e is in use, numbered in this order. The sums follow
            # `values`, so that they begin on a cache line.
            ("cached_values", np.int16, (CACHE_ENTRIES * MAX_HIDDEN,)),
            ("cached_pieces", np.uint64, (CACHE_ENTRIES, 2, 6)),
            ("cached", np.int64),
            # [ply]: bit p is set if perspective p's accumulator matches the position of that ply.
            ("computed", np.int64, (plies,)),
        ],
        align=True,
    )


def new_network() -> Any:
    """Returns a NETWORK record of zeros, which contains no network."""
    return allocate(NETWORK, 1)[0]
