"""Contains our uses of Numba beyond its documented interface.

Docstrings say which behaviour of Numba a hook relies on and why we need the hook. With a new version of Numba,
first run `tests/board/test_numba_hooks.py`, which tests this behaviour.
"""

from __future__ import annotations

import functools
import inspect
import operator
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import llvmlite.binding as llvm
import numba
from numba.core import cgutils, codegen, config, event, ir, serialize, types
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonRewrites
from numba.extending import intrinsic

from engine.compiler import compiling

# --- configuration ---------------------------------------------------------------------------------------------------

#: Undocumented options of `njit`. `_nrt`: kernels create no arrays, so they need not count references to their
#: arguments. Reference counts are atomic and would take 4 % of a search's time.
_PRIVATE_OPTIONS: Final = {"_nrt": False}

#: The option for a function that LLVM must inline into its callers.
FORCE_INLINE: Final = {"forceinline": True}

#: The options for a function that Python never calls.
_NO_WRAPPERS: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def is_interpreted() -> bool:
    """Returns whether `njit` returns functions unchanged. Relies on `config.DISABLE_JIT` (from NUMBA_DISABLE_JIT)."""
    return bool(config.DISABLE_JIT)  # type: ignore[attr-defined]  # set at import


def processor() -> tuple[str, dict[str, bool]]:
    """Returns LLVM's name of the target processor, and a dict that says which features are present, by LLVM's names.

    Relies on `config.CPU_NAME` and `config.CPU_FEATURES`, which come from environment variables. If the name or the
    features are None, Numba uses those of this machine's processor, but without AVX if `config.ENABLE_AVX` is not set:
    Numba clears it for processors that LLVM does not know well.
    """
    name, features = config.CPU_NAME, config.CPU_FEATURES  # type: ignore[attr-defined]
    if features is None:
        has_avx = bool(config.ENABLE_AVX)  # type: ignore[attr-defined]
        present = llvm.get_host_cpu_features().items()
        host = {feature: flag and (has_avx or not feature.startswith("avx")) for feature, flag in present}
        return name or llvm.get_host_cpu_name(), host
    signed = [feature for feature in features.split(",") if feature]
    return name or llvm.get_host_cpu_name(), {feature[1:]: feature[0] == "+" for feature in signed}


def code_settings() -> tuple[object, ...]:
    """Returns Numba's settings that change the machine code of a kernel. They come from environment variables."""
    return config.OPT, config.BOUNDSCHECK, config.LOOP_VECTORIZE, config.SLP_VECTORIZE  # type: ignore[attr-defined]


# --- unsigned indices ------------------------------------------------------------------------------------------------


class _Code:
    def __init__(self, state: Any) -> None:
        self._blocks = state.func_ir.blocks
        self._types = state.typemap
        self._calls = state.calltypes
        self._typing = state.typingctx
        self._count = 0

    def make_indices_unsigned(self) -> bool:
        """Makes the indices in the function unsigned; returns whether the code changed."""
        for block in self._blocks.values():
            statements: list[Any] = []
            # Unsigned versions of tuples, by the tuples' names.
            tuples: dict[str, Any] = {}
            for statement in block.body:
                value = getattr(statement, "value", None)
                if isinstance(statement, ir.SetItem):
                    self._change_setitem(statement, tuples, statements)
                elif isinstance(value, ir.Expr) and value.op == "getitem":
                    self._change_getitem(statement, tuples, statements)
                elif isinstance(value, ir.Expr) and value.op == "build_tuple":
                    # Add the unsigned tuple here: where the tuple is used, its parts may have been deleted.
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
        kinds = [self._types[item.name] for item in items]
        if any(map(_is_signed, kinds)) and all(isinstance(kind, types.Integer) for kind in kinds):
            parts = [self._unsigned(item, {}, statements) or item for item in items]
            found = types.Tuple([self._types[part.name] for part in parts])
            tuples[statement.target.name] = self._assign(ir.Expr.build_tuple(parts, statement.loc), found, statements)

    def _unsigned(self, index: Any, tuples: dict[str, Any], statements: list[Any]) -> Any:
        """Returns the unsigned version of a variable; None if its type is not signed. May append to `statements`."""
        if index.name in tuples:
            return tuples[index.name]
        if not _is_signed(self._types[index.name]):
            return None
        return self._assign(ir.Expr.cast(index, index.loc), types.uint64, statements)

    def _assign(self, value: Any, found: Any, statements: list[Any]) -> Any:
        """Returns a new variable of type `found`, and appends a statement that assigns `value` to the variable."""
        scope = self._blocks[min(self._blocks)].scope
        variable = ir.Var(scope, f"$unsigned.{self._count}", value.loc)
        self._count += 1
        self._types[variable.name] = found
        statements.append(ir.Assign(value, variable, value.loc))
        return variable


