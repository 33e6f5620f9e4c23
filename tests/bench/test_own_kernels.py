"""Engines of the lab that are this Secateur: their kernels are compiled before their clocks run."""

from __future__ import annotations

import sys

import pytest

from bench.engines import SECATEUR, EngineSpec, compile_kernels
from engine.compiler.sources import PROJECT_ROOT


@pytest.mark.parametrize(
    ("command", "is_ours"),
    [
        (tuple(SECATEUR), True),
        ((*SECATEUR, "--tuning"), True),
        ((str(PROJECT_ROOT / "secateur"), "--tuning"), True),
        ((*SECATEUR, "--evaluation", "mine.py"), False),  # kernels of its own
        (("no-such-program",), False),
        (("stockfish",), False),
    ],
)
def test_kernels_are_compiled_for_this_engine_alone(
    command: tuple[str, ...], is_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr("search.warmup.load_kernels", lambda: calls.append(1))
    monkeypatch.setattr("bench.engines.EngineSpec.resolved_program", lambda spec: spec.command[0])
    compile_kernels([EngineSpec("other", (sys.executable, "other.py")), EngineSpec("engine", command)])
    assert len(calls) == is_ours
    compile_kernels([EngineSpec("engine", command)], "tcp://127.0.0.1:8786")
    assert len(calls) == is_ours
