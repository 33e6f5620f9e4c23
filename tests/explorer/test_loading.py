"""Waiting for the compiled kernels: with reports, and free to go before they are there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from search import warmup
from search.explorer import build
from search.explorer.build import KernelLoader
from search.explorer.jobs import Job, StoppedError


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Until this is set, loading the kernels goes on."""
    event = threading.Event()

    def load_kernels(on_step: Callable[[int, int, str], None]) -> int:
        on_step(0, 2, "board")
        on_step(1, 2, "search")
        assert event.wait(60)
        return 2

    monkeypatch.setattr(warmup, "load_kernels", load_kernels)
    monkeypatch.setattr(build, "SILENCE", 0.2)
    yield event
    event.set()


def test_who_waits_gets_reports(release: threading.Event) -> None:
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if len(told) == 3:
            release.set()

    KernelLoader().wait(Job(tell), every=0.1)
    assert len(told) == 3
    assert told[-1].startswith("loading search kernels (2 of 2), ")
    assert told[-1].endswith(" s so far; this takes longest the first time")


def test_who_does_not_want_to_wait_may_go_and_the_loading_goes_on(release: threading.Event) -> None:
    loader, job = KernelLoader(), Job()
    job.stop()
    with pytest.raises(StoppedError):
        loader.wait(job, every=0.1)
    release.set()
    loader.wait(Job(), every=0.1)


def test_what_goes_wrong_is_told_to_all_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_kernels(on_step: object) -> int:
        raise OSError("no room")

    monkeypatch.setattr(warmup, "load_kernels", load_kernels)
    loader = KernelLoader()
    for _ in range(2):
        with pytest.raises(OSError, match="no room"):
            loader.wait(Job(), every=0.1)
