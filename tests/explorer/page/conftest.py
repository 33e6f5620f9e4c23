"""A running explorer, and a browser to look at its page with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[3]


@dataclass
class Explorer:
    """`secateur explore` as a process of its own."""

    process: subprocess.Popen[str]
    url: str

    @property
    def port(self) -> int:
        return int(self.url.rstrip("/").rpartition(":")[2])


def start_explorer(*arguments: str) -> Explorer:
    process = subprocess.Popen(
        [sys.executable, str(PROJECT / "uci_main.py"), "explore", "--no-browser", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    if not url:
        _, errors = process.communicate()
        pytest.fail(f"the explorer did not start: {errors}")
    return Explorer(process, url)


def stop_explorer(explorer: Explorer) -> None:
    explorer.process.terminate()
    explorer.process.communicate(timeout=20)


@pytest.fixture(scope="session")
def explorer() -> Iterator[Explorer]:
    """One server for all tests that only ask it."""
    pytest.importorskip("uvicorn", reason="the extra 'explore' is not installed")
    running = start_explorer()
    yield running
    stop_explorer(running)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium, the system's own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as library:
        chromium = library.chromium.launch(
            executable_path=path,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
            ],
        )
        yield chromium
        chromium.close()
