"""The choice between a network's value, the classical evaluation and a draw score, by the kind of ending.

A network learns from games that are mostly adjudicated before a bare king is mated, or that end when the remaining
pieces cannot win. So it may know neither how to mate a bare king nor that two knights cannot force mate, and it may
overrate a rook's pawn with a bishop of the wrong colour. `eval.terms.endgames` has rules for these endings.
"""

from __future__ import annotations

from typing import Final

from engine.board.bits import U0, without_lsb
from engine.board.position import BLACK, QUEEN, ROOK, WHITE
from engine.compiler.jit import inlined, kernel
from eval.terms.endgames import scale_of

#: The choices: the network's value; the classical evaluation, because a side has only its king; 0, because by
#: `scale_of` the side that the network favours cannot win.
USE_NETWORK: Final = 0
USE_CLASSICAL: Final = 1
USE_DRAW: Final = 2


@inlined
def choose_evaluation(position, value):
    """Returns USE_NETWORK, USE_CLASSICAL or USE_DRAW, as int64.

    `value` is the network's value from the side to move's view. The search calls this function after each network
    evaluation. It costs three bitboard tests if neither king is bare and the side that is ahead has a rook or a queen.
    """
    if without_lsb(position.colors[WHITE]) == U0 or without_lsb(position.colors[BLACK]) == U0:
        return USE_CLASSICAL
    ahead = position.turn if value > 0 else position.turn ^ 1
    # With a rook or a queen, the scale is never 0.
    heavy = (position.pieces[ROOK] | position.pieces[QUEEN]) & position.colors[ahead]
    if heavy == U0 and scale_of(position, ahead) == 0:
        return USE_DRAW
    return USE_NETWORK


@kernel
def chosen_evaluation(position, value):
    """Returns `choose_evaluation(position, value)`. Python code calls this kernel."""
    return choose_evaluation(position, value)
