"""Pictures: right format, right content, clear refusals."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="pictures need Matplotlib")
pytest.importorskip("scipy", reason="the LLR needs SciPy")

from bench.plots import PlotError, check_path, new_figure, plot_match
from bench.results import GameResult, MatchResult
from bench.stats import Sprt


def match(pairs: int) -> MatchResult:
    generator = random.Random(1)
    games = []
    for pair in range(pairs):
        for number, (white, black) in enumerate((("New", "Old"), ("Old", "New"))):
            result = generator.choice(["1-0", "1/2-1/2", "0-1"])
            games.append(GameResult(2 * pair + number, pair, white, black, result))
    return MatchResult(("New", "Old"), games, len(games))


def test_match_as_svg_and_png(tmp_path: Path) -> None:
    svg, png = tmp_path / "match.svg", tmp_path / "match.PNG"
    plot_match(match(30), svg, Sprt(0, 10))
    plot_match(match(1000), png)
    # An SVG draws its glyphs as paths, but keeps the words in comments.
    text = svg.read_text(encoding="utf-8")
    for words in ("New against Old: 60 games", "accept", "reject", "LLR [0, 10] normalized", "95 % interval"):
        assert words in text
    assert png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_takes_the_place_of_our_own_only(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"plot.{ending}"
    for count in (5, 6):
        plot_match(match(count), path)
    foreign = tmp_path / f"foreign.{ending}"
    new_figure(1)[0].savefig(foreign, format=ending)
    for data in (b"my notes", foreign.read_bytes()):
        path.write_bytes(data)
        with pytest.raises(PlotError, match=f"plot.{ending}: already exists and is not a picture of Secateur"):
            check_path(path)
        assert path.read_bytes() == data


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_an_edited_picture_stays(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"plot.{ending}"
    plot_match(match(5), path)
    ours = path.read_bytes()
    if ending == "png":
        pillow = pytest.importorskip("PIL.Image")
        with pillow.open(path) as image:
            image.verify()  # the checksums of all chunks
            assert image.info["Author"].startswith("drawn by Secateur ")
    mine = b'<svg xmlns="http://www.w3.org/2000/svg"><!-- not drawn by Secateur --></svg>'
    for data in (ours[:-40] + b"x" + ours[-40:], mine):
        path.write_bytes(data)
        with pytest.raises(PlotError, match=rf"plot\.{ending}: .*; it is left unchanged$"):
            check_path(path)
        assert path.read_bytes() == data
    path.write_bytes(ours)
    check_path(path)
    with pytest.raises(
        PlotError, match=rf"plot\.{ending}: is not an unedited training picture of Secateur; it is left"
    ):
        check_path(path, "training")
    assert path.read_bytes() == ours


def test_refusals_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    for name, problem in (
        ("plot.pdf", r"plot\.pdf: a picture's name must end with"),
        ("missing/plot.svg", "its folder does not exist"),
        ("folder.svg", r"folder\.svg: is a folder, not a file"),
    ):
        with pytest.raises(PlotError, match=problem):
            check_path(tmp_path / name)
    with pytest.raises(PlotError, match="no pair of games"):
        plot_match(match(0), tmp_path / "plot.svg")
