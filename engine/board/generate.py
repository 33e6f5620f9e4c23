"""Legal move generation and counting.

Every generated move is legal, so none has to be taken back. The position record contains the checking and the pinned
pieces. A move of a piece other than the king must end any check, and a pinned piece must stay on the line to its king.
A step of the king is tested against the enemy's attacks on a board without this king.

The generator handles pieces one by one, but all unpinned pawns at once. `count_legal` counts destinations without
writing moves, so perft can stop one ply early ("bulk counting").
"""

from __future__ import annotations

import numpy as np

from engine.board.attacks import attackers_to, attacks_from, bishop_attacks, rook_attacks, snipers
from engine.board.bits import ALL, U0, bit, lsb, popcount, without_lsb
from engine.board.moves import (
    CAPTURE,
    CASTLING,
    DOUBLE_PUSH,
    EN_PASSANT,
    PROMOTION,
    QUIET,
    encode_move,
)
from engine.board.position import (
    BISHOP,
    KNIGHT,
    NO_SQUARE,
    OCCUPIED,
    PAWN,
    QUEEN,
    ROOK,
    WHITE,
    king_square,
)
from engine.board.tables import (
    BETWEEN,
    BISHOP_RAYS,
    KING_ATTACKS,
    KNIGHT_ATTACKS,
    LINE,
    PAWN_ATTACKS,
    ROOK_RAYS,
)
from engine.compiler.jit import inlined, subkernel

# The kinds of moves to generate. Noisy moves are captures, en passant and all promotions; quiet moves are the rest.
# In check, moves of both kinds are evasions.
NOISY, QUIETS = 1, 2

NOT_FILE_A = np.uint64(0xFEFE_FEFE_FEFE_FEFE)
NOT_FILE_H = np.uint64(0x7F7F_7F7F_7F7F_7F7F)
RANK_3 = np.uint64(0x0000_0000_00FF_0000)
RANK_6 = np.uint64(0x0000_FF00_0000_0000)
BACK_RANKS = np.uint64(0xFF00_0000_0000_00FF)
U7, U8, U9 = np.uint64(7), np.uint64(8), np.uint64(9)


@inlined
def forward(squares, color):
    """Returns the squares one rank ahead of `squares` for `color`, as uint64."""
    return squares << U8 if color == WHITE else squares >> U8


@inlined
def pawn_attacks_west(pawns, color):
    """Returns the squares that `color`'s pawns attack towards file a, as uint64."""
    return (pawns & NOT_FILE_A) << U7 if color == WHITE else (pawns & NOT_FILE_A) >> U9


@inlined
def pawn_attacks_east(pawns, color):
    """Returns the squares that `color`'s pawns attack towards file h, as uint64."""
    return (pawns & NOT_FILE_H) << U9 if color == WHITE else (pawns & NOT_FILE_H) >> U7


@inlined
def pawn_attacks(pawns, color):
    """Returns the squares that `color`'s `pawns` (uint64) attack, as uint64."""
    return pawn_attacks_west(pawns, color) | pawn_attacks_east(pawns, color)


@inlined
def double_push_rank(color):
    """Returns the rank that pawns of `color` cross on a double push, as uint64."""
    return RANK_3 if color == WHITE else RANK_6


@inlined
def evasion_mask(position, king):
    """Returns the squares where a non-king move ends the check, as uint64; ALL if not in check. Ignores en passant."""
    checkers = position.checkers
    if checkers == U0:
        return ALL
    return BETWEEN[king, lsb(checkers)] | checkers


@subkernel
def attacks_by_type(position, by):
    """Returns what color `by` attacks with pawns, knights, bishops, rooks, queens and the king, six uint64.

    All pieces block sliders. Reads only `position.pieces` and `position.colors`.
    """
    men = position.colors[by]
    pieces = position.pieces
    occupied = pieces[OCCUPIED]
    pawns = pieces[PAWN] & men
    knights, bishops, rooks, queens = U0, U0, U0, U0
    remaining = pieces[KNIGHT] & men
    while remaining != U0:
        knights |= KNIGHT_ATTACKS[lsb(remaining)]
        remaining = without_lsb(remaining)
    remaining = pieces[BISHOP] & men
    while remaining != U0:
        bishops |= bishop_attacks(lsb(remaining), occupied)
        remaining = without_lsb(remaining)
    remaining = pieces[ROOK] & men
    while remaining != U0:
        rooks |= rook_attacks(lsb(remaining), occupied)
        remaining = without_lsb(remaining)
    remaining = pieces[QUEEN] & men
    while remaining != U0:
        queens |= bishop_attacks(lsb(remaining), occupied) | rook_attacks(lsb(remaining), occupied)
        remaining = without_lsb(remaining)
    king = KING_ATTACKS[king_square(position, by)]
    return pawn_attacks(pawns, by), knights, bishops, rooks, queens, king


