"""All that Secateur uses of Numba beyond its documented interface. No other file does.

Each hook says what it relies on and why we need it. `tests/board/test_numba_hooks.py` tests for each hook what it
relies on: run it first with a new version of Numba.
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

#: Options of `njit` that Numba does not document. `_nrt`: kernels create no arrays, so they need not count references
#: to their arguments. The counts are atomic and cost a search 4 % of its time.
_PRIVATE_OPTIONS: Final = {"_nrt": False}

#: The option for a function that LLVM must inline into its callers.
FORCE_INLINE: Final = {"forceinline": True}

#: The options for a function that Python never calls.
_NO_WRAPPERS: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def is_interpreted() -> bool:
    """Whether `njit` returns functions unchanged. Relies on `config.DISABLE_JIT`, from NUMBA_DISABLE_JIT."""
    return bool(config.DISABLE_JIT)  # type: ignore[attr-defined]  # set at import


def processor() -> tuple[str, dict[str, bool]]:
    """LLVM's name of the processor that Numba compiles for, and its features by LLVM's names.

    Relies on `config.CPU_NAME` and `config.CPU_FEATURES`, from Numba's environment variables; None is this machine's.
    """
    name, features = config.CPU_NAME, config.CPU_FEATURES  # type: ignore[attr-defined]
    if features is None:
        return name or llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features())
    signed = [feature for feature in features.split(",") if feature]
    return name or llvm.get_host_cpu_name(), {feature[1:]: feature[0] == "+" for feature in signed}


# --- unsigned indices ------------------------------------------------------------------------------------------------


class _Code:
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
        kinds = [self._types[item.name] for item in items]
        if any(map(_is_signed, kinds)) and all(isinstance(kind, types.Integer) for kind in kinds):
            parts = [self._unsigned(item, {}, statements) or item for item in items]
            found = types.Tuple([self._types[part.name] for part in parts])
            tuples[statement.target.name] = self._assign(ir.Expr.build_tuple(parts, statement.loc), found, statements)

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


def _is_signed(kind: Any) -> bool:
    """Whether a value of this Numba type may be negative; False for a literal, whose sign the compiler knows."""
    if not isinstance(kind, types.Integer) or isinstance(kind, types.Literal):
        return False
    return bool(kind.signed)  # type: ignore[attr-defined]


@register_pass(mutates_CFG=False, analysis_only=False)
class UnsignedIndices(FunctionPass):
    """A compiler pass that makes the indices of a function unsigned.

    For a signed index, Numba tests the sign at every access, because Python counts negative ones from the end. Kernels
    count from the front only. With bounds checks, a negative index is a huge one, which is refused.

    Relies on Numba's intermediate code: statements, the types of variables by name, the signatures of operations.
    """

    _name = "secateur_unsigned_indices"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Runs the pass; returns whether the code changed."""
        return _Code(state).make_indices_unsigned()


class KernelCompiler(CompilerBase):
    """Compiles a function with unsigned indices.

    Relies on `njit(pipeline_class=...)`, and on the name of the pass after which ours comes: Numba's rewrites of typed
    code make the operations with constant indices, which stay as they are.
    """

    def define_pipelines(self) -> list[Any]:
        """Numba's pipeline with our pass."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(UnsignedIndices, NopythonRewrites)
        passes.finalize()
        return [passes]


# --- functions that only kernels call --------------------------------------------------------------------------------


class _LinkedLibrary(codegen.JITCodeLibrary):
    """The code of a function that is only linked into its callers. Machine code of its own would double the time."""

    def _optimize_final_module(self) -> None:
        """Does nothing: the entry point has all the code and is optimized."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def optimized(self) -> Any:
        """The LLVM module after the optimization that Numba makes of an entry point."""
        super()._optimize_final_module()  # type: ignore[no-untyped-call]
        return llvm.parse_bitcode(self._final_module.as_bitcode())

    def get_pointer_to_function(self, name: str) -> int:
        """No address: there is no machine code."""
        return 0

    @property
    def codegen(self) -> Any:
        """Accepts the function's environment, which only machine code that runs needs."""
        return SimpleNamespace(set_env=lambda name, environment: None)


class LinkedCompiler(KernelCompiler):
    """As KernelCompiler, but makes no machine code.

    Relies on the compiler's state, which may name the library that the code goes into, and on the methods that
    _LinkedLibrary replaces.
    """

    def define_pipelines(self) -> list[Any]:
        """The pipeline of KernelCompiler, with our library."""
        self.state.library = _LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


def _dispatcher(function: Callable[..., Any], pipeline: Any, options: dict[str, Any]) -> Any:
    """What `njit` makes of a function, except that calls with literal arguments share the code for their type.

    Otherwise `f(position, 2)` takes more compiling, and a cached kernel may miss a symbol of a recursive function.

    Relies on `get_call_template`, by which the compiler asks a dispatcher for the signature of a call.
    """
    # Numba's stubs know neither all of its options nor all of its functions.
    njit: Any = numba.njit
    unliteral: Any = types.unliteral
    dispatcher = njit(pipeline_class=pipeline, **_PRIVATE_OPTIONS, **options)(function)
    original = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return original(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})

    dispatcher.get_call_template = get_call_template
    return dispatcher


