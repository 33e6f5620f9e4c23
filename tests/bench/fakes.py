"""Descriptions of the fake engine, for every test that needs an engine."""

import sys
from pathlib import Path

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
