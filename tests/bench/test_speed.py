"""The figures of `secateur speed` that can be had in a moment."""

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
