"""`secateur rate`: computes a rating list from the games of PGN files."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace

from bench.display import result_console
from bench.pgn import read_games
from bench.rating import RatingList, rate
from bench.results import GameResult
from engine.arguments import Parser, command, complain_about, finite_number
from engine.errors import FAILED
from engine.files import count_of, reason, shown
from engine.progress import Steps

_EPILOG = """\
example:
  secateur rate games.pgn more.pgn --anchor "Weiss 1.0=2898" --white auto

The +- column is half the width of the 95 % confidence interval of the difference from the anchors, or from the average
if there are no anchors.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options for rating and printing, which `table_of` and `show` read."""
    group = parser.add_argument_group("rating")
    group.add_argument(
        "--anchor", action="append", type=_anchor, default=[], metavar="NAME=RATING", help="known rating of an engine"
    )
    group.add_argument(
        "--white",
        type=_white,
        default=0.0,
        metavar="N|auto",
        help="white advantage in rating points; auto estimates it (default 0)",
    )
    group.add_argument("--json", action="store_true", help="print the list as JSON")


def _anchor(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    if not name:
        raise argparse.ArgumentTypeError(f"{shown(text)}: expected NAME=RATING")
    return name, finite_number(value)


def _white(text: str) -> float | None:
    return None if text == "auto" else finite_number(text)


def table_of(games: list[GameResult], options: argparse.Namespace) -> RatingList:
    """Rates the games with the anchors and white advantage in `options`. Raises `RatingError` as `rate` does."""
    return rate(games, dict(options.anchor), options.white)


def show(table: RatingList, options: argparse.Namespace) -> None:
    """Prints the rating list as a table, or as JSON with `--json`."""
    if options.json:
        print(json.dumps(table.to_json(), indent=2))
        return
    from rich.table import Table

    grid = Table("#", "engine", box=None, pad_edge=False)
    for head in ("rating", "+-", "points", "games", "score", "draws"):
        grid.add_column(head, justify="right")
    for place, line in enumerate(table.ratings):
        grid.add_row(
            "-" if line.rating is None else str(place + 1),
            line.name,
            line.note if line.rating is None else f"{line.rating:.1f}",
            f"{line.error:.1f}" if line.error else "anchor" if line.error == 0.0 else "",
            f"{line.wins + line.draws / 2:g}",
            str(line.games),
            f"{100 * line.score:.1f} %",
            f"{100 * line.draws / line.games:.1f} %",
        )
    console = result_console()
    console.print(grid)
    white = "no white advantage assumed"
    if table.white_advantage != 0.0 or table.white_error != 0.0:
        white = f"white advantage {table.white_advantage:.1f} +- {table.white_error:.1f}"
    console.print(f"{white}, {count_of(table.games, 'game')}")


@command("secateur rate")
def main(arguments: list[str]) -> int:
    """Rates the games, prints the list and returns the exit status."""
    parser = Parser(
        prog="secateur rate",
        description="Rates every player of the given PGN files by maximum likelihood.",
        epilog=_EPILOG,
        needs=("rich", "scipy"),
    )
    parser.add_argument("files", nargs="+", metavar="FILE.pgn")
    add_arguments(parser)
    parser.add_quiet()
    options = parser.parse_args(arguments)
    with Steps("reading", options.quiet) as steps:
        games, problems = read_all(options.files, lambda path: steps.show(f"reading {path}"))
        complain_about("secateur rate", problems)
        if problems and not games:
            return FAILED
        steps.show("fitting the ratings")
        table = table_of(games, options)
    show(table, options)
    return 1 if problems else 0


def read_all(
    files: list[str], on_file: Callable[[str], None] = lambda path: None
) -> tuple[list[GameResult], list[str]]:
    """Returns the finished games of all files, with a different number for each pair, and a line for each problem."""
    games: list[GameResult] = []
    problems: list[str] = []
    for path in files:
        first = len(games)
        on_file(path)
        try:
            # No file has more pairs than finished games, so this offset keeps the pairs of different files apart.
            games += [replace(game, pair=game.pair + first) for game in read_games(path, problems)]
        except OSError as error:
            problems.append(f"{shown(path)}: {reason(error)}")
    return games, problems
