"""Bitboard primitives: operations of a few machine instructions, which the kernels use.

A bitboard is a `uint64` with python-chess's square numbering (a1 = 0, b1 = 1, ... h8 = 63). Squares, piece types
and counters are `int64`. Numba converts a mixture of signed and unsigned 64-bit integers to float64, so kernels
must not mix them. `bit`, `lsb` and `popcount` convert between bitboards and `int64`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.jit import AHEAD_OF_TIME, USE_PEXT, machine_op

if not AHEAD_OF_TIME:
    from llvmlite import ir
    from numba import types

    from engine.compiler.numba_hooks import element_pointer

    _I64 = ir.IntType(64)
    _I128 = ir.IntType(128)

U0 = np.uint64(0)
ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


@machine_op(lambda bitboard: np.int64(int(bitboard).bit_count()))
def popcount(typingctx: Any, bitboard: Any) -> Any:
    """Returns the number of squares in a bitboard, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@machine_op(lambda bitboard: np.int64((int(bitboard) & -int(bitboard)).bit_length() - 1))
def lsb(typingctx: Any, bitboard: Any) -> Any:
    """Returns the lowest square of a non-empty bitboard, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@machine_op(lambda square: np.uint64(1 << int(square)))
def bit(typingctx: Any, square: Any) -> Any:
    """Returns the bitboard that contains only `square` (0 to 63)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.shl(ir.Constant(_I64, 1), args[0])

    return types.uint64(types.int64), codegen


@machine_op(lambda bitboard: np.uint64(int(bitboard) & (int(bitboard) - 1)))
def without_lsb(typingctx: Any, bitboard: Any) -> Any:
    """Returns the bitboard without its lowest square; an empty bitboard stays empty."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.and_(args[0], builder.sub(args[0], ir.Constant(_I64, 1)))

    return types.uint64(types.uint64), codegen


@machine_op(lambda a, b: np.uint64((int(a) * int(b)) >> 64))
def multiply_high(typingctx: Any, a: Any, b: Any) -> Any:
    """Returns the upper half of the 128-bit product `a * b`, which maps a hash `a` to `0 .. b - 1` without division."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = builder.mul(builder.zext(args[0], _I128), builder.zext(args[1], _I128))
        return builder.trunc(builder.lshr(wide, ir.Constant(_I128, 64)), _I64)

    return types.uint64(types.uint64, types.uint64), codegen


@machine_op(lambda a, b: np.uint64((int(a) * int(b)) & 0xFFFF_FFFF_FFFF_FFFF))
def multiply_low(typingctx: Any, a: Any, b: Any) -> Any:
    """Returns the lower 64 bits of `a * b`. For NumPy scalars, `*` would warn about the intended overflow."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.mul(args[0], args[1])

    return types.uint64(types.uint64, types.uint64), codegen


def _pext(value: int, mask: int) -> np.uint64:
    """Implements `pext` in plain Python."""
    packed = place = 0
    while mask:
        low = mask & -mask
        packed |= bool(value & low) << place
        place += 1
        mask ^= low
    return np.uint64(packed)


def _pdep(value: int, mask: int) -> np.uint64:
    """Implements `pdep` in plain Python."""
    spread = 0
    while mask:
        low = mask & -mask
        spread |= low * (value & 1)
        value >>= 1
        mask ^= low
    return np.uint64(spread)


def _bmi2(name: str) -> Any:
    """Returns the implementation of `pext` or `pdep`, by `name`, for `machine_op`."""
    if not USE_PEXT:
        # The attack kernels use magic multiplication here. If a kernel calls these, an error is clearer than SIGILL.
        raise TypeError(f"{name} is not used on this CPU")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function_type = ir.FunctionType(_I64, [_I64, _I64])
        intrinsic = f"llvm.x86.bmi.{name}.64"
        function = builder.module.globals.get(intrinsic) or ir.Function(builder.module, function_type, intrinsic)
        return builder.call(function, args)

    return types.uint64(types.uint64, types.uint64), codegen


@machine_op(lambda value, mask: _pext(int(value), int(mask)))
def pext(typingctx: Any, value: Any, mask: Any) -> Any:
    """Returns the bits of `value` that `mask` selects, packed into the lowest bits. Requires a CPU with BMI2."""
    return _bmi2("pext")


@machine_op(lambda value, mask: _pdep(int(value), int(mask)))
def pdep(typingctx: Any, value: Any, mask: Any) -> Any:
    """Returns the lowest bits of `value`, spread to the bits that `mask` selects. Requires a CPU with BMI2."""
    return _bmi2("pdep")


def _copy_fields(target: Any, source: Any) -> None:
    for name in target.dtype.names:
        target[name] = source[name]


@machine_op(_copy_fields)
def copy_record(typingctx: Any, target: Any, source: Any) -> Any:
    """Copies the record `source` to `target`, a record of the same dtype. Mutates `target`."""
    if target.dtype != source.dtype:
        raise TypeError("copy_record takes two records of the same dtype")
    size = target.size

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = [builder.bitcast(arg, ir.IntType(8).as_pointer()) for arg in args]
        memcpy = builder.module.declare_intrinsic("llvm.memcpy", [pointers[0].type, pointers[1].type, _I64])
        builder.call(memcpy, [*pointers, ir.Constant(_I64, size), ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.void(target, source), codegen


@machine_op(lambda array, index: None)
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Asks the CPU to load `array[index]` into the cache."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = element_pointer(context, builder, signature.args[0], args[0], args[1], count=0)
        pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        fetch = ir.FunctionType(ir.VoidType(), [pointer.type, i32, i32, i32])
        name = "llvm.prefetch.p0i8"
        function = builder.module.globals.get(name) or ir.Function(builder.module, fetch, name)
        builder.call(function, [pointer, ir.Constant(i32, 0), ir.Constant(i32, 3), ir.Constant(i32, 1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen
