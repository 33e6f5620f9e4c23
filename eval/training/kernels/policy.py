"""The float policy and its gradient: softmax over a position's legal quiet moves.

    input        x, the policy's inputs of the network as `eval.kernels.policy` computes them, divided by POLICY_ONE
    logit        z[m] = dot(x, rows[origin of m]) + dot(x, rows[target of m]) + bias[class of m]
    probability  p[m] = exp(z[m]) / sum of exp(z)
    loss         mean of -log p[the move that was played]

The network does not learn, so its inputs are computed with the integers of play, and the loss is convex. Positions in
check, those whose played move is no quiet move, and those with a single quiet move teach nothing and do not count.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.board.bits import U0
from engine.board.generate import generate_quiets
from engine.board.moves import MAX_MOVES
from engine.compiler.jit import float_inlined, float_kernel, inlined
from engine.memory import allocate
from eval.kernels.accumulator import forget_accumulators
from eval.kernels.features import orientation
from eval.kernels.inference import LINE_FRAME
from eval.kernels.policy import move_rows, move_view, write_inputs
from eval.network.layout import MAX_HIDDEN, POLICY_CLASSES, POLICY_ONE, POLICY_ROWS, accumulator_stack
from eval.training.kernels.gradients import CHUNK, Floats, new_vector
from eval.training.kernels.records import unpack

_ZERO: Final = np.float32(0.0)
_INPUT_UNIT: Final = np.float32(1.0 / POLICY_ONE)


class Weights(NamedTuple):
    """A policy's parameters, or their gradient, as views of one float32 vector.

    `rows` [POLICY_ROWS][H], `bias` [POLICY_CLASSES].
    """

    rows: Floats
    bias: Floats


class PolicyScratch(NamedTuple):
    """A thread's scratch memory for one position.

    `frames` LINE_FRAME[1] contains the position, `accumulators` [1] its accumulators, `integers` int8[MAX_HIDDEN] and
    `inputs` float32[H] the policy's inputs. `moves` int32[MAX_MOVES] are the quiet moves, `rows` int64[MAX_MOVES][3]
    their two rows and their class, `logits` float32[MAX_MOVES] their logits and then their probabilities.
    """

    frames: npt.NDArray[Any]
    accumulators: npt.NDArray[Any]
    integers: npt.NDArray[np.int8]
    inputs: Floats
    moves: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int64]
    logits: Floats


def policy_count(hidden: int) -> int:
    """Returns the number of a policy's parameters, rounded up to whole cache lines; the padding stays 0."""
    return -(-(POLICY_ROWS * hidden + POLICY_CLASSES) // 16) * 16


def weights_of(vector: Floats, hidden: int) -> Weights:
    """Splits a vector of `policy_count` floats into Weights, which share its memory."""
    end = POLICY_ROWS * hidden
    return Weights(vector[:end].reshape(POLICY_ROWS, hidden), vector[end : end + POLICY_CLASSES])


def new_policy_scratch(hidden: int) -> PolicyScratch:
    """Allocates the scratch memory of one thread."""
    return PolicyScratch(
        frames=allocate(LINE_FRAME, 1),
        accumulators=allocate(accumulator_stack(1), 1),
        integers=allocate(np.dtype(np.int8), MAX_HIDDEN),
        inputs=new_vector(hidden),
        moves=allocate(np.dtype(np.int32), MAX_MOVES),
        rows=allocate(np.dtype(np.int64), MAX_MOVES * 3).reshape(MAX_MOVES, 3),
        logits=new_vector(MAX_MOVES),
    )


@inlined
def _read_sample(network, sample, scratch):
    """Writes a SAMPLE's inputs, moves and rows into `scratch` (mutated).

    Returns the number of moves and the index of the played one, two int64; -1 if the position teaches nothing.
    """
    position = scratch.frames[0].position
    unpack(sample.position, position)
    if position.checkers != U0:
        return np.int64(0), np.int64(-1)
    count = generate_quiets(position, scratch.moves, 0)
    played = np.int64(-1)
    for index in range(count):
        if np.int64(scratch.moves[index]) == np.int64(sample.move):
            played = np.int64(index)
    if played < 0 or count < 2:
        return count, np.int64(-1)
    forget_accumulators(scratch.accumulators[0], 0)
    write_inputs(network, scratch.accumulators[0], scratch.frames, 0, scratch.integers)
    turned = orientation(position, position.turn)
    lesser, everything, checks = move_view(position)
    for index in range(count):
        move = np.int64(scratch.moves[index])
        origin, target, move_class = move_rows(position, turned, lesser, everything, checks, move)
        scratch.rows[index, 0] = origin
        scratch.rows[index, 1] = target
        scratch.rows[index, 2] = move_class
    return count, played


@float_inlined
def _dot(inputs, row):
    total = _ZERO
    for index in range(inputs.size):
        total += inputs[index] * row[index]
    return total


@float_inlined
def _forward(weights, scratch, count):
    """Writes the logits of the moves that `_read_sample` has found. Mutates `scratch`."""
    for index in range(scratch.inputs.size):
        scratch.inputs[index] = np.float32(scratch.integers[index]) * _INPUT_UNIT
    last = np.int64(-1)
    of_origin = _ZERO
    for index in range(count):
        origin = scratch.rows[index, 0]
        if origin != last:
            last = origin
            of_origin = _dot(scratch.inputs, weights.rows[origin])
        of_target = _dot(scratch.inputs, weights.rows[scratch.rows[index, 1]])
        scratch.logits[index] = of_origin + of_target + weights.bias[scratch.rows[index, 2]]


@float_inlined
def _loss(scratch, count, played):
    """Turns the logits into probabilities; returns the loss, float64. Mutates `scratch`."""
    most = scratch.logits[0]
    for index in range(1, count):
        most = max(most, scratch.logits[index])
    loss = np.float64(most - scratch.logits[played])
    total = 0.0
    for index in range(count):
        power = math.exp(np.float64(scratch.logits[index] - most))
        scratch.logits[index] = np.float32(power)
        total += power
    for index in range(count):
        scratch.logits[index] = np.float32(scratch.logits[index] / total)
    return loss + math.log(total)


@float_inlined
def _add_row(row, inputs, slope):
    for index in range(inputs.size):
        row[index] += slope * inputs[index]


@float_kernel
def add_policy_gradients(network, weights, samples, chunks, scratch, gradient):
    """Returns the sum of the losses, float64, over some chunks of `samples` (SAMPLE[n]).

    `chunks` (int64[k]) contains the numbers of these chunks, as in `gradients.add_gradients`. Adds the derivatives of
    the sum to `gradient` (Weights, mutated). Mutates `scratch` (PolicyScratch).
    """
    loss = 0.0
    for number in range(chunks.size):
        for sample in range(chunks[number] * CHUNK, (chunks[number] + 1) * CHUNK):
            count, played = _read_sample(network, samples[sample], scratch)
            if played < 0:
                continue
            _forward(weights, scratch, count)
            loss += _loss(scratch, count, played)
            scratch.logits[played] -= np.float32(1.0)
            last = scratch.rows[0, 0]
            of_origin = _ZERO
            for index in range(count):
                slope = scratch.logits[index]
                gradient.bias[scratch.rows[index, 2]] += slope
                _add_row(gradient.rows[scratch.rows[index, 1]], scratch.inputs, slope)
                if scratch.rows[index, 0] != last:
                    _add_row(gradient.rows[last], scratch.inputs, of_origin)
                    last = scratch.rows[index, 0]
                    of_origin = _ZERO
                of_origin += slope
            _add_row(gradient.rows[last], scratch.inputs, of_origin)
    return loss


@float_kernel
def rate_samples(network, weights, samples, scratch, ranks):
    """Writes how many other quiet moves rate at least as high as the played one into `ranks`, int64[n], for SAMPLE[n].

    Writes -1 if a position teaches nothing. Returns the sum of the losses, float64. Mutates `scratch` (PolicyScratch)
    and `ranks`.
    """
    loss = 0.0
    for sample in range(samples.size):
        count, played = _read_sample(network, samples[sample], scratch)
        ranks[sample] = -1
        if played < 0:
            continue
        _forward(weights, scratch, count)
        above = np.int64(0)
        for index in range(count):
            above += index != played and scratch.logits[index] >= scratch.logits[played]
        ranks[sample] = above
        loss += _loss(scratch, count, played)
    return loss
