"""The network's evaluation of the position at a ply of a line. `eval.network.layout` contains the formula."""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.board.bits import popcount
from engine.board.generate import generate_quiets
from engine.board.position import OCCUPIED, POSITION, WHITE
from engine.compiler.jit import kernel, subkernel
from eval.kernels.accumulator import accumulator_start, update
from eval.kernels.features import output_bucket, position_threats, threat_rows
from eval.kernels.policy import write_logits
from eval.kernels.vectors import screlu_dot
from eval.network.layout import ONE, QB

#: The largest absolute value, in centipawns, of a network's or a custom evaluation. It is below mate scores.
EVALUATION_LIMIT: Final = 30_000

#: A frame with only the fields that the accumulators need, for callers without a search stack.
LINE_FRAME: Final = np.dtype([("position", POSITION), ("move", np.int64)], align=True)


@subkernel
def evaluate_with_network(network, accumulators, stack, ply):
    """Returns the static evaluation in int64 centipawns from the side to move's view, within +-EVALUATION_LIMIT.

    `network` is a NETWORK record that contains a network. `eval.kernels.accumulator` describes `accumulators` (mutated)
    and `stack`.
    """
    position = stack[ply].position
    us = position.turn
    hidden = network.hidden
    bucket = output_bucket(popcount(position.pieces[OCCUPIED]), network.buckets)
    threats = np.int64(0)
    if network.has_threats != 0:
        hanging, checks = position_threats(position)
        threats = threat_rows(position, hanging, checks, accumulators.white_threats, accumulators.black_threats)
    for perspective in range(2):
        update(network, accumulators, stack, ply, perspective)
    total = np.int64(network.output_bias[bucket])
    for perspective in range(2):
        start = accumulator_start(network, ply, perspective)
        weights = (2 * bucket + (perspective ^ us)) * hidden
        numbers = accumulators.white_threats if perspective == WHITE else accumulators.black_threats
        total += screlu_dot(
            accumulators.values, start, network.threats, numbers, threats, network.output, weights, hidden
        )
    value = total * network.scale // (ONE * QB)
    return min(max(value, -EVALUATION_LIMIT), EVALUATION_LIMIT)


@kernel
def evaluate_line(network, accumulators, stack, ply):
    """Returns `evaluate_with_network` of the same arguments, for callers in Python. Mutates `accumulators`."""
    return evaluate_with_network(network, accumulators, stack, ply)


@kernel
def rate_line(network, accumulators, stack, ply, inputs, moves, logits):
    """Writes the legal quiet moves at `ply` into `moves`, int32[MAX_MOVES], and their logits (see `write_logits`).

    Returns the number of moves, int64. Mutates all but `network` and `stack`.
    """
    count = generate_quiets(stack[ply].position, moves, 0)
    write_logits(network, accumulators, stack, ply, inputs, moves, count, logits)
    return count
