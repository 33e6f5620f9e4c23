"""The transposition table, entry by entry."""

from typing import Any

import numpy as np
import pytest

from engine.compiler.jit import subkernel
from engine.memory import CACHE_LINE
from search.kernels.score import EXACT, LOWER, MATE, UPPER
from search.kernels.transposition import (
    BUCKET,
    ENTRY,
    GENERATIONS,
    allocate_table,
    bucket_start,
    entry_age,
    entry_bound,
    entry_depth,
    entry_eval,
    entry_move,
    entry_score,
    entry_was_pv,
    hashfull,
    probe,
    store,
)


@subkernel
def _probe_fields(table: Any, key: Any, ply: Any, generation: Any, out: Any) -> None:
    data = probe(table, key)
    out[0] = data != 0
    out[1] = entry_move(data)
    out[2] = entry_score(data, ply, 0)
    out[3] = entry_eval(data)
    out[4] = entry_depth(data)
    out[5] = entry_bound(data)
    out[6] = entry_age(data, generation)
    out[7] = entry_was_pv(data)


@subkernel
def _store(
    table: Any,
    key: Any,
    generation: Any,
    ply: Any,
    depth: Any,
    score: Any,
    bound: Any,
    evaluation: Any,
    move: Any,
    was_pv: Any,
) -> None:
    store(table, key, generation, ply, depth, score, bound, evaluation, move, was_pv)


@subkernel
def _start(table: Any, key: Any) -> Any:
    return bucket_start(table, key)


def read(table: Any, key: int, ply: int = 0, generation: int = 0) -> list[int]:
    """Whether the key is there, then move, score, evaluation, depth, bound, age and whether it was in a PV node."""
    out = np.zeros(8, np.int64)
    _probe_fields(table, np.uint64(key), ply, generation, out)
    return [int(field) for field in out]


def write(
    table: Any,
    key: int,
    generation: int = 0,
    ply: int = 0,
    depth: int = 5,
    score: int = 10,
    bound: int = EXACT,
    evaluation: int = 7,
    move: int = 0x1234,
    was_pv: int = 0,
) -> None:
    _store(table, np.uint64(key), generation, ply, depth, score, bound, evaluation, move, was_pv)


@pytest.fixture
def table() -> Any:
    return allocate_table(1)


#: Keys that share one bucket, because their upper bits are the same.
SAME_BUCKET = [(0xABCD << 48) + number for number in range(1, BUCKET + 2)]


def test_size_and_alignment(table: Any) -> None:
    assert table.dtype == ENTRY
    assert ENTRY.itemsize == 16
    assert len(table) * 16 == 1 << 20
    assert table.ctypes.data % CACHE_LINE == 0


def test_mates_are_read_from_where_they_are_met(table: Any) -> None:
    write(table, 99, ply=4, score=MATE - 7)
    assert read(table, 99, ply=4)[2] == MATE - 7
    assert read(table, 99, ply=10)[2] == MATE - 13


def test_absent_and_torn_entries_are_misses(table: Any) -> None:
    assert read(table, 0)[0] == 0
    assert read(table, 12345)[0] == 0
    write(table, 12345)
    assert read(table, 12345)[0] == 1
    assert read(table, 12346)[0] == 0
    index = int(_start(table, np.uint64(12345)))
    table["word"][index] ^= np.uint64(1 << 20)  # as if another thread had written half
    assert read(table, 12345)[0] == 0


def test_every_bucket_lies_inside(table: Any) -> None:
    assert _start(table, np.uint64(0)) == 0
    assert _start(table, np.uint64((1 << 64) - 1)) == len(table) - BUCKET


def test_the_key_of_zero_can_be_stored(table: Any) -> None:
    write(table, 0)
    assert read(table, 0)[0] == 1


def test_a_new_result_without_a_move_keeps_the_old_move(table: Any) -> None:
    write(table, 77, move=0x0ABC, depth=3)
    write(table, 77, move=0, depth=9)
    assert read(table, 77)[1] == 0x0ABC
    assert read(table, 77)[4] == 9


def test_a_much_deeper_result_is_not_lost_to_a_shallow_bound(table: Any) -> None:
    write(table, 77, depth=20, bound=LOWER)
    write(table, 77, depth=2, bound=UPPER)
    assert read(table, 77)[4] == 20
    write(table, 77, depth=2, bound=EXACT)
    assert read(table, 77)[4] == 2


def test_the_shallowest_entry_makes_room(table: Any) -> None:
    for key, depth in zip(SAME_BUCKET, (9, 3, 8, 7, 5), strict=True):
        write(table, key, depth=depth)
    assert [read(table, key)[0] for key in SAME_BUCKET] == [1, 0, 1, 1, 1]


def test_old_searches_make_room_before_shallow_ones(table: Any) -> None:
    write(table, SAME_BUCKET[0], generation=0, depth=12)
    for key in SAME_BUCKET[1:4]:
        write(table, key, generation=2, depth=2)
    write(table, SAME_BUCKET[4], generation=2, depth=1)
    assert [read(table, key)[0] for key in SAME_BUCKET] == [0, 1, 1, 1, 1]


def test_age_and_flag_share_a_byte(table: Any) -> None:
    for was_pv in (0, 1):
        write(table, 5, generation=GENERATIONS - 1, was_pv=was_pv)
        assert [read(table, 5, generation=later)[6:] for later in (GENERATIONS - 1, 0, 1)] == [
            [0, was_pv],
            [1, was_pv],
            [2, was_pv],
        ]


def test_hashfull_counts_this_search_only(table: Any) -> None:
    assert hashfull(table, 3) == 0
    rng = np.random.default_rng(1)
    for key in rng.integers(0, 1 << 63, 30_000, np.uint64):
        write(table, int(key) * 2, generation=3)
    full = hashfull(table, 3)
    assert 300 < full < 500  # 30,000 of 65,536 entries
    assert hashfull(table, 4) == 0


def test_more_memory_than_there_is_raises() -> None:
    with pytest.raises(MemoryError):
        allocate_table(1 << 40)
