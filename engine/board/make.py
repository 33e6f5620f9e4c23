"""Kernels that make moves on a copy of the position."""

from __future__ import annotations

from engine.board.attacks import snipers
from engine.board.bits import U0, bit, copy_record, lsb, without_lsb
from engine.board.generate import castling_targets
from engine.board.moves import (
    CAPTURE,
    CASTLING,
    DOUBLE_PUSH,
    EN_PASSANT,
    PROMOTION,
    move_kind,
    move_origin,
    move_target,
    promotion_piece,
)
from engine.board.position import (
    EMPTY,
    KING,
    KNIGHT,
    NO_SQUARE,
    OCCUPIED,
    PAWN,
    ROOK,
    WHITE,
    king_square,
    piece_at,
)
from engine.board.tables import BETWEEN, KNIGHT_ATTACKS, PAWN_ATTACKS
from engine.board.zobrist import CASTLING_KEYS, EN_PASSANT_KEYS, PIECE_KEYS, TURN_KEY
from engine.compiler.jit import inlined, kernel, subkernel


@inlined
def update_checks(position):
    """Sets `checkers` and `pinned` from the pieces. Mutates `position`."""
    us = position.turn
    pieces = position.pieces
    own = position.colors[us]
    enemy = position.colors[us ^ 1]
    king = king_square(position, us)
    checkers = ((KNIGHT_ATTACKS[king] & pieces[KNIGHT]) | (PAWN_ATTACKS[us, king] & pieces[PAWN])) & enemy
    pinned = U0
    attackers = snipers(position, king, us ^ 1)
    while attackers != U0:
        sniper = lsb(attackers)
        blockers = BETWEEN[king, sniper] & pieces[OCCUPIED]
        if blockers == U0:
            checkers |= bit(sniper)
        elif without_lsb(blockers) == U0:
            pinned |= blockers & own
        attackers = without_lsb(attackers)
    position.checkers = checkers
    position.pinned = pinned


@inlined
def _toggle(position, color, piece, squares):
    """Flips `squares` (uint64) in the bitboards of `color`, `piece` and all pieces. Mutates `position`."""
    position.pieces[piece] ^= squares
    position.pieces[OCCUPIED] ^= squares
    position.colors[color] ^= squares


@inlined
def _castle(position, us, king, rook):
    """Castles the king on `king` with the rook on `rook`. Mutates `position`."""
    king_to, rook_to = castling_targets(king, rook)
    # In Chess960 either piece may land where the other stood: take both off before putting them down.
    _toggle(position, us, KING, bit(king))
    _toggle(position, us, ROOK, bit(rook))
    position.squares[king] = EMPTY
    position.squares[rook] = EMPTY
    _toggle(position, us, KING, bit(king_to))
    _toggle(position, us, ROOK, bit(rook_to))
    position.squares[king_to] = KING
    position.squares[rook_to] = ROOK


@inlined
def _lost_castling(position, origin, target, piece):
    """Returns the castling rights that end because their king or rook moves, or their rook is captured, as uint64."""
    lost = bit(origin) | bit(target)
    if piece == KING:
        lost |= position.colors[position.turn]
    return position.castling & lost


@inlined
def apply_move(position, child, move):
    """Writes the position after the legal `move` (int64) into `child`, but with the keys of `position`."""
    copy_record(child, position)
    us = position.turn
    them = us ^ 1
    origin = move_origin(move)
    target = move_target(move)
    kind = move_kind(move)
    piece = piece_at(position, origin)
    child.ep_square = NO_SQUARE
    child.halfmoves = position.halfmoves + 1
    child.turn = them
    if kind == CASTLING:
        _castle(child, us, origin, target)
    else:
        if kind & CAPTURE != 0:
            square = target ^ 8 if kind == EN_PASSANT else target
            _toggle(child, them, piece_at(position, square), bit(square))
            child.squares[square] = EMPTY
            child.halfmoves = 0
        _toggle(child, us, piece, bit(origin) | bit(target))
        child.squares[origin] = EMPTY
        child.squares[target] = piece
        if piece == PAWN:
            child.halfmoves = 0
            if kind == DOUBLE_PUSH:
                if PAWN_ATTACKS[us, target ^ 8] & child.pieces[PAWN] & child.colors[them] != U0:
                    child.ep_square = target ^ 8
            elif kind & PROMOTION != 0:
                promoted = promotion_piece(move)
                child.pieces[PAWN] ^= bit(target)
                child.pieces[promoted] ^= bit(target)
                child.squares[target] = promoted
    if position.castling != U0:
        child.castling = position.castling & ~_lost_castling(position, origin, target, piece)
    update_checks(child)


