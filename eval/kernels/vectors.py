"""Vector instructions on int16: accumulator updates and the output layer.

The operations use LLVM vectors, because Numba does int16 arithmetic in 64 bits and LLVM does not narrow all of it
again. Each operation has a twin in Python and NumPy, which computes the same results bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from engine.compiler.jit import AHEAD_OF_TIME, CPU_FEATURES, VECTOR_BITS, machine_op
from eval.network.layout import BLOCK, QA

if not AHEAD_OF_TIME:
    from llvmlite import ir
    from numba import types

    from engine.compiler.numba_hooks import element_pointer, for_range

    _I16, _I32, _I64 = (ir.IntType(bits) for bits in (16, 32, 64))
    _BLOCK = ir.VectorType(_I16, BLOCK)
    _SUMS = ir.VectorType(_I32, BLOCK // 2)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Returns a pointer to the BLOCK values that begin at `index` in an array of int16."""
    return builder.bitcast(element_pointer(context, builder, array_type, array, index, BLOCK), _BLOCK.as_pointer())


def _load(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    return builder.load(_pointer(context, builder, array_type, array, index), align=2)


def _splat(vector_type: Any, value: int) -> Any:
    return ir.Constant(vector_type, [value] * vector_type.count)


# --------------------------------------------------------------------------------------------------------------
# Accumulator updates
# --------------------------------------------------------------------------------------------------------------


def _write_sum(additions: int) -> Callable[..., Any]:
    """Returns a code generator for an update: `target` gets a block of `source`, plus the blocks of `rows` at the first
    `additions` indices, minus the blocks of `rows` at the other indices.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target_type, _, source_type, _, rows_type = signature.args[:5]
        target, at, source, start, rows, *indices = args
        value = _load(context, builder, source_type, source, start)
        for number, index in enumerate(indices):
            row = _load(context, builder, rows_type, rows, index)
            value = builder.add(value, row) if number < additions else builder.sub(value, row)
        builder.store(value, _pointer(context, builder, target_type, target, at), align=2)
        return context.get_dummy_value()

    return codegen


def _twin(additions: int) -> Callable[..., None]:
    def write_sum(target: Any, at: int, source: Any, start: int, rows: Any = None, *indices: int) -> None:
        value = source[start : start + BLOCK].copy()
        for number, index in enumerate(indices):
            row = rows[index : index + BLOCK]
            value = value + row if number < additions else value - row
        target[at : at + BLOCK] = value

    return write_sum


@machine_op(_twin(0))
def copy_block(typingctx: Any, target: Any, at: Any, source: Any, start: Any) -> Any:
    """Copies source[start...] to target[at...], BLOCK values of int16. Like all updates, it mutates only `target`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = _load(context, builder, signature.args[2], args[2], args[3])
        builder.store(value, _pointer(context, builder, signature.args[0], args[0], args[1]), align=2)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64), codegen


@machine_op(_twin(1))
def add_block(typingctx: Any, target: Any, at: Any, source: Any, start: Any, rows: Any, plus: Any) -> Any:
    """Computes target[at...] = source[start...] + rows[plus...]."""
    signature = types.void(target, types.int64, source, types.int64, rows, types.int64)
    return signature, _write_sum(1)


@machine_op(_twin(1))
def add_sub(typingctx: Any, target: Any, at: Any, source: Any, start: Any, rows: Any, plus: Any, minus: Any) -> Any:
    """Computes target[at...] = source[start...] + rows[plus...] - rows[minus...], for a move without capture."""
    signature = types.void(target, types.int64, source, types.int64, rows, types.int64, types.int64)
    return signature, _write_sum(1)


@machine_op(_twin(1))
def add_sub_sub(
    typingctx: Any, target: Any, at: Any, source: Any, start: Any, rows: Any, plus: Any, minus: Any, taken: Any
) -> Any:
    """Computes target[at...] = source[start...] + rows[plus...] - rows[minus...] - rows[taken...], for a capture."""
    signature = types.void(target, types.int64, source, types.int64, rows, types.int64, types.int64, types.int64)
    return signature, _write_sum(1)


@machine_op(_twin(2))
def add_add_sub_sub(
    typingctx: Any,
    target: Any,
    at: Any,
    source: Any,
    start: Any,
    rows: Any,
    plus: Any,
    plus_too: Any,
    minus: Any,
    minus_too: Any,
) -> Any:
    """Computes `add_sub` with two rows to add (`plus` and `plus_too`) and two rows to subtract, for castling."""
    integers = (types.int64,) * 4
    return types.void(target, types.int64, source, types.int64, rows, *integers), _write_sum(2)


# --------------------------------------------------------------------------------------------------------------
# The output layer
# --------------------------------------------------------------------------------------------------------------


