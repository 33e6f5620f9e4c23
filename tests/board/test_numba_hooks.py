"""What Secateur relies on in Numba beyond its documented interface: one test for each hook.

A new version of Numba that changes one of these fails here first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from numba import types
from numba.extending import intrinsic

from engine.compiler import compiling, numba_hooks
from engine.compiler.jit import INTERPRETED, inlined, subkernel
from engine.compiler.numba_hooks import Linked, compiled, entry_point, from_bytes, linked, to_bytes
from tests.conftest import PROJECT

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")

RECORD = np.dtype([("rows", np.int64, (3, 4)), ("row", np.int16, (5,))])


def kernel(function: Callable[..., Any]) -> Any:
    """Declares an entry point without a cache: code that was loaded from one cannot be inspected."""
    return entry_point(function, {"error_model": "numpy"}, None)


#: More bytes than Numba puts into the code.
LARGE = np.zeros(200_000, np.int64)


def test_no_other_file_uses_a_private_part_of_numba() -> None:
    files = [path for folder in ("engine", "eval", "search", "bench") for path in (PROJECT / folder).rglob("*.py")]
    found = [path for path in files if re.search(r"numba\.(core|np|misc)\b", path.read_text(encoding="utf-8"))]
    assert found == [Path(str(numba_hooks.__file__))]


# --- configuration -------------------------------------------------------------------------------------------------


def test_environment_variables_choose_mode_and_processor(run_python: Callable[..., str]) -> None:
    script = """
