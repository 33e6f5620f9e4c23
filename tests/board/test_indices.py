"""Indices of kernels are unsigned where Numba would test their sign: for what they read and write, nothing changes."""

from __future__ import annotations

import numpy as np
import pytest

from engine.compiler.jit import INTERPRETED, kernel, subkernel

RECORD = np.dtype([("rows", np.int64, (3, 4)), ("row", np.int16, (5,))])

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")


@kernel
def read(record, matrix, row, column):
    return record.rows[row, column] + record.rows[row][column] + matrix[row, column] + record.row[column]


@kernel
def write(record, matrix, row, column, value):
    record.rows[row, column] = value
    record.row[column] += value
    matrix[row, column] = value
    matrix[row][column] += 1
    return 0


@kernel
def loop(matrix):
    total = 0
    for row in range(matrix.shape[0]):
        index = 0
        while index < matrix.shape[1]:
            total += matrix[row, index] * matrix[row, matrix.shape[1] - 1 - index]
            index += 1
    return total


@kernel
def part(matrix, row, first):
    return matrix[row, first:].sum() + matrix[row][:first].sum()


def filled() -> tuple[np.void, np.ndarray]:
    record = np.zeros(1, RECORD)[0]
    record["rows"] = np.arange(12).reshape(3, 4)
    record["row"] = 100 * np.arange(5)
    return record, 1000 * np.arange(12).reshape(3, 4)


@pytest.mark.parametrize("kind", [int, np.int64, np.int32, np.uint64])
def test_reading_and_writing(kind: type) -> None:
    record, matrix = filled()
    for row in range(3):
        for column in range(4):
            number = 4 * row + column
            assert read(record, matrix, kind(row), kind(column)) == 2 * number + 1000 * number + 100 * column
    write(record, matrix, kind(2), kind(3), 7)
    expected_record, expected_matrix = filled()
    expected_record["rows"][2, 3] = 7
    expected_record["row"][3] += 7
    expected_matrix[2, 3] = 8
    assert record.tobytes() == expected_record.tobytes()
    assert (matrix == expected_matrix).all()


def test_loops_and_slices() -> None:
    _, matrix = filled()
    assert loop(matrix) == (matrix * matrix[:, ::-1]).sum()
    for row in range(3):
        for first in range(5):
            assert part(matrix, row, first) == matrix[row].sum()


def test_no_sign_is_tested() -> None:
    record, matrix = filled()
    compiled = subkernel(read.py_func)  # Numba shows the code only of what did not come from a cache
    compiled(record, matrix, 1, 1)
    code = compiled.inspect_llvm(compiled.signatures[0])
    body = code[code.index("define") :]
    body = body[: body.index("\n}")]
    assert "getelementptr" in body
    assert " icmp " not in body
    assert " select " not in body
