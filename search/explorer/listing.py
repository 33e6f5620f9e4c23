"""The code of a search, as the page shows it: the functions that ran, and the lines that each event comes from."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, Final

from search.theory.algorithms import Run

#: The type in an assignment, after the name.
_TYPE: Final = re.compile(r"^(\s*\w+): [^=]+(?= = )")


@dataclass(frozen=True, slots=True)
class _Function:
    """A function without docstring, types and calls of the watcher."""

    file: str
    lines: list[str]
    #: For each line of the file that calls the watcher, the first and last of `lines` that the call reports on.
    spans: dict[int, tuple[int, int]]
    #: The same if the call is a `keep` event: without the lines below a condition that is false.
    kept: dict[int, tuple[int, int]]


def listing(run: Run) -> dict[str, Any]:
    """Returns the code of a run: {"view", "functions": [{"file", "lines"}], "spans", "places"}.

    "view" is the point of view of the values in the code (see `Recorder`). A span is [function, first line, last line].
    "places" contains the number of a span for each event. If there is a rule for lattices, it is the last function.
    """
    rule = run.algorithm.rule
    codes = list(dict.fromkeys([code for code, _ in run.lines] + ([] if rule is None else [rule.__code__])))
    functions = [_function(code) for code in codes]
    spans: dict[tuple[int, int, int], int] = {}

    @functools.cache
    def span(place: int, is_kept: bool) -> int:
        code, line = run.lines[place]
        index = codes.index(code)
        found = functions[index].kept if is_kept else functions[index].spans
        return spans.setdefault((index, *found[line]), len(spans))

    places = [span(place, event.kind == "keep") for event, place in zip(run.events, run.places, strict=True)]
    return {
        "view": "max" if rule is not None else run.algorithm.view,
        "functions": [{"file": function.file, "lines": function.lines} for function in functions],
        "spans": [list(span) for span in spans],
        "places": places,
    }


@functools.cache
def _function(code: CodeType) -> _Function:
    source, start = inspect.getsourcelines(code)
    text = textwrap.dedent("".join(source)).splitlines()
    (made,) = ast.parse("\n".join(text)).body
    assert isinstance(made, ast.FunctionDef)
    names = [argument.arg for argument in made.args.args if argument.arg != "watch"]
    text[0] = f"def {made.name}({', '.join(names)}):"
    first = made.body[1 if ast.get_docstring(made) else 0]
    dropped = set(range(2, first.lineno))
    reported: dict[int, tuple[int, int, int]] = {}
    for parent, body in _bodies(made):
        for at, node in enumerate(body):
            if method := _watched(node):
                line = text[node.lineno - 1]
                if len(body) > 1:
                    dropped.add(node.lineno)
                else:
                    text[node.lineno - 1] = line.replace(line.strip(), "...")
                # A comment above the call explains the call.
                if text[node.lineno - 2].lstrip().startswith("#"):
                    dropped.add(node.lineno - 1)
                reported[node.lineno] = _reported(method, parent, body, at)
    kept = [line for line in range(1, len(text) + 1) if line not in dropped]
    place = {line: number for number, line in enumerate(kept)}
    return _Function(
        "/".join(Path(code.co_filename).parts[-3:]),
        [_TYPE.sub(r"\1", text[line - 1]).replace(", watch", "") for line in kept],
        {start + line - 1: (place[low], place[high]) for line, (low, _, high) in reported.items()},
        {start + line - 1: (place[low], place[high]) for line, (low, high, _) in reported.items()},
    )


def _bodies(made: ast.FunctionDef) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
    for node in ast.walk(made):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(node, ast.stmt) and isinstance(body, list):
                yield node, body


def _watched(node: ast.stmt) -> str:
    """Returns the name of the watcher's method that a statement calls, or ""."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        called = node.value.func
        return called.attr if isinstance(called.value, ast.Name) and called.value.id == "watch" else ""
    return ""


def _reported(method: str, parent: ast.stmt, body: list[ast.stmt], at: int) -> tuple[int, int, int]:
    """Returns the lines that a call of the watcher, `body[at]` in `parent`, reports on.

    These are the first line, the last one if its condition is false, and the last one otherwise.
    """
    if method == "enter":
        return 1, 1, 1
    if method in ("leave", "window") and at + 1 < len(body):
        node = body[at + 1]
    elif method != "iteration" and at > 0:
        node = body[at - 1]
        first = node
        # After a child, the statements since the one that assigns `value`.
        for earlier in reversed(body[:at]) if method == "back" else ():
            if _assigns_value(earlier):
                break
            first = earlier
        last = node.end_lineno or node.lineno
        return first.lineno, node.lineno if isinstance(node, ast.If) else last, last
    else:
        return parent.lineno, parent.lineno, parent.lineno
    return node.lineno, node.lineno, node.end_lineno or node.lineno


def _assigns_value(node: ast.stmt) -> bool:
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return any(name.id == "value" and isinstance(name.ctx, ast.Store) for name in names)
