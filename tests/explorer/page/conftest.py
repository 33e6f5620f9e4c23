"""A running explorer, and a browser to look at its page with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


def start_explorer(*arguments: str, **environment: str) -> Explorer:
    process = subprocess.Popen(
        [sys.executable, str(PROJECT / "uci_main.py"), "explore", "--no-browser", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(PROJECT)} | environment,
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    if not url:
        _, errors = process.communicate()
        pytest.fail(f"the explorer did not start: {errors}")
    return Explorer(process, url)


@contextmanager
def explorer_running(*arguments: str, **environment: str) -> Iterator[Explorer]:
    """An explorer that runs during the block."""
    running = start_explorer(*arguments, **environment)
    try:
        yield running
    finally:
        running.process.terminate()
        running.process.communicate(timeout=60)


@pytest.fixture(scope="session")
def explorer() -> Iterator[Explorer]:
    """One server for all tests that only ask it."""
    pytest.importorskip("uvicorn", reason="the extra 'explore' is not installed")
    with explorer_running() as running:
        yield running


def launch_chromium(library: Any) -> Any:
    """The system's Chromium, headless; skips the test if there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    return library.chromium.launch(
        executable_path=path,
        args=["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
    )


# Not of the session: while Playwright runs, no other test of the process may have an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The browser that the tests of a file share."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as library:
        chromium = launch_chromium(library)
        yield chromium
        chromium.close()


