"""Move ordering: which of a node's moves comes next."""

from __future__ import annotations

import numpy as np

from engine.board.exchange import captured_piece, exchange_at_least
from engine.board.moves import MAX_MOVES, is_capture, is_promotion, move_origin, promotion_piece
from engine.board.position import PAWN, QUEEN, piece_at
from engine.jit import inlined, subkernel
from search.history import HISTORY_LIMIT, capture_history, quiet_history

# Bands, best first. The sum of a quiet move's histories stays within three limits on both sides of zero.
TABLE_MOVE = 1 << 30
GOOD_NOISY = 1 << 24
KILLER = 1 << 20
BAD_NOISY = -(1 << 24)
#: Marks a move that was not searched but pruned.
SKIPPED = -(1 << 30)

#: How much history may change the order of captures: a victim's worth of it.
VICTIM_WEIGHT = 8 * HISTORY_LIMIT // 16

assert KILLER > 3 * HISTORY_LIMIT
assert GOOD_NOISY > 8 * 8 * VICTIM_WEIGHT


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
def score_moves(worker, ply, first, count, table_move):
    """Fills the frame's `order` for its moves `first <= i < count`. Mutates `worker`."""
    frame = worker.frames[ply]
    position = frame.position
    for index in range(first, count):
        move = np.int64(frame.moves[index])
        if move == table_move:
            order = np.int64(TABLE_MOVE)
        elif is_noisy(move):
            # Exchanges that lose material come last; underpromotions lose nothing but the point.
            underpromotion = is_promotion(move) and promotion_piece(move) != QUEEN
            band = BAD_NOISY if underpromotion or not exchange_at_least(position, move, 0) else GOOD_NOISY
            order = band + mvv_lva(position, move) * (VICTIM_WEIGHT // 8)
            if is_capture(move):
                order += capture_history(worker, position, move)
        elif move == frame.killers[0]:
            order = np.int64(KILLER + 1)
        elif move == frame.killers[1]:
            order = np.int64(KILLER)
        else:
            order = quiet_history(worker, ply, move)
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
