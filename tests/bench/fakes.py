"""Descriptions of the fake engine, for every test that needs an engine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.engines import EngineSpec
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


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Files of this process can grow to `size` bytes and no further, as on a full disk."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
