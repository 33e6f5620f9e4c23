"""The pictures of the explorer in the documentation, taken from the page itself.

`python -m tests.explorer.page.pictures` takes them anew, with the Chromium of this machine and Pillow (which comes with
Matplotlib).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.explorer.page.conftest import PROJECT, Shown, explorer_running, launch_chromium, new_page

FOLDER: Final = PROJECT / "search" / "explorer" / "pictures"

#: Pixels of a picture, and the window that it shows.
SIZE: Final = (1400, 800)
WINDOW: Final[dict[str, Any]] = {"viewport": {"width": SIZE[0], "height": SIZE[1]}, "color_scheme": "light"}

#: Colours of a saved picture.
COLOURS: Final = 96

#: What the chess picture shows.
POSITION: Final = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
DEPTH: Final = 7


def show_tree(page: Shown) -> None:
    """The seven leaves, just when the second branch is cut off."""
    page.page.click("#tab-example")
    page.choose("example", "seven")
    page.click("next-cut")
    page.click("next-cut")


def show_lattice(page: Shown) -> None:
    """Sets of possible worlds, searched by the strong rule and by comparing with the parent alone, side by side."""
    page.page.click("#tab-example")
    page.choose("example", "worlds")
    page.choose("compare", "lattice-shallow")
    page.click("end")


def show_chess(page: Shown) -> None:
    """The first positions of a search, with what its techniques save counted."""
    page.page.click("#tab-chess")
    page.page.fill("#chess-position", POSITION)
    page.page.fill("#chess-depth", str(DEPTH))
    page.page.fill("#chess-nodes", "1000000")
    page.page.click("#chess-search")
    page.page.wait_for_selector("body:not([aria-busy])", timeout=300_000)
    page.click("count-costs")
    for _ in range(4):
        page.click("next-cut")


#: Name of the file, and how to get there.
SCENES: Final[dict[str, Callable[[Shown], None]]] = {
    "tree.png": show_tree,
    "lattice.png": show_lattice,
    "chess.png": show_chess,
}


def take(page: Shown, name: str, folder: Path) -> Path:
    """Shows a scene and saves what the window shows; no control has the focus, and nothing moves."""
    page.page.evaluate("document.getElementById('welcome').hidden = true")
    SCENES[name](page)
    page.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.page.mouse.move(0, 0)
    page.settle()
    path = folder / name
    page.page.screenshot(path=str(path), animations="disabled")
    return path


def main() -> int:
    """Takes all pictures."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with explorer_running() as running, sync_playwright() as library:
        browser = launch_chromium(library)
        for name in SCENES:
            with new_page(browser, running.url, **WINDOW) as page:
                path = take(page, name, FOLDER)
            # A palette makes them a third as large, and nobody can tell.
            Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)
            print(path)  # noqa: T201
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
