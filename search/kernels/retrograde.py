"""Retrograde analysis: solves all positions of an ending of three or four men without pawns, from the mates backwards.

Level 0 finds the mates. Then, for n = 1, 2, ..., level n finds the positions that are decided in n plies: the side to
move mates if some move leads to a mate in n - 1, and is mated if every move leads to a mate by the opponent, the latest
in n - 1. A level can only change positions from which a move leads to a position of the level before, which the kernel
finds by moves in reverse, and positions that captures decide, which wait in `captures` for their level.
(Ken Thompson, "Retrograde analysis of certain endgames", ICCA Journal 9, 1986.)

A table, uint8[2 * KING_COUNT * 64 ** (men - 1)], has an entry for each side to move and the squares of the men:

    index = ((turn * KING_COUNT + index of White's king) * 64 + Black's king) * 64 + third man ...     turn: 1 is White

Mirrored positions share an entry: the first man, White's king, is on one of KING_SQUARES. A position with that king on
the diagonal a1-h8 has two entries, which are equal after each level.

    0           a draw, or not solved yet
    n + 1       mate in n plies: the side to move mates if n is odd, and is mated if n is even
    ILLEGAL     no position: two men share a square, or the side to move could take the king
"""

from __future__ import annotations

from typing import Final

import numpy as np

from engine.board.attacks import attacks_from
from engine.board.bits import U0, bit, lsb, without_lsb
from engine.compiler.jit import inlined, kernel, subkernel

#: An ending and a current position: the number of men, their types and colours (White's king first, Black's second),
#: their squares, and the side to move.
ENDING: Final = np.dtype(
    [
        ("count", np.int64),
        ("pieces", np.int64, (4,)),
        ("colors", np.int64, (4,)),
        ("squares", np.int64, (4,)),
        ("turn", np.int64),
    ],
    align=True,
)

ILLEGAL: Final = 255

#: The squares of the first man, up to symmetry, and the index of each square among them (-1 if it is not one of them).
KING_SQUARES: Final = np.array([0, 1, 2, 3, 9, 10, 11, 18, 19, 27], np.int64)
KING_COUNT: Final = len(KING_SQUARES)
KING_INDEX: Final = np.full(64, -1, np.int64)
KING_INDEX[KING_SQUARES] = np.arange(KING_COUNT)

#: An entry of `captures`, of the same shape and type as a table, says what the captures of a position do. 0: there is
#: none. n up to LAST_WIN: one mates in n plies. LAST_WIN + n: each lets the opponent mate, so that the side to move is
#: mated in n plies at the latest. SAFE: one draws.
LAST_WIN: Final = 120
SAFE: Final = 255

#: What `_best` returns besides values: there is no move; a move does not lose.
NO_MOVES, HOLDS = 0, -1


@inlined
def _mirror(ending):
    """Returns the bits that, by xor, mirror the squares so that the first man is in a1-d4, as int64."""
    king = ending.squares[0]
    return (7 if king & 4 else 0) ^ (56 if king & 32 else 0)


@inlined
def _transposed(square):
    """Returns `square` mirrored at the diagonal a1-h8, as int64."""
    return (square >> 3) | ((square & 7) << 3)


@inlined
def _index(ending, mirror, transpose, taken):
    """Returns the entry of the current position after xor with `mirror`, transposed if `transpose`, as int64.

    The entry is that in the table of the ending without the man `taken`, unless that is -1.
    """
    index = ending.turn * KING_COUNT
    for man in range(ending.count):
        if man == taken:
            continue
        square = ending.squares[man] ^ mirror
        if transpose:
            square = _transposed(square)
        index = index + KING_INDEX[square] if man == 0 else index * 64 + square
    return index


@inlined
def _entry(ending, taken):
    """Returns the entry of the current position, without the man `taken` if that is not -1, as int64."""
    mirror = _mirror(ending)
    king = ending.squares[0] ^ mirror
    return _index(ending, mirror, (king >> 3) > (king & 7), taken)


@inlined
def _store(ending, values, value):
    """Stores `value` in the entry of the current position, and in its second entry if it has one. Mutates `values`."""
    mirror = _mirror(ending)
    king = ending.squares[0] ^ mirror
    values[_index(ending, mirror, (king >> 3) > (king & 7), -1)] = value
    if (king >> 3) == (king & 7):
        values[_index(ending, mirror, True, -1)] = value


@inlined
def _load(ending, entry):
    """Sets the current position to that of an entry. Mutates `ending`."""
    for man in range(ending.count - 1, 0, -1):
        ending.squares[man] = entry & 63
        entry >>= 6
    ending.turn = entry // KING_COUNT
    ending.squares[0] = KING_SQUARES[entry % KING_COUNT]


@inlined
def _occupied(ending):
    """Returns the squares of the men, as uint64."""
    occupied = U0
    for man in range(ending.count):
        occupied |= bit(ending.squares[man])
    return occupied


@inlined
def _is_attacked(ending, square, color, occupied, taken):
    """Returns whether a man of `color`, but not the man `taken`, attacks `square` if `occupied` blocks sliders."""
    for man in range(ending.count):
        if man == taken or ending.colors[man] != color:
            continue
        if attacks_from(ending.pieces[man], ending.squares[man], occupied) & bit(square) != U0:
            return True
    return False


@inlined
def _man_on(ending, square):
    """Returns the number of the man on `square`, which must not be empty, as int64."""
    man = np.int64(0)
    while ending.squares[man] != square:
        man += 1
    return man


@inlined
def _after_capture(ending, taken, without_third, without_fourth):
    """Returns the value of the current position without the man `taken`, the third (2) or the fourth (3), as int64.

    `without_third` and `without_fourth` are the tables of the two endings. If all positions of one are drawn, its table
    is empty.
    """
    table = without_third if taken == 2 else without_fourth
    return np.int64(0) if table.size == 0 else np.int64(table[_entry(ending, taken)])


