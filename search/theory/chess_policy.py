"""What the policy of chess sees of a move: the moving piece, the exchange, the target square, the victim, and check."""

from __future__ import annotations

import chess

from search.theory.exchange import exchange_value
from search.theory.plain_chess import CENTRALITY
from search.theory.policy import CHESS_GROUPS, PIECES

#: The index of the first weight of each group.
_EXCHANGE, _TARGET, _CAPTURED, _CHECK = (
    sum(map(len, list(CHESS_GROUPS.values())[:number])) for number in range(len(CHESS_GROUPS))
)


def chess_features(board: chess.Board, move: chess.Move) -> list[int]:
    """Returns the indices of the weights of a legal move, in the order of `CHESS_GROUPS`."""
    piece = (board.piece_type_at(move.from_square) or chess.PAWN) - 1
    gain = exchange_value(board, move)
    found = [_EXCHANGE + 3 * piece + (gain >= 0) + (gain > 0), _TARGET + 4 * piece + CENTRALITY[move.to_square]]
    victim = board.piece_type_at(move.to_square)
    if victim is not None and not board.is_castling(move):
        found.append(_CAPTURED + len(PIECES) * (victim - 1) + piece)
    if board.gives_check(move):
        found.append(_CHECK + piece)
    return found
