"""The network's evaluation in plain Python and NumPy, with which tests compare the kernels."""

from __future__ import annotations

import chess
import numpy as np

from eval.kernels.inference import EVALUATION_LIMIT
from eval.network.format import Network
from eval.network.layout import ONE, QA, QB


def active_features(board: chess.Board, perspective: chess.Color) -> list[int]:
    """Returns the indices of the features that `perspective` sees on a board, in no particular order."""
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
    """Returns the index of the output layer for a board; `buckets` is the number of layers."""
    return (len(board.piece_map()) - 2) // 4 if buckets > 1 else 0


def integer_score(network: Network, board: chess.Board) -> int:
    """Returns the evaluation in centipawns from the side to move's view. The kernels must match it exactly."""
    bucket = bucket_of(board, network.buckets)
    total = 0
    for side, perspective in enumerate((board.turn, not board.turn)):
        rows = network.features[active_features(board, perspective)].astype(np.int64)
        activations = (np.clip(network.bias + rows.sum(axis=0), 0, QA) ** 2 + 256) // 512
        total += int((activations * network.output[bucket, side]).sum())
    value = (total + int(network.output_bias[bucket])) * network.scale // (ONE * QB)
    return min(max(value, -EVALUATION_LIMIT), EVALUATION_LIMIT)
