"""Chooses the evaluation that counts beside a network: in some endings the classical evaluation knows more.

A network learns from games. These are adjudicated long before a bare king is mated, or end when the remaining pieces
cannot win. So the network does not know how to mate a bare king, nor that two knights cannot; it values a rook's pawn
with the wrong bishop as a bishop and a pawn. `eval.terms.endgames` has both in a few lines.
"""

from __future__ import annotations

from typing import Final

from engine.board.bits import U0, without_lsb
from engine.board.position import BLACK, QUEEN, ROOK, WHITE
from engine.compiler.jit import inlined, kernel
from eval.terms.endgames import scale_of

#: What counts: the network's value; the classical evaluation's, because a side has nothing but its king; or 0, because
#: the side that the network has ahead cannot win.
NETWORK_COUNTS: Final = 0
CLASSICAL_COUNTS: Final = 1
DRAWN: Final = 2


@inlined
def whose_word(position, value):
    """NETWORK_COUNTS, CLASSICAL_COUNTS or DRAWN, int64; `value` is the network's, from the side to move's view.

    Every evaluation calls it. As long as neither king is bare and the side that is ahead has a rook or a queen, it
    costs three bitboard tests.
    """
    if without_lsb(position.colors[WHITE]) == U0 or without_lsb(position.colors[BLACK]) == U0:
        return CLASSICAL_COUNTS
    ahead = position.turn if value > 0 else position.turn ^ 1
    # With a rook or a queen, the scale is never 0.
    heavy = (position.pieces[ROOK] | position.pieces[QUEEN]) & position.colors[ahead]
    if heavy == U0 and scale_of(position, ahead) == 0:
        return DRAWN
    return NETWORK_COUNTS


@kernel
def whose_word_counts(position, value):
    """`whose_word` as an entry point."""
    return whose_word(position, value)
