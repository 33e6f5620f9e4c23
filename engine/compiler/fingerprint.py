"""Computes a fingerprint of a function and of what the function refers to.

The fingerprint covers the code of the function and of all functions that it calls, and the values of global names,
closure cells and module attributes, which Numba treats as constants.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from enum import Enum, EnumMeta
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np


def fingerprint(function: Any) -> str:
    """Returns a hexadecimal digest of a function, plain or compiled, and of everything that it refers to.

    The digest does not depend on the function's own name, file or module, nor on comments and line numbers. It covers
    numbers, arrays, functions and collections by content, and other objects by `repr`, which may contain an address.
    """
    digest = _Digest()
    digest.add(function)
    return digest.hexdigest()


class _Digest:
    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        #: The number of each function that is already in the digest.
        self._functions: dict[FunctionType, int] = {}

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def add(self, value: Any) -> None:
        """Adds a value of any type, with everything that it contains or refers to."""
        function = getattr(value, "py_func", value)
        if isinstance(function, FunctionType):
            # The compile options can change the machine code, too.
            self.add(getattr(value, "targetoptions", None))
            self._add_function(function)
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            self._text("array", value.dtype.descr, value.shape)
            self._hash.update(value.tobytes())
        elif isinstance(value, tuple | list):
            self._text(type(value).__qualname__, len(value))
            for item in value:
                self.add(item)
        elif isinstance(value, dict):
            self._text("dict")
            self.add(sorted(value.items(), key=repr))
        elif isinstance(value, set | frozenset):
            self._text("set")
            self.add(sorted(value, key=repr))
        elif isinstance(value, CodeType):
            self._add_code(value)
        elif isinstance(value, EnumMeta):
            self._text("enum", value.__qualname__)
            members: Mapping[str, Enum] = value.__members__
            self.add([(name, member.value) for name, member in members.items()])
        else:
            self._text(type(value).__qualname__, repr(value))

    def _text(self, *parts: object) -> None:
        for part in parts:
            self._hash.update(str(part).encode("utf-8", "backslashreplace") + b"\0")

    def _add_function(self, function: FunctionType) -> None:
        if function in self._functions:
            self._text("function", self._functions[function])
            return
        # The machine code of a called function refers to the function's module. The entry point's module is irrelevant.
        self._text(function.__module__ if self._functions else "")
        self._functions[function] = len(self._functions)
        self.add(function.__code__)
        self.add((function.__defaults__, function.__kwdefaults__))
        self.add([cell.cell_contents for cell in function.__closure__ or ()])
        names = sorted(set(_names(function.__code__)))
        self._add_names(names, function.__globals__)

    def _add_code(self, code: CodeType) -> None:
        self._text("code", code.co_code.hex(), code.co_names, code.co_argcount, code.co_freevars)
        self.add(code.co_consts)

    def _add_names(self, names: list[str], namespace: dict[str, Any]) -> None:
        """Adds the values of `names` in a namespace. For each module, adds the attributes that are in `names`."""
        for name in names:
            if name not in namespace:
                continue
            value = namespace[name]
            self._text(name)
            if isinstance(value, ModuleType):
                self._text(value.__name__)
                attributes = [other for other in names if other != name]
                self._add_names(attributes, vars(value))
            else:
                self.add(value)


def _names(code: CodeType) -> Iterator[str]:
    """Yields the names of the globals and attributes that a function and its nested functions use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