def _is_signed(kind: Any) -> bool:
    """Returns whether a Numba type is a signed integer; False for a literal, whose sign the compiler knows."""
    if not isinstance(kind, types.Integer) or isinstance(kind, types.Literal):
        return False
    return bool(kind.signed)  # type: ignore[attr-defined]


@register_pass(mutates_CFG=False, analysis_only=False)
class UnsignedIndices(FunctionPass):
    """A compiler pass that makes the indices of a function unsigned.

    For a signed index, Numba tests the sign at every access, because a negative index counts from the end in Python.
    Kernels use no negative indices. With bounds checks, a negative index becomes huge and raises IndexError.

    Relies on Numba's intermediate code: statements, the types of variables by name, and the signatures of operations.
    """

    _name = "secateur_unsigned_indices"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Runs the pass; returns whether the code changed."""
        return _Code(state).make_indices_unsigned()


class KernelCompiler(CompilerBase):
    """A compiler that makes the indices of functions unsigned.

    Relies on `njit(pipeline_class=...)`, and on the name of the pass that precedes ours: that pass creates operations
    with constant indices, which our pass leaves unchanged.
    """

    def define_pipelines(self) -> list[Any]:
        """Returns a list of one pipeline: Numba's, with our pass added."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(UnsignedIndices, NopythonRewrites)
        passes.finalize()
        return [passes]


# --- functions that only kernels call --------------------------------------------------------------------------------


class _LinkedLibrary(codegen.JITCodeLibrary):
    """The code of a function that is only linked into its callers. Separate machine code would double compile time."""

    def _optimize_final_module(self) -> None:
        """Does nothing: the code is optimised as part of the entry point that contains it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def optimized(self, machine: Any) -> Any:
        """Returns the LLVM module, optimised as Numba optimises an entry point.

        LLVM optimises for the target machine `machine`, or for Numba's if `machine` is None. Relies on `_tm`, the
        target machine of the code generator.
        """
        generator = self._codegen
        own = generator._tm
        if machine is not None:
            generator._tm = machine
            self._final_module.triple = machine.triple
            self._final_module.data_layout = str(machine.target_data)
        try:
            super()._optimize_final_module()  # type: ignore[no-untyped-call]
        finally:
            generator._tm = own
        return llvm.parse_bitcode(self._final_module.as_bitcode())

    def get_pointer_to_function(self, name: str) -> int:
        """Returns 0, because there is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """A substitute that ignores the function's environment, which only machine code needs."""
        return SimpleNamespace(set_env=lambda name, environment: None)


class LinkedCompiler(KernelCompiler):
    """A KernelCompiler that generates no machine code.

    Relies on the compiler's state, where `library` may be set before the code is generated, and on the methods that
    _LinkedLibrary overrides.
    """

    def define_pipelines(self) -> list[Any]:
        """Sets the library for the code to a _LinkedLibrary; returns the pipelines of KernelCompiler."""
        self.state.library = _LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


def _dispatcher(function: Callable[..., Any], pipeline: Any, options: dict[str, Any]) -> Any:
    """Applies `njit` to a function so that calls with literal arguments share the code for the literals' type.

    Otherwise Numba would compile `f(position, 2)` separately, and a cached kernel might lack a recursive function.

    Relies on `get_call_template`, which the compiler calls to get the signature of a call.
    """
    # Numba's type stubs lack some of its options and functions.
    njit: Any = numba.njit
    unliteral: Any = types.unliteral
    dispatcher = njit(pipeline_class=pipeline, **_PRIVATE_OPTIONS, **options)(function)
    original = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return original(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})

    dispatcher.get_call_template = get_call_template
    return dispatcher


def entry_point(function: Callable[..., Any], options: dict[str, Any], cache: Any) -> Any:
    """Returns a dispatcher that Python calls, with `options` of `njit`. `cache` keeps machine code, unless it is None.

    Relies on the fact that dispatchers use only three members of a cache: `cache_path`, `save_overload(signature,
    result)`, and `load_overload(signature, target_context)`, which returns None if the function must be compiled.
    """
    dispatcher = _dispatcher(function, KernelCompiler, options)
    if cache is not None:
        dispatcher._cache = cache
    return dispatcher