def entry_point(function: Callable[..., Any], options: dict[str, Any], cache: Any) -> Any:
    """A function that Python calls, compiled with `options` of `njit`; `cache` loads and saves it, None for no cache.

    Relies on a dispatcher calling only `load_overload(signature, target_context)`, which returns None to have the
    function compiled, and `save_overload(signature, result)`; and on its reading `cache_path`.
    """
    dispatcher = _dispatcher(function, KernelCompiler, options)
    if cache is not None:
        dispatcher._cache = cache
    return dispatcher


def linked(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A function that only kernels call: its code is linked into them."""
    return _dispatcher(function, LinkedCompiler, _NO_WRAPPERS | options)


class Linked:
    """As `linked`. A call from Python, as in tests, compiles the function once more, as an entry point.

    Relies on `_numba_type_`, by which Numba finds the type of an object that a function uses.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._options = options
        self._linked = linked(function, options)
        self._numba_type_ = types.Dispatcher(self._linked)
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function."""
        return self._entry_point(*arguments)

    @functools.cached_property
    def _entry_point(self) -> Any:
        return entry_point(self._linked.py_func, self._options, None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._linked, name)


def handing_on(function: Callable[..., Any]) -> Any:
    """A function of kernels with the parameters of `function` that returns its last argument; it costs no instruction.

    Relies on Numba binding an intrinsic's arguments by `__signature__`; it would make a tuple of the starred ones.
    """

    def generate(typing_context: Any, *arguments: Any) -> Any:
        return arguments[-1](*arguments), lambda context, builder, signature, values: values[-1]

    signature = inspect.signature(function)
    context = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    generate.__signature__ = signature.replace(parameters=[context, *signature.parameters.values()])  # type: ignore[attr-defined]
    return intrinsic(generate)


# --- code of machine operations --------------------------------------------------------------------------------------


def element_pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any, count: int = 1) -> Any:
    """Generates the address of `array[index]`, an array of the Numba type `kind` and of one dimension.

    With bounds checks, all of `array[index : index + count]` must be in the array; 0 checks nothing.

    Relies on the fields `data` and `nitems` of an array, and on `enable_boundscheck` and `do_boundscheck`.
    """
    view = context.make_array(kind)(context, builder, array)
    if context.enable_boundscheck and count:
        for place in (index, builder.add(index, index.type(count - 1))):
            cgutils.do_boundscheck(context, builder, place, view.nitems)
    return builder.gep(view.data, [index])


def for_range(builder: Any, count: Any) -> Any:
    """Generates a loop, as a context manager that gives its `index`. Relies on `cgutils.for_range`."""
    return cgutils.for_range(builder, count)


# --- compiled code ---------------------------------------------------------------------------------------------------


def to_bytes(result: Any) -> bytes:
    """The machine code and all that is needed to call it. Raises ValueError for code that only this process can run.

    Relies on `CompileResult._reduce` as Numba's own cache does.
    """
    if result.library.has_dynamic_globals:
        raise ValueError("the code refers to an array that is too large to be part of it")
    return bytes(serialize.dumps(result._reduce()))


def from_bytes(data: bytes, target_context: Any) -> Any:
    """The inverse of `to_bytes`. Relies on `CompileResult._rebuild`, and on `refresh` to prepare the context."""
    target_context.refresh()
    return CompileResult._rebuild(target_context, *pickle.loads(data))


def compiled(dispatcher: Any, argument_types: tuple[Any, ...]) -> tuple[Any, str, Any]:
    """Compiles a `linked` function: its signature, its name in LLVM, and the LLVM module with all that it calls.

    Raises ValueError if the code refers to addresses in this process. Relies on the compiler's results, and on the
    calling convention that `engine.compiler.builder` describes.
    """
    dispatcher.compile(argument_types)
    result = dispatcher.overloads[argument_types]
    with global_compiler_lock:
        result.library._ensure_finalized()
    if result.library.has_dynamic_globals:
        raise ValueError(f"{result.library.name} refers to an array that is too large to be part of the code")
    return result.signature, result.fndesc.llvm_func_name, result.library.optimized()


# --- progress --------------------------------------------------------------------------------------------------------


class _Reporter(event.Listener):
    """Tells `engine.compiler.compiling` when Numba begins and ends to compile a kernel with all that it calls.

    Relies on the event "numba:compile", with the dispatcher and the types of arguments. Numba and LLVM let other
    threads run meanwhile, so a thread can report.
    """

    def __init__(self) -> None:
        # Depth of nested compilations. Numba's lock keeps other threads out meanwhile.
        self._depth = 0

    def on_start(self, event: Any) -> None:
        """Numba begins to compile a function, ours or another."""
        if _is_ours(event.data["dispatcher"]):
            if self._depth == 0:
                function = event.data["dispatcher"].py_func
                compiling.begin(f"{function.__module__}.{function.__qualname__}")
            self._depth += 1

    def on_end(self, event: Any) -> None:
        """Numba has compiled the function, or failed to."""
        if _is_ours(event.data["dispatcher"]):
            self._depth -= 1
            if self._depth == 0:
                compiling.end(event.data["args"] in event.data["dispatcher"].overloads)


def _is_ours(dispatcher: Any) -> bool:
    pipeline = getattr(getattr(dispatcher, "_compiler", None), "pipeline_class", None)
    return pipeline in (KernelCompiler, LinkedCompiler)


event.register("numba:compile", _Reporter())
