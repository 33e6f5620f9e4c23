"""The package `secateur` in the checkout, whose modules are in `engine`, `eval`, `search` and `bench`.

An installed Secateur is the package `secateur` alone: the build (`bench.packaging`) puts `secateur.` in front of the
names of all modules. In the checkout, modules import each other without it. If this file's folder is on the path,
`from secateur import Engine` and `from secateur.eval.api import subkernel` work in the checkout, too:

    alias     If `import engine` finds the checkout's `engine`, as in uci_main.py and after `make`, `secateur.X` is
              another name of the module `X`. No module is loaded twice.
    loader    Otherwise, as in an editable installation, `secateur.X` is loaded from the file of `X`, with the names
              that the build writes. No module is called `engine`, `eval`, `search` or `bench` there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import ast

__all__ = ["Engine", "__version__"]

#: The package's name.
PACKAGE: Final = "secateur"
#: The folder of the checkout, and the parts of the package.
ROOT: Final = Path(__file__).resolve().parents[3]
PARTS: Final = ("engine", "eval", "search", "bench")
#: The file that the package runs as `python -m secateur`, without its suffix.
MAIN: Final = "uci_main"

_NAME: Final = re.compile(rf"(?<![\w./])(?:{'|'.join(PARTS)})(?:\.\w+)+")
_IMPORTERS: Final = frozenset(("import_module", "__import__", "find_spec", "run_module", "files"))


# --------------------------------------------------------------------------------------------------------------
# Names
# --------------------------------------------------------------------------------------------------------------


class NameProblemError(ValueError):
    """A name cannot be rewritten safely; the message says which and where."""


def module_file(name: str) -> Path | None:
    """The file of a module of the checkout, named without `secateur.`; None if there is none."""
    if name != MAIN and name.partition(".")[0] not in PARTS:
        return None
    base = ROOT.joinpath(*name.split("."))
    files = (base / "__init__.py", base.with_name(f"{base.name}.py"))
    return next((file for file in files if file.is_file()), None)


def with_prefix(source: bytes, file: str) -> bytes:
    """The source of a module of the checkout with `secateur.` in front of its modules' names.

    It rewrites names in import statements and in strings. Everything else stays, and every line keeps its number.
    Raises NameProblemError, whose message gives `file`, for a name that it cannot rewrite safely.
    """
    import ast

    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + column

    def problem(line: int, text: str) -> NameProblemError:
        return NameProblemError(f"{file}:{line}: {text}")

    places: list[int] = []
    tree = ast.parse(source, file)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.level or node.module is None or node.module.partition(".")[0] not in (*PARTS, MAIN):
                continue
            if node.module != MAIN and module_file(node.module) is None:
                raise problem(node.lineno, f"there is no module {node.module}")
            begin = offset(node.lineno, node.col_offset)
            written = re.compile(rb"from +(?=%s )" % re.escape(node.module.encode())).match(source, begin)
            if written is None or node.module == MAIN:
                raise problem(node.lineno, f"cannot rewrite the import of {node.module}")
            places.append(written.end())
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] not in (*PARTS, MAIN):
                    continue
                if alias.asname is None or module_file(alias.name) is None or alias.name == MAIN:
                    raise problem(node.lineno, f"cannot rewrite 'import {alias.name}'; write 'from ... import ...'")
                places.append(offset(alias.lineno, alias.col_offset))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in _IMPORTERS:
            named = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            if not {*PARTS, MAIN}.isdisjoint(named):
                raise problem(node.lineno, "cannot rewrite the name of a whole package in a string")
    for node, value in _strings(tree):
        begin = offset(node.lineno, node.col_offset)
        text = source[begin : offset(node.end_lineno or 0, node.end_col_offset or 0)].decode()
        found = [match for match in _NAME.finditer(text) if _is_module(match[0])]
        if [match[0] for match in found] != [name for name in _NAME.findall(value) if _is_module(name)]:
            raise problem(node.lineno, "cannot rewrite the names of modules in this string")
        for match in found:
            if not _is_defined(match[0]):
                raise problem(node.lineno, f"there is no {match[0]}, but its module exists")
            places.append(begin + len(text[: match.start()].encode()))
    for place in sorted(places, reverse=True):
        source = source[:place] + f"{PACKAGE}.".encode() + source[place:]
    return source


def _strings(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The strings of a syntax tree with their texts; an f-string's text is its constant parts, joined by a blank."""
    import ast

    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr):
            yield child, " ".join(str(part.value) for part in child.values if isinstance(part, ast.Constant))
        elif isinstance(child, ast.Constant):
            if isinstance(child.value, str):
                yield child, child.value
        else:
            yield from _strings(child)


def _is_module(name: str) -> bool:
    """Whether the first two parts of a dotted name are a module that exists."""
    return module_file(".".join(name.split(".")[:2])) is not None


def _is_defined(name: str) -> bool:
    """Whether a dotted name is a module, or its module mentions the next part."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        file = module_file(".".join(parts[:length]))
        if file is not None:
            return length == len(parts) or re.search(rf"\b{parts[length]}\b", file.read_text("utf-8")) is not None
    return False


# --------------------------------------------------------------------------------------------------------------
# Imports
# --------------------------------------------------------------------------------------------------------------


class _Loader(SourceFileLoader):
    """Loads a module of the checkout with the names of the package. Its bytecode file has its own name."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        """The code of the rewritten source."""
        return super().source_to_code(with_prefix(bytes(data), path), path, _optimize=_optimize)

    def get_data(self, path: str) -> bytes:
        """The contents of a file."""
        return super().get_data(_bytecode(path))

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Writes bytecode."""
        super().set_data(_bytecode(path), data, _mode=_mode)


def _bytecode(path: str) -> str:
    return f"{path.removesuffix('.pyc')}.{PACKAGE}.pyc" if path.endswith(".pyc") else path


class _Alias:
    """Gives a module of the checkout a second name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Returns the checkout's module itself."""
        module = import_module(_plain(spec.name))
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restores the `__spec__` that the import system has just overwritten in the module."""
        module.__spec__ = self._spec


def _plain(name: str) -> str:
    """The checkout's name of a module of the package."""
    plain = name.partition(".")[2]
    return MAIN if plain == "__main__" else plain


class _Finder:
    """Finds `secateur.X`."""

    def __init__(self, is_alias: bool) -> None:
        self._is_alias = is_alias

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The specification of a module of the package, None for any other."""
        if not name.startswith(f"{PACKAGE}."):
            return None
        file = module_file(_plain(name))
        if file is None:
            return None
        if self._is_alias:
            return ModuleSpec(name, _Alias())  # type: ignore[arg-type]  # a loader without its base class
        spec = ModuleSpec(name, _Loader(name, str(file)), origin=str(file), is_package=file.name == "__init__.py")
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(str(file.parent))
        return spec


def _is_engine_importable() -> bool:
    """Whether `import engine` finds the package of this checkout, and not a user's file or nothing."""
    try:
        spec = find_spec("engine")
    except ValueError:  # a user has made a module of that name by hand
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve().parent == ROOT / "engine"


if __name__ == PACKAGE:
    sys.meta_path.insert(0, _Finder(_is_engine_importable()))


def __getattr__(name: str) -> Any:
    """Imports the package's public names on demand: see `engine.client`."""
    if name in __all__:
        return getattr(import_module(f"{PACKAGE}.engine.client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