@inlined
def _toggle_key(position, color, piece, square):
    """Adds a piece to `key` and to the partial key of its kind, or removes it from both. Mutates `position`."""
    change = PIECE_KEYS[color, piece, square]
    position.key ^= change
    if piece == PAWN:
        position.pawn_key ^= change
    else:
        position.piece_keys[color] ^= change


@inlined
def _update_keys(position, child, move):
    """Updates the keys of `child`, which `apply_move` made from `position`. Mutates `child`."""
    us = position.turn
    origin = move_origin(move)
    target = move_target(move)
    kind = move_kind(move)
    piece = piece_at(position, origin)
    child.key ^= TURN_KEY
    if position.ep_square != NO_SQUARE:
        child.key ^= EN_PASSANT_KEYS[position.ep_square & 7]
    if child.ep_square != NO_SQUARE:
        child.key ^= EN_PASSANT_KEYS[child.ep_square & 7]
    if kind == CASTLING:
        king_to, rook_to = castling_targets(origin, target)
        _toggle_key(child, us, KING, origin)
        _toggle_key(child, us, KING, king_to)
        _toggle_key(child, us, ROOK, target)
        _toggle_key(child, us, ROOK, rook_to)
    else:
        _toggle_key(child, us, piece, origin)
        _toggle_key(child, us, piece_at(child, target), target)
        if kind & CAPTURE != 0:
            square = target ^ 8 if kind == EN_PASSANT else target
            _toggle_key(child, us ^ 1, piece_at(position, square), square)
    lost = position.castling ^ child.castling
    while lost != U0:
        child.key ^= CASTLING_KEYS[lsb(lost)]
        lost = without_lsb(lost)


@inlined
def key_after(position, move):
    """Returns an approximate key after `move`, as uint64. It ignores castling, en passant and promotion.

    The search uses this key only to prefetch the entries of the next position before it makes the move.
    """
    us = position.turn
    target = move_target(move)
    keys = PIECE_KEYS[us, piece_at(position, move_origin(move))]
    key = position.key ^ TURN_KEY ^ keys[move_origin(move)] ^ keys[target]
    if move_kind(move) & CAPTURE != 0:
        key ^= PIECE_KEYS[us ^ 1, piece_at(position, target), target]
    return key


@subkernel
def make_move(position, child, move):
    """Writes the position after the legal `move` (int64) into `child`. Does not change `position`."""
    apply_move(position, child, move)
    _update_keys(position, child, move)


@inlined
def key_after_null_move(position):
    """Returns the key after a null move, as uint64."""
    key = position.key ^ TURN_KEY
    if position.ep_square != NO_SQUARE:
        key ^= EN_PASSANT_KEYS[position.ep_square & 7]
    return key


@subkernel
def make_null_move(position, child):
    """Writes the position after a null move into `child`. The side to move must not be in check.

    A null move is a ply without a capture or pawn move, so `halfmoves` goes on.
    """
    copy_record(child, position)
    child.key = key_after_null_move(position)
    child.ep_square = NO_SQUARE
    child.turn = position.turn ^ 1
    child.halfmoves = position.halfmoves + 1
    update_checks(child)


@subkernel
def compute_keys(position):
    """Computes all keys from scratch, whereas `make_move` updates them. Mutates `position`."""
    position.key = TURN_KEY if position.turn == WHITE else U0
    position.pawn_key = U0
    position.piece_keys[0] = U0
    position.piece_keys[1] = U0
    remaining = position.pieces[OCCUPIED]
    while remaining != U0:
        square = lsb(remaining)
        color = 1 if position.colors[WHITE] & bit(square) != U0 else 0
        _toggle_key(position, color, piece_at(position, square), square)
        remaining = without_lsb(remaining)
    rooks = position.castling
    while rooks != U0:
        position.key ^= CASTLING_KEYS[lsb(rooks)]
        rooks = without_lsb(rooks)
    if position.ep_square != NO_SQUARE:
        position.key ^= EN_PASSANT_KEYS[position.ep_square & 7]


@inlined
def complete(position):
    """Fills in the keys, `checkers` and `pinned` of a position whose other fields are set. Mutates `position`."""
    compute_keys(position)
    update_checks(position)


@kernel
def complete_position(position):
    """Does what `complete` does, for Python. Mutates `position`."""
    complete(position)