def _dot_twin(values: Any, start: int, weights: Any, first: int, count: int) -> Any:
    clipped = np.clip(values[start : start + count], 0, QA).astype(np.int64)
    return np.int64((clipped * clipped * weights[first : first + count]).sum())


def _part(builder: Any, vector: Any, lanes: list[int]) -> Any:
    """Returns a vector of the lanes of `vector` at the indices `lanes`, in that order."""
    mask = ir.Constant(ir.VectorType(_I32, len(lanes)), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _multiply_pairs(builder: Any, name: str, a: Any, b: Any) -> Any:
    """Applies the instruction `name` to `a` and `b`: it multiplies int16 lanes and adds neighbouring products."""
    result = ir.VectorType(_I32, a.type.count // 2)
    function_type = ir.FunctionType(result, [a.type, b.type])
    function = builder.module.globals.get(name) or ir.Function(builder.module, function_type, name)
    return builder.call(function, [a, b])


def _pairs_512(builder: Any, a: Any, b: Any) -> Any:
    return _multiply_pairs(builder, "llvm.x86.avx512.pmaddw.d.512", a, b)


def _pairs_256(builder: Any, a: Any, b: Any) -> Any:
    halves = []
    for lanes in (list(range(BLOCK // 2)), list(range(BLOCK // 2, BLOCK))):
        left, right = _part(builder, a, lanes), _part(builder, b, lanes)
        halves.append(_multiply_pairs(builder, "llvm.x86.avx2.pmadd.wd", left, right))
    mask = ir.Constant(ir.VectorType(_I32, BLOCK // 2), list(range(BLOCK // 2)))
    return builder.shuffle_vector(halves[0], halves[1], mask)


def _pairs_anywhere(builder: Any, a: Any, b: Any) -> Any:
    wide = ir.VectorType(_I32, BLOCK)
    product = builder.mul(builder.sext(a, wide), builder.sext(b, wide))
    even, odd = (_part(builder, product, list(range(first, BLOCK, 2))) for first in (0, 1))
    return builder.add(even, odd)


def _screlu_dot(multiply_pairs: Callable[..., Any]) -> Any:
    """Returns a machine operation for the output layer's dot product. `multiply_pairs` is `_pairs_512`, for example."""

    @machine_op(_dot_twin)
    def screlu_dot(typingctx: Any, values: Any, start: Any, weights: Any, first: Any, count: Any) -> Any:
        """Returns the exact sum of clip(values[start + i], 0, QA)^2 * weights[first + i] for i below `count`, as int64.

        `values` and `weights` are int16 arrays, `count` is a multiple of BLOCK up to MAX_HIDDEN, and weights are
        within +-OUTPUT_LIMIT. Then nothing overflows: clip * weight is at most 255 * 127 = 32,385, which fits into
        int16. Two of these products, each multiplied by its clip again, add up to at most 16,516,350. Each of the 16
        int32 lanes adds up at most 512 / 32 = 16 such pairs: 264,261,600. Only the sum of the lanes needs 64 bits.
        """

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values_type, _, weights_type, _, _ = signature.args
            values, start, weights, first, count = args
            with builder.goto_entry_block():
                sums = builder.alloca(_SUMS)
            builder.store(_splat(_SUMS, 0), sums)
            blocks = builder.sdiv(count, ir.Constant(_I64, BLOCK))
            with for_range(builder, blocks) as loop:
                offset = builder.mul(loop.index, ir.Constant(_I64, BLOCK))
                value = _load(context, builder, values_type, values, builder.add(start, offset))
                weight = _load(context, builder, weights_type, weights, builder.add(first, offset))
                for bound, sign in ((_splat(_BLOCK, 0), ">"), (_splat(_BLOCK, QA), "<")):
                    value = builder.select(builder.icmp_signed(sign, value, bound), value, bound)
                pairs = multiply_pairs(builder, builder.mul(value, weight), value)
                builder.store(builder.add(builder.load(sums), pairs), sums)
            lanes = builder.load(sums)
            total = ir.Constant(_I64, 0)
            for lane in range(_SUMS.count):
                element = builder.extract_element(lanes, ir.Constant(_I32, lane))
                total = builder.add(total, builder.sext(element, _I64))
            return total

        return types.int64(values, types.int64, weights, types.int64, types.int64), codegen

    return screlu_dot


#: The dot products that this CPU can run, by the width of their instructions in bits; key 0 works on any CPU.
SCRELU_DOTS: Final = {
    bits: _screlu_dot(pairs)
    for bits, pairs, needed in (
        (512, _pairs_512, "avx512bw"),
        (256, _pairs_256, "avx2"),
        (0, _pairs_anywhere, None),
    )
    if needed is None or CPU_FEATURES.get(needed, False)
}

screlu_dot: Final = SCRELU_DOTS[VECTOR_BITS]
