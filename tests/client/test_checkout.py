"""`secateur` in the checkout, and the names that the build writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.checkout.secateur import with_prefix
from tests.conftest import PROJECT

ALIAS = """
import secateur, secateur.eval.api, secateur.search.explorer
from secateur.eval.api import material
from importlib.resources import files
import sys
import engine.version, eval.api
import search.explorer
assert material is eval.api.material and secateur.search.explorer is search.explorer
assert eval.api.__spec__.name == eval.api.__name__ == "eval.api"
assert (files("search.explorer") / "page").is_dir()
assert secateur.__version__ == engine.version.version()
from engine.client.engine import Engine
assert secateur.Engine is Engine
assert {name: getattr(secateur, name).__name__ for name in secateur.__all__ if name != "__version__"} == {
    name: name for name in dir(secateur) if name in ("Analysis", "Engine", "EvaluationError")
}
try:
    import secateur.engine.nothing
except ModuleNotFoundError as error:
    print(error)
"""


def test_secateur_names_the_modules_of_the_checkout(run_python: Callable[..., str]) -> None:
    assert run_python(ALIAS) == "No module named 'secateur.engine.nothing'\n"


def test_elsewhere_it_is_the_package_and_nothing_else(run_python: Callable[..., str], tmp_path: Path) -> None:
    script = (
        "import sys; sys.path[:] = [path for path in sys.path if path != sys.argv[1]]; import secateur; "
        "print(secateur.Engine.__module__, *{'engine', 'eval', 'search'} & set(sys.modules))"
    )
    checkout = PROJECT / "engine" / "checkout"
    (tmp_path / "engine.py").write_text("raise RuntimeError('a file of the user')", encoding="utf-8")
    # `make` puts the project on the path of its environment; the first of these is an environment without it.
    for removed, paths in ((str(PROJECT), (checkout,)), ("", (tmp_path, PROJECT, checkout))):
        assert run_python(script, removed, paths=paths, PYTHONSAFEPATH="1") == "secateur.engine.client.engine\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from engine.board import bits", "from secateur.engine.board import bits"),
        ("é = 1; import search.timing as t, os", "é = 1; import secateur.search.timing as t, os"),
        ("f'-m search.export {x}'", "f'-m secateur.search.export {x}'"),
        ("x = '''é\neval.api.lsb'''", "x = '''é\nsecateur.eval.api.lsb'''"),
        # Other names stay.
        ("import os, enginelike.board", None),
        ("x = 'engine', 'search.epd', 'research.timing', 'a/search.timing', 'secateur.eval.api'", None),
        ("x = search.timing  # search.timing", None),
    ],
)
def test_names_of_modules_get_the_prefix(source: str, expected: str | None) -> None:
    assert with_prefix(source.encode()).decode() == (expected or source)