@inlined
def attacked_squares(position, by):
    """Returns what color `by` attacks with pawns, with these and minor pieces, with rooks, too, and with all pieces.

    Each of the four results is a uint64 and contains the one before it. All pieces block sliders.
    """
    pawns, knights, bishops, rooks, queens, king = attacks_by_type(position, by)
    minors = pawns | knights | bishops
    return pawns, minors, minors | rooks, minors | rooks | queens | king


@inlined
def attacked_by_lesser(position, color, by_pawns, by_minors, by_rooks):
    """Returns the pieces of `color` that an enemy piece of less value attacks, as uint64; never pawns or the king.

    `by_pawns`, `by_minors` and `by_rooks` are what `attacked_squares` returns for the other color.
    """
    pieces = position.pieces
    return position.colors[color] & (
        ((pieces[KNIGHT] | pieces[BISHOP]) & by_pawns) | (pieces[ROOK] & by_minors) | (pieces[QUEEN] & by_rooks)
    )


@inlined
def safe_king_steps(position, king, wanted):
    """Returns the squares of `wanted` to which the king on `king` can step without being attacked there, as uint64."""
    us = position.turn
    them = us ^ 1
    enemy = position.colors[them]
    pieces = position.pieces
    safe = KING_ATTACKS[king] & wanted & ~position.colors[us]
    if safe == U0:
        return safe
    pawns = pieces[PAWN] & enemy
    safe &= ~pawn_attacks(pawns, them)
    safe &= ~KING_ATTACKS[king_square(position, them)]
    knights = pieces[KNIGHT] & enemy
    while knights != U0:
        safe &= ~KNIGHT_ATTACKS[lsb(knights)]
        knights = without_lsb(knights)
    occupied = pieces[OCCUPIED] & ~bit(king)
    diagonal = (pieces[BISHOP] | pieces[QUEEN]) & enemy
    while diagonal != U0:
        square = lsb(diagonal)
        if BISHOP_RAYS[square] & safe != U0:
            safe &= ~bishop_attacks(square, occupied)
        diagonal = without_lsb(diagonal)
    straight = (pieces[ROOK] | pieces[QUEEN]) & enemy
    while straight != U0:
        square = lsb(straight)
        if ROOK_RAYS[square] & safe != U0:
            safe &= ~rook_attacks(square, occupied)
        straight = without_lsb(straight)
    return safe


@inlined
def castling_targets(king, rook):
    """Returns the final squares of the king and the rook, as (int64, int64): on files c and d, or g and f."""
    rank = king & 56
    if rook > king:
        return rank | 6, rank | 5
    return rank | 2, rank | 3


@subkernel
def can_castle(position, king, rook):
    """Returns whether a king on `king`, not in check, can castle with a rook on `rook` that has the right to castle."""
    us = position.turn
    enemy = position.colors[us ^ 1]
    king_to, rook_to = castling_targets(king, rook)
    occupied = position.pieces[OCCUPIED] & ~(bit(king) | bit(rook))
    path = BETWEEN[king, king_to] | bit(king_to)
    if (path | BETWEEN[rook, rook_to] | bit(rook_to)) & occupied != U0:
        return False
    # Without the rook: it may have blocked an attack on the king's final square. On its own final square it blocks
    # none, because the king is not in check.
    while path != U0:
        if attackers_to(position, lsb(path), occupied) & enemy != U0:
            return False
        path = without_lsb(path)
    return True


