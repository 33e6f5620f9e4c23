"""Engines of the lab that are this Secateur: their kernels are compiled before their clocks run."""

from __future__ import annotations

import sys

import pytest

from bench.engines import SECATEUR, EngineSpec, compile_kernels
from engine.compiler.sources import PROJECT_ROOT


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows when kernels are loaded."""
    found: list[int] = []
    monkeypatch.setattr("search.warmup.load_kernels", lambda: found.append(1))
    return found


@pytest.mark.parametrize(
    ("command", "is_ours"),
    [
        (tuple(SECATEUR), True),
        ((*SECATEUR, "--tuning"), True),
        ((str(PROJECT_ROOT / "secateur"),), True),
        ((str(PROJECT_ROOT / "secateur"), "--tuning"), True),
        ((*SECATEUR, "--evaluation", "mine.py"), False),  # kernels of its own
        ((sys.executable, "fake_engine.py"), False),
        (("no-such-program",), False),
        (("stockfish",), False),
    ],
)
def test_kernels_are_compiled_for_this_engine_alone(
    command: tuple[str, ...], is_ours: bool, calls: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.engines.EngineSpec.resolved_program", lambda spec: spec.command[0])
    others = EngineSpec("other", (sys.executable, "other.py"))
    compile_kernels([others, EngineSpec("engine", command)])
    assert len(calls) == is_ours
    compile_kernels([EngineSpec("engine", command)], "tcp://127.0.0.1:8786")
    assert len(calls) == is_ours
