"""A compiler pass for kernels that makes every index unsigned.

Python counts negative indices from the end. So for a signed index, Numba tests the sign at every access and adds the
array's length to a negative one. Kernels count from the front only, and nearly all of their numbers are int64. The pass
makes each index unsigned, which Numba uses without a test.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonRewrites


def _is_signed(index: Any) -> bool:
    """Whether a value of this Numba type may be negative; False for a literal, whose sign the compiler knows."""
    if not isinstance(index, types.Integer) or isinstance(index, types.Literal):
        return False
    return bool(index.signed)  # type: ignore[attr-defined]


class _Code:
    """The typed code of one function."""

    def __init__(self, state: Any) -> None:
        self._blocks = state.func_ir.blocks
        self._types = state.typemap
        self._calls = state.calltypes
        self._typing = state.typingctx
        self._count = 0

    def make_indices_unsigned(self) -> bool:
        """Makes the indices unsigned; returns whether anything changed."""
        for block in self._blocks.values():
            statements: list[Any] = []
            # Unsigned twins of tuples, by the tuples' names.
            tuples: dict[str, Any] = {}
            for statement in block.body:
                value = getattr(statement, "value", None)
                if isinstance(statement, ir.SetItem):
                    self._change_setitem(statement, tuples, statements)
                elif isinstance(value, ir.Expr) and value.op == "getitem":
                    self._change_getitem(statement, tuples, statements)
                elif isinstance(value, ir.Expr) and value.op == "build_tuple":
                    # Make the twin here and not at its use: by then the tuple's parts may be gone.
                    self._add_twin(statement, tuples, statements)
                statements.append(statement)
            block.body = statements
        return self._count > 0

    def _change_setitem(self, statement: Any, tuples: dict[str, Any], statements: list[Any]) -> None:
        index = self._unsigned(statement.index, tuples, statements)
        if index is not None:
            target, value = self._types[statement.target.name], self._types[statement.value.name]
            statement.index = index
            del self._calls[statement]
            self._calls[statement] = self._typing.resolve_setitem(target, self._types[index.name], value)

    def _change_getitem(self, statement: Any, tuples: dict[str, Any], statements: list[Any]) -> None:
        expression = statement.value
        index = self._unsigned(expression.index, tuples, statements)
        if index is not None:
            operands = self._types[expression.value.name], self._types[index.name]
            del self._calls[expression]
            statement.value = ir.Expr.getitem(expression.value, index, expression.loc)
            self._calls[statement.value] = self._typing.resolve_function_type(operator.getitem, operands, {})

    def _add_twin(self, statement: Any, tuples: dict[str, Any], statements: list[Any]) -> None:
        items = statement.value.items
        if not any(_is_signed(self._types[item.name]) for item in items):
            return
        if not all(isinstance(self._types[item.name], types.Integer) for item in items):
            return
        parts = [self._unsigned(item, {}, statements) or item for item in items]
        found = types.Tuple([self._types[part.name] for part in parts])
        value = ir.Expr.build_tuple(parts, statement.loc)
        tuples[statement.target.name] = self._assign(value, found, statements)

    def _unsigned(self, index: Any, tuples: dict[str, Any], statements: list[Any]) -> Any:
        """The variable with the unsigned version of an index; None when the index needs none."""
        if index.name in tuples:
            return tuples[index.name]
        if not _is_signed(self._types[index.name]):
            return None
        return self._assign(ir.Expr.cast(index, index.loc), types.uint64, statements)

    def _assign(self, value: Any, found: Any, statements: list[Any]) -> Any:
        """A new variable of type `found`; appends the statement that assigns `value` to it. Mutates `statements`."""
        scope = self._blocks[min(self._blocks)].scope
        variable = ir.Var(scope, f"$unsigned.{self._count}", value.loc)
        self._count += 1
        self._types[variable.name] = found
        statements.append(ir.Assign(value, variable, value.loc))
        return variable


@register_pass(mutates_CFG=False, analysis_only=False)
class UnsignedIndices(FunctionPass):
    """Makes the indices of a function unsigned."""

    _name = "secateur_unsigned_indices"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Runs the pass; returns whether the code changed."""
        return _Code(state).make_indices_unsigned()


class KernelCompiler(CompilerBase):
    """Numba's compiler with the pass added."""

    def define_pipelines(self) -> list[Any]:
        """Numba's pipeline, with the pass after Numba's own rewrites of typed code."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(UnsignedIndices, NopythonRewrites)
        passes.finalize()
        return [passes]
