"""The drawing: collapsed, zoomed, dragged, followed; small screens and large trees; fingers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.explorer.page.conftest import PROJECT, Explorer, Shown, new_page
from tests.explorer.page.reference import UNIFORM


def drawn(shown: Shown) -> int:
    shown.settle()
    return int(shown.page.evaluate("secateur.state.panels[0].view.drawn"))


def test_collapsing_hides_and_shows_what_is_below(shown: Shown) -> None:
    shown.enter(UNIFORM)
    shown.page.set_viewport_size({"width": 1600, "height": 900})

    def placed() -> int:
        return int(shown.page.evaluate("secateur.state.panels[0].view.layout.order.length"))

    assert placed() == 121
    shown.press("ArrowDown", "Enter")
    assert placed() == 121 - 39
    assert shown.text("collapse") == "Expand"
    shown.click("collapse")
    assert placed() == 121
    shown.choose("collapse-depth", "2")
    assert placed() == 13
    shown.choose("collapse-depth", "all")
    assert placed() == 121
    shown.page.mouse.dblclick(*shown.place(1))
    assert placed() == 121 - 39


def test_zooming_panning_and_fitting(shown: Shown) -> None:
    shown.enter(UNIFORM)
    fitted = shown.view()
    shown.click("zoom-in")
    assert shown.view()[0] > fitted[0]
    shown.click("zoom-out")
    shown.page.mouse.move(600, 300)
    shown.page.mouse.wheel(0, -200)
    shown.settle()
    zoomed = shown.view()
    assert zoomed[0] > fitted[0]
    shown.page.mouse.move(760, 460)
    shown.page.mouse.down()
    shown.page.mouse.move(700, 420, steps=4)
    shown.page.mouse.up()
    shown.settle()
    panned = shown.view()
    assert (panned[1] - zoomed[1], panned[2] - zoomed[2]) == pytest.approx((-60, -40), abs=7)
    shown.click("fit")
    assert shown.view() == fitted


def test_large_trees_are_usable(shown: Shown) -> None:
    generate(shown, 6, 6)
    assert shown.page.evaluate("secateur.state.panels[0].trace.nodes") == 55_987
    assert 20 < drawn(shown) < 2000
    shown.click("end")
    for _ in range(40):
        shown.page.keyboard.press("+")
    assert 1 <= drawn(shown) < 2000
    shown.choose("collapse-depth", "2")
    assert drawn(shown) == 43
    generate(shown, 1, 2000)
    assert shown.message == ""
    shown.seek(3000)
    assert drawn(shown) > 5


def generate(shown: Shown, branching: int, plies: int) -> None:
    shown.page.click("#tab-uniform")
    shown.page.fill("#branching", str(branching))
    shown.page.fill("#plies", str(plies))
    shown.click("generate")


#: Controls that every width has room for.
CONTROLS = ("initialise", "step", "back", "play", "next-cut", "reset", "end", "share", "theme", "fit", "collapse")


def test_no_width_needs_sideways_scrolling_and_all_controls_can_be_reached(shown: Shown) -> None:
    shown.enter(UNIFORM)
    shown.choose("compare", "minimax")
    shown.seek(30)
    for width in (360, 414, 768, 1000, 1280, 1600):
        shown.assert_within(width, *CONTROLS)


def test_fingers_select_pan_and_pinch(browser: Any, explorer: Explorer) -> None:
    with new_page(
        browser, explorer.url, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    ) as phone:
        x, y = phone.place(1)
        phone.page.touchscreen.tap(x, y)
        phone.settle()
        assert phone.facts()["node"].startswith("A ")
        session = phone.page.context.new_cdp_session(phone.page)

        def touch(kind: str, *points: tuple[float, float]) -> None:
            places = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

        before = phone.view()
        box = phone.page.locator("#tree-a").bounding_box()
        low, middle = box["y"] + 0.85 * box["height"], box["y"] + 0.5 * box["height"]
        touch("touchStart", (60, low))
        for step in range(1, 6):
            touch("touchMove", (60 + 8 * step, low - 5 * step))
        touch("touchEnd")
        phone.settle()
        panned = phone.view()
        assert panned[1] - before[1] == pytest.approx(40, abs=9)
        touch("touchStart", (140, middle), (220, middle))
        for step in range(1, 6):
            touch("touchMove", (140 - 8 * step, middle), (220 + 8 * step, middle))
        touch("touchEnd")
        phone.settle()
        assert phone.view()[0] > panned[0] * 1.3
        button = phone.page.locator("#step").bounding_box()
        phone.page.touchscreen.tap(button["x"] + 10, button["y"] + 10)
        phone.settle()
        assert phone.index == 1


def test_signs_and_words_are_those_of_what_is_shown(shown: Shown) -> None:
    assert not shown.page.is_visible("#words")
    shown.page.set_viewport_size({"width": 1280, "height": 500})
    shown.click("help")
    assert shown.page.is_visible("#keys")
    assert shown.page.evaluate("document.getElementById('help-dialog').scrollTop") == 0
    assert shown.page.is_visible("#words dt:has-text('alpha')")
    for words, is_visible in (("MIN is to move", True), ("quiescence: captures", False), ("selected", True)):
        assert shown.page.is_visible(f"#legend li:has-text('{words}')") == is_visible


def test_the_menu_closes_when_it_is_left(shown: Shown) -> None:
    height = "document.querySelector('header').getBoundingClientRect().height"
    before = shown.page.evaluate(height)
    for leave in (lambda: shown.press("Escape"), lambda: shown.page.click("figcaption")):
        shown.page.click("#exports > summary")
        assert shown.page.is_visible("[data-export=svg]")
        assert shown.page.evaluate(height) == before
        leave()
        assert not shown.page.is_visible("[data-export=svg]")


def texts_drawn(shown: Shown) -> tuple[int, int]:
    """How many nodes are in sight, and how many texts are drawn, when the tree is painted once."""
    in_sight, texts = shown.page.evaluate(
        """() => {
            const view = secateur.state.panels[0].view, draw = CanvasRenderingContext2D.prototype.fillText;
            const inside = (node) => {
                const x = view.layout.x[node] * view.kx + view.tx, y = view.layout.y[node] * view.ky + view.ty;
                return x >= 0 && x <= view.width && y >= 0 && y <= view.height;
            };
            let texts = 0;
            CanvasRenderingContext2D.prototype.fillText = function (...args) {
                texts++;
                draw.apply(this, args);
            };
            view.paint();
            CanvasRenderingContext2D.prototype.fillText = draw;
            return [view.layout.order.filter(inside).length, texts];
        }"""
    )
    return in_sight, texts


def test_five_hundred_nodes_are_readable(shown: Shown) -> None:
    shown.page.set_viewport_size({"width": 1600, "height": 900})
    generate(shown, 2, 8)
    shown.choose("algorithm", "minimax")
    shown.click("end")
    # Fitted, the plies near the root have texts; zoomed in on any place, each node there has its value.
    _, texts = texts_drawn(shown)
    assert texts >= 30
    for _ in range(14):
        shown.page.keyboard.press("+")
    shown.settle()
    in_sight, texts = texts_drawn(shown)
    assert in_sight >= 4
    assert texts >= in_sight


# --- colours -------------------------------------------------------------------------------------------------------

Colour = tuple[float, ...]

#: What a protanope and a deuteranope see, of linear RGB (Viénot, Brettel and Mollon, 1999).
DICHROMATS = (
    ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
)


def themes() -> list[dict[str, Colour]]:
    """The colours of both themes by name, as linear RGB."""
    css = (PROJECT / "search" / "explorer" / "page" / "style.css").read_text("utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): #([0-9a-f]{6});", css.split(start, 1)[1].split("}", 1)[0]))
        for start in (":root {", ':root[data-theme="dark"] {')
    )
    return [{name: linear(value) for name, value in theme.items()} for theme in (light, light | dark)]


def linear(colour: str) -> Colour:
    parts = (int(colour[index : index + 2], 16) / 255 for index in (0, 2, 4))
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def dot(weights: Colour, colour: Colour) -> float:
    return sum(weight * part for weight, part in zip(weights, colour, strict=True))


def contrast(one: Colour, other: Colour) -> float:
    """As the Web Content Accessibility Guidelines count it."""
    low, high = sorted(dot((0.2126, 0.7152, 0.0722), colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_texts_and_lines_stand_out(theme: dict[str, Colour]) -> None:
    for text, ground in (("ink", "paper"), ("ink", "ground"), ("on-accent", "accent"), ("ink", "warning")):
        assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
    for ground in ("max", "min", "leaf"):
        assert contrast(theme["on-node"], theme[ground]) >= 4.5, ground
    assert contrast(theme["paper"], theme["best"]) >= 4.5
    for line in ("cut", "path", "best", "chosen", "guess", "faint", "accent"):
        assert contrast(theme[line], theme["paper"]) >= 3, line
    for matrix in DICHROMATS:
        # Who does not see red or green can tell these apart by their brightness or by what is left of their hue.
        seen = {name: tuple(max(0.0, dot(row, colour)) for row in matrix) for name, colour in theme.items()}
        for one, other in (("max", "min"), ("max", "leaf"), ("min", "leaf"), ("cut", "best"), ("cut", "ink")):
            apart = max(abs(a ** (1 / 2.4) - b ** (1 / 2.4)) for a, b in zip(seen[one], seen[other], strict=True))
            assert apart > 0.12, (one, other)
