"""Chooses a custom evaluation for this process: a Python function that is compiled into the search.

A process uses Secateur's own evaluation unless a custom one is chosen before the kernels of the search are imported.
This module imports no kernels, so it loads quickly.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.errors import CommandError
from engine.files import printable, quoted, read_bytes, reason, shown, user_path

#: The environment variable that names the custom evaluation, as `--evaluation` does. Child processes inherit it.
VARIABLE: Final = "SECATEUR_EVALUATION"

#: The module that loads the chosen evaluation; once it is imported, the choice is final.
_LOADER: Final = "eval.custom"


class EvaluationError(CommandError, ValueError):
    """Raised if a custom evaluation cannot be used. The message names the file and the line if they are known."""


@dataclass(frozen=True)
class Choice:
    """A custom evaluation: the function `function_name` in `file`, or the object `function` if that is not None."""

    file: Path
    function_name: str
    function: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        """The name that Secateur shows: `centre.py:evaluate`, or `evaluate` for a function object without a file."""
        is_in_file = self.function is None or self.file.is_file()
        return shown(f"{self.file.name}:{self.function_name}" if is_in_file else self.function_name)


_choice: Choice | None = None


def choose_evaluation(evaluation: str | os.PathLike[str] | Callable[..., Any]) -> None:
    """Makes this process evaluate with a Python function: `evaluation` is the function or `FILE.py[:FUNCTION]`.

    FUNCTION is `evaluate` by default. A file is parsed but not yet run. Child processes inherit the choice of a file
    through VARIABLE. Raises EvaluationError if `evaluation` is not usable, and RuntimeError if this process already has
    another evaluation or kernels compiled ahead of time.
    """
    global _choice
    choice = _choice_of_function(evaluation) if callable(evaluation) else _choice_of_text(os.fspath(evaluation))
    if _is_loaded():
        loaded = chosen_evaluation()
        if loaded != choice:
            used = "Secateur's own evaluation" if loaded is None else loaded.name
            raise RuntimeError(
                f"this process already evaluates with {used} and cannot change to {choice.name}; start a new process"
            )
        return
    if choice.function is None:
        _check_source(choice)
    from engine.compiler.library import compile_here

    compile_here()
    if choice.function is None:
        os.environ[VARIABLE] = f"{choice.file}:{choice.function_name}"
    _choice = choice


def chosen_evaluation() -> Choice | None:
    """Returns the evaluation chosen by `choose_evaluation` or by VARIABLE; None means Secateur's own evaluation.

    Raises EvaluationError if the environment variable VARIABLE contains an invalid path.
    """
    if _is_loaded():
        loaded: Choice | None = sys.modules[_LOADER].CHOICE
        return loaded
    if _choice is not None:
        return _choice
    text = os.environ.get(VARIABLE)
    return _choice_of_text(text) if text else None


def require_own_evaluation(product: str) -> None:
    """Raises EvaluationError if this process has a custom evaluation.

    The message begins with `product`, a plural noun for data that do not record which evaluation produced them.
    """
    choice = chosen_evaluation()
    if choice is not None:
        raise EvaluationError(
            f"{product} require Secateur's own evaluation or a network, not {choice.name}: "
            f"remove --evaluation and unset {VARIABLE}"
        )


def _is_loaded() -> bool:
    """Returns whether `eval.custom` has read the choice, which is then final."""
    return hasattr(sys.modules.get(_LOADER), "CHOICE")


def with_evaluation(name: str) -> str:
    """Returns `name`; if the process has a custom evaluation, that evaluation's name follows in parentheses."""
    choice = chosen_evaluation()
    return name if choice is None else f"{name} ({choice.name})"


def _choice_of_text(text: str) -> Choice:
    file, colon, function = text.rpartition(":")
    # The last colon may be part of the path, after a Windows drive letter.
    if not colon or not function.isidentifier() or not file:
        file, function = text, "evaluate"
    try:
        return Choice(user_path(file).absolute(), function)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _choice_of_function(function: Callable[..., Any]) -> Choice:
    # Numba's decorators keep the Python function in `py_func`.
    plain = getattr(function, "py_func", function)
    code = getattr(plain, "__code__", None)
    if code is None:
        raise EvaluationError(f"a custom evaluation must be a Python function or a file name (got {function!r})")
    return Choice(Path(code.co_filename), plain.__name__, plain)


def _check_source(choice: Choice) -> None:
    """Raises EvaluationError if the file cannot be read or parsed, or if nothing in it can define the function."""
    import ast

    file = choice.file
    try:
        tree = ast.parse(read_bytes(file, 4 << 20), str(file))
    except OSError as error:
        raise EvaluationError(f"{shown(file)}: {reason(error)}") from None
    except SyntaxError as error:
        raise EvaluationError(f"{shown(file)}:{error.lineno}: {printable(error.msg)}") from None
    except (RecursionError, MemoryError):  # the parser raises these for deeply nested brackets
        raise EvaluationError(f"{shown(file)}: its expressions are nested too deeply") from None
    except ValueError as error:  # the source contains null bytes
        raise EvaluationError(f"{shown(file)}: {error}") from None
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    if choice.function_name not in names and "*" not in names:
        defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        known = f"; the file defines {shown(', '.join(defined))}" if defined else ""
        raise EvaluationError(f"{shown(file)}: there is no function {quoted(choice.function_name)}{known}")
