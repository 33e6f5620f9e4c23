"""Vector instructions on int16 and int8: accumulator updates, the output layer and the policy.

The operations use LLVM vectors, because Numba does int16 arithmetic in 64 bits and LLVM does not narrow all of it
again. Each operation has a twin in Python and NumPy, which computes the same results bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from engine.compiler.jit import AHEAD_OF_TIME, CPU_FEATURES, VECTOR_BITS, machine_op
from eval.network.layout import BLOCK, POLICY_BLOCK, QA

if not AHEAD_OF_TIME:
    from llvmlite import ir
    from numba import types

    from engine.compiler.numba_hooks import element_pointer, for_range

    _I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
    _BLOCK = ir.VectorType(_I16, BLOCK)
    _SUMS = ir.VectorType(_I32, BLOCK // 2)
    _BYTES = ir.VectorType(_I8, POLICY_BLOCK)


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


@machine_op(_twin(0))
def sub_block(typingctx: Any, target: Any, at: Any, source: Any, start: Any, rows: Any, minus: Any) -> Any:
    """Computes target[at...] = source[start...] - rows[minus...]."""
    signature = types.void(target, types.int64, source, types.int64, rows, types.int64)
    return signature, _write_sum(0)


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


def _dot_twin(
    values: Any, start: int, rows: Any, numbers: Any, extra: int, weights: Any, first: int, count: int
) -> Any:
    total = values[start : start + count].copy()
    for number in numbers[:extra]:
        total = total + rows[number * count : (number + 1) * count]
    clipped = np.clip(total, 0, QA).astype(np.int64)
    return np.int64(((clipped * clipped + 256) // 512 * weights[first : first + count]).sum())


def _part(builder: Any, vector: Any, lanes: list[int]) -> Any:
    """Returns a vector of the lanes of `vector` at the indices `lanes`, in that order."""
    mask = ir.Constant(ir.VectorType(_I32, len(lanes)), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _call(builder: Any, name: str, result: Any, *vectors: Any) -> Any:
    """Applies the instruction `name` to vectors of one type; returns a value of the type `result`."""
    function_type = ir.FunctionType(result, [vector.type for vector in vectors])
    function = builder.module.globals.get(name) or ir.Function(builder.module, function_type, name)
    return builder.call(function, vectors)


def _halves(builder: Any, vector: Any) -> tuple[Any, Any]:
    half = vector.type.count // 2
    return _part(builder, vector, list(range(half))), _part(builder, vector, list(range(half, 2 * half)))


def _joined(builder: Any, first: Any, second: Any) -> Any:
    mask = ir.Constant(ir.VectorType(_I32, 2 * first.type.count), list(range(2 * first.type.count)))
    return builder.shuffle_vector(first, second, mask)


# Each class has three operations. `square` returns (value^2 + 256) // 512 for each lane of int16 from 0 to QA. `pairs`
# multiplies lanes of int16 and returns the sums of two products each in lanes of int32; which two, is free.
# `byte_pairs` does the same for POLICY_BLOCK lanes of int8, the first operand's from 0 to 127, with sums of int16.


class _With512:
    @staticmethod
    def square(builder: Any, value: Any) -> Any:
        # The instruction returns (a * b + 2^14) >> 15.
        return _call(builder, "llvm.x86.avx512.pmul.hr.sw.512", _BLOCK, builder.shl(value, _splat(_BLOCK, 6)), value)

    @staticmethod
    def pairs(builder: Any, a: Any, b: Any) -> Any:
        return _call(builder, "llvm.x86.avx512.pmaddw.d.512", _SUMS, a, b)

    @staticmethod
    def byte_pairs(builder: Any, a: Any, b: Any) -> Any:
        return _call(builder, "llvm.x86.avx512.pmaddubs.w.512", _BLOCK, a, b)


class _With256:
    @staticmethod
    def square(builder: Any, value: Any) -> Any:
        shifted = _halves(builder, builder.shl(value, _splat(_BLOCK, 6)))
        found = (
            _call(builder, "llvm.x86.avx2.pmul.hr.sw", a.type, a, b)
            for a, b in zip(shifted, _halves(builder, value), strict=True)
        )
        return _joined(builder, *found)

    @staticmethod
    def pairs(builder: Any, a: Any, b: Any) -> Any:
        result = ir.VectorType(_I32, BLOCK // 4)
        halves = zip(_halves(builder, a), _halves(builder, b), strict=True)
        return _joined(builder, *(_call(builder, "llvm.x86.avx2.pmadd.wd", result, *half) for half in halves))

    @staticmethod
    def byte_pairs(builder: Any, a: Any, b: Any) -> Any:
        result = ir.VectorType(_I16, BLOCK // 2)
        halves = zip(_halves(builder, a), _halves(builder, b), strict=True)
        return _joined(builder, *(_call(builder, "llvm.x86.avx2.pmadd.ub.sw", result, *half) for half in halves))


class _WithNeon:
    @staticmethod
    def square(builder: Any, value: Any) -> Any:
        # The instruction returns (2 * a * b + 2^15) >> 16.
        name = "llvm.aarch64.neon.sqrdmulh.v8i16"
        shifted = builder.shl(value, _splat(_BLOCK, 6))
        parts = [_part(builder, one, list(range(at, at + 8))) for at in range(0, BLOCK, 8) for one in (shifted, value)]
        found = [_call(builder, name, a.type, a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        while len(found) > 1:
            found = [_joined(builder, a, b) for a, b in zip(found[::2], found[1::2], strict=True)]
        return found[0]

    @staticmethod
    def pairs(builder: Any, a: Any, b: Any) -> Any:
        # LLVM makes a widening multiplication of the first half, and a widening multiply-add of the second.
        halves = zip(_halves(builder, a), _halves(builder, b), strict=True)
        products = (builder.mul(*(builder.sext(half, _SUMS) for half in pair)) for pair in halves)
        return builder.add(*products)

    @staticmethod
    def byte_pairs(builder: Any, a: Any, b: Any) -> Any:
        halves = zip(_halves(builder, a), _halves(builder, b), strict=True)
        return builder.add(*(builder.mul(*(builder.sext(half, _BLOCK) for half in pair)) for pair in halves))


class _Anywhere:
    @staticmethod
    def square(builder: Any, value: Any) -> Any:
        wide = ir.VectorType(_I32, BLOCK)
        root = builder.zext(value, wide)
        rounded = builder.add(builder.mul(root, root), _splat(wide, 256))
        return builder.trunc(builder.lshr(rounded, _splat(wide, 9)), _BLOCK)

    @staticmethod
    def pairs(builder: Any, a: Any, b: Any) -> Any:
        wide = ir.VectorType(_I32, BLOCK)
        product = builder.mul(builder.sext(a, wide), builder.sext(b, wide))
        even, odd = (_part(builder, product, list(range(first, BLOCK, 2))) for first in (0, 1))
        return builder.add(even, odd)

    byte_pairs = _WithNeon.byte_pairs


def _clipped(builder: Any, value: Any) -> Any:
    for bound, sign in ((_splat(_BLOCK, 0), ">"), (_splat(_BLOCK, QA), "<")):
        value = builder.select(builder.icmp_signed(sign, value, bound), value, bound)
    return value


def _screlu_dot(unit: Any) -> Any:
    """Returns a machine operation for the dot product of the output layer. `unit` is one of the classes above."""

    @machine_op(_dot_twin)
    def screlu_dot(
        typingctx: Any,
        values: Any,
        start: Any,
        rows: Any,
        numbers: Any,
        extra: Any,
        weights: Any,
        first: Any,
        count: Any,
    ) -> Any:
        """Returns the exact sum of (clipped^2 + 256) // 512 * weights[first + i], where clipped is total[i] limited to
        0 to QA, for i below `count`, as int64. total[i] is values[start + i] plus rows[number * count + i] for the
        first `extra` numbers of `numbers`.

        `values` and `weights` are int16 arrays, `rows` is int8[n], `numbers` is int64[m], `count` is a multiple of
        BLOCK up to MAX_HIDDEN, totals fit into int16, and weights are within +-OUTPUT_LIMIT. Then nothing overflows: an
        activation is at most 510, so a pair of products is at most 2 * 510 * 16,384 = 16,711,680. Each of the 16 int32
        lanes, over both sums, adds at most 1024 / 32 = 32 pairs: 534,773,760. Only the sum of the lanes needs 64 bits.
        """

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values_type, _, rows_type, numbers_type, _, weights_type, _, _ = signature.args
            values, start, rows, numbers, extra, weights, first, count = args
            half_block = ir.VectorType(_I8, BLOCK)
            # Two sums, for the even and the odd blocks, because each addition has to wait for the one before it.
            with builder.goto_entry_block():
                sums = [builder.alloca(_SUMS) for _ in range(2)]
                totals = [builder.alloca(_BLOCK) for _ in range(2)]

            def add_pairs(offset: Any, blocks: int) -> None:
                """Adds the products of some blocks, one or two, from `offset` on to the sums."""
                offsets = [builder.add(offset, ir.Constant(_I64, BLOCK * number)) for number in range(blocks)]
                for total, place in zip(totals, offsets, strict=False):
                    builder.store(_load(context, builder, values_type, values, builder.add(start, place)), total)
                with for_range(builder, extra) as loop:
                    number = builder.load(element_pointer(context, builder, numbers_type, numbers, loop.index))
                    begin = builder.mul(number, count)
                    for total, place in zip(totals, offsets, strict=False):
                        at = element_pointer(context, builder, rows_type, rows, builder.add(begin, place), BLOCK)
                        row = builder.load(builder.bitcast(at, half_block.as_pointer()), align=1)
                        builder.store(builder.add(builder.load(total), builder.sext(row, _BLOCK)), total)
                for total, place, lanes in zip(totals, offsets, sums, strict=False):
                    weight = _load(context, builder, weights_type, weights, builder.add(first, place))
                    activation = unit.square(builder, _clipped(builder, builder.load(total)))
                    builder.store(builder.add(builder.load(lanes), unit.pairs(builder, activation, weight)), lanes)

            for lanes in sums:
                builder.store(_splat(_SUMS, 0), lanes)
            two = ir.Constant(_I64, 2 * BLOCK)
            with for_range(builder, builder.sdiv(count, two)) as loop:
                add_pairs(builder.mul(loop.index, two), 2)
            with builder.if_then(builder.icmp_signed("!=", builder.srem(count, two), ir.Constant(_I64, 0))):
                add_pairs(builder.sub(count, ir.Constant(_I64, BLOCK)), 1)
            lanes = builder.add(*(builder.load(each) for each in sums))
            wide = builder.sext(lanes, ir.VectorType(_I64, lanes.type.count))
            return _call(builder, f"llvm.vector.reduce.add.v{lanes.type.count}i64", _I64, wide)

        integer = types.int64
        return types.int64(values, integer, rows, numbers, integer, weights, integer, integer), codegen

    return screlu_dot


# --------------------------------------------------------------------------------------------------------------
# The policy
# --------------------------------------------------------------------------------------------------------------


def _activate_twin(target: Any, at: int, values: Any, start: int, half: int) -> None:
    clipped = np.clip(values[start : start + 2 * half], 0, QA).astype(np.int64)
    squares = (clipped * clipped + 256) // 512
    target[at : at + half] = (squares[:half] + squares[half:]) // 8


def _activate_bytes(unit: Any) -> Any:
    """Returns a machine operation for the inputs of the policy. `unit` is one of the classes above."""

    @machine_op(_activate_twin)
    def activate_bytes(typingctx: Any, target: Any, at: Any, values: Any, start: Any, half: Any) -> Any:
        """Sets target[at + i], int8[n], to a sum of two activations divided by 8, 0 to 127, for i below `half`.

        The activations are those of values[start + i] and values[start + half + i], int16 (see `screlu_dot`). `half` is
        a multiple of BLOCK. Mutates `target`.
        """

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target_type, _, values_type, _, _ = signature.args
            target, at, values, start, half = args
            with for_range(builder, builder.sdiv(half, ir.Constant(_I64, BLOCK))) as loop:
                offset = builder.mul(loop.index, ir.Constant(_I64, BLOCK))
                first = builder.add(start, offset)
                squares = (
                    unit.square(builder, _clipped(builder, _load(context, builder, values_type, values, index)))
                    for index in (first, builder.add(first, half))
                )
                total = builder.lshr(builder.add(*squares), _splat(_BLOCK, 3))
                half_bytes = ir.VectorType(_I8, BLOCK)
                place = element_pointer(context, builder, target_type, target, builder.add(at, offset), BLOCK)
                pointer = builder.bitcast(place, half_bytes.as_pointer())
                builder.store(builder.trunc(total, half_bytes), pointer, align=1)
            return context.get_dummy_value()

        return types.void(target, types.int64, values, types.int64, types.int64), codegen

    return activate_bytes


def _byte_dot_twin(values: Any, weights: Any, first: int, count: int) -> Any:
    return np.int64((values[:count].astype(np.int64) * weights[first : first + count]).sum())


def _byte_dot(unit: Any) -> Any:
    """Returns a machine operation for the dot products of the policy. `unit` is one of the classes above."""

    @machine_op(_byte_dot_twin)
    def byte_dot(typingctx: Any, values: Any, weights: Any, first: Any, count: Any) -> Any:
        """Returns the exact sum of values[i] * weights[first + i], for i below `count`, as int64.

        Both are int8 arrays, `values` are 0 to 127, and `count` is a multiple of POLICY_BLOCK up to MAX_HIDDEN. Nothing
        overflows: a pair of products is within 2 * 127 * 128 = 32,512, and all are within 1024 * 127 * 128.
        """

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values_type, weights_type, _, _ = signature.args
            values, weights, first, count = args

            def load(array_type: Any, array: Any, index: Any) -> Any:
                place = element_pointer(context, builder, array_type, array, index, POLICY_BLOCK)
                return builder.load(builder.bitcast(place, _BYTES.as_pointer()), align=1)

            with builder.goto_entry_block():
                sums = builder.alloca(_SUMS)
            builder.store(_splat(_SUMS, 0), sums)
            with for_range(builder, builder.sdiv(count, ir.Constant(_I64, POLICY_BLOCK))) as loop:
                offset = builder.mul(loop.index, ir.Constant(_I64, POLICY_BLOCK))
                value = load(values_type, values, offset)
                pairs = unit.byte_pairs(builder, value, load(weights_type, weights, builder.add(first, offset)))
                fours = unit.pairs(builder, pairs, _splat(_BLOCK, 1))
                builder.store(builder.add(builder.load(sums), fours), sums)
            total = builder.load(sums)
            while total.type.count > 2:
                total = builder.add(*_halves(builder, total))
            lanes = (builder.extract_element(total, ir.Constant(_I32, lane)) for lane in (0, 1))
            return builder.sext(builder.add(*lanes), _I64)

        return types.int64(values, weights, types.int64, types.int64), codegen

    return byte_dot


# --------------------------------------------------------------------------------------------------------------
# The operations of this CPU
# --------------------------------------------------------------------------------------------------------------

_UNITS: Final = {
    bits: unit
    for bits, unit, needed in (
        (512, _With512, "avx512bw"),
        (256, _With256, "avx2"),
        (128, _WithNeon, "neon"),
        (0, _Anywhere, None),
    )
    if needed is None or CPU_FEATURES.get(needed, False)
}

#: The operations that this CPU can run, by the width of their instructions in bits; key 0 works on any CPU.
SCRELU_DOTS: Final = {bits: _screlu_dot(unit) for bits, unit in _UNITS.items()}
ACTIVATE_BYTES: Final = {bits: _activate_bytes(unit) for bits, unit in _UNITS.items()}
BYTE_DOTS: Final = {bits: _byte_dot(unit) for bits, unit in _UNITS.items()}

screlu_dot: Final = SCRELU_DOTS[VECTOR_BITS]
activate_bytes: Final = ACTIVATE_BYTES[VECTOR_BITS]
byte_dot: Final = BYTE_DOTS[VECTOR_BITS]
