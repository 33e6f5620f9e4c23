"""Endings: how much of an advantage can be won, and how to drive a bare king into mate.

`scale_of` scales the endgame's value, in sixty-fourths, when the side that is ahead lacks the means to win. The cases
are common endgame knowledge.
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

# The scales below were measured on 900,000 positions of the engine's own games (300 nodes a move). For each class of
# endings we took the factor on the unscaled evaluation that predicts the results best, over the factor for five pawns.

#: With pawns: base + slope * pawns of the side that is ahead, less _ONE_WING when all pawns are on one wing.
_PAWN_BASE, _PAWN_SLOPE, _ONE_WING = 38, 9, 5
#: Opposite bishops alone: base + slope * the lead in pawns. With other pieces: at most _OPPOSITE_WITH_PIECES.
_OPPOSITE_BASE, _OPPOSITE_SLOPE, _OPPOSITE_WITH_PIECES = 8, 7, 54
#: No pawns, by the pieces' lead: less than a minor piece; a minor piece (with a rook's worth or more on the board).
_BARELY_AHEAD, _MINOR_AHEAD = 5, 14

# Piece values in pawns, used only to decide whether the pieces can win.
_MINOR, _ROOK, _QUEEN = 3, 5, 9


@inlined
def _strength(position, color):
    """Value of `color`'s pieces without its pawns, in units of a pawn, int64."""
    pieces = position.pieces
    own = position.colors[color]
    return (
        _MINOR * popcount((pieces[KNIGHT] | pieces[BISHOP]) & own)
        + _ROOK * popcount(pieces[ROOK] & own)
        + _QUEEN * popcount(pieces[QUEEN] & own)
    )


@inlined
def _holds_corner(position, strong):
    """Whether `strong` has only rook's pawns on one file, and no bishops or only bishops of the wrong colour, and the
    other king reaches the promotion corner.
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
    """Whether each side has one bishop and the two stand on squares of different colours."""
    white = position.pieces[BISHOP] & position.colors[1]
    black = position.pieces[BISHOP] & position.colors[0]
    if white == U0 or black == U0 or without_lsb(white) != U0 or without_lsb(black) != U0:
        return False
    return (white & LIGHT_SQUARES == U0) != (black & LIGHT_SQUARES == U0)


@inlined
def _has_knights_alone(position, color):
    """Whether `color` has no pieces but at most two knights."""
    own = position.colors[color]
    return _strength(position, color) == _MINOR * popcount(position.pieces[KNIGHT] & own) <= 2 * _MINOR


@subkernel
def scale_of(position, strong):
    """How much of the endgame's value counts when `strong` is ahead in it, in sixty-fourths, int64."""
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
        # These pieces win without the pawns, so a pawn more must not lower the scale.
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
    """Whether `color` has exactly one bishop and one knight beside pawns."""
    own = position.colors[color]
    knights = position.pieces[KNIGHT] & own
    bishops = position.pieces[BISHOP] & own
    return knights != U0 and bishops != U0 and _strength(position, color) == 2 * _MINOR


@subkernel
def mop_up(position, color, trace):
    """Packed value of the bare enemy king's distance from edge, corner and our king, when our pieces can mate it."""
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
        # a8 and h1, or a1 and h8.
        corner, other = (56, 7) if is_light else (0, 63)
        total += weigh(trace, color, MOP_UP_CORNER, min(distance(king, corner), distance(king, other)))
    return total
