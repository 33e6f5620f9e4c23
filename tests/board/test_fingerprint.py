"""Fingerprints of functions: the same for the same machine code, another one for every change to it."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

from engine.compiler.fingerprint import fingerprint

SOURCE = """
import numpy as np
from engine.compiler import jit
import math
TABLE = np.array([[1, 2], [3, 4]], np.int64)
PAIR = (1, (2.5, True))
UNUSED = 1

@jit.subkernel
def helper(x):
    return x + 10

def shift(x, by=3):
    return sum([helper(y) for y in range(x)]) + by

@jit.subkernel
def function(x):
    return TABLE[0, 1] * PAIR[0] + shift(x) + math.floor(2.5)
"""


def function_of(source: str) -> Any:
    namespace: dict[str, Any] = {"__name__": "somewhere"}
    exec(compile(source, "somewhere.py", "exec"), namespace)
    return namespace["function"]


def test_it_is_the_same_for_the_same_code() -> None:
    first = fingerprint(function_of(SOURCE))
    assert fingerprint(function_of(SOURCE)) == first
    moved = "# a remark\n\n" + SOURCE.replace("UNUSED = 1", "UNUSED = 2")
    assert fingerprint(function_of(moved)) == first
    renamed = SOURCE.replace("def function(", "def other(") + "\nfunction = other\n"
    assert fingerprint(function_of(renamed)) == first


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + 10", "x + 20"),
        ("x + 10", "x - 10"),
        ("by=3", "by=4"),
        ("[[1, 2], [3, 4]]", "[[1, 5], [3, 4]]"),
        ("[3, 4]], np.int64", "[3, 4]], np.int32"),
        ("(2.5, True)", "(2.5, 1)"),
        ("math.floor", "math.ceil"),
        ("TABLE[0, 1]", "TABLE[1, 0]"),
        ("@jit.subkernel\ndef helper", "@jit.inlined\ndef helper"),
        ("@jit.subkernel\ndef helper", "@jit.float_inlined\ndef helper"),
        ("range(x)", "range(x, 9)"),
    ],
)
def test_it_differs_for_any_change_that_counts(old: str, new: str) -> None:
    assert SOURCE.count(old) == 1
    assert fingerprint(function_of(SOURCE.replace(old, new))) != fingerprint(function_of(SOURCE))


def test_values_of_closures_and_modules_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(weight: Any) -> Callable[[int], int]:
        return lambda x: x * weight

    assert fingerprint(made(3)) == fingerprint(made(3))
    names = {fingerprint(made(weight)) for weight in (3, 4, 3.0, np.int64(3), (3,), {3}, {"a": 3}, None)}
    assert len(names) == 8

    def enumerated(knight: int) -> Callable[[int], int]:
        kind: Any = IntEnum
        values = kind("Value", {"KNIGHT": knight})
        return lambda x: x * values.KNIGHT

    assert fingerprint(enumerated(320)) == fingerprint(enumerated(320)) != fingerprint(enumerated(330))

    def attribute(x: int) -> int:
        return x * np.pi  # type: ignore[return-value]

    before = fingerprint(attribute)
    monkeypatch.setattr(np, "pi", 3.0)
    assert fingerprint(attribute) != before


def test_functions_that_call_each_other_come_to_an_end() -> None:
    namespace: dict[str, Any] = {}
    exec("def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)", namespace)
    assert fingerprint(namespace["even"]) != fingerprint(namespace["odd"])
