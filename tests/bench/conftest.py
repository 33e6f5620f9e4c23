"""Engines and descriptions for the match lab's tests: everything runs with the fake engine alone."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.description import Book, MatchDescription
from bench.engines import EngineSpec
from bench.game import close_tables
from bench.timecontrol import TimeControl

FAKE = Path(__file__).with_name("fake_engine.py")

BOOK = """\
rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2
rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2
rnbqkbnr/pppppp1p/6p1/8/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2
"""


def fake(name: str, *arguments: str, limit: str = "nodes=100", **options: str) -> EngineSpec:
    command = (sys.executable, str(FAKE), *arguments)
    return EngineSpec(name, command, TimeControl.parse(limit), options=tuple(options.items()))


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


@pytest.fixture
def engines_closed() -> Iterator[None]:
    """For tests that play in this process."""
    yield
    close_tables()
