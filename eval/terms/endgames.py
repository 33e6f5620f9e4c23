"""Terms for endings: scales for advantages that are hard to win, and values that drive a bare king towards mate.

`scale_of` returns how many sixty-fourths of the endgame value count. This depends mainly on whether the side that is
ahead has enough material to win. The cases are common endgame knowledge.
"""

from __future__ import annotations

import numpy as np

from engine.board.bits import U0, lsb, popcount, without_lsb
from engine.board.position import BISHOP, KNIGHT, PAWN, QUEEN, ROOK, has_non_pawn_material, king_square
from engine.compiler.jit import inlined, subkernel
from eval.terms.masks import FILES, LEFT_WING, LIGHT_SQUARES, ROOK_FILES, distance
from eval.terms.weigh import weigh
from eval.weights import MOP_UP_CORNER, MOP_UP_EDGE, MOP_UP_KINGS

FULL_SCALE = 64

# The scales were measured on 900,000 positions of the engine's own games (300 nodes a move). For each case, we fitted
# the factor of the unscaled evaluation that predicts results best. The scale is its ratio to the factor for five pawns.

#: With pawns: base + slope * number of pawns of the side that is ahead, minus _ONE_WING if all pawns are on one wing.
_PAWN_BASE, _PAWN_SLOPE, _ONE_WING = 38, 9, 5
#: With only opposite-coloured bishops: base + slope * lead in pawns. With more pieces: at most _OPPOSITE_WITH_PIECES.
_OPPOSITE_BASE, _OPPOSITE_SLOPE, _OPPOSITE_WITH_PIECES = 8, 7, 54
#: Without pawns, but with pieces worth a rook or more: scales for a lead of less than a minor piece; of exactly one.
_BARELY_AHEAD, _MINOR_AHEAD = 5, 14

# Piece values in pawns, used only to judge whether the pieces can win.
_MINOR, _ROOK, _QUEEN = 3, 5, 9


@inlined
def _strength(position, color):
    """Returns the value of `color`'s pieces in pawns, as int64. Pawns do not count."""
    pieces = position.pieces
    own = position.colors[color]
    return (
        _MINOR * popcount((pieces[KNIGHT] | pieces[BISHOP]) & own)
        + _ROOK * popcount(pieces[ROOK] & own)
        + _QUEEN * popcount(pieces[QUEEN] & own)
    )


@inlined
def _holds_corner(position, strong):
    """Returns whether `strong` has only its king, pawns on one rook file and perhaps bishops of the wrong colour, and
    the enemy king is on the promotion square or next to it. `strong` must have a pawn.
    """
    pieces = position.pieces
    own = position.colors[strong]
    pawns = pieces[PAWN] & own
    bishops = pieces[BISHOP] & own
    if pawns & ~ROOK_FILES != U0 or (pieces[KNIGHT] | pieces[ROOK] | pieces[QUEEN]) & own != U0:
        return False
    file = lsb(pawns) & 7
    if pawns & ~FILES[file] != U0:
        return False
    corner = file + 56 * strong
    # The corners h8 and a1 are dark, a8 and h1 light.
    corner_is_light = (file == 0) == (strong == 1)
    right_bishops = bishops & LIGHT_SQUARES if corner_is_light else bishops & ~LIGHT_SQUARES
    return right_bishops == U0 and distance(king_square(position, strong ^ 1), corner) <= 1


@inlined
def _has_opposite_bishops(position):
    """Returns whether each side has exactly one bishop and the two stand on squares of different colours."""
    white = position.pieces[BISHOP] & position.colors[1]
    black = position.pieces[BISHOP] & position.colors[0]
    if white == U0 or black == U0 or without_lsb(white) != U0 or without_lsb(black) != U0:
        return False
    return (white & LIGHT_SQUARES == U0) != (black & LIGHT_SQUARES == U0)


@inlined
def _has_knights_alone(position, color):
    """Returns whether `color` has at most two knights and no other pieces; pawns do not count."""
    own = position.colors[color]
    return _strength(position, color) == _MINOR * popcount(position.pieces[KNIGHT] & own) <= 2 * _MINOR


@subkernel
def scale_of(position, strong):
    """Returns how many sixty-fourths of an endgame value in favour of `strong` count, as int64."""
    pieces = position.pieces
    weak = strong ^ 1
    pawns = pieces[PAWN] & position.colors[strong]
    ours = _strength(position, strong)
    theirs = _strength(position, weak)
    if pawns == U0:
        if ours < _ROOK or (theirs == 0 and _has_knights_alone(position, strong)):
            return 0
        if ours - theirs <= _MINOR:
            return _BARELY_AHEAD if ours - theirs < _MINOR else _MINOR_AHEAD
        return FULL_SCALE
    if _holds_corner(position, strong):
        return 0
    if not _has_opposite_bishops(position) and ours - theirs > _MINOR and ours >= _ROOK:
        # Such a lead in pieces usually wins even without pawns, so the scale does not depend on pawns.
        return FULL_SCALE
    scale = _PAWN_BASE + _PAWN_SLOPE * popcount(pawns)
    if pieces[PAWN] & LEFT_WING == U0 or pieces[PAWN] & ~LEFT_WING == U0:
        scale -= _ONE_WING
    if _has_opposite_bishops(position):
        if ours == _MINOR and theirs == _MINOR:
            lead = popcount(pawns) - popcount(pieces[PAWN] & position.colors[weak])
            scale = _OPPOSITE_BASE + _OPPOSITE_SLOPE * max(lead, 0)
        else:
            scale = min(scale, _OPPOSITE_WITH_PIECES)
    return min(scale, FULL_SCALE)


@inlined
def _has_bishop_and_knight(position, color):
    """Returns whether `color` has one bishop, one knight and no other pieces; pawns do not count."""
    own = position.colors[color]
    knights = position.pieces[KNIGHT] & own
    bishops = position.pieces[BISHOP] & own
    return knights != U0 and bishops != U0 and _strength(position, color) == 2 * _MINOR


@subkernel
def mop_up(position, color, trace):
    """Returns the packed value of the bare enemy king's distances from the edge and from `color`'s king.

    If `color` has only a bishop and a knight, the distance from the nearer corner of the bishop's colour counts, too.
    The value is 0 if the enemy has more than its king, or if `color`'s pieces are worth less than a rook.
    """
    them = color ^ 1
    total = np.int64(0)
    if has_non_pawn_material(position, them) or position.pieces[PAWN] & position.colors[them] != U0:
        return total
    if _strength(position, color) < _ROOK:
        return total
    king = king_square(position, them)
    file, rank = king & 7, king >> 3
    total += weigh(trace, color, MOP_UP_EDGE + min(min(file, 7 - file), min(rank, 7 - rank)), 1)
    total += weigh(trace, color, MOP_UP_KINGS, distance(king, king_square(position, color)))
    if _has_bishop_and_knight(position, color):
        is_light = position.pieces[BISHOP] & position.colors[color] & LIGHT_SQUARES != U0
        # The corners are a8 and h1 for a light-squared bishop, a1 and h8 for a dark-squared one.
        corner, other = (56, 7) if is_light else (0, 63)
        total += weigh(trace, color, MOP_UP_CORNER, min(distance(king, corner), distance(king, other)))
    return total
