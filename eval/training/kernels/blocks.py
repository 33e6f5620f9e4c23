"""Vector operations on blocks of BLOCK values of float32, the inner loops of training.

Numba's loops over a block would first test whether their arrays overlap, which takes longer than the work. Every
operation has a plain Python twin; the order of additions may differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.jit import AHEAD_OF_TIME, machine_op
from eval.network.layout import BLOCK

if not AHEAD_OF_TIME:
    from llvmlite import ir
    from numba import types

    from engine.compiler.numba_hooks import element_pointer, for_range

    _FLOAT = ir.FloatType()
    _BLOCK = ir.VectorType(_FLOAT, BLOCK)


class _Code:
    """The code of one operation. `number` in the methods is that of an argument, an array."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self._context, self._builder, self._signature, self._args = context, builder, signature, args

    def _block(self, number: int, index: Any) -> Any:
        array = self._args[number]
        place = element_pointer(self._context, self._builder, self._signature.args[number], array, index, BLOCK)
        return self._builder.bitcast(place, _BLOCK.as_pointer())

    def load(self, number: int, index: Any) -> Any:
        """Returns the block that begins at `index`."""
        return self._builder.load(self._block(number, index), align=4)

    def store(self, number: int, index: Any, block: Any) -> None:
        """Writes a block."""
        self._builder.store(block, self._block(number, index), align=4)

    def add(self, number: int, index: Any, block: Any) -> None:
        """Adds a block to the one that begins at `index`."""
        self.store(number, index, self._builder.fadd(self.load(number, index), block))

    def view(self, number: int, index: Any) -> Any:
        """Returns the element of an array of int16 at `index` as an int64."""
        place = element_pointer(self._context, self._builder, self._signature.args[number], self._args[number], index)
        return self._builder.sext(self._builder.load(place), ir.IntType(64))


def _scatter_twin(sums: Any, begin: int, views: Any, first: int, count: int, rows: Any, at: int) -> None:
    for view in views[first : first + count]:
        sums[begin + view * BLOCK : begin + (view + 1) * BLOCK] += rows[at : at + BLOCK]


@machine_op(_scatter_twin)
def scatter(typingctx: Any, sums: Any, begin: Any, views: Any, first: Any, count: Any, rows: Any, at: Any) -> Any:
    """Adds rows[at:at + BLOCK] to the block sums[begin + v * BLOCK:...] of each v in views[first:first + count].

    `sums` (mutated) and `rows` are float32[n], `views` is int16[m].
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        _, begin, _, first, count, _, at = args
        row = code.load(5, at)
        with for_range(builder, count) as loop:
            view = code.view(2, builder.add(first, loop.index))
            code.add(0, builder.add(begin, builder.mul(view, view.type(BLOCK))), row)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(sums, integer, views, integer, integer, rows, integer), codegen


def _gather_twin(rows: Any, at: int, sums: Any, begin: int, views: Any, first: int, count: int) -> None:
    for view in views[first : first + count]:
        rows[at : at + BLOCK] += sums[begin + view * BLOCK : begin + (view + 1) * BLOCK]


@machine_op(_gather_twin)
def gather(typingctx: Any, rows: Any, at: Any, sums: Any, begin: Any, views: Any, first: Any, count: Any) -> Any:
    """Adds the blocks sums[begin + v * BLOCK:...] of all v in views[first:first + count] to rows[at:at + BLOCK].

    `rows` (mutated) and `sums` are float32[n], `views` is int16[m].
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        _, at, _, begin, _, first, count = args
        with builder.goto_entry_block():
            total = builder.alloca(_BLOCK)
        builder.store(code.load(0, at), total)
        with for_range(builder, count) as loop:
            view = code.view(4, builder.add(first, loop.index))
            block = code.load(2, builder.add(begin, builder.mul(view, view.type(BLOCK))))
            builder.store(builder.fadd(builder.load(total), block), total)
        code.store(0, at, builder.load(total))
        return context.get_dummy_value()

    integer = types.int64
    return types.void(rows, integer, sums, integer, views, integer, integer), codegen


def _activate_twin(sums: Any, at: int, bias: Any, column: int, weights: Any, start: int) -> Any:
    block = np.clip(sums[at : at + BLOCK] + bias[column : column + BLOCK], np.float32(0), np.float32(1))
    sums[at : at + BLOCK] = block
    return np.float32((block * block * weights[start : start + BLOCK]).sum())


@machine_op(_activate_twin)
def activate(typingctx: Any, sums: Any, at: Any, bias: Any, column: Any, weights: Any, start: Any) -> Any:
    """Adds bias[column:...] to c = sums[at:at + BLOCK], and clips c to 0 to 1.

    Returns the sum of c^2 * weights[start:...]. The arrays are float32[n], the result is a float32.
    Mutates `sums`.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        _, at, _, column, _, start = args
        value = builder.fadd(code.load(0, at), code.load(2, column))
        for bound, sign in ((0.0, ">"), (1.0, "<")):
            limit = ir.Constant(_BLOCK, [bound] * BLOCK)
            value = builder.select(builder.fcmp_ordered(sign, value, limit), value, limit)
        code.store(0, at, value)
        product = builder.fmul(builder.fmul(value, value), code.load(4, start))
        lanes = BLOCK
        while lanes > 1:
            lanes //= 2
            halves = (
                builder.shuffle_vector(
                    product,
                    ir.Constant(product.type, ir.Undefined),
                    ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(first, first + lanes))),
                )
                for first in (0, lanes)
            )
            product = builder.fadd(*halves)
        return builder.extract_element(product, ir.Constant(ir.IntType(32), 0))

    integer = types.int64
    return types.float32(sums, integer, bias, integer, weights, integer), codegen


def _descend_twin(
    sums: Any, at: int, slope: Any, weights: Any, changes: Any, start: int, bias: Any, column: int
) -> None:
    block = sums[at : at + BLOCK].copy()
    changes[start : start + BLOCK] += slope * block * block
    delta = np.where(block < 1, slope * (block + block) * weights[start : start + BLOCK], np.float32(0))
    sums[at : at + BLOCK] = delta
    bias[column : column + BLOCK] += delta


@machine_op(_descend_twin)
def descend(
    typingctx: Any, sums: Any, at: Any, slope: Any, weights: Any, changes: Any, start: Any, bias: Any, column: Any
) -> Any:
    """Replaces the clipped sums c = sums[at:at + BLOCK] by the derivatives of slope * dot(c^2, weights[start:...]).

    The derivative of a clipped sum is 0. Adds slope * c^2 to changes[start:...], the derivatives of the weights, and
    the new sums to bias[column:...]. `slope` is a float32, all arrays are float32[n]. Mutates all but `weights`.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        _, at, slope, _, _, start, _, column = args
        value = code.load(0, at)
        lane = builder.insert_element(ir.Constant(_BLOCK, ir.Undefined), slope, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
        scaled = builder.fmul(builder.shuffle_vector(lane, lane, zeros), value)
        code.add(4, start, builder.fmul(scaled, value))
        delta = builder.fmul(builder.fadd(scaled, scaled), code.load(3, start))
        # For a sum clipped to 0, the formula already gives 0.
        below = builder.fcmp_ordered("<", value, ir.Constant(_BLOCK, [1.0] * BLOCK))
        delta = builder.select(below, delta, ir.Constant(_BLOCK, [0.0] * BLOCK))
        code.store(0, at, delta)
        code.add(6, column, delta)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(sums, integer, types.float32, weights, changes, integer, bias, integer), codegen
