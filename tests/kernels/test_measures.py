"""The rows about kernels that were compiled ahead of time in the table of `secateur speed`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import ahead_of_time
from bench.ahead_of_time import measure_ahead_of_time
from bench.speed import BY_NUMBA
from bench.standalone import megabytes
from engine.compiler.cache_folder import CACHE_VARIABLE
from engine.compiler.levels import Level
from engine.compiler.library import FOLDER_VARIABLE, KERNELS_VARIABLE


@pytest.fixture
def dist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder in place of the project's `dist`."""
    monkeypatch.setattr(ahead_of_time, "DIST", tmp_path)
    return tmp_path


def test_what_is_there_is_measured(built: Path, level: Level, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KERNELS_VARIABLE)
    monkeypatch.setenv(FOLDER_VARIABLE, str(built))
    environments: list[dict[str, str]] = []

    def speed(command: list[str], environment: dict[str, str]) -> float:
        environments.append(environment)
        return 2e6 if environment == BY_NUMBA else 3e6

    monkeypatch.setattr(ahead_of_time, "bench_speed", speed)
    (dist / "secateur-0.1-py3-none-any.whl").write_bytes(bytes(3_000_000))
    (dist / "secateur" / "part").mkdir(parents=True)
    for name in ("secateur", "part/library"):
        (dist / "secateur" / name).write_bytes(bytes(20_000_000))
    progress: list[str] = []
    rows, remarks = measure_ahead_of_time(2, progress.append)
    assert remarks == []
    values = {row.name: row.values for row in rows}
    assert list(values) == [
        "wheel with kernels for every level",
        "stand-alone program",
        "`uciok` after start, built kernels, no cache",
        "`readyok` after start, built kernels, no cache",
        f"`bench` speed, built kernels ({level.name}) over Numba's",
        "resident memory at Hash 16, built kernels",
    ]
    wheel, program, uciok, readyok, ratio, memory = values.values()
    assert (wheel, program, ratio) == ((3.0,), (40.0,), (1.5, 1.5))
    assert len(uciok) == len(readyok) == 2
    assert 0 < min(uciok) < min(readyok) < 5
    assert 20 < memory[0] < 150
    assert [environment[KERNELS_VARIABLE] for environment in environments] == [level.name, "jit", "jit", level.name] * 2
    assert [CACHE_VARIABLE in environment for environment in environments] == [True, False, False, True] * 2
    assert len(progress) == 4


def test_what_is_missing_is_remarked(dist: Path) -> None:
    rows, remarks = measure_ahead_of_time(1, lambda _: None)
    assert rows == []
    assert [remark.split(" (")[0] for remark in remarks[:2]] == [
        "There is no wheel to measure",
        "There is no stand-alone program to measure",
    ]
    assert remarks[2] == "Kernels compiled ahead of time were not measured: the environment asks for others."


def test_without_numba_nothing_is_compared_with_it(built: Path, dist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KERNELS_VARIABLE)
    monkeypatch.setenv(FOLDER_VARIABLE, str(built))
    monkeypatch.setattr(ahead_of_time, "has_numba", lambda: False)
    monkeypatch.setattr(ahead_of_time, "seconds_to", lambda *_: 0.1)
    monkeypatch.setattr(ahead_of_time, "resident_mebibytes", lambda _: None)
    rows, remarks = measure_ahead_of_time(1, lambda _: None)
    assert [row.name.split(",")[0] for row in rows] == ["`uciok` after start", "`readyok` after start"]
    assert remarks[-1] == "Numba is not installed: built kernels were not compared with its own."


def test_sizes_are_of_files_and_of_all_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(bytes(500_000))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "two").write_bytes(bytes(1_000_000))
    assert megabytes(tmp_path / "one") == 0.5
    assert megabytes(tmp_path) == 1.5