@subkernel
def is_legal_en_passant(position, king, origin):
    """Returns whether the pawn on `origin` may capture en passant the pawn beside it that just moved two squares."""
    us = position.turn
    enemy = position.colors[us ^ 1]
    target = position.ep_square
    captured = bit(target ^ 8)
    occupied = (position.pieces[OCCUPIED] & ~bit(origin) & ~captured) | bit(target)
    return attackers_to(position, king, occupied) & enemy & ~captured == U0


@inlined
def castling_rooks(position):
    """Returns the rooks with which the side to move has the right to castle, as uint64."""
    return position.castling & position.colors[position.turn]


@inlined
def en_passant_pawns(position):
    """Returns the pawns of the side to move that are beside an enemy pawn that just moved two squares, as uint64."""
    us = position.turn
    if position.ep_square == NO_SQUARE:
        return U0
    return PAWN_ATTACKS[us ^ 1, position.ep_square] & position.pieces[PAWN] & position.colors[us]


@inlined
def count_legal(position):
    """Returns the number of legal moves, as int64."""
    us = position.turn
    pieces = position.pieces
    own = position.colors[us]
    enemy = position.colors[us ^ 1]
    occupied = pieces[OCCUPIED]
    king = king_square(position, us)
    checkers = position.checkers
    count = popcount(safe_king_steps(position, king, ALL))
    if without_lsb(checkers) != U0:
        return count
    pinned = position.pinned
    evasions = evasion_mask(position, king)
    targets = ~own & evasions

    movers = pieces[KNIGHT] & own & ~pinned
    while movers != U0:
        count += popcount(KNIGHT_ATTACKS[lsb(movers)] & targets)
        movers = without_lsb(movers)
    movers = (pieces[BISHOP] | pieces[QUEEN]) & own & ~pinned
    while movers != U0:
        count += popcount(bishop_attacks(lsb(movers), occupied) & targets)
        movers = without_lsb(movers)
    movers = (pieces[ROOK] | pieces[QUEEN]) & own & ~pinned
    while movers != U0:
        count += popcount(rook_attacks(lsb(movers), occupied) & targets)
        movers = without_lsb(movers)

    pawns = pieces[PAWN] & own & ~pinned
    captures = enemy & evasions
    west = pawn_attacks_west(pawns, us) & captures
    east = pawn_attacks_east(pawns, us) & captures
    single = forward(pawns, us) & ~occupied
    double = forward(single & double_push_rank(us), us) & ~occupied & evasions
    single &= evasions
    count += popcount(west) + popcount(east) + popcount(single) + popcount(double)
    promotions = (west | east | single) & BACK_RANKS
    if promotions != U0:
        count += 3 * (popcount(west & BACK_RANKS) + popcount(east & BACK_RANKS) + popcount(single & BACK_RANKS))

    # Pinned sliders and pawns may move along the line to their king; pinned knights may not move.
    movers = own & pinned & ~pieces[KNIGHT]
    while movers != U0:
        square = lsb(movers)
        line = LINE[king, square] & evasions
        if bit(square) & pieces[PAWN] != U0:
            pawn = bit(square)
            takes = PAWN_ATTACKS[us, square] & enemy & line
            single = forward(pawn, us) & ~occupied
            double = forward(single & double_push_rank(us), us) & ~occupied & line
            moves = takes | (single & line) | double
            count += popcount(moves) + 3 * popcount(moves & BACK_RANKS)
        else:
            count += popcount(attacks_from(np.int64(position.squares[square]), square, occupied) & ~own & line)
        movers = without_lsb(movers)

    movers = en_passant_pawns(position)
    while movers != U0:
        if is_legal_en_passant(position, king, lsb(movers)):
            count += 1
        movers = without_lsb(movers)

    if checkers == U0:
        movers = castling_rooks(position)
        while movers != U0:
            if can_castle(position, king, lsb(movers)):
                count += 1
            movers = without_lsb(movers)
    return count


@inlined
def _add_each(moves, count, origin, targets, kind):
    """Appends, for each square in `targets`, the move of `kind` from `origin`; returns the new count."""
    while targets != U0:
        moves[count] = encode_move(origin, lsb(targets), kind)
        count += 1
        targets = without_lsb(targets)
    return count


