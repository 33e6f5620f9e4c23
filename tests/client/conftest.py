"""Engines in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine import Engine


@pytest.fixture(scope="module")
def shared_engine() -> Iterator[Engine]:
    """One engine for all tests of a module that leave it as it was."""
    with Engine({"Hash": 4}) as engine:
        yield engine


@pytest.fixture
def engine(shared_engine: Engine) -> Engine:
    """The module's engine, which has learnt nothing yet."""
    shared_engine.configure({"Clear Hash": None})
    return shared_engine
