"""The network in plain Python and NumPy: what the kernels are checked against, and the model they approximate."""

from __future__ import annotations

from dataclasses import dataclass

import chess
import numpy as np
import numpy.typing as npt

from eval.network.format import SCALE, Network
from eval.network.inference import EVALUATION_LIMIT
from eval.network.layout import QA, QB


def active_features(board: chess.Board, perspective: chess.Color) -> list[int]:
    """The features that a side sees, in no order that matters."""
    king = board.king(perspective)
    assert king is not None
    found = []
    for square, piece in board.piece_map().items():
        seen = square if perspective == chess.WHITE else chess.square_mirror(square)
        if chess.square_file(king) >= 4:
            seen = chess.square(7 - chess.square_file(seen), chess.square_rank(seen))
        plane = piece.piece_type - 1 if piece.color == perspective else piece.piece_type + 5
        found.append(64 * plane + seen)
    return found


def bucket_of(board: chess.Board, buckets: int) -> int:
    """The output layer that a position takes, of `buckets`."""
    return (len(board.piece_map()) - 2) // 4 if buckets > 1 else 0


def integer_score(network: Network, board: chess.Board) -> int:
    """What every kernel has to find, to the last centipawn."""
    bucket = bucket_of(board, network.buckets)
    total = 0
    for side, perspective in enumerate((board.turn, not board.turn)):
        rows = network.features[active_features(board, perspective)].astype(np.int64)
        clipped = np.clip(network.bias + rows.sum(axis=0), 0, QA)
        total += int((clipped**2 * network.output[bucket, side]).sum())
    value = (total // QA + int(network.output_bias[bucket])) * network.scale // (QA * QB)
    return min(max(value, -EVALUATION_LIMIT), EVALUATION_LIMIT)


@dataclass(frozen=True)
class FloatNetwork:
    """The model that training works on: the same shapes as in a Network, in float64, and a unit of 1."""

    features: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]
    output: npt.NDArray[np.float64]
    output_bias: npt.NDArray[np.float64]
    scale: float = SCALE

    def score(self, board: chess.Board) -> float:
        """Centipawns from the side to move's view."""
        bucket = bucket_of(board, len(self.output_bias))
        value = float(self.output_bias[bucket])
        for side, perspective in enumerate((board.turn, not board.turn)):
            accumulator = self.bias + self.features[active_features(board, perspective)].sum(axis=0)
            value += float(np.clip(accumulator, 0.0, 1.0) ** 2 @ self.output[bucket, side])
        return self.scale * value

    def quantised(self) -> Network:
        """The network nearest to it. Raises NetworkError when a weight is too large for that."""
        return Network(
            np.rint(self.features * QA).astype(np.int16),
            np.rint(self.bias * QA).astype(np.int16),
            np.rint(self.output * QB).astype(np.int16),
            np.rint(self.output_bias * (QA * QB)).astype(np.int32),
            scale=round(self.scale),
        )

    def error_bound(self, board: chess.Board) -> float:
        """The most centipawns that quantisation can cost on a board: rounding carried through every step.

        A weight is off by half a unit, so an accumulator of n rows and a bias by (n + 1) / 2 units of 1 / QA, which
        clipping does not add to; its square, of values up to 1, by twice that and 1 at most; the output weights by
        half a unit of 1 / QB; and two divisions and a rounded bias by one unit each at most.
        """
        slack = (len(board.piece_map()) + 1) / (2 * QA)
        off = min(2 * slack, 1.0)
        weights = np.abs(self.output[bucket_of(board, len(self.output_bias))])
        total = float((weights * off + 1 / (2 * QB)).sum()) + 2 / (QA * QB)
        return self.scale * total + 1
