"""The maximum of a range of numbers by vector instructions: the inner loop of picking the best move."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from engine.compiler.jit import AHEAD_OF_TIME, machine_op

#: How many numbers are compared at a time. The LANES numbers after the range may also be read; they must be LOWEST.
LANES: Final = 8
LOWEST: Final = np.iinfo(np.int64).min

if not AHEAD_OF_TIME:
    from llvmlite import ir
    from numba import types

    from engine.compiler.numba_hooks import element_pointer

    _I32, _I64 = ir.IntType(32), ir.IntType(64)
    _VECTOR = ir.VectorType(_I64, LANES)


def _higher(builder: Any, first: Any, second: Any) -> Any:
    return builder.select(builder.icmp_signed(">", first, second), first, second)


def _half(builder: Any, vector: Any, begin: int) -> Any:
    """Generates code for the half of a vector that starts at lane `begin`; returns that half as an IR value."""
    count = vector.type.count // 2
    mask = ir.Constant(ir.VectorType(_I32, count), list(range(begin, begin + count)))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


@machine_op(lambda numbers, first, end: np.int64(max(numbers[first:end])))
def highest(typingctx: Any, numbers: Any, first: Any, end: Any) -> Any:
    """Returns the maximum of `numbers[first:end]`, as int64.

    `numbers` is int64[n]. The range must not be empty, and the LANES numbers after it must be LOWEST.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context, builder, signature.args[0], args[0]
        data = element_pointer(*array, ir.Constant(_I64, 0), count=0)
        # In the checked build, these calls generate bounds checks, which may raise IndexError.
        element_pointer(*array, args[1])
        element_pointer(*array, args[2], LANES - 1)
        before = builder.basic_block
        loop = builder.append_basic_block("highest")
        after = builder.append_basic_block("highest.end")
        builder.branch(loop)
        builder.position_at_end(loop)
        index, best = builder.phi(_I64), builder.phi(_VECTOR)
        numbers_here = builder.load(builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer()), align=8)
        better = _higher(builder, numbers_here, best)
        following = builder.add(index, ir.Constant(_I64, LANES))
        index.add_incoming(args[1], before)
        index.add_incoming(following, loop)
        best.add_incoming(ir.Constant(_VECTOR, [LOWEST] * LANES), before)
        best.add_incoming(better, loop)
        builder.cbranch(builder.icmp_signed("<", following, args[2]), loop, after)
        builder.position_at_end(after)
        while better.type.count > 1:
            better = _higher(builder, _half(builder, better, 0), _half(builder, better, better.type.count // 2))
        return builder.extract_element(better, ir.Constant(_I32, 0))

    return types.int64(numbers, types.int64, types.int64), codegen
