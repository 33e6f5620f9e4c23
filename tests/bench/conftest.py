"""Engines and descriptions for the match lab's tests: everything runs with the fake engine alone."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.description import Book, MatchDescription
from bench.engines import EngineSpec
from bench.uci import close_engines
from tests.bench.fakes import BOOK, fake


@pytest.fixture
def book(tmp_path: Path) -> Book:
    path = tmp_path / "book.epd"
    path.write_text(BOOK, encoding="utf-8")
    return Book(str(path))


@pytest.fixture
def describe(book: Book) -> Callable[..., MatchDescription]:
    """Makes a description of a short match between two engines on the built-in runner."""

    def make(*engines: EngineSpec, **fields: object) -> MatchDescription:
        values: dict[str, object] = {"book": book, "rounds": 2, "concurrency": 2, "runner": "builtin"}
        return MatchDescription(engines or (fake("A"), fake("B", "--seed", "2")), **{**values, **fields})  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="module")
def engines_closed() -> Iterator[None]:
    """For tests that play in this process."""
    yield
    close_engines()
