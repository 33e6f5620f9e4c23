"""The figures of `secateur speed` that can be had in a moment, and which of them are in the table."""

from collections.abc import Callable

import pytest

from bench import speed
from bench.speed import KIWIPETE, search_speedup, stop_milliseconds
from search.warmup import load_kernels


def test_two_threads_are_compared_with_one() -> None:
    load_kernels()
    ratio = search_speedup((KIWIPETE,), milliseconds=200)
    # Around two on two free cores, around one where there is but one; tests may share theirs.
    assert 0.1 < ratio < 10


def test_stops_are_timed() -> None:
    load_kernels()
    times = stop_milliseconds(count=24)
    assert len(times) == 24
    assert all(0 < milliseconds < 2000 for milliseconds in times)
    # A few milliseconds on a quiet machine; tests may share theirs.
    assert sorted(times)[12] < 100


@pytest.mark.parametrize("compiles", [True, False])
def test_what_numba_compiles_is_measured_where_it_is(monkeypatch: pytest.MonkeyPatch, compiles: bool) -> None:
    measured = {"two_thread_speedup": 2.0, "search_speedup": 2.0, "stop_milliseconds": [1.0, 3.0]}
    by_numba = {"seconds_to": 0.1, "compile_seconds": 30.0, "resident_mebibytes": 200.0}
    for name, figure in (measured | by_numba).items():
        monkeypatch.setattr(speed, name, lambda *_, figure=figure: figure)
    monkeypatch.setattr(speed, "has_numba", lambda: compiles)
    monkeypatch.setattr(speed, "_add_ahead_of_time", lambda *_: None)
    report = speed.measure(None, rounds=1)
    values = {row.name: row.median for row in report.rows if "over" not in row.name}
    expected = {
        "`uciok` after start, empty cache": 0.1,
        "`readyok` after start, warm cache": 0.1,
        "`stop` to `bestmove`, worst of 1000, two threads": 3.0,
        "compile everything once": 30.0,
        "resident memory at Hash 16": 200.0,
    }
    assert values == (expected if compiles else {name: expected[name] for name in expected if "stop" in name})
    assert any("Numba is not installed" in remark for remark in report.remarks) != compiles


def test_the_stand_alone_program_starts_without_an_interpreter(run_python: Callable[..., str]) -> None:
    script = "import sys; sys.frozen = {}; from bench.speed import SECATEUR; print(SECATEUR[1:])"
    assert run_python(script.format(True)) == "[]\n"
    assert run_python(script.format(False)).endswith("uci_main.py']\n")
