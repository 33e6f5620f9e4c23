"""The rows of `secateur speed` about kernels that were compiled ahead of time."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import speed
from bench.engines import EngineSpec
from bench.speed import built_speedup, measure, seconds_to
from engine.compiler.cache_folder import CACHE_VARIABLE
from engine.compiler.levels import Level
from engine.compiler.library import FOLDER_VARIABLE, KERNELS_VARIABLE


def test_built_kernels_are_measured(built: Path, level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KERNELS_VARIABLE)
    monkeypatch.setenv(FOLDER_VARIABLE, str(built))
    environments: list[dict[str, str]] = []

    def known_speed(spec: EngineSpec, effort: object, environment: dict[str, str]) -> float:
        environments.append(environment)
        return 2e6 if environment[KERNELS_VARIABLE] == "jit" else 3e6

    monkeypatch.setattr(speed, "bench_speed", known_speed)
    assert built_speedup() == 1.5
    assert [environment[KERNELS_VARIABLE] for environment in environments] == [level.name, "jit", "jit", level.name]
    assert [CACHE_VARIABLE in environment for environment in environments] == [True, False, False, True]
    uciok = seconds_to("uciok", "uci", are_built=True, empty_cache=True)
    assert 0 < uciok < seconds_to("readyok", "uci\nisready", are_built=True, empty_cache=True) < 10


def test_kernels_that_were_not_built_are_a_remark() -> None:
    report = measure([], ["kernels"])
    assert report.rows == []
    (remark,) = report.remarks
    assert remark.endswith("not measured, `secateur kernels list` shows no built kernels in use")
