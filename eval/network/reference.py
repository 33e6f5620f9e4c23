"""The network's evaluation in plain Python and NumPy, with which tests compare the kernels."""

from __future__ import annotations

from collections.abc import Callable

import chess
import numpy as np
import numpy.typing as npt

from eval.kernels.inference import EVALUATION_LIMIT
from eval.network.format import Network
from eval.network.layout import ONE, ORIGIN_ROWS, QA, QB


def active_rows(board: chess.Board, perspective: chess.Color, king_buckets: int = 1) -> list[int]:
    """Returns the feature rows that `perspective` sees on a board, in no particular order."""
    king = board.king(perspective)
    assert king is not None
    found = []
    for square, piece in board.piece_map().items():
        seen = square if perspective == chess.WHITE else chess.square_mirror(square)
        if chess.square_file(king) >= 4:
            seen = chess.square(7 - chess.square_file(seen), chess.square_rank(seen))
        plane = piece.piece_type - 1 if piece.color == perspective else piece.piece_type + 5
        found.append(64 * plane + seen)
    if king_buckets == 1:
        return found
    own_king = next(row - 64 * 5 for row in found if row // 64 == 5)
    bucket = min(chess.square_rank(own_king) + 1, 3)
    if bucket == 1 and chess.square_file(own_king) < 2:
        bucket = 0
    return [768 * bucket + row for row in found]


def bucket_of(board: chess.Board, buckets: int) -> int:
    """Returns the index of the output layer for a board; `buckets` is the number of layers."""
    return (len(board.piece_map()) - 2) // 4 if buckets > 1 else 0


def _activations(network: Network, board: chess.Board) -> npt.NDArray[np.int64]:
    """Returns the activations of both perspectives, the side to move's first, int64[2][hidden]."""
    sides = (network.features[active_rows(board, side, network.king_buckets)] for side in (board.turn, not board.turn))
    sums = network.bias + np.array([rows.sum(axis=0, dtype=np.int64) for rows in sides])
    activations: npt.NDArray[np.int64] = (np.clip(sums, 0, QA) ** 2 + 256) // 512
    return activations


def integer_score(network: Network, board: chess.Board) -> int:
    """Returns the evaluation in centipawns from the side to move's view. The kernels must match it exactly."""
    bucket = bucket_of(board, network.buckets)
    total = int((_activations(network, board) * network.output[bucket]).sum())
    value = (total + int(network.output_bias[bucket])) * network.scale // (ONE * QB)
    return min(max(value, -EVALUATION_LIMIT), EVALUATION_LIMIT)


def _has_lesser_attacker(board: chess.Board, piece: chess.PieceType, square: chess.Square) -> bool:
    """Returns whether an enemy piece of less value than `piece` attacks a square; False for a king."""
    worth = {chess.PAWN: 0, chess.KNIGHT: 1, chess.BISHOP: 1, chess.ROOK: 2, chess.QUEEN: 3, chess.KING: 4}
    found = (board.piece_type_at(attacker) for attacker in board.attackers(not board.turn, square))
    return piece != chess.KING and any(worth[attacker] < worth[piece] for attacker in found if attacker)


def integer_logits(
    network: Network, board: chess.Board, loses: Callable[[chess.Board, chess.Move], bool]
) -> dict[chess.Move, int]:
    """Returns the policy's logit of each legal quiet move in units of 1 / LOGIT. The kernels must match it exactly.

    `network` must have a policy. `loses` says whether a move loses material by SEE. A castling move counts as a king
    move to the rook's square.
    """
    assert network.policy_rows is not None
    assert network.policy_bias is not None
    half = network.hidden // 2
    activations = _activations(network, board)
    inputs = ((activations[:, :half] + activations[:, half:]) // 8).reshape(-1)
    king = board.king(board.turn)
    assert king is not None
    turned = (0 if board.turn == chess.WHITE else 56) ^ (7 if chess.square_file(king) >= 4 else 0)
    found = {}
    for move in board.legal_moves:
        if board.is_capture(move) or move.promotion:
            continue
        piece, target = board.piece_type_at(move.from_square), move.to_square
        assert piece is not None
        if board.is_castling(move):
            rooks = chess.SquareSet(board.castling_rights & chess.BB_RANKS[chess.square_rank(king)])
            target = next(rook for rook in rooks if (rook > king) == (target > king))
        before, after = (int(bool(board.attackers(not board.turn, square))) for square in (move.from_square, target))
        before += _has_lesser_attacker(board, piece, move.from_square)
        after *= 2 if loses(board, move) else 1
        # A piece checks from the squares that such an enemy piece would attack from the enemy king's square.
        enemy_king = board.king(not board.turn)
        assert enemy_king is not None
        probe = board.copy(stack=False)
        probe.set_piece_at(enemy_king, chess.Piece(piece, not board.turn))
        check = piece != chess.KING and target in probe.attacks(enemy_king)
        origin_row = 64 * (piece - 1) + (move.from_square ^ turned)
        target_row = ORIGIN_ROWS * (1 + after) + 64 * (piece - 1) + (target ^ turned)
        rows = network.policy_rows[[origin_row, target_row]].astype(np.int64).sum(axis=0)
        found[move] = int(inputs @ rows) + int(network.policy_bias[((before * 3 + after) * 2 + check) * 6 + piece - 1])
    return found
