"""Checks whether a move from another position, such as a TT move, is legal in the given position."""

from __future__ import annotations

from engine.board.attacks import attacks_from
from engine.board.bits import U0, bit, without_lsb
from engine.board.generate import (
    BACK_RANKS,
    can_castle,
    castling_rooks,
    double_push_rank,
    evasion_mask,
    forward,
    is_legal_en_passant,
    safe_king_steps,
)
from engine.board.moves import (
    CAPTURE,
    CASTLING,
    DOUBLE_PUSH,
    EN_PASSANT,
    PROMOTION,
    QUIET,
    move_kind,
    move_origin,
    move_target,
)
from engine.board.position import KING, OCCUPIED, PAWN, king_square, piece_at
from engine.board.tables import LINE, PAWN_ATTACKS
from engine.compiler.jit import inlined, subkernel


@inlined
def _reaches(position, piece, origin, target, kind):
    """Returns whether a `piece` other than the king can move from `origin` to `target`; ignores pins and checks.

    `kind` must mark a capture if and only if `target` is occupied, and must be neither castling nor en passant.
    """
    us = position.turn
    occupied = position.pieces[OCCUPIED]
    there = bit(target)
    if piece != PAWN:
        return kind & ~CAPTURE == QUIET and attacks_from(piece, origin, occupied) & there != U0
    if (kind & PROMOTION != 0) != (there & BACK_RANKS != U0):
        return False
    if kind & CAPTURE != 0:
        return (kind == CAPTURE or kind & PROMOTION != 0) and PAWN_ATTACKS[us, origin] & there != U0
    step = forward(bit(origin), us) & ~occupied
    if kind == DOUBLE_PUSH:
        return forward(step & double_push_rank(us), us) & there != U0
    return (kind == QUIET or kind & PROMOTION != 0) and step & there != U0


@subkernel
def is_legal(position, move):
    """Returns whether `generate_all` would generate `move` (int64, any 16 bits), with the same kind."""
    us = position.turn
    origin = move_origin(move)
    target = move_target(move)
    kind = move_kind(move)
    own = position.colors[us]
    if bit(origin) & own == U0:
        return False
    king = king_square(position, us)
    piece = piece_at(position, origin)
    if kind == CASTLING:
        return (
            piece == KING
            and position.checkers == U0
            and castling_rooks(position) & bit(target) != U0
            and can_castle(position, king, target)
        )
    if kind == EN_PASSANT:
        return (
            piece == PAWN
            and target == position.ep_square
            and PAWN_ATTACKS[us, origin] & bit(target) != U0
            and is_legal_en_passant(position, king, origin)
        )
    if bit(target) & own != U0 or (kind & CAPTURE != 0) != (bit(target) & position.pieces[OCCUPIED] != U0):
        return False
    if piece == KING:
        return kind & ~CAPTURE == QUIET and safe_king_steps(position, king, bit(target)) != U0
    if without_lsb(position.checkers) != U0 or evasion_mask(position, king) & bit(target) == U0:
        return False
    if position.pinned & bit(origin) != U0 and LINE[king, origin] & bit(target) == U0:
        return False
    return _reaches(position, piece, origin, target, kind)
