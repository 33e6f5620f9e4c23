"""Engines of the lab that are this Secateur: their kernels are compiled before their clocks run."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

import uci_main
from bench.engines import SECATEUR, EngineSpec, compile_kernels
from engine.compiler.library import JIT, KERNELS_VARIABLE
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


@pytest.mark.parametrize(
    ("arguments", "is_compiled_here"),
    [
        (["net", "a.snet"], False),
        (["train", "games"], True),
        (["bench"], False),
    ],
)
def test_commands_whose_kernels_no_library_has_use_numba(
    arguments: list[str], is_compiled_here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KERNELS_VARIABLE, "x86-64-v3")
    monkeypatch.setattr(uci_main, "import_module", lambda name: SimpleNamespace(main=lambda arguments: 0))
    assert uci_main._run(arguments[0], arguments[1:]) == 0
    assert (os.environ[KERNELS_VARIABLE] == JIT) == is_compiled_here
