"""The transposition table: the results of earlier searches, by position.

A table is an array of 16-byte entries. Four entries make a bucket, which fills a cache line. An entry is two words:

    word   bits 0-15 move, 16-31 score, 32-47 raw_eval (both signed), 48-55 depth, 56-57 bound,
           58-62 generation, 63 was_pv
    check  key XOR word

Threads read and write entries without locks. A torn entry, half of one write and half of another, almost always fails
the check and reads as a miss (Hyatt and Mann, "A lock-less transposition-table implementation", ICGA Journal 25, 2002).

Two positions may share a 64-bit key. The TT move of one may be illegal in the other, so
`search.kernels.picker.usable_tt_move` calls `is_legal` before the search plays it. A score cannot be checked,
but two such positions in the searches of one game are very unlikely.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.board.bits import multiply_high, prefetch
from engine.compiler.jit import inlined, kernel, subkernel
from engine.memory import allocate
from search.kernels.score import EXACT, NO_SCORE, score_from_tt, score_to_tt
from search.limits import MAX_PLY

ENTRY: Final = np.dtype([("check", np.uint64), ("word", np.uint64)])
BUCKET: Final = 4

#: The generation of a search is its number modulo GENERATIONS.
GENERATIONS: Final = 32
#: One generation of age counts as this many plies of depth when `store` chooses a victim.
AGE_WEIGHT: Final = 8
#: `store` keeps a position's entry if it is from this search and over MUCH_DEEPER plies deeper than the new result.
#: An exact result always replaces it.
MUCH_DEEPER: Final = 3

#: The depth of entries from quiescence, and of entries that have only an evaluation.
QUIESCENCE_DEPTH: Final = 0

MASK_16 = np.uint64(0xFFFF)
MASK_8 = np.uint64(0xFF)
S16, S32, S48, S56, S58, S63 = (np.uint64(n) for n in (16, 32, 48, 56, 58, 63))


def allocate_table(mebibytes: int) -> Any:
    """Returns an empty table: ENTRY[mebibytes * 65536], aligned to cache lines.

    Raises MemoryError if there is not enough memory. The system provides each page of memory when it is first used.
    """
    return allocate(ENTRY, (mebibytes << 20) // ENTRY.itemsize)


@inlined
def bucket_start(tt, key):
    """Returns the index of the first entry of a key's bucket, as int64."""
    return np.int64(multiply_high(key, np.uint64(tt.size // BUCKET))) * BUCKET


@inlined
def prefetch_bucket(tt, key):
    """Starts loading a key's bucket into the CPU's cache."""
    prefetch(tt, bucket_start(tt, key))


@inlined
def signed_16(word):
    """Returns the low 16 bits of a uint64, read as a signed number, as int64."""
    low = np.int64(word & MASK_16)
    return low - 0x10000 if low >= 0x8000 else low


@inlined
def entry_move(data):
    """Returns the stored move, as int64."""
    return np.int64(data & MASK_16)


@inlined
def entry_score(data, ply, halfmoves):
    """Returns the stored score as seen from a node at `ply`, as int64 (see `score_from_tt`).

    It means nothing if the bound is NO_BOUND.
    """
    return score_from_tt(signed_16(data >> S16), ply, halfmoves)


@inlined
def entry_eval(data):
    """Returns the stored `raw_eval`, the evaluation without corrections, as int64; NO_SCORE in check."""
    return signed_16(data >> S32)


@inlined
def entry_depth(data):
    """Returns the depth of the stored search in plies, as int64."""
    return np.int64((data >> S48) & MASK_8)


@inlined
def entry_bound(data):
    """Returns UPPER, LOWER or EXACT, or NO_BOUND if the entry is empty or has only an evaluation, as int64."""
    return np.int64((data >> S56) & np.uint64(3))


@inlined
def entry_age(data, generation):
    """Returns how many searches ago the entry was written, modulo GENERATIONS, as int64."""
    return (generation - np.int64(data >> S58)) & (GENERATIONS - 1)  # the mask removes was_pv


@inlined
def entry_was_pv(data):
    """Returns 1 if the entry says that the position was in a PV node (see `alpha_beta`), else 0, as int64."""
    return np.int64(data >> S63)


@inlined
def probe(tt, key):
    """Returns the word stored for `key`, as uint64, or 0 if there is no entry for it (no stored word is 0)."""
    start = bucket_start(tt, key)
    for index in range(start, start + BUCKET):
        data = tt[index].word
        if tt[index].check ^ data == key and data != 0:
            return data
    return np.uint64(0)


@subkernel
def store(tt, key, generation, ply, depth, score, bound, raw_eval, move, was_pv):
    """Stores a search result, or with NO_BOUND only `raw_eval` and `was_pv`. Mutates `tt`.

    `was_pv` (see `entry_was_pv`), 0 or 1, replaces that of an old entry. If `key` has an entry, that entry is replaced
    unless the new result is not exact and the entry is from this search and more than MUCH_DEEPER plies deeper. A
    result without a move keeps that entry's move. If `key` has no entry, replaces the least valuable entry of the
    bucket: an empty one, or the one with the least depth - AGE_WEIGHT * age.
    """
    start = bucket_start(tt, key)
    victim = start
    least = np.int64(1 << 30)
    for index in range(start, start + BUCKET):
        data = tt[index].word
        if tt[index].check ^ data == key and data != 0:
            if move == 0:
                move = entry_move(data)
            if bound != EXACT and entry_age(data, generation) == 0 and entry_depth(data) > depth + MUCH_DEEPER:
                return
            victim = index
            break
        worth = entry_depth(data) - AGE_WEIGHT * entry_age(data, generation)
        if data == 0:
            worth = np.int64(-(1 << 29))
        if worth < least:
            least = worth
            victim = index
    word = (
        np.uint64(move)
        | (np.uint64(score_to_tt(score, ply) & 0xFFFF) << S16)
        | (np.uint64(raw_eval & 0xFFFF) << S32)
        | (np.uint64(depth) << S48)
        | (np.uint64(bound) << S56)
        | (np.uint64(generation) << S58)
        | (np.uint64(was_pv) << S63)
    )
    entry = tt[victim]
    entry.word = word
    entry.check = key ^ word


@kernel
def hashfull(tt, generation):
    """Returns UCI's `hashfull`: how many per mille of the first 1000 entries this search wrote, as int64."""
    sample = min(1000, tt.size)
    used = 0
    for index in range(sample):
        data = tt[index].word
        if data != 0 and entry_age(data, generation) == 0:
            used += 1
    return used * 1000 // sample


assert NO_SCORE + MAX_PLY < 1 << 15, "scores are stored in 16 bits"
