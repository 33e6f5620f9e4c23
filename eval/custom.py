"""Compiles the custom evaluation, if `eval.build` chose one.

The search imports this module before it declares its kernels, so that all machine code that contains the function is
stored separately (`engine.compiler.jit.keep_apart`). Compiler errors in the function are reported when this module is
imported, not during a search. `eval.api` explains how to write the function.
"""

from __future__ import annotations

import inspect
import re
import sys
import traceback
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from engine.board.make import complete_position  # noqa: F401  # declared before `keep_apart`, so its cache is shared
from engine.board.position import POSITION
from engine.compiler import compiling
from engine.compiler.fingerprint import fingerprint
from engine.compiler.jit import INTERPRETED, keep_apart, kernel, subkernel
from eval.build import Choice, EvaluationError, chosen_evaluation
from eval.kernels.inference import EVALUATION_LIMIT

#: The file of a custom evaluation runs as a module of this name.
MODULE: Final = "custom_evaluation"

#: The custom evaluation of this process; None means Secateur's own.
CHOICE: Final = chosen_evaluation()

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _imported(choice: Choice) -> Any:
    """Runs the file, with its folder in `sys.path`; returns the chosen object. Raises EvaluationError if this fails."""
    file = str(choice.file)
    folder = str(choice.file.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    module = ModuleType(MODULE)
    module.__file__ = file
    # Numba looks up a function's module by name.
    sys.modules[MODULE] = module
    try:
        # An import could run old bytecode, because it detects a change only by the file's size and time in seconds.
        exec(compile(choice.file.read_bytes(), file, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        place = f"{file}:{lines[-1]}" if lines else file
        raise EvaluationError(f"{place}: {type(error).__name__}: {error}") from error
    if not hasattr(module, choice.function_name):
        raise EvaluationError(f"{file}: there is no function '{choice.function_name}'")
    return getattr(module, choice.function_name)


def _function(choice: Choice) -> FunctionType:
    """Returns the chosen function, undecorated. Raises EvaluationError unless it is a function of one argument."""
    found = choice.function if choice.function is not None else _imported(choice)
    # Numba's decorators are removed, so that the function is compiled with the same options as the kernels.
    function = getattr(found, "py_func", found)
    if not isinstance(function, FunctionType):
        raise EvaluationError(f"{choice.file}: {choice.function_name} is not a function (got {found!r})")
    parameters = inspect.signature(function).parameters.values()
    if [parameter.kind in _POSITIONAL for parameter in parameters] != [True]:
        listed = ", ".join(map(str, parameters))
        raise EvaluationError(f"{_place(choice, function)}({listed}) must take one argument, the position")
    return function


def _place(choice: Choice, function: FunctionType) -> str:
    return f"{choice.file}:{function.__code__.co_firstlineno}: {choice.function_name}"


def _compiled(choice: Choice) -> Any:
    """Returns the chosen function as a subkernel, cached separately. Raises EvaluationError as `_function` does."""
    function = _function(choice)
    keep_apart(fingerprint(function))
    compiling.set_evaluation(choice.name.removesuffix(":evaluate"))
    # The compiled function always has the same name, so a script and the command line share its machine code.
    twin = FunctionType(function.__code__, function.__globals__, "custom", function.__defaults__, function.__closure__)
    twin.__module__ = __name__
    twin.__qualname__ = "custom"
    return subkernel(twin)


#: The chosen function as a subkernel: it takes a position and returns an integer. None if no function was chosen.
CUSTOM: Final[Any] = None if CHOICE is None else _compiled(CHOICE)


def _score(position: Any) -> Any:
    return CUSTOM(position)


def _evaluation(position: Any) -> Any:
    return min(max(np.int64(CUSTOM(position)), -EVALUATION_LIMIT), EVALUATION_LIMIT)


#: The entry point for Python: returns the function's value without clamping. None if no function was chosen.
custom_score: Final[Any] = None if CUSTOM is None else kernel(_score)
#: The version for kernels: returns the value clamped to +-EVALUATION_LIMIT, int64. None if no function was chosen.
custom_evaluation: Final[Any] = None if CUSTOM is None else subkernel(_evaluation)


# --------------------------------------------------------------------------------------------------------------
# Errors in the function
# --------------------------------------------------------------------------------------------------------------

#: Advice for a function that returns a value of the wrong type, by the name of Numba's class for that type.
_ADVICE: Final = {
    "Float": "divide with //, and do not mix bitboards with numbers",
    "Integer": "a bitboard is not a number; popcount counts its squares",
    "Optional": "some of its paths end without a return",
    "NoneType": "it has no return",
}

#: _IDLE matches lines of a compiler message that do not say what is wrong. A quoted reason has up to _QUOTE characters.
_IDLE: Final = re.compile(r"Failed in nopython mode|During: |File \"|def |@|<source elided>|\^|- Resolution failure")
_QUOTE: Final = 240


def _check(choice: Choice) -> None:
    """Compiles or loads the function. Raises EvaluationError if that fails or the result is not a signed integer."""
    import numba

    record = numba.from_dtype(POSITION)
    try:
        custom_score.compile((record,))
    except Exception as error:
        raise EvaluationError(_explanation(choice, _reason(record) or error, record)) from error
    (signature,) = custom_score.nopython_signatures
    returned = signature.return_type
    if not getattr(returned, "signed", False):
        advice = _ADVICE.get(type(returned).__name__)
        place = _place(choice, CUSTOM.py_func)
        raise EvaluationError(
            f"{place} must return whole centipawns (int64), not {returned}" + (f": {advice}" if advice else "")
        )


def _reason(record: Any) -> Exception | None:
    """Returns the compiler's error for the function alone, without its caller; None if the function compiles."""
    try:
        CUSTOM.compile((record,))
    except Exception as error:
        return error
    return None


def _explanation(choice: Choice, error: Exception, record: Any) -> str:
    """Returns one line with the place and the reason of `error`, the compiler's error for the function."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).replace(str(record), "position").replace(repr(record), "position")
    reasons = [line for line in map(str.strip, text.splitlines()) if line and not _IDLE.match(line)]
    if isinstance(error, KeyError):
        reason = f"position has no field {error}; it has {', '.join(POSITION.names or ())}"
    elif "NRT required" in text:
        reason = "it creates a list, an array or another object, which kernels cannot do"
    else:
        # A line that ends with a colon continues on the next.
        reason = " ".join(reasons[: 2 if reasons and reasons[0].endswith(":") else 1]) or type(error).__name__
    return f"{choice.file}:{_line(choice, error, text)}: {choice.function_name} cannot be compiled: {reason[:_QUOTE]}"


def _line(choice: Choice, error: Exception, text: str) -> int:
    """Returns the line number in the chosen file that `error` or its `text` names, else the function's first line."""
    place = getattr(error, "loc", None)
    named = [(place.filename, place.line)] if place is not None else []
    named += re.findall(r'File "([^"]*)", line (\d+)', text)
    # Only the names of the files are compared, because the compiler's paths may be relative.
    lines = [int(line) for file, line in named if re.split(r"[/\\]", str(file))[-1] == choice.file.name]
    return lines[0] if lines else CUSTOM.py_func.__code__.co_firstlineno


if CHOICE is not None and not INTERPRETED:
    _check(CHOICE)
