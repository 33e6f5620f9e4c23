"""The moves that a player of limited strength overlooks.

A weak level errs as people do: it does not see a bishop on the other side of the board or a knight that can retreat, so
it leaves a piece attacked or misses a tactic. It draws anew for each search which moves it does not see. A move here is
an origin and a target of one side. It is seen in all lines of the search or in none, because a player who does not see
that a bishop attacks a pawn does not see it in any line.

    chance = oversight * (0.5 + distance / 7), for a move towards the own side 0.5 more in the brackets

The distance is that of a king, 1 to 7. The chance of an own move is OWN_SHARE of that. A capture or promotion is looked
at twice, and overlooked only if it is overlooked both times. All replies to a check are seen, and all captures on the
square to which the opponent has just moved: so a level seldom puts a piece where it can be taken.
"""

from __future__ import annotations

import functools
import random
from typing import Any, Final

import chess
import numpy as np

from engine.board.moves import CAPTURE, PROMOTION
from search.strength import Level

#: The chance of overlooking an own move, as a share of that of the opponent's move.
OWN_SHARE: Final = 0.5


def blind_spots(level: Level, own: int, rng: random.Random) -> Any:
    """Draws the moves that a search at `level` does not see; `own` is the color that it plays.

    Returns uint8[color][origin][target]: 0 if the move is seen, 1 if it is overlooked as a quiet move, 2 if it is also
    overlooked as a capture or promotion. Colors are 0 for Black, 1 for White.
    """
    chance = _chances() * (level.oversight / 100)
    chance[int(own)] *= OWN_SHARE
    quiet, noisy = np.random.default_rng(rng.getrandbits(64)).random((2, *chance.shape)) < chance
    return quiet + (quiet & noisy).astype(np.uint8)


def seen(board: chess.Board, codes: list[int], blind: Any) -> list[int]:
    """Returns those of the root's moves that a player with these blind spots sees, or all if it sees none.

    `codes` are the moves as kernels encode them. The rule is that of `search.kernels.picker`.
    """
    if board.is_check():
        return codes
    just_moved = board.peek().to_square if board.move_stack else None

    def is_seen(code: int) -> bool:
        origin, target, kind = code & 63, code >> 6 & 63, code >> 12
        if kind & CAPTURE and target == just_moved:
            return True
        return bool(blind[int(board.turn), origin, target] <= (kind & (CAPTURE | PROMOTION) != 0))

    return [code for code in codes if is_seen(code)] or codes


@functools.cache
def _chances() -> Any:
    """Returns the chance of overlooking each move at an oversight of 100 %, float64[color][origin][target]."""
    squares = np.arange(64)
    ranks, files = squares >> 3, squares & 7
    forward = ranks[None, :] - ranks[:, None]
    distance = np.maximum(abs(forward), abs(files[None, :] - files[:, None]))
    return np.stack([0.5 + distance / 7 + 0.5 * (forward > 0), 0.5 + distance / 7 + 0.5 * (forward < 0)])