import json, numba
from engine.compiler import numba_hooks
double = numba.njit(lambda x: 2 * x)
assert double(1) == 2
used = None if numba_hooks.is_interpreted() else double.targetctx.codegen().magic_tuple()[1:]
print(json.dumps([numba_hooks.is_interpreted(), *numba_hooks.processor(), used]))
"""
    named = {"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": "+sse3,-avx"}
    found = json.loads(run_python(script, NUMBA_DISABLE_JIT="0", **named))
    assert found == [False, "x86-64-v2", {"sse3": True, "avx": False}, ["x86-64-v2", "+sse3,-avx"]]
    interpreted, name, features, _ = json.loads(run_python(script, NUMBA_DISABLE_JIT="1"))
    assert interpreted
    assert name
    assert True in features.values()


# --- options -------------------------------------------------------------------------------------------------------


@inlined
def _first(array: Any) -> Any:
    return array[0]


@subkernel
def _last(array: Any) -> Any:
    return array[-1] if len(array) else array[0]


@kernel
def _ends(array: Any) -> Any:
    return _first(array) + _last(array)


def test_no_references_are_counted() -> None:
    assert _ends(np.arange(3)) == 2
    assert "NRT_incref" not in "".join(_ends.inspect_llvm().values())


def test_an_inlined_function_is_inlined() -> None:
    _ends(np.arange(3))
    (signature,) = _first.signatures
    assert "alwaysinline" in _first.inspect_llvm(signature)
    assert "alwaysinline" not in _last.inspect_llvm(signature)


# --- unsigned indices ----------------------------------------------------------------------------------------------


@kernel
def _read(record: Any, matrix: Any, row: Any, column: Any) -> Any:
    return record.rows[row, column] + record.rows[row][column] + matrix[row, column] + record.row[column]


@kernel
def _write(record: Any, matrix: Any, row: Any, column: Any, value: Any) -> Any:
    record.rows[row, column] = value
    record.row[column] += value
    matrix[row, column] = value
    matrix[row][column] += 1


@kernel
def _mirrored(matrix: Any) -> Any:
    total = 0
    for row in range(matrix.shape[0]):
        index = 0
        while index < matrix.shape[1]:
            total += matrix[row, index] * matrix[row, matrix.shape[1] - 1 - index]
            index += 1
    return total


@kernel
def _part(matrix: Any, row: Any, first: Any) -> Any:
    return matrix[row, first:].sum() + matrix[row][:first].sum()


def filled() -> tuple[Any, npt.NDArray[np.int64]]:
    record = np.zeros(1, RECORD)[0]
    record["rows"] = np.arange(12).reshape(3, 4)
    record["row"] = 100 * np.arange(5)
    return record, 1000 * np.arange(12).reshape(3, 4)


@pytest.mark.parametrize("kind", [int, np.int32, np.uint64])
def test_unsigned_indices_read_and_write_the_same(kind: Callable[[int], Any]) -> None:
    record, matrix = filled()
    for row in range(3):
        for column in range(4):
            number = 4 * row + column
            assert _read(record, matrix, kind(row), kind(column)) == 2 * number + 1000 * number + 100 * column
    _write(record, matrix, kind(2), kind(3), 7)
    expected_record, expected_matrix = filled()
    expected_record["rows"][2, 3] = 7
    expected_record["row"][3] += 7
    expected_matrix[2, 3] = 8
    assert record.tobytes() == expected_record.tobytes()
    assert (matrix == expected_matrix).all()


def test_loops_and_slices_stay_as_they_are() -> None:
    _, matrix = filled()
    assert _mirrored(matrix) == (matrix * matrix[:, ::-1]).sum()
    assert all(_part(matrix, row, first) == matrix[row].sum() for row in range(3) for first in range(5))


def test_no_sign_is_tested() -> None:
    record, matrix = filled()
    _read(record, matrix, 1, 1)
    (signature,) = (found for found in _read.signatures if str(found[2]) == str(found[3]) == "int64")
    code = _read.inspect_llvm(signature)
    body = code[code.index("define") :]
    body = body[: body.index("\n}")]
    assert "getelementptr" in body
    assert " icmp " not in body
    assert " select " not in body


# --- functions that only kernels call ------------------------------------------------------------------------------


@subkernel
def _factorial(number: Any) -> Any:
    return 1 if number < 2 else number * _factorial(number - 1)


@kernel
def _factorial_twice(number: Any) -> Any:
    return 2 * _factorial(number)


def test_a_linked_function_becomes_no_machine_code_of_its_own() -> None:
    assert isinstance(_factorial, Linked)
    assert _factorial_twice(5) == 240
    ((types_of_call, result),) = _factorial.overloads.items()
    assert types_of_call == (types.int64,)
    engine = result.target_context.codegen()._engine
    name = result.fndesc.llvm_cpython_wrapper_name
    assert not engine.is_symbol_defined(name)
    # A call from Python compiles another one.
    assert _factorial(5) == 120
    assert result.library.get_pointer_to_function(name) == 0


@subkernel
def _twice(x: Any) -> Any:
    return x + x


@kernel
def _calls_with_literals(x: Any) -> Any:
    return _twice(2) + _twice(x) + _twice(True)


def test_one_specialisation_for_literals_and_variables() -> None:
    assert _calls_with_literals(5) == 16
    assert _twice.signatures == [(types.int64,), (types.bool_,)]


def test_a_hook_hands_on_its_last_argument() -> None:
    def record(worker: Any, score: Any, node: Any) -> Any:
        raise AssertionError

    handed_on = numba_hooks.handing_on(record)

    @subkernel
    def caller(worker: Any, node: Any) -> Any:
        return handed_on(worker, 1.5, node) + handed_on(node, worker, 4)

    assert caller(np.zeros(3), 4) == 8


# --- code of machine operations ------------------------------------------------------------------------------------


def _sum_of_code(typingctx: Any, array: Any, first: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        total = numba.core.cgutils.alloca_once_value(builder, args[1].type(0))
        with numba_hooks.for_range(builder, args[2]) as loop:
            index = builder.add(args[1], loop.index)
            value = builder.load(numba_hooks.element_pointer(context, builder, signature.args[0], args[0], index))
            builder.store(builder.add(builder.load(total), value), total)
        return builder.load(total)

    return types.int64(array, types.int64, types.int64), generate


_sum_of: Any = intrinsic(_sum_of_code)


@pytest.mark.parametrize("is_checked", [False, True])
def test_machine_operations_loop_and_access_elements(is_checked: bool) -> None:
    summed = entry_point(lambda array, first, count: _sum_of(array, first, count), {"boundscheck": is_checked}, None)
    array = np.arange(10)
    assert summed(array, 2, 3) == 2 + 3 + 4
    assert summed(array, 0, 10) == 45
    ((_, code),) = summed.inspect_llvm().items()
    assert ("IndexError" in code or "exc" in code.partition("define")[0]) or not is_checked
    for first, count in ((-1, 2), (9, 2), (1 << 60, 1)):
        if is_checked:
            with pytest.raises(IndexError, match="index is out of bounds"):
                summed(array, first, count)


# --- compiled code -------------------------------------------------------------------------------------------------


class Memory:
    """A cache that keeps machine code in memory."""

    cache_path = "memory"

    def __init__(self) -> None:
        self.saved: dict[Any, bytes] = {}

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        data = self.saved.get(signature)
        return None if data is None else from_bytes(data, target_context)

    def save_overload(self, signature: Any, result: Any) -> None:
        self.saved[signature] = to_bytes(result)


def _sum_with_factorial(numbers: Any) -> Any:
    return numbers.sum() + _factorial(4)


def _item_of_a_large_array(index: Any) -> Any:
    return LARGE[index]


def test_a_dispatcher_saves_its_code_and_loads_it() -> None:
    cache = Memory()
    for hits in (0, 1):
        dispatcher = entry_point(_sum_with_factorial, {}, cache)
        assert dispatcher(np.arange(4)) == 30
        assert list(cache.saved) == dispatcher.signatures
        assert sum(dispatcher.stats.cache_hits.values()) == hits
        assert dispatcher.stats.cache_path == "memory"


def test_code_with_an_address_of_this_process_is_not_saved() -> None:
    with pytest.raises(ValueError, match="an array that is too large to embed"):
        entry_point(_item_of_a_large_array, {}, Memory())(1)
    with pytest.raises(ValueError, match="refers to an array that is too large"):
        compiled(linked(_item_of_a_large_array, {}), (types.int64,))


def test_a_compiled_module_has_the_calling_convention_of_the_bindings() -> None:
    argument_types = (numba.from_dtype(RECORD), types.Array(types.int32, 2, "C"), types.int64)
    function = linked(lambda record, matrix, number: record.row[0] + matrix[0, 0] + number, {})
    signature, symbol, module = compiled(function, argument_types)
    assert signature.return_type == types.int64
    found = module.get_function(symbol)
    # Result and exception; the record; owner, parent, items, size, data, 2 extents, 2 strides; the number.
    kinds = [str(argument.type).replace("ptr", "*") for argument in found.arguments]
    assert [kind.endswith("*") for kind in kinds] == [True] * 5 + [False] * 2 + [True] + [False] * 5
    assert not found.is_declaration


# --- progress ------------------------------------------------------------------------------------------------------


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []
    monkeypatch.setattr(compiling, "begin", calls.append)
    monkeypatch.setattr(compiling, "end", calls.append)
    return calls


def _good(x: Any) -> Any:
    return _twice(_factorial(x) * 1.5)


def _bad(x: Any) -> Any:
    return x + "one"


def test_a_kernel_with_all_that_it_calls_is_one_compilation(told: list[Any]) -> None:
    entry_point(_good, {}, None)(np.int8(3))
    with pytest.raises(numba.TypingError):
        entry_point(_bad, {}, None)(3)
    numba.njit(lambda x: x)(1)  # somebody else's
    assert told == [f"{__name__}._good", True, f"{__name__}._bad", False]
