"""Pictures of results as PNG or SVG files, drawn without a display."""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Sequence
from importlib import util
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.results import MatchResult, complete_pairs
from bench.stats import Sprt, Tally, elo_text, estimate
from engine.errors import CommandError, MissingError
from engine.extras import remedy
from engine.files import Output, read_bytes, reason, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bench.spsa import Floats

ENDINGS: Final = (".png", ".svg")

#: The mark near the beginning of a picture: a PNG chunk or an SVG line with the SHA-256 of kind and rest of the file.
_MARK: Final = re.compile(rb"(?s)....tEXtAuthor\0drawn by Secateur \w{64}....|<!-- drawn by Secateur \w{64} -->\n")

#: The most points on a curve; longer series are thinned out evenly.
MAX_POINTS: Final = 400

#: How many parameters a picture of a tuning run names.
NAMED: Final = 10

_LINE, _BAND, _BOUND = "#1f5f8b", "#9fc5e0", "#b03a2e"


class PlotError(CommandError, ValueError):
    """Raised if a picture cannot be drawn; the message is one line and names the file."""


class MissingForPlotError(PlotError, MissingError):
    """Raised if matplotlib is missing, or if the file cannot be written or must not be replaced."""


def check_path(path: str | Path | Output, kind: str = "match") -> Output:
    """Returns the output file for a picture. It may already contain an unedited picture of this kind from Secateur.

    Raises `PlotError` if matplotlib is missing, if the suffix is unknown, or if the file cannot be written or must
    not be replaced. Call this function first: an error after the games would waste them.
    """
    if not isinstance(path, Output):
        if util.find_spec("matplotlib") is None:
            raise MissingForPlotError(f"{shown(path)}: pictures need the package 'matplotlib': {remedy('lab')}")
        if Path(path).suffix.lower() not in ENDINGS:
            raise PlotError(f"{shown(path)}: a picture's name must end with {' or '.join(ENDINGS)}")
    try:
        place = Path(path) if isinstance(path, str) else path
        output = Output.at(place, lambda head: _MARK.search(head) is not None, "picture of Secateur")
        data = read_bytes(output.path, 1 << 28) if place is not output and output.size else b""
    except OSError as error:
        raise MissingForPlotError(f"{shown(str(path))}: {reason(error)}") from None
    if data and _marked(_MARK.sub(b"", data, count=1), kind) != data:
        problem = f"is not an unedited {kind} picture of Secateur; it is left unchanged"
        raise MissingForPlotError(f"{shown(output.path)}: {problem}")
    return output


def _marked(picture: bytes, kind: str) -> bytes:
    """Returns `picture` with a mark (see `_MARK`) after the header of a PNG or the first line of an SVG."""
    author = b"drawn by Secateur " + hashlib.sha256(kind.encode() + picture).hexdigest().encode()
    if picture.startswith(b"\x89PNG"):
        chunk, at = b"tEXtAuthor\0" + author, 33
        mark = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    else:
        mark, at = b"<!-- %s -->\n" % author, picture.find(b"\n") + 1
    return picture[:at] + mark + picture[at:]