def linked(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Returns a dispatcher for a function that only kernels call. Its code is linked into these kernels."""
    return _dispatcher(function, LinkedCompiler, _NO_WRAPPERS | options)


class Linked:
    """A function from `linked` that Python can call, too, as tests do. The first such call compiles an entry point.

    Relies on `_numba_type_`, from which Numba gets the type of an object that a function uses.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._options = options
        self._linked = linked(function, options)
        self._numba_type_ = types.Dispatcher(self._linked)
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function, compiled as an entry point."""
        return self._entry_point(*arguments)

    @functools.cached_property
    def _entry_point(self) -> Any:
        return entry_point(self._linked.py_func, self._options, None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._linked, name)


def handing_on(function: Callable[..., Any]) -> Any:
    """Returns an intrinsic that takes the parameters of `function`, returns the last one and generates no code.

    Relies on `__signature__`, by which Numba binds arguments; otherwise Numba would pack them into a tuple.
    """

    def generate(typing_context: Any, *arguments: Any) -> Any:
        return arguments[-1](*arguments), lambda context, builder, signature, values: values[-1]

    signature = inspect.signature(function)
    context = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    generate.__signature__ = signature.replace(parameters=[context, *signature.parameters.values()])  # type: ignore[attr-defined]
    return intrinsic(generate)


# --- code of machine operations --------------------------------------------------------------------------------------


def element_pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, count: int = 1) -> Any:
    """Returns generated code for the address of `array[index]`; `array` has one dimension and the Numba type `kind`.

    With bounds checks, all of `array[index : index + count]` must be in the array; a count of 0 turns the check off.

    Relies on an array's fields `data` and `nitems`, and on `enable_boundscheck` and `do_boundscheck`.
    """
    view = context.make_array(kind)(context, builder, array)
    if context.enable_boundscheck and count:
        for place in (index, builder.add(index, index.type(count - 1))):
            cgutils.do_boundscheck(context, builder, place, view.nitems)
    return builder.gep(view.data, [index])


def for_range(builder: Any, count: Any) -> Any:
    """Generates a loop; returns a context manager that provides the loop's `index`. Relies on `cgutils.for_range`."""
    return cgutils.for_range(builder, count)


# --- compiled code ---------------------------------------------------------------------------------------------------


def to_bytes(result: Any) -> bytes:
    """Serialises a CompileResult. Raises ValueError if its code refers to addresses in this process.

    Relies on `CompileResult._reduce`, as Numba's own cache does.
    """
    if result.library.has_dynamic_globals:
        raise ValueError("the code refers to an array that is too large to embed")
    return bytes(serialize.dumps(result._reduce()))


def from_bytes(data: bytes, target_context: Any) -> Any:
    """Returns the CompileResult from `to_bytes`. Relies on `CompileResult._rebuild`, and on the context's `refresh`."""
    target_context.refresh()
    return CompileResult._rebuild(target_context, *pickle.loads(data))


def compiled(dispatcher: Any, argument_types: tuple[Any, ...], machine: Any = None) -> tuple[Any, str, Any]:
    """Compiles a `linked` function; returns its signature, its name in LLVM, and an LLVM module with all its callees.

    LLVM optimises for the target machine `machine`, or for Numba's if `machine` is None. Raises ValueError if the code
    refers to addresses in this process. Relies on the fields of the compiler's results, and on the calling convention
    that `engine.compiler.builder` describes.
    """
    dispatcher.compile(argument_types)
    result = dispatcher.overloads[argument_types]
    with global_compiler_lock:
        result.library._ensure_finalized()
    if result.library.has_dynamic_globals:
        raise ValueError(f"{result.library.name} refers to an array that is too large to embed")
    return result.signature, result.fndesc.llvm_func_name, result.library.optimized(machine)


# --- progress --------------------------------------------------------------------------------------------------------


class _Reporter(event.Listener):
    """A listener that tells `engine.compiler.compiling` when Numba starts and stops compiling a kernel.

    Relies on the event "numba:compile", which names the dispatcher and the argument types. Numba and LLVM let other
    threads run during a compilation, so a thread can report progress.
    """

    def __init__(self) -> None:
        # Depth of nested compilations. Numba's lock prevents races with other threads.
        self._depth = 0

    def on_start(self, event: Any) -> None:
        """Reports the start of a compilation, unless the function is compiled as part of a kernel."""
        if _is_ours(event.data["dispatcher"]):
            if self._depth == 0:
                function = event.data["dispatcher"].py_func
                compiling.begin(f"{function.__module__}.{function.__qualname__}")
            self._depth += 1

    def on_end(self, event: Any) -> None:
        """Reports the end of a compilation and whether it succeeded, unless the function is part of a kernel."""
        if _is_ours(event.data["dispatcher"]):
            self._depth -= 1
            if self._depth == 0:
                compiling.end(event.data["args"] in event.data["dispatcher"].overloads)


def _is_ours(dispatcher: Any) -> bool:
    pipeline = getattr(getattr(dispatcher, "_compiler", None), "pipeline_class", None)
    return pipeline in (KernelCompiler, LinkedCompiler)


event.register("numba:compile", _Reporter())