@subkernel
def _best(ending, values, without_third, without_fourth, captures_only):
    """Judges the moves of the current position, or only its captures, by the values after them; returns int64:

    NO_MOVES without a legal move; if all lose, the greatest value; HOLDS if one does not lose. With `captures_only`,
    HOLDS - v if a capture leads to a mate, where v is the least value after such a capture. Mutates `ending`, but
    restores it.
    """
    turn = ending.turn
    king = 1 - turn
    occupied = _occupied(ending)
    greatest, least = np.int64(NO_MOVES), np.int64(ILLEGAL)
    holds = False
    for man in range(ending.count):
        if ending.colors[man] != turn:
            continue
        origin = ending.squares[man]
        targets = attacks_from(ending.pieces[man], origin, occupied)
        if captures_only:
            targets &= occupied
        while targets != U0:
            target = lsb(targets)
            targets = without_lsb(targets)
            taken = np.int64(-1)
            if occupied & bit(target) != U0:
                taken = _man_on(ending, target)
                if ending.colors[taken] == turn:
                    continue
            ending.squares[man] = target
            value = np.int64(ILLEGAL)
            after = (occupied & ~bit(origin)) | bit(target)
            if not _is_attacked(ending, ending.squares[king], 1 - turn, after, taken):
                ending.turn = 1 - turn
                value = (
                    np.int64(values[_entry(ending, -1)])
                    if taken < 0
                    else _after_capture(ending, taken, without_third, without_fourth)
                )
                ending.turn = turn
            ending.squares[man] = origin
            if value == ILLEGAL:
                continue
            if value == 0 or value & 1 != 0:
                holds = True
                if not captures_only:
                    return np.int64(HOLDS)
                if value != 0:
                    least = min(least, value)
            else:
                greatest = max(greatest, value)
    if least != ILLEGAL:
        return HOLDS - least
    return np.int64(HOLDS) if holds else greatest


@inlined
def _begin(ending, entry, values, captures, without_third, without_fourth):
    """Finds out whether `entry` is illegal or a mate, and what its captures do.

    Returns the level at which the captures can decide the position, or 0 if they cannot, as int64. Mutates `ending`,
    `values` and `captures`.
    """
    _load(ending, entry)
    for man in range(ending.count):
        for other in range(man):
            if ending.squares[man] == ending.squares[other]:
                values[entry] = ILLEGAL
                return np.int64(0)
    turn, occupied = ending.turn, _occupied(ending)
    # The kings are the men 0 and 1: the own king is the man 1 - turn.
    if _is_attacked(ending, ending.squares[turn], turn, occupied, -1):
        values[entry] = ILLEGAL
        return np.int64(0)
    best = _best(ending, values, without_third, without_fourth, True)
    if best < HOLDS:
        captures[entry] = HOLDS - best
        return HOLDS - best
    if best == HOLDS:
        captures[entry] = SAFE
    elif best != NO_MOVES:
        captures[entry] = LAST_WIN + best
        return best
    elif (
        _is_attacked(ending, ending.squares[1 - turn], 1 - turn, occupied, -1)
        and _best(ending, values, without_third, without_fourth, False) == NO_MOVES
    ):
        values[entry] = 1
    return np.int64(0)


@inlined
def _go_back(ending, entry, plies, values, captures, without_third, without_fourth):
    """Solves the positions decided in `plies` plies from which a move leads to `entry`; returns how many, int64.

    Mutates `ending` and `values`.
    """
    _load(ending, entry)
    ending.turn = 1 - ending.turn
    occupied = _occupied(ending)
    solved = np.int64(0)
    for man in range(ending.count):
        if ending.colors[man] != ending.turn:
            continue
        target = ending.squares[man]
        origins = attacks_from(ending.pieces[man], target, occupied) & ~occupied
        while origins != U0:
            ending.squares[man] = lsb(origins)
            origins = without_lsb(origins)
            before = _entry(ending, -1)
            if values[before] != 0 or (plies & 1 == 0 and captures[before] == SAFE):
                continue
            if plies & 1 != 0 or _best(ending, values, without_third, without_fourth, False) == plies:
                _store(ending, values, plies + 1)
                solved += 1
        ending.squares[man] = target
    return solved


@kernel
def solve_entries(ending, first, last, plies, values, captures, without_third, without_fourth):
    """Does a part of a level: the mates and captures (`plies` 0) or the mates in `plies` plies, for some entries.

    The entries are those from `first` to before `last`. All entries of one level must be done before any of the next.
    `ending` is an ENDING record with `count`, `pieces` and `colors`; `values` and `captures` are its tables, which are
    0 at first. `without_third` and `without_fourth`: see `_after_capture`. Returns the number of positions that were
    solved, int64; at level 0 instead the last level at which captures can decide a position. Mutates `ending`, `values`
    and `captures`.
    """
    solved = np.int64(0)
    for entry in range(first, last):
        value = values[entry]
        if plies == 0:
            solved = max(solved, _begin(ending, entry, values, captures, without_third, without_fourth))
        elif value == plies:
            solved += _go_back(ending, entry, plies, values, captures, without_third, without_fourth)
        elif value == 0 and captures[entry] == plies and plies & 1 != 0:
            values[entry] = plies + 1
            solved += 1
        elif value == 0 and captures[entry] == LAST_WIN + plies and plies & 1 == 0:
            _load(ending, entry)
            if _best(ending, values, without_third, without_fourth, False) == plies:
                values[entry] = plies + 1
                solved += 1
    return solved
