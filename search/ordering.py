"""Move ordering: which of a node's moves comes next."""

from __future__ import annotations

import numpy as np

from engine.board.exchange import captured_piece, exchange_at_least
from engine.board.moves import MAX_MOVES, is_capture, is_promotion, move_origin, promotion_piece
from engine.board.position import PAWN, QUEEN, piece_at
from engine.jit import inlined, subkernel
from search.history import HISTORY_LIMIT, history_of

# Bands, best first. History stays within its limit on both sides of zero.
TABLE_MOVE = 1 << 30
GOOD_NOISY = 1 << 24
KILLER = 1 << 20
BAD_NOISY = -(1 << 24)

assert KILLER > HISTORY_LIMIT


@inlined
def mvv_lva(position, move):
    """Most valuable victim first, then least valuable attacker, int64; a promotion counts as taking its piece."""
    victim = captured_piece(position, move)
    if is_promotion(move):
        victim += promotion_piece(move) - PAWN
    return victim * 8 - piece_at(position, move_origin(move))


@inlined
def is_noisy(move):
    """Captures and promotions: what quiescence looks at."""
    return is_capture(move) or is_promotion(move)


@subkernel
def score_moves(worker, frame, first, count, table_move):
    """Fills `frame.order` for the moves `first <= i < count`. Mutates `frame`."""
    position = frame.position
    for index in range(first, count):
        move = np.int64(frame.moves[index])
        if move == table_move:
            order = np.int64(TABLE_MOVE)
        elif is_noisy(move):
            # Exchanges that lose material come last; underpromotions lose nothing but the point.
            underpromotion = is_promotion(move) and promotion_piece(move) != QUEEN
            band = BAD_NOISY if underpromotion or not exchange_at_least(position, move, 0) else GOOD_NOISY
            order = band + mvv_lva(position, move)
        elif move == frame.killers[0]:
            order = np.int64(KILLER + 1)
        elif move == frame.killers[1]:
            order = np.int64(KILLER)
        else:
            order = history_of(worker, position.turn, move)
        frame.order[index] = order


@inlined
def pick_move(frame, index, count):
    """Brings the best of the moves `index <= i < count` to `index` and returns it, int64. Mutates `frame`.

    One step of a selection sort: after a cutoff the rest was never sorted.
    """
    best = index
    for other in range(index + 1, count):
        if frame.order[other] > frame.order[best]:
            best = other
    move = frame.moves[best]
    order = frame.order[best]
    frame.moves[best] = frame.moves[index]
    frame.order[best] = frame.order[index]
    frame.moves[index] = move
    frame.order[index] = order
    return np.int64(move)


assert MAX_MOVES >= 218
