"""The drawing: collapsed, zoomed, dragged, followed; small screens and large trees; fingers."""

from __future__ import annotations

import math
import re

import pytest

from search.theory.algorithms import run
from search.theory.tree_text import read_tree
from tests.explorer.page.conftest import PROJECT
from tests.explorer.page.trees import UNIFORM


def drawn(shown):
    shown.settle()
    return shown.page.evaluate("secateur.state.panels[0].view.drawn")


def test_collapsing_hides_and_shows_what_is_below(shown):
    shown.enter(UNIFORM)
    shown.page.set_viewport_size({"width": 1600, "height": 900})
    placed = "secateur.state.panels[0].view.layout.order.length"
    assert shown.page.evaluate(placed) == 121
    shown.press("ArrowDown", "Enter")
    assert shown.page.evaluate(placed) == 121 - 39
    assert shown.text("collapse") == "Expand"
    shown.click("collapse")
    assert shown.page.evaluate(placed) == 121
    shown.choose("collapse-depth", "2")
    assert shown.page.evaluate(placed) == 13
    shown.choose("collapse-depth", "all")
    assert shown.page.evaluate(placed) == 121
    x, y = shown.place(1)
    shown.page.mouse.dblclick(x, y)
    assert shown.page.evaluate(placed) == 121 - 39


def test_zooming_panning_and_fitting(shown):
    shown.enter(UNIFORM)
    view = "(({kx, tx, ty}) => [kx, tx, ty])(secateur.state.panels[0].view)"
    fitted = shown.page.evaluate(view)
    shown.click("zoom-in")
    assert shown.page.evaluate(view)[0] > fitted[0]
    shown.click("zoom-out")
    shown.page.mouse.move(600, 300)
    shown.page.mouse.wheel(0, -200)
    shown.settle()
    zoomed = shown.page.evaluate(view)
    assert zoomed[0] > fitted[0]
    shown.page.mouse.move(760, 460)
    shown.page.mouse.down()
    shown.page.mouse.move(700, 420, steps=4)
    shown.page.mouse.up()
    shown.settle()
    panned = shown.page.evaluate(view)
    assert (panned[1] - zoomed[1], panned[2] - zoomed[2]) == pytest.approx((-60, -40), abs=7)
    shown.click("fit")
    assert shown.page.evaluate(view) == fitted


def test_the_search_is_followed_when_zoomed_in(shown):
    shown.enter(UNIFORM)
    for _ in range(12):
        shown.press("+")
    done = run(read_tree(UNIFORM), "alpha-beta")
    for number in (1, 40, 90, 200):
        shown.seek(number)
        shown.settle()
        x, y = shown.place(done.events[number - 1].node)
        box = shown.page.locator("#tree-a").bounding_box()
        assert box["x"] <= x <= box["x"] + box["width"]
        assert box["y"] <= y <= box["y"] + box["height"]


def test_fifty_thousand_nodes_are_usable(shown):
    shown.page.click("#tab-uniform")
    shown.page.fill("#branching", "6")
    shown.page.fill("#plies", "6")
    shown.click("generate")
    assert shown.page.evaluate("secateur.state.panels[0].trace.nodes") == 55_987
    assert 20 < drawn(shown) < 2000
    milliseconds = shown.page.evaluate(
        """() => {
            const view = secateur.state.panels[0].view, start = performance.now();
            for (let i = 0; i < 10; i++) view.paint();
            return (performance.now() - start) / 10;
        }"""
    )
    assert milliseconds < 33
    shown.click("end")
    for _ in range(40):
        shown.press("+")
    assert 1 <= drawn(shown) < 2000
    shown.choose("collapse-depth", "2")
    assert drawn(shown) == 43


def test_a_tree_of_the_greatest_depth_is_shown(shown):
    shown.page.click("#tab-uniform")
    shown.page.fill("#branching", "1")
    shown.page.fill("#plies", "2000")
    shown.click("generate")
    assert shown.message == ""
    shown.seek(3000)
    shown.settle()
    assert drawn(shown) > 5


def test_light_and_dark(shown):
    background = "getComputedStyle(document.body).backgroundColor"
    first = shown.page.evaluate(background)
    shown.click("theme")
    assert shown.page.evaluate(background) != first
    shown.page.reload()
    shown.ready()
    assert shown.page.evaluate(background) != first


@pytest.mark.parametrize("width", [360, 414, 768, 1000, 1280, 1600])
def test_no_width_needs_sideways_scrolling_and_all_controls_can_be_reached(shown, width):
    shown.page.set_viewport_size({"width": width, "height": 740})
    shown.enter(UNIFORM)
    shown.choose("compare", "minimax")
    shown.seek(30)
    shown.settle()
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    for control in (
        "initialise",
        "step",
        "back",
        "play",
        "next-cut",
        "reset",
        "end",
        "share",
        "theme",
        "fit",
        "collapse",
    ):
        box = shown.page.locator(f"#{control}").bounding_box()
        assert box is not None, control
        assert box["x"] >= 0, control
        assert box["x"] + box["width"] <= width, control
        assert min(box["width"], box["height"]) >= 30, control


