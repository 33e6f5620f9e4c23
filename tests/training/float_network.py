"""The network in float64 and NumPy, written down once more from its definition: what the kernels are held to."""

from __future__ import annotations

from typing import NamedTuple

import chess
import numpy as np
import numpy.typing as npt

from engine.board.convert import from_board
from engine.compiler.jit import kernel
from engine.memory import allocate
from eval.network.layout import ONE, QA, QB, SCALE
from eval.network.reference import active_rows, bucket_of
from eval.training.kernels.gradients import Blend, Layers, by_row
from eval.training.kernels.records import SAMPLE, pack

Array = npt.NDArray[np.float64]


@kernel
def pack_sample(position, sample):  # type: ignore[no-untyped-def]
    pack(position, sample.position)


def samples_of(
    boards: list[chess.Board], scores: list[int] | None = None, results: list[int] | None = None
) -> npt.NDArray[np.void]:
    """SAMPLE[n] with White's scores in centipawns and results in half points, 0 and 1 unless given."""
    samples = allocate(SAMPLE, len(boards))
    for index, board in enumerate(boards):
        pack_sample(from_board(board), samples[index])
    samples["score"] = 0 if scores is None else scores
    samples["result"] = 1 if results is None else results
    return samples  # type: ignore[no-any-return]


class Parameters(NamedTuple):
    """As `Layers`, in float64, with `features` as [R][H]."""

    features: Array
    bias: Array
    output: Array
    output_bias: Array


def exact(layers: Layers) -> Parameters:
    features, *others = layers
    return Parameters(*(part.astype(np.float64) for part in (by_row(features), *others)))


def sigmoid(value: Array | float) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-np.asarray(value))))


def clipped(parameters: Parameters, board: chess.Board) -> Array:
    """The roots of the activations, [2 H], side to move first."""
    has_threats = len(parameters.features) > 768
    sides = [
        parameters.bias + parameters.features[active_rows(board, perspective, has_threats)].sum(axis=0)
        for perspective in (board.turn, not board.turn)
    ]
    roots: Array = np.clip(np.concatenate(sides), 0.0, 1.0)
    return roots


def output_of(parameters: Parameters, board: chess.Board) -> float:
    """The network's output for the side to move."""
    bucket = bucket_of(board, len(parameters.output_bias))
    return float(clipped(parameters, board) ** 2 @ parameters.output[bucket] + parameters.output_bias[bucket])


def rounding_bound(parameters: Parameters, board: chess.Board) -> float:
    """The most centipawns that a network file may be off these parameters on a board: rounding through every step.

    A feature or bias is off by half a unit of 1 / QA, so the sum of n rows and the bias by (n + 1) / 2 units, which
    clipping does not add to. A square x^2 that becomes y^2 is off by |x - y| (x + y). The activation is rounded to a
    unit of 1 / ONE, and so is ONE itself. An output weight or bias is off by half a unit of 1 / QB or 1 / (ONE QB). The
    last division costs a centipawn.
    """
    rows = active_rows(board, board.turn, len(parameters.features) > 768)
    slack = (len(rows) + 1) / (2 * QA)
    roots = clipped(parameters, board)
    most = np.minimum(roots + slack, 1.0)
    weights = np.abs(parameters.output[bucket_of(board, len(parameters.output_bias))])
    off = weights @ (slack * np.minimum(roots + most, 2.0) + 0.51 / ONE) + (most**2).sum() / (2 * QB)
    return float(SCALE * (off + 0.5 / (ONE * QB))) + 1.0


def loss_of(
    parameters: Parameters, boards: list[chess.Board], samples: npt.NDArray[np.void], blend: Blend
) -> tuple[float, Array]:
    """The sum of squared errors, and the outputs."""
    outputs = np.array([output_of(parameters, board) for board in boards])
    sign = np.array([1.0 if board.turn == chess.WHITE else -1.0 for board in boards])
    scores, results = samples["score"] * sign, 0.5 + (samples["result"] * 0.5 - 0.5) * sign
    targets = blend.result_share * results + (1.0 - blend.result_share) * sigmoid(scores / blend.scale)
    return float(((sigmoid(SCALE * outputs / blend.scale) - targets) ** 2).sum()), outputs
