"""Searchers, closed after the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from search.searcher import Searcher


@pytest.fixture
def make() -> Iterator[Callable[[int], Searcher]]:
    """Makes searchers with so many threads and a small table."""
    made: list[Searcher] = []

    def build(threads: int) -> Searcher:
        made.append(Searcher(1, threads))
        return made[-1]

    yield build
    for searcher in made:
        searcher.close()


@pytest.fixture
def searcher(make: Callable[[int], Searcher]) -> Searcher:
    """A searcher with one thread, whose choices as a weaker player are repeatable."""
    made = make(1)
    made.rng.seed(1)
    return made