def test_fingers_select_pan_and_pinch(browser, explorer, shown):
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    phone = type(shown)(context.new_page())
    phone.open(explorer.url)
    phone.page.wait_for_selector("#count:has-text('of 39')")
    x, y = phone.place(1)
    phone.page.touchscreen.tap(x, y)
    phone.settle()
    assert phone.facts()["node"].startswith("A ")
    session = context.new_cdp_session(phone.page)

    def touch(kind, *points):
        places = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    view = "(({kx, tx, ty}) => [kx, tx, ty])(secateur.state.panels[0].view)"
    before = phone.page.evaluate(view)
    box = phone.page.locator("#tree-a").bounding_box()
    low, middle = box["y"] + 0.85 * box["height"], box["y"] + 0.5 * box["height"]
    touch("touchStart", (60, low))
    for step in range(1, 6):
        touch("touchMove", (60 + 8 * step, low - 5 * step))
    touch("touchEnd")
    phone.settle()
    panned = phone.page.evaluate(view)
    assert panned[1] - before[1] == pytest.approx(40, abs=9)
    touch("touchStart", (140, middle), (220, middle))
    for step in range(1, 6):
        touch("touchMove", (140 - 8 * step, middle), (220 + 8 * step, middle))
    touch("touchEnd")
    phone.settle()
    assert phone.page.evaluate(view)[0] > panned[0] * 1.3
    phone.page.touchscreen.tap(*[phone.page.locator("#step").bounding_box()[side] + 10 for side in ("x", "y")])
    phone.settle()
    assert phone.index == 1
    context.close()
    assert phone.problems == []


def test_the_buttons_for_following_and_for_help(shown):
    assert shown.page.get_attribute("#follow", "aria-pressed") == "true"
    shown.click("follow")
    assert shown.page.get_attribute("#follow", "aria-pressed") == "false"
    assert not shown.page.is_visible("#words")
    shown.click("help")
    assert shown.page.is_visible("#keys")
    assert shown.page.is_visible("#words dt:has-text('alpha')")


def test_signs_and_words_are_those_of_what_is_shown(shown):
    shown.click("help")
    for words, is_visible in (("MIN is to move", True), ("quiescence: only captures", False), ("selected", True)):
        assert shown.page.is_visible(f"#legend li:has-text('{words}')") == is_visible


def texts_drawn(shown):
    """How many nodes are in sight, and how many texts are drawn, when the tree is painted once."""
    return shown.page.evaluate(
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


def test_five_hundred_nodes_are_readable(shown):
    shown.page.set_viewport_size({"width": 1600, "height": 900})
    shown.page.click("#tab-uniform")
    shown.page.fill("#branching", "2")
    shown.page.fill("#plies", "8")
    shown.click("generate")
    shown.choose("algorithm", "minimax")
    shown.click("end")
    assert shown.page.evaluate("secateur.state.panels[0].trace.nodes") == 511
    # Fitted, the plies near the root are told; zoomed in on any place, each node there with its value.
    _, texts = texts_drawn(shown)
    assert texts >= 30
    for _ in range(14):
        shown.press("+")
    in_sight, texts = texts_drawn(shown)
    assert in_sight >= 8
    assert texts >= in_sight


# --------------------------------------------------------------------------------------------------------------
# Colours
# --------------------------------------------------------------------------------------------------------------

#: What a protanope and a deuteranope see, of linear RGB (Viénot, Brettel and Mollon, 1999).
DICHROMATS = (
    ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
)


def themes():
    """The colours of both themes by name, as linear RGB."""
    css = (PROJECT / "search" / "explorer" / "page" / "style.css").read_text("utf-8")
    light, dark = (
        dict(re.findall(r"--([\w-]+): #([0-9a-f]{6});", css.split(start, 1)[1].split("}", 1)[0]))
        for start in (":root {", ':root[data-theme="dark"] {')
    )
    return [{name: linear(value) for name, value in theme.items()} for theme in (light, light | dark)]


def linear(colour):
    parts = (int(colour[index : index + 2], 16) / 255 for index in (0, 2, 4))
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def luminance(colour):
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), colour, strict=True))


def contrast(one, other):
    """As the Web Content Accessibility Guidelines count it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(colour):
    """CIE L*a*b* of linear RGB."""
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = (sum(weight * part for weight, part in zip(row, colour, strict=True)) for row in rows)
    x, y, z = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in (part / white for part, white in zip(xyz, (0.9505, 1.0, 1.089), strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_texts_and_lines_stand_out(theme):
    for text, ground in (("ink", "paper"), ("ink", "ground"), ("on-accent", "accent"), ("ink", "warning")):
        assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
    for ground in ("max", "min", "leaf"):
        assert contrast(theme["on-node"], theme[ground]) >= 4.5, ground
    assert contrast(theme["paper"], theme["best"]) >= 4.5
    for line in ("cut", "path", "best", "chosen", "guess", "faint", "accent"):
        assert contrast(theme[line], theme["paper"]) >= 3, line


@pytest.mark.parametrize("theme", themes(), ids=["light", "dark"])
def test_who_does_not_see_red_or_green_can_tell_the_colours_apart(theme):
    for matrix in DICHROMATS:
        seen = {
            name: lab(tuple(max(0.0, sum(w * part for w, part in zip(row, colour, strict=True))) for row in matrix))
            for name, colour in theme.items()
        }
        for one, other in (
            ("max", "min"),
            ("max", "leaf"),
            ("min", "leaf"),
            ("cut", "best"),
            ("cut", "ink"),
            ("best", "min"),
        ):
            assert math.dist(seen[one], seen[other]) > 15, (one, other)
