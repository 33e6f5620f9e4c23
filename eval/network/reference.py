"""The network's evaluation in plain Python and NumPy, with which tests compare the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import chess
import numpy as np
import numpy.typing as npt

from eval.kernels.inference import EVALUATION_LIMIT
from eval.network.format import Network
from eval.network.layout import ONE, ORIGIN_ROWS, QA, QB

#: What a piece is worth when one piece attacks another; a king takes anything.
_WORTH: Final = {chess.PAWN: 0, chess.KNIGHT: 1, chess.BISHOP: 1, chess.ROOK: 2, chess.QUEEN: 3, chess.KING: 4}


def is_hanging(board: chess.Board, square: chess.Square) -> bool:
    """Returns whether the piece on a square hangs (see `eval.kernels.features.position_threats`)."""
    piece = board.piece_at(square)
    assert piece is not None
    attackers = board.attackers(not piece.color, square)
    if piece.piece_type == chess.KING or not attackers:
        return False
    return _has_lesser_attacker(board, piece, square) or not board.attackers(piece.color, square)


def safe_checks(board: chess.Board, color: chess.Color) -> set[chess.PieceType]:
    """Returns the piece types with which `color` can check safely (see `eval.kernels.features.position_threats`)."""
    found = set()
    king = board.king(not color)
    assert king is not None
    for kind in (chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN):
        # Such a piece checks from the squares that it would attack from the king's square.
        probe = board.copy(stack=False)
        probe.set_piece_at(king, chess.Piece(kind, not color))
        checking = probe.attacks(king) - board.occupied_co[color]
        reached = (board.attacks(origin) & checking for origin in board.pieces(kind, color))
        if any(not board.attackers(not color, target) for targets in reached for target in targets):
            found.add(kind)
    return found


def active_rows(board: chess.Board, perspective: chess.Color, with_threats: bool = False) -> list[int]:
    """Returns the rows that `perspective` sees on a board, in no particular order.

    If asked, that includes the rows of threats, which follow the FEATURES rows of pieces.
    """
    king = board.king(perspective)
    assert king is not None

    def seen(square: chess.Square) -> chess.Square:
        square = square if perspective == chess.WHITE else chess.square_mirror(square)
        file = chess.square_file(square)
        return chess.square(7 - file if chess.square_file(king) >= 4 else file, chess.square_rank(square))

    found = []
    for square, piece in board.piece_map().items():
        plane = piece.piece_type - 1 if piece.color == perspective else piece.piece_type + 5
        found.append(64 * plane + seen(square))
        if with_threats and is_hanging(board, square):
            found.append(768 + found[-1])
    if with_threats:
        for side, color in enumerate((perspective, not perspective)):
            threatened = board.king(color)
            assert threatened is not None
            for kind in safe_checks(board, not color):
                found.append(2 * 768 + 256 * side + 64 * (kind - chess.KNIGHT) + seen(threatened))
    return found


def bucket_of(board: chess.Board, buckets: int) -> int:
    """Returns the index of the output layer for a board; `buckets` is the number of layers."""
    return (len(board.piece_map()) - 2) // 4 if buckets > 1 else 0


def _activations(network: Network, board: chess.Board, with_threats: bool) -> npt.NDArray[np.int64]:
    """Returns the activations of both perspectives, the side to move's first, int64[2][hidden]."""
    all_rows = network.all_rows()
    sides = (all_rows[active_rows(board, side, with_threats)] for side in (board.turn, not board.turn))
    sums = network.bias + np.array([rows.sum(axis=0, dtype=np.int64) for rows in sides])
    activations: npt.NDArray[np.int64] = (np.clip(sums, 0, QA) ** 2 + 256) // 512
    return activations


def integer_score(network: Network, board: chess.Board) -> int:
    """Returns the evaluation in centipawns from the side to move's view. The kernels must match it exactly."""
    bucket = bucket_of(board, network.buckets)
    total = int((_activations(network, board, network.has_threats) * network.output[bucket]).sum())
    value = (total + int(network.output_bias[bucket])) * network.scale // (ONE * QB)
    return min(max(value, -EVALUATION_LIMIT), EVALUATION_LIMIT)


def _has_lesser_attacker(board: chess.Board, piece: chess.Piece, square: chess.Square) -> bool:
    """Returns whether an enemy piece of less value than `piece` attacks a square; False for a king."""
    kind, found = piece.piece_type, (board.piece_type_at(each) for each in board.attackers(not piece.color, square))
    return kind != chess.KING and any(_WORTH[attacker] < _WORTH[kind] for attacker in found if attacker)


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
    activations = _activations(network, board, with_threats=False)
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
        before += _has_lesser_attacker(board, chess.Piece(piece, board.turn), move.from_square)
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