@inlined
def _add_pawn_moves(moves, count, targets, step, kind):
    """Appends, for each `t` in `targets`, the move or four promotions from `t - step` to `t`; returns the new count."""
    while targets != U0:
        target = lsb(targets)
        targets = without_lsb(targets)
        if bit(target) & BACK_RANKS != U0:
            for piece in range(3, -1, -1):
                moves[count] = encode_move(target - step, target, kind | PROMOTION | piece)
                count += 1
        else:
            moves[count] = encode_move(target - step, target, kind)
            count += 1
    return count


@inlined
def _add_slider(position, moves, count, king, square, reached, noisy, quiet):
    """Appends the moves of a slider to those of the `reached` squares to which it may go; returns the new count."""
    if position.pinned & bit(square) != U0:
        reached &= LINE[king, square]
    count = _add_each(moves, count, square, reached & noisy, CAPTURE)
    return _add_each(moves, count, square, reached & quiet, QUIET)


@inlined
def _add_pieces(position, moves, count, king, noisy, quiet):
    """Appends the moves of knights, bishops, rooks and queens; returns the new count.

    `noisy` contains the squares for captures, `quiet` those for other moves.
    """
    own = position.colors[position.turn]
    pieces = position.pieces
    occupied = pieces[OCCUPIED]
    # A loop for each way to move is faster than one loop that looks at the type of each piece.
    movers = pieces[KNIGHT] & own & ~position.pinned
    while movers != U0:
        square = lsb(movers)
        count = _add_each(moves, count, square, KNIGHT_ATTACKS[square] & noisy, CAPTURE)
        count = _add_each(moves, count, square, KNIGHT_ATTACKS[square] & quiet, QUIET)
        movers = without_lsb(movers)
    movers = (pieces[BISHOP] | pieces[QUEEN]) & own
    while movers != U0:
        square = lsb(movers)
        reached = bishop_attacks(square, occupied)
        count = _add_slider(position, moves, count, king, square, reached, noisy, quiet)
        movers = without_lsb(movers)
    movers = (pieces[ROOK] | pieces[QUEEN]) & own
    while movers != U0:
        square = lsb(movers)
        reached = rook_attacks(square, occupied)
        count = _add_slider(position, moves, count, king, square, reached, noisy, quiet)
        movers = without_lsb(movers)
    return count


@inlined
def _add_pawns(position, moves, count, pawns, noisy, quiet):
    """Appends the moves of `pawns` to `noisy` and `quiet` squares; returns the new count.

    `noisy` contains the squares for captures and for pushes to the last rank, `quiet` those for other pushes. The
    caller must already have excluded the squares that pins and checks forbid.
    """
    us = position.turn
    empty = ~position.pieces[OCCUPIED]
    enemy = position.colors[us ^ 1]
    step = 8 if us == WHITE else -8
    count = _add_pawn_moves(moves, count, pawn_attacks_west(pawns, us) & enemy & noisy, step - 1, CAPTURE)
    count = _add_pawn_moves(moves, count, pawn_attacks_east(pawns, us) & enemy & noisy, step + 1, CAPTURE)
    single = forward(pawns, us) & empty
    double = forward(single & double_push_rank(us), us) & empty & quiet
    single = (single & BACK_RANKS & noisy) | (single & ~BACK_RANKS & quiet)
    count = _add_pawn_moves(moves, count, single, step, QUIET)
    while double != U0:
        target = lsb(double)
        moves[count] = encode_move(target - 2 * step, target, DOUBLE_PUSH)
        count += 1
        double = without_lsb(double)
    return count


@inlined
def _add_castling(position, moves, count, king):
    """Appends castling; returns the new count. The side to move must not be in check."""
    movers = castling_rooks(position)
    while movers != U0:
        if can_castle(position, king, lsb(movers)):
            moves[count] = encode_move(king, lsb(movers), CASTLING)
            count += 1
        movers = without_lsb(movers)
    return count