class Shown:
    """The page in the browser: its controls, and what it shows."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requested: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._hear)
        page.on("request", lambda request: self.requested.append(request.url))

    def _hear(self, message: Any) -> None:
        # A refusal by the server is no fault of the page, which says so itself.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(message.text)

    def open(self, url: str) -> None:
        self.url = url.partition("#")[0]
        self.page.goto(url)
        self.ready()

    def import_file(self, path: Path, *, until: str) -> None:
        """Imports a file and waits for what it shows."""
        self.page.set_input_files("#import", str(path))
        self.page.wait_for_selector(until)
        self.settle()

    def ready(self) -> None:
        self.page.wait_for_selector("body[data-ready]")
        self.settle()

    def settle(self) -> None:
        """Waits until no search is under way and everything is drawn."""
        self.page.wait_for_selector("body:not([aria-busy])")
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def choose(self, control: str, value: str) -> None:
        self.page.select_option(f"#{control}", value)
        self.settle()

    def click(self, control: str) -> None:
        self.page.click(f"#{control}")
        self.settle()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def enter(self, text: str, form: str = "") -> None:
        """Types a tree and initialises."""
        self.page.click("#tab-text")
        self.page.select_option("#format", form)
        self.page.fill("#tree-text", text)
        self.click("initialise")
        self.page.evaluate("document.activeElement.blur()")

    def seek(self, index: int) -> None:
        self.page.evaluate("index => secateur.seek(index)", index)

    def view(self) -> tuple[float, float, float]:
        """Zoom and place of the first tree: kx, tx, ty."""
        kx, tx, ty = self.page.evaluate("(({kx, tx, ty}) => [kx, tx, ty])(secateur.state.panels[0].view)")
        return kx, tx, ty

    def text(self, control: str) -> str:
        return str(self.page.inner_text(f"#{control}"))

    @property
    def index(self) -> int:
        return int(self.text("count").split(" of ")[0].replace(",", ""))

    @property
    def length(self) -> int:
        return int(self.text("count").split(" of ")[1].split(" ")[0].replace(",", ""))

    @property
    def message(self) -> str:
        """The error or warning, which stands at the tree's text if it is about the text."""
        shown = (name for name in ("message", "text-error") if self.page.is_visible(f"#{name}"))
        return next(map(self.text, shown), "")

    def table(self, control: str) -> list[list[str]]:
        """The cells of a table's body."""
        rows = self.page.evaluate(
            """id => Array.from(document.querySelectorAll(`#${id} > tbody > tr:not(.meaning)`),
                row => Array.from(row.cells, cell => cell.textContent))""",
            control,
        )
        return [[str(cell) for cell in row] for row in rows]

    def counts(self, column: int = 1) -> dict[str, int]:
        """One column of the statistics, by the names of the document."""
        names = ("visited", "evaluated", "pruned", "cuts", "table_hits")
        rows = self.table("statistics")
        return {
            name: int(row[column].partition(" ")[0].replace(",", "")) for name, row in zip(names, rows, strict=False)
        }

    def every_event(self) -> list[tuple[str, str, list[int]]]:
        """After each event: the explanation, the path, and the counts."""
        found = self.page.evaluate(
            """() => Array.from({length: Number(document.getElementById("position").max)}, (_, i) => {
                secateur.seek(i + 1);
                const parts = ["explanation", "path", "statistics"].map(id => document.getElementById(id));
                const counts = Array.from(parts[2].tBodies[0].rows, row => Number(row.cells[1].textContent));
                return [parts[0].textContent, parts[1].textContent, counts];
            })"""
        )
        return [(str(words), str(path), counts) for words, path, counts in found]

    def facts(self) -> dict[str, str]:
        """The facts about the selected node."""
        pairs = self.page.evaluate(
            "[...document.querySelectorAll('#node dt')].map(dt => [dt.textContent, dt.nextSibling.textContent])"
        )
        return dict(pairs)

    def select(self, node: int) -> None:
        """Selects a node by clicking on it, in a view of the whole tree."""
        x, y = self.place(node)
        self.page.mouse.click(x, y)
        self.settle()

    def place(self, node: int, letter: str = "a") -> tuple[float, float]:
        """Where a node is drawn in the window."""
        found = self.page.evaluate(
            """([node, letter]) => {
                const panel = secateur.state.panels[letter === "a" ? 0 : 1], view = panel.view;
                const box = view.canvas.getBoundingClientRect(), {x, y} = view.layout;
                return [box.left + x[node] * view.kx + view.tx, box.top + y[node] * view.ky + view.ty];
            }""",
            [node, letter],
        )
        return float(found[0]), float(found[1])

    def assert_within(self, width: int, *controls: str) -> None:
        """At this width of the window nothing has to be scrolled sideways, and the controls can be reached."""
        self.page.set_viewport_size({"width": width, "height": 740})
        self.settle()
        assert self.page.evaluate("document.documentElement.scrollWidth") <= width
        for control in controls:
            box = self.page.locator(f"#{control}").bounding_box()
            assert box is not None, (width, control)
            assert box["x"] >= 0, (width, control)
            assert box["x"] + box["width"] <= width, (width, control)
            assert min(box["width"], box["height"]) >= 30, (width, control)

    def download(self, kind: str) -> bytes:
        """The file of an export."""
        self.page.click("#exports > summary")
        with self.page.expect_download() as coming:
            self.page.click(f"[data-export={kind}]")
        return Path(coming.value.path()).read_bytes()


@contextmanager
def new_page(browser: Any, url: str, **options: Any) -> Iterator[Shown]:
    """A page in its own context; it must neither fail nor request anything from elsewhere."""
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
    context.set_default_timeout(60_000)
    try:
        page = Shown(context.new_page())
        page.open(url)
        yield page
    finally:
        context.close()
    assert page.problems == []
    assert all(url.startswith((page.url, "blob:", "data:", "about:")) for url in page.requested)


@pytest.fixture(scope="module")
def window(browser: Any, explorer: Explorer) -> Iterator[Shown]:
    """The window that the tests of a file share."""
    with new_page(browser, explorer.url) as page:
        yield page


@pytest.fixture
def shown(window: Shown) -> Shown:
    """The page as it opens, 1280 by 800."""
    window.page.set_viewport_size({"width": 1280, "height": 800})
    window.page.goto("about:blank")
    window.open(window.url)
    return window
