"""Whose word on a position counts where a network evaluates: of some endings the classical evaluation knows more.

A network learns from games, and those are adjudicated long before a bare king is mated, or are over when the pieces
that are left cannot win. So it knows neither the way to a mate nor that two knights have none, and a rook's pawn with
the wrong bishop is a piece and a pawn to it. `eval.terms.endgames` has both in a few lines.
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

    It is asked for every position that is evaluated. As long as both sides have something, and the one that is ahead a
    rook or a queen, that costs three tests of bitboards.
    """
    if without_lsb(position.colors[WHITE]) == U0 or without_lsb(position.colors[BLACK]) == U0:
        return CLASSICAL_COUNTS
    ahead = position.turn if value > 0 else position.turn ^ 1
    # With either of these there is no scale of 0.
    heavy = (position.pieces[ROOK] | position.pieces[QUEEN]) & position.colors[ahead]
    if heavy == U0 and scale_of(position, ahead) == 0:
        return DRAWN
    return NETWORK_COUNTS


@kernel
def whose_word_counts(position, value):
    """`whose_word` as an entry point."""
    return whose_word(position, value)
