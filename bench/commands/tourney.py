"""`secateur tourney`: a gauntlet or a round robin, and the rating list of its games."""

from __future__ import annotations

import argparse
import sys

import rich  # noqa: F401 - used later; a missing one is to be told before any work is done
import scipy  # noqa: F401 - used later; a missing one is to be told before any work is done

from bench.commands import rate
from bench.commands.match import play_shown, report_problems
from bench.description import DescriptionError, MatchDescription, add_arguments, from_arguments, read_toml
from bench.play import PlayError
from bench.plots import PlotError
from bench.rating import RatingError

_EPILOG = """\
example:
  secateur tourney --format gauntlet --engine cmd=./secateur --engine cmd=weiss name="Weiss 1.0" \\
                   --engine "cmd=gnuchess --uci" name=gnuchess --each option.Hash=16 --tc 10+0.1 \\
                   --book openings.epd --rounds 50 --anchor "Weiss 1.0=2898" --plot ladder.svg

The first engine of a gauntlet plays all the others.
"""


def main(arguments: list[str]) -> int:
    """Plays the tournament; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="secateur tourney",
        description="Plays a gauntlet or a round robin and rates the engines.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    parser.add_argument("--format", choices=("gauntlet", "round-robin"), help="who plays whom (default round-robin)")
    parser.add_argument("--quiet", action="store_true", help="show nothing while the games run")
    rate.add_arguments(parser)
    options = parser.parse_args(arguments)
    try:
        description = _describe(options)
        rate.check_arguments(options)
        names = [engine.name for engine in description.engines]
        for anchor in options.anchor:
            name = anchor.rpartition("=")[0]
            if name not in names:
                raise DescriptionError(f"--anchor {name}: no engine has this name; engines are {', '.join(names)}")
    except ValueError as error:
        print(f"secateur tourney: {error}", file=sys.stderr)
        return 2
    try:
        results = play_shown(description, options.quiet)
        report_problems("tourney", results)
        rate.show(rate.table_of(results.games, options), options, description.event)
    except (PlayError, RatingError, PlotError, DescriptionError) as error:
        print(f"secateur tourney: {error}", file=sys.stderr)
        return 1
    return results.exit_status


def _describe(options: argparse.Namespace) -> MatchDescription:
    chosen = options.format
    if chosen is None:
        chosen = read_toml(options.file).get("format", "round-robin") if options.file else "round-robin"
    return from_arguments(options, format=chosen)
