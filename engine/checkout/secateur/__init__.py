"""The package `secateur` in the checkout. Its modules are in `engine`, `eval`, `search` and `bench`.

An installed Secateur is the single package `secateur`: the build (`bench.packaging`) adds the prefix `secateur.` to the
names of all modules. In the checkout, modules import each other without the prefix. If the folder that contains this
package is on `sys.path`, `from secateur import Engine` and `from secateur.eval.api import subkernel` work there, too:

    alias     If `import engine` finds the checkout's `engine`, as in uci_main.py and after `make`, `secateur.X` is
              another name for the module `X`. No module is loaded twice.
    loader    Otherwise, as in an editable installation, `secateur.X` is loaded from the file of `X`, with the prefix
              added to module names. No module is then called `engine`, `eval`, `search` or `bench`.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from engine.client import Analysis, Engine, EvaluationError, __version__

__all__ = ["Analysis", "Engine", "EvaluationError", "__version__"]

#: The package's name.
PACKAGE: Final = "secateur"
#: The folder of the checkout, and the names of the package's parts.
ROOT: Final = Path(__file__).resolve().parents[3]
PARTS: Final = ("engine", "eval", "search", "bench")
#: The module that `python -m secateur` runs.
MAIN: Final = "uci_main"

_NAME: Final = re.compile(rf"(?<![\w./])(?:{'|'.join(PARTS)})(?:\.\w+)+".encode())


def module_file(name: str) -> Path | None:
    """Returns the file of the checkout module `name` (without the prefix); None if there is no such module."""
    if name != MAIN and name.partition(".")[0] not in PARTS:
        return None
    base = ROOT.joinpath(*name.split("."))
    files = (base / "__init__.py", base.with_name(f"{base.name}.py"))
    return next((file for file in files if file.is_file()), None)


def with_prefix(source: bytes) -> bytes:
    """Returns the source of a checkout module with the prefix `secateur.` added to module names.

    Only names in import statements and strings change; line numbers stay the same.
    """
    import ast

    starts = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    places: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            if not node.level and module_file(node.module or "") is not None:
                places.add(source.index((node.module or "").encode(), starts[node.lineno - 1] + node.col_offset + 5))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if module_file(alias.name) is not None:
                    places.add(starts[alias.lineno - 1] + alias.col_offset)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            begin, end = (
                starts[node.lineno - 1] + node.col_offset,
                starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0),
            )
            for match in _NAME.finditer(source, begin, end):
                # Python 3.11 gives a constant part of an f-string the position of the whole f-string.
                if match[0].decode() in node.value and _is_module(match[0].decode()):
                    places.add(match.start())
    for place in sorted(places, reverse=True):
        source = source[:place] + f"{PACKAGE}.".encode() + source[place:]
    return source


def _is_module(name: str) -> bool:
    """Returns whether the first two parts of a dotted name, such as `engine.files`, name a checkout module."""
    return module_file(".".join(name.split(".")[:2])) is not None


class _Loader(SourceFileLoader):
    """A loader that adds the prefix to module names in the source and keeps the bytecode in separate files."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        """Adds the prefix to module names in the source, and compiles it."""
        return super().source_to_code(with_prefix(bytes(data)), path, _optimize=_optimize)

    def get_data(self, path: str) -> bytes:
        """Reads a source file, or our bytecode file instead of Python's."""
        return super().get_data(_bytecode(path))

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Writes our bytecode file instead of Python's."""
        super().set_data(_bytecode(path), data, _mode=_mode)


def _bytecode(path: str) -> str:
    return f"{path.removesuffix('.pyc')}.{PACKAGE}.pyc" if path.endswith(".pyc") else path


class _Alias:
    """A loader that gives a checkout module a second name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Imports and returns the module under its name without the prefix."""
        module = import_module(_plain(spec.name))
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restores the module's `__spec__`, which the import system has just overwritten."""
        module.__spec__ = self._spec


def _plain(name: str) -> str:
    plain = name.partition(".")[2]
    return MAIN if plain == "__main__" else plain


class _Finder:
    """A finder for modules `secateur.X`. If `is_alias`, `secateur.X` is the module `X`, otherwise a separate module."""

    def __init__(self, is_alias: bool) -> None:
        self._is_alias = is_alias

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Returns the specification of the module `name`; None if it is not in the package `secateur`."""
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
    """Returns whether `import engine` finds this checkout's package."""
    try:
        spec = find_spec("engine")
    except ValueError:  # a user created a module of that name without a spec
        return False
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve().parent == ROOT / "engine"


if __name__ == PACKAGE:
    sys.meta_path.insert(0, _Finder(_is_engine_importable()))


def __getattr__(name: str) -> Any:
    """Imports a public name from `engine.client` when a program first uses it."""
    if name in __all__:
        return getattr(import_module(f"{PACKAGE}.engine.client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
