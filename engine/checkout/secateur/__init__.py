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
#: The folder of the checkout, and the parts of the package.
ROOT: Final = Path(__file__).resolve().parents[3]
PARTS: Final = ("engine", "eval", "search", "bench")
#: The file that the package runs as `python -m secateur`, without its suffix.
MAIN: Final = "uci_main"

_NAME: Final = re.compile(rf"(?<![\w./])(?:{'|'.join(PARTS)})(?:\.\w+)+".encode())


def module_file(name: str) -> Path | None:
    """The file of a module of the checkout, named without `secateur.`; None if there is none."""
    if name != MAIN and name.partition(".")[0] not in PARTS:
        return None
    base = ROOT.joinpath(*name.split("."))
    files = (base / "__init__.py", base.with_name(f"{base.name}.py"))
    return next((file for file in files if file.is_file()), None)


def with_prefix(source: bytes) -> bytes:
    """The source of a module of the checkout with `secateur.` in front of its modules' names.

    It rewrites names in import statements and in strings. Everything else stays, and every line keeps its number.
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
                # In an f-string, Python 3.11 gives a constant part the place of the whole.
                if match[0].decode() in node.value and _is_module(match[0].decode()):
                    places.add(match.start())
    for place in sorted(places, reverse=True):
        source = source[:place] + f"{PACKAGE}.".encode() + source[place:]
    return source


def _is_module(name: str) -> bool:
    """Whether the first two parts of a dotted name are a module that exists."""
    return module_file(".".join(name.split(".")[:2])) is not None


class _Loader(SourceFileLoader):
    """Loads a module of the checkout with the names of the package, and with a bytecode file of its own."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        """The code of the rewritten source."""
        return super().source_to_code(with_prefix(bytes(data)), path, _optimize=_optimize)

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
    """Whether `import engine` finds the package of this checkout."""
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


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
