"""The score contract.

Scores are int64 centipawns from the side to move's view.

    MATE - n          the side to move mates, n plies from the root           MATE_BOUND and up
    0                 a draw
    -(MATE - n)       the side to move is mated, n plies from the root        -MATE_BOUND and down

So a mate that is further from the root has a smaller absolute score. Every score that a search returns lies
strictly between -INFINITE and INFINITE. The TT stores a mate by its distance from the stored position
(`score_to_tt`, `score_from_tt`), because a position may occur at several plies.
"""

from __future__ import annotations

from engine.compiler.jit import inlined
from search.limits import MAX_PLY

INFINITE = 32_001
MATE = 32_000
MATE_BOUND = MATE - MAX_PLY
#: The value of a score field that contains no score.
NO_SCORE = 32_002
DRAW = 0

#: How a stored or returned score bounds the true score. These are bits: EXACT is UPPER | LOWER. An entry with NO_BOUND
#: has only an evaluation; its score means nothing.
NO_BOUND, UPPER, LOWER, EXACT = 0, 1, 2, 3


@inlined
def score_to_tt(score, ply):
    """Returns the score of a node at `ply` as the TT stores it: a mate score counts plies from that node."""
    if score >= MATE_BOUND:
        return score + ply
    if score <= -MATE_BOUND:
        return score - ply
    return score


@inlined
def score_from_tt(score, ply, halfmoves):
    """Reverses `score_to_tt`, but a mate too distant to represent at `ply` is clamped to +-MATE_BOUND.

    `halfmoves` counts the plies since the last capture or pawn move. A mate at which it may exceed 99 is none, because
    the fifty-move rule may make the game a draw first: it becomes the greatest score below a mate. (As in Stockfish.)
    """
    if score >= MATE_BOUND:
        return MATE_BOUND - 1 if MATE - score > 99 - halfmoves else max(score - ply, MATE_BOUND)
    if score <= -MATE_BOUND:
        return 1 - MATE_BOUND if MATE + score > 99 - halfmoves else min(score + ply, -MATE_BOUND)
    return score


def mate_distance(score: int) -> int | None:
    """Returns UCI's `score mate`: full moves to mate, 0 or less if the side to move is mated; None without a mate."""
    if score >= MATE_BOUND:
        return (MATE - score + 1) // 2
    if score <= -MATE_BOUND:
        return -((MATE + score) // 2)
    return None
