"""Terms for pawn structure and for the king's shelter. The pawn table caches both."""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, bit, lsb, popcount, prefetch, without_lsb
from engine.board.generate import forward, pawn_attacks
from engine.board.position import PAWN, WHITE, king_square
from engine.board.tables import PAWN_ATTACKS
from engine.compiler.jit import inlined, subkernel
from eval.kernels.workspace import PAWN_ENTRIES
from eval.terms.masks import (
    BESIDE_AND_BEHIND,
    FILES,
    FLANKS,
    FRONT,
    FRONT_SIDES,
    FRONT_SPAN,
    NEIGHBOUR_FILES,
    RANKS,
    distance,
    relative_rank,
    relative_square,
)
from eval.terms.weigh import weigh
from eval.weights import (
    BACKWARD,
    CANDIDATE,
    DOUBLED,
    ISOLATED,
    PASSED,
    PAWN_DISTANCE,
    PAWN_SQUARES,
    PAWNLESS_WING,
    PHALANX,
    SHELTER,
    STORM,
    STORM_BLOCKED,
    SUPPORTED,
)

_ENTRY_MASK = np.uint64(PAWN_ENTRIES - 1)


@inlined
def _pawn_value(own, enemy, square, color, trace):
    """Returns the packed value, without material, of the pawn on `square`; `own` and `enemy` are bitboards of pawns."""
    file = square & 7
    rank = relative_rank(square, color)
    opposed = 1 if enemy & FRONT[color, square] != U0 else 0
    neighbours = own & NEIGHBOUR_FILES[file]
    supporters = popcount(own & PAWN_ATTACKS[color ^ 1, square])
    ahead = own & FRONT[color, square]
    next_square = forward(bit(square), color)

    total = weigh(trace, color, PAWN_SQUARES + relative_square(square, color), 1)
    if ahead != U0:
        total += weigh(trace, color, DOUBLED, 1)
        if ahead & next_square != U0:
            total += weigh(trace, color, DOUBLED + 1, 1)
    if neighbours == U0:
        total += weigh(trace, color, ISOLATED + 1 - opposed, 1)
    elif neighbours & BESIDE_AND_BEHIND[color, square] == U0 and next_square & pawn_attacks(enemy, color ^ 1) != U0:
        total += weigh(trace, color, BACKWARD + 1 - opposed, 1)
    if neighbours & RANKS[square >> 3] != U0:
        total += weigh(trace, color, PHALANX + rank, 1)
    if supporters != 0:
        total += weigh(trace, color, SUPPORTED + rank, 1)

    sentries = enemy & FRONT_SIDES[color, square]
    if opposed == 0 and ahead == U0:
        if sentries == U0:
            total += weigh(trace, color, PASSED + rank, 1)
        elif popcount(own & BESIDE_AND_BEHIND[color, square]) >= popcount(sentries):
            total += weigh(trace, color, CANDIDATE + rank, 1)
    return total


@inlined
def is_passed(own, enemy, square, color):
    """Returns whether no pawn is ahead of `square` on its own file, and no enemy pawn is ahead on a neighbour file."""
    return enemy & FRONT_SPAN[color, square] == U0 and own & FRONT[color, square] == U0


@subkernel
def _structure(position, entry, color, trace):
    """Returns the packed value of `color`'s pawns. Stores their span and the passed pawns in `entry` (mutated)."""
    pawns = position.pieces[PAWN]
    own = pawns & position.colors[color]
    enemy = pawns & position.colors[color ^ 1]
    total = np.int64(0)
    span = U0
    remaining = own
    while remaining != U0:
        square = lsb(remaining)
        total += _pawn_value(own, enemy, square, color, trace)
        span |= FRONT_SIDES[color, square]
        if is_passed(own, enemy, square, color):
            entry.passed |= bit(square)
        remaining = without_lsb(remaining)
    entry.span[color] = span
    return total


@inlined
def _nearest_rank(pawns, color, file, rank):
    """Returns the lowest rank from `rank` on, seen from `color`'s side, with one of `pawns` on `file`; 0 if none."""
    for step in range(rank, 7):
        if pawns & bit(relative_square(8 * step + file, color)) != U0:
            return step
    return 0


@inlined
def _nearest_pawn(pawns, king):
    """Returns the number of king's moves from `king` to the nearest of `pawns` (uint64), as int64; 0 without pawns."""
    nearest = np.int64(8)
    remaining = pawns
    while remaining != U0:
        nearest = min(nearest, distance(king, lsb(remaining)))
        remaining = without_lsb(remaining)
    return nearest if pawns != U0 else np.int64(0)


@subkernel
def _shelter(position, color, trace):
    """Returns the packed value of the shelter of `color`'s king: both sides' pawns on the three nearest files,
    a wing without pawns, and the distance to the nearest own pawn.
    """
    own = position.pieces[PAWN] & position.colors[color]
    enemy = position.pieces[PAWN] & position.colors[color ^ 1]
    king = king_square(position, color)
    rank = relative_rank(king, color)
    center = min(max(king & 7, 1), 6)
    total = weigh(trace, color, PAWN_DISTANCE, _nearest_pawn(own, king))
    if position.pieces[PAWN] & FLANKS[king & 7] == U0:
        total += weigh(trace, color, PAWNLESS_WING, 1)
    for file in range(center - 1, center + 2):
        edge = min(file, 7 - file)
        own_rank = enemy_rank = np.int64(0)
        if own & FILES[file] != U0:
            own_rank = _nearest_rank(own, color, file, rank)
        if enemy & FILES[file] != U0:
            enemy_rank = _nearest_rank(enemy, color, file, rank)
        total += weigh(trace, color, SHELTER + 8 * edge + own_rank, 1)
        if own_rank != 0 and enemy_rank == own_rank + 1:
            total += weigh(trace, color, STORM_BLOCKED + enemy_rank, 1)
        else:
            total += weigh(trace, color, STORM + 8 * edge + enemy_rank, 1)
    return total


@subkernel
def _fill(position, entry, trace):
    """Writes the position's pawn structure and its value, but no shelter, to `entry`. Mutates `entry`."""
    entry.key = position.pawn_key
    entry.passed = U0
    entry.kings = 0
    entry.score = _structure(position, entry, 1, trace) - _structure(position, entry, 0, trace)


@inlined
def prefetch_pawns(position, workspace):
    """Starts loading the pawn table's entry for the position into the CPU's cache."""
    prefetch(workspace.pawns, np.int64(position.pawn_key & _ENTRY_MASK))


@inlined
def pawn_entry(position, workspace, trace):
    """Returns the pawn table's entry for the position's pawns and kings; computes the parts that are missing.

    Mutates `workspace`, and `trace` unless that is None. With a trace, every part is computed anew.
    """
    entry = workspace.pawns[position.pawn_key & _ENTRY_MASK]
    if trace is not None or entry.key != position.pawn_key:
        _fill(position, entry, trace)
    kings = king_square(position, WHITE) * 64 + king_square(position, 0)
    if entry.kings != kings:
        entry.kings = kings
        entry.shelter = _shelter(position, 1, trace) - _shelter(position, 0, trace)
    return entry
