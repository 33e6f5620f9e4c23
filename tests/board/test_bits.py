"""Machine operations against Python's own integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.board import bits
from engine.board.position import POSITION
from engine.compiler.jit import INTERPRETED, USE_PEXT, subkernel

MASK = (1 << 64) - 1
U64 = st.integers(0, MASK)
# Sparse and dense numbers meet more of the corners than uniform ones.
BITBOARD = st.one_of(
    U64,
    st.sets(st.integers(0, 63), max_size=6).map(lambda squares: sum(1 << square for square in squares)),
    st.integers(0, 64).map(lambda count: MASK >> count),
    st.integers(0, 63).map(lambda count: MASK << count & MASK),
)


@subkernel
def count_of(bitboard: Any) -> Any:
    return bits.popcount(bitboard)


@subkernel
def lowest_of(bitboard: Any) -> Any:
    return bits.lsb(bitboard)


@subkernel
def bit_of(square: Any) -> Any:
    return bits.bit(square)


@subkernel
def rest_of(bitboard: Any) -> Any:
    return bits.without_lsb(bitboard)


@subkernel
def high_product(a: Any, b: Any) -> Any:
    return bits.multiply_high(a, b)


@subkernel
def low_product(a: Any, b: Any) -> Any:
    return bits.multiply_low(a, b)


@subkernel
def gathered(value: Any, mask: Any) -> Any:
    return bits.pext(value, mask)


@subkernel
def spread(value: Any, mask: Any) -> Any:
    return bits.pdep(value, mask)


@subkernel
def copied(target: Any, source: Any) -> Any:
    bits.copy_record(target, source)


@subkernel
def prefetched_sum(array: Any, index: Any) -> Any:
    bits.prefetch(array, index)
    return array[0] + array[array.shape[0] - 1]


def gather(value: int, mask: int) -> int:
    picked = [value >> square & 1 for square in range(64) if mask >> square & 1]
    return sum(bit << place for place, bit in enumerate(picked))


@given(BITBOARD)
@example(0)
@example(MASK)
def test_popcount(value: int) -> None:
    assert count_of(np.uint64(value)) == bin(value).count("1")


@given(BITBOARD.filter(bool))
@example(1)
@example(1 << 63)
@example(MASK)
def test_lsb(value: int) -> None:
    assert lowest_of(np.uint64(value)) == bin(value)[::-1].index("1")


def test_bit() -> None:
    assert [int(bit_of(np.int64(square))) for square in range(64)] == [1 << square for square in range(64)]


@given(BITBOARD)
@example(0)
@example(1 << 63)
def test_without_lsb(value: int) -> None:
    digits = bin(value)[2:].zfill(64)
    place = digits.rfind("1")
    assert int(rest_of(np.uint64(value))) == (int(digits[:place] + "0" + digits[place + 1 :], 2) if value else 0)


@given(U64, U64)
@example(MASK, MASK)
@example(0, MASK)
@example(1 << 63, 2)
def test_multiply_high_and_low_make_the_whole_product(a: int, b: int) -> None:
    high, low = int(high_product(np.uint64(a), np.uint64(b))), int(low_product(np.uint64(a), np.uint64(b)))
    assert (high << 64) + low == a * b


@pytest.mark.skipif(not USE_PEXT, reason="sliders use magic multiplication on this CPU")
@given(BITBOARD, BITBOARD)
@example(MASK, MASK)
@example(MASK, 0)
@example(0, MASK)
@example(1 << 63, 1 << 63)
def test_pext_and_pdep(value: int, mask: int) -> None:
    assert int(gathered(np.uint64(value), np.uint64(mask))) == gather(value, mask)
    found = int(spread(np.uint64(value), np.uint64(mask)))
    assert found & ~mask == 0
    assert gather(found, mask) == value & ((1 << mask.bit_count()) - 1)


@given(st.binary(min_size=POSITION.itemsize, max_size=POSITION.itemsize))
def test_copy_record_copies_every_byte_and_only_them(content: bytes) -> None:
    around = b"\xa5" * POSITION.itemsize
    target = np.frombuffer(bytearray(around * 3), POSITION).copy()
    source = np.frombuffer(content, POSITION).copy()
    if INTERPRETED:
        target, source = target.view(np.recarray), source.view(np.recarray)
    copied(target[1], source[0])
    assert target.tobytes() == around + content + around
    assert source.tobytes() == content


def test_prefetch_only_fetches() -> None:
    array = np.arange(5, dtype=np.int64)
    for index in (0, 4, 1_000_000):  # beyond the end is a hint that goes nowhere, not a fault
        assert prefetched_sum(array, np.int64(index)) == 4
    assert array.tolist() == [0, 1, 2, 3, 4]