def plot_match(results: MatchResult, path: str | Path | Output, sprt: Sprt | None = None) -> None:
    """Draws the first engine's score and 95 % interval against the number of pairs, and the LLR if `sprt` is given.

    Raises `PlotError` if no pair is finished, and passes on the errors of `check_path` and `save_figure`.
    """
    picture = check_path(path)
    engine = results.engines[0]
    pairs = [(a.points(engine), b.points(engine)) for a, b in complete_pairs(results.games)]
    step = max(1, -(-len(pairs) // MAX_POINTS))
    tally, rows, elo = Tally(), [], ""
    for number, (first, second) in enumerate(pairs, start=1):
        tally.add_pair(first, second)
        found = estimate(tally) if number % step == 0 or number == len(pairs) else None
        if found is not None:
            low, high = max(found.score - found.score_error, 0.0), min(found.score + found.score_error, 1.0)
            ratio = sprt.llr(tally) if sprt is not None else 0.0
            rows.append((number, 100.0 * found.score, 100.0 * low, 100.0 * high, ratio))
            elo = elo_text(found)
    if not rows:
        raise PlotError(f"{shown(picture.path)}: not drawn, because no pair of games is finished")
    counts, scores, low_ends, high_ends, ratios = zip(*rows, strict=True)
    figure, axes = new_figure(1 if sprt is None else 2)
    upper = axes[0]
    title = f"{engine} against {', '.join(results.engines[1:])}: {tally.games} games, Elo {elo}"
    # parse_math=False, because a "$" in an engine's name would begin a formula.
    upper.set_title(title, parse_math=False)
    upper.axhline(50, color="grey", linewidth=0.8)
    upper.fill_between(counts, low_ends, high_ends, color=_BAND, alpha=0.6, linewidth=0, label="95 % interval")
    upper.plot(counts, scores, color=_LINE, label="score")
    # The first tenth of the curve does not affect the limits of the axis: its wide intervals would flatten the rest.
    settled = len(counts) // 10
    upper.set_ylim(max(min(45.0, *low_ends[settled:]) - 3, -3), min(max(55.0, *high_ends[settled:]) + 3, 103))
    upper.set_ylabel("score, %")
    upper.legend(loc="best", frameon=False)
    if sprt is not None:
        lower = axes[1]
        lower.plot(counts, ratios, color=_LINE)
        for bound, words in ((sprt.upper, "accept"), (sprt.lower, "reject")):
            lower.axhline(bound, color=_BOUND, linestyle="--", linewidth=1)
            lower.annotate(words, (counts[0], bound), textcoords="offset points", xytext=(2, 3), color=_BOUND)
        lower.set_ylabel(f"LLR [{sprt.elo0:g}, {sprt.elo1:g}] {sprt.model}")
        lower.set_ylim(min(sprt.lower, *ratios) * 1.25, max(sprt.upper, *ratios) * 1.25)
    axes[-1].set_xlabel("pairs of games")
    save_figure(figure, picture)


def plot_tuning(names: Sequence[str], iterations: Sequence[int], changes: Floats, path: Output) -> None:
    """Draws each parameter's change in steps, float64[points][parameters], after these numbers of iterations.

    The parameters that changed most have names and colours. Passes on the errors of `save_figure`.
    """
    figure, (axes,) = new_figure(1, 5.0)
    order = sorted(range(len(names)), key=lambda index: abs(changes[-1, index]))
    axes.plot(iterations, changes[:, order[:-NAMED]], linewidth=0.8, color="lightgrey")
    for index in order[-NAMED:]:
        axes.plot(iterations, changes[:, index], linewidth=1.2, label=f"{names[index]} {changes[-1, index]:+.2f}")
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("iterations")
    axes.set_ylabel("change in steps")
    # Below, the names would cover the curves.
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, reverse=True)
    save_figure(figure, path, "tuning")


def new_figure(
    rows: int, height: float | None = None, *, columns: int = 1, width: float = 8.0, share: bool = True
) -> tuple[Figure, list[Axes]]:
    """Returns a figure of `width` by `height` inches and its plots by row. With `share`, each column has one x axis."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height or 3.2 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(rows, columns, sharex="col" if share else False, squeeze=False)
    return figure, list(axes.flat)


def save_figure(figure: Figure, output: Output, kind: str = "match") -> None:
    """Writes a figure, marked with its `kind`, in the format that the path's suffix names. Raises `PlotError`."""
    file = BytesIO()
    ending = output.path.suffix.lower()[1:]
    figure.savefig(file, format=ending, dpi=130)
    try:
        output.replace(_marked(file.getvalue(), kind))
    except OSError as error:
        raise PlotError(f"{shown(output.path)}: cannot be written: {reason(error)}") from None