@inlined
def _generate(position, moves, count, kinds):
    """Appends legal moves of `kinds` from index `count` on; returns the new count. Mutates `moves`.

    LLVM inlines this function into the three functions below, so each of them is compiled for constant `kinds`.
    """
    us = position.turn
    own = position.colors[us]
    enemy = position.colors[us ^ 1]
    occupied = position.pieces[OCCUPIED]
    king = king_square(position, us)
    checkers = position.checkers
    noisy = ALL if kinds & NOISY != 0 else U0
    quiet = ALL if kinds & QUIETS != 0 else U0

    steps = safe_king_steps(position, king, (noisy & enemy) | (quiet & ~occupied))
    count = _add_each(moves, count, king, steps & enemy, CAPTURE)
    count = _add_each(moves, count, king, steps & ~enemy, QUIET)
    if without_lsb(checkers) != U0:
        return count

    if kinds & NOISY != 0:
        movers = en_passant_pawns(position)
        while movers != U0:
            if is_legal_en_passant(position, king, lsb(movers)):
                moves[count] = encode_move(lsb(movers), position.ep_square, EN_PASSANT)
                count += 1
            movers = without_lsb(movers)
    if checkers == U0 and kinds & QUIETS != 0:
        count = _add_castling(position, moves, count, king)

    evasions = evasion_mask(position, king)
    noisy &= evasions
    quiet &= evasions
    count = _add_pieces(position, moves, count, king, noisy & enemy, quiet & ~occupied)
    pawns = position.pieces[PAWN] & own
    pinned = pawns & position.pinned
    count = _add_pawns(position, moves, count, pawns & ~pinned, noisy, quiet)
    while pinned != U0:
        line = LINE[king, lsb(pinned)]
        count = _add_pawns(position, moves, count, bit(lsb(pinned)), noisy & line, quiet & line)
        pinned = without_lsb(pinned)
    return count


@subkernel
def generate_all(position, moves, count):
    """Appends all legal moves to `moves` (int32[MAX_MOVES], mutated) from index `count` on; returns the new count."""
    return _generate(position, moves, count, NOISY | QUIETS)


@subkernel
def generate_noisy(position, moves, count):
    """Appends the legal captures (including en passant) and promotions, as `generate_all` does."""
    return _generate(position, moves, count, NOISY)


@subkernel
def generate_quiets(position, moves, count):
    """Appends the legal moves that are not noisy, as `generate_all` does."""
    return _generate(position, moves, count, QUIETS)


@inlined
def discovered_check_pieces(position):
    """Returns the side to move's pieces that alone block a line from an own slider to the enemy king, as uint64."""
    own = position.colors[position.turn]
    king = king_square(position, position.turn ^ 1)
    attackers = snipers(position, king, position.turn)
    discoverers = U0
    while attackers != U0:
        between = BETWEEN[king, lsb(attackers)] & position.pieces[OCCUPIED]
        if without_lsb(between) == U0:
            discoverers |= between & own
        attackers = without_lsb(attackers)
    return discoverers


@subkernel
def generate_checks(position, moves, count, checks):
    """Appends all quiet moves that give check, as `generate_all` does, and some that may not.

    These are castling, and all quiet moves of the `discovered_check_pieces`. The side to move must not be in check.
    `checks`, uint64[7], has for each piece type the squares from which it attacks the enemy king.
    """
    own = position.colors[position.turn]
    empty = ~position.pieces[OCCUPIED]
    king = king_square(position, position.turn)
    discoverers = discovered_check_pieces(position)
    if discoverers & bit(king) != U0:
        count = _add_each(moves, count, king, safe_king_steps(position, king, empty), QUIET)
    count = _add_castling(position, moves, count, king)

    pawns = position.pieces[PAWN] & own
    movers = own & ~pawns & ~bit(king)
    while movers != U0:
        square = lsb(movers)
        movers = without_lsb(movers)
        piece = np.int64(position.squares[square])
        wanted = empty if discoverers & bit(square) != U0 else empty & checks[piece]
        if wanted == U0:
            continue
        if position.pinned & bit(square) != U0:
            wanted &= LINE[king, square]
        count = _add_each(moves, count, square, attacks_from(piece, square, ~empty) & wanted, QUIET)

    special = pawns & (position.pinned | discoverers)
    count = _add_pawns(position, moves, count, pawns & ~special, U0, checks[PAWN])
    while special != U0:
        pawn = bit(lsb(special))
        wanted = ALL if discoverers & pawn != U0 else checks[PAWN]
        if position.pinned & pawn != U0:
            wanted &= LINE[king, lsb(special)]
        count = _add_pawns(position, moves, count, pawn, U0, wanted)
        special = without_lsb(special)
    return count
