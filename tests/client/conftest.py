"""Engines in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine import Engine


@pytest.fixture(scope="module")
def shared_engine() -> Iterator[Engine]:
    with Engine({"Hash": 4}) as engine:
        yield engine


@pytest.fixture
def engine(shared_engine: Engine) -> Engine:
    """The module's engine, with default options and without a memory of earlier searches."""
    shared_engine.configure({"OwnBook": False, "BookFile": "", "SyzygyPath": "", "UCI_LimitStrength": False})
    shared_engine.configure({"Hash": 4, "Threads": 1, "Clear Hash": None})
    return shared_engine
