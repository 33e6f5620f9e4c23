"""Waiting for the compiled kernels: told how far they are, and free to go before they are there."""

from __future__ import annotations

import threading
import time

import pytest

from search import warmup
from search.explorer import loading
from search.explorer.loading import KernelLoader


@pytest.fixture
def slow(monkeypatch):
    """A loader whose kernels take until `release` is set; it is what is given."""
    release = threading.Event()

    def load_kernels(on_step):
        on_step(0, 2, "board")
        on_step(1, 2, "search")
        assert release.wait(20)
        return 2

    monkeypatch.setattr(warmup, "load_kernels", load_kernels)
    monkeypatch.setattr(loading, "_SILENCE", 0.2)
    yield release
    release.set()


def test_who_waits_is_told_how_far_it_is_now_and_then(slow):
    told = []

    def tell(text):
        told.append(text)
        if len(told) == 3:
            slow.set()

    KernelLoader().wait(tell, every=0.1)
    assert len(told) == 3
    assert all(text.startswith("loading search kernels (2 of 2), ") for text in told)
    assert told[0].endswith(" s so far; a new version compiles them once")


def test_loading_that_is_quick_is_not_spoken_of(slow):
    slow.set()
    loader = KernelLoader()
    for _ in range(2):
        loader.wait(lambda text: pytest.fail(text))


def test_who_does_not_want_to_wait_may_go_and_the_loading_goes_on(slow):
    loader = KernelLoader()

    class EnoughError(Exception):
        pass

    def tell(text):
        raise EnoughError

    started = time.monotonic()
    with pytest.raises(EnoughError):
        loader.wait(tell)
    assert time.monotonic() - started < 5
    slow.set()
    loader.wait(lambda text: None)


def test_what_goes_wrong_is_told_to_all_who_wait(monkeypatch):
    def load_kernels(on_step):
        raise OSError("no room")

    monkeypatch.setattr(warmup, "load_kernels", load_kernels)
    loader = KernelLoader()
    for _ in range(2):
        with pytest.raises(OSError, match="no room"):
            loader.wait(lambda text: None)
