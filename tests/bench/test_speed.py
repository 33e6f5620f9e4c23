"""The figures of `secateur speed` that can be had in a moment."""

from bench.speed import KIWIPETE, search_speedup
from search.warmup import load_kernels


def test_two_threads_are_compared_with_one() -> None:
    load_kernels()
    ratio = search_speedup((KIWIPETE,), milliseconds=200)
    # Around two on two free cores, around one where there is but one; tests may share theirs.
    assert 0.1 < ratio < 10
