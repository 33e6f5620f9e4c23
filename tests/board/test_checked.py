"""The checked build, whose kernels raise IndexError for an index beyond its array: `SECATEUR_CHECKED=1`."""

from __future__ import annotations

from collections.abc import Callable

import chess
import pytest

from engine.compiler.jit import CHECKED_VARIABLE
from search.benchmark import run_benchmark
from search.perft import count_by_move

WILD = """
import numpy as np
from engine.board.bits import copy_record, prefetch
from engine.compiler.jit import kernel, subkernel
from engine.memory import allocate
from eval.network.layout import BLOCK
from eval.kernels.vectors import add_block
from search.kernels.highest import highest

TABLE = np.arange(4)
RECORD = np.dtype([("row", np.int64, 4), ("square", np.int16, (2, 2))], align=True)

@subkernel
def inner(array, index):
    return array[index]

@kernel
def read(array, index):
    return inner(array, index)

@kernel
def read_table(array, index):
    return TABLE[index]

@kernel
def write(array, index):
    array[index] = 1
    return 0

@kernel
def add(array, index):
    array[index] += 1
    return 0

@kernel
def read_record(records, index):
    return records[0].row[index]

@kernel
def read_square(records, index):
    return records[0].square[index & 1, index >> 1]

@kernel
def read_highest(array, index):
    return highest(array, 0, index)

@kernel
def write_block(array, index):
    add_block(array, BLOCK * (index - 3), array, 0, array, 0)
    return 0

@kernel
def hint(array, index):
    prefetch(array, index)
    return 0

numbers, records, blocks = np.zeros(4, np.int64), allocate(RECORD, 1), np.zeros(BLOCK, np.int16)
for function, array, last in (
    (read, numbers, 3),
    (read_table, numbers, 3),
    (write, numbers, 3),
    (add, numbers, 3),
    (read_record, records, 3),
    (read_square, records, 3),
    (read_highest, np.zeros(9, np.int64), 2),
    (write_block, blocks, 3),
):
    function(array, last)
    for index in (-1, last + 1, -(1 << 63), 1 << 40):
        try:
            function(array, index)
        except IndexError as error:
            assert "index is out of bounds" in str(error)
        else:
            print(f"{function.__name__}[{index}] raised nothing")
hint(numbers, 1 << 40)
print("done")
"""


def test_a_wild_index_raises(run_python: Callable[..., str]) -> None:
    assert run_python(WILD, **{CHECKED_VARIABLE: "1"}) == "done\n"


@pytest.mark.slow
def test_it_plays_the_same_and_raises_nothing(run_python: Callable[..., str]) -> None:
    script = """
import chess
from engine.compiler.jit import CHECKED
from search.benchmark import run_benchmark
from search.perft import count_by_move
assert CHECKED
print(run_benchmark(depth=6).nodes, *count_by_move(chess.Board(), 4).values())
"""
    expected = run_benchmark(depth=6)
    assert expected is not None
    found = run_python(script, **{CHECKED_VARIABLE: "1"}).split()
    assert found == [str(expected.nodes), *map(str, count_by_move(chess.Board(), 4).values())]
