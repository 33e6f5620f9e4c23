"""`secateur tourney`: plays a gauntlet or a round robin and rates the engines."""

from __future__ import annotations

import argparse

from bench.commands import rate
from bench.commands.match import play_shown
from bench.description import DescriptionError, MatchDescription, add_arguments, from_arguments, read_toml
from bench.engines import this_engine
from engine.arguments import Parser, command
from engine.errors import arguments_are_judged
from engine.progress import Steps
from search.strength import LEVELS

_EPILOG = """\
examples:
  secateur tourney --format gauntlet --engine cmd=./secateur --engine cmd=weiss name="Weiss 1.0" \\
                   --engine "cmd=gnuchess --uci" name=gnuchess --each option.Hash=16 --tc 10+0.1 \\
                   --book openings.epd --rounds 50 --anchor "Weiss 1.0=2898"

In a gauntlet, the first engine plays all the others. The rating list that --levels --json prints is stored in
bench/ledger/strength/levels.json, and its ratings in search/strength.py.
"""


@command("secateur tourney")
def main(arguments: list[str]) -> int:
    """Plays the tournament, prints the rating list and returns the exit status."""
    parser = Parser(
        prog="secateur tourney",
        description="Plays a gauntlet or a round robin and rates the engines.",
        epilog=_EPILOG,
        needs=("rich", "scipy"),
    )
    add_arguments(parser)
    parser.add_argument("--format", choices=("gauntlet", "round-robin"), help="tournament type (default round-robin)")
    parser.add_quiet()
    rate.add_arguments(parser)
    parser.add_argument("--levels", action="store_true", help="add Secateur at each UCI_Elo level as an engine")
    options = parser.parse_args(arguments)
    with arguments_are_judged():
        description = _describe(options)
        names = [engine.name for engine in description.engines]
        for name in dict(options.anchor):
            if name not in names:
                raise DescriptionError(f"--anchor {name}: no engine has this name; the engines are {', '.join(names)}")
    results = play_shown("tourney", description, options.quiet)
    with Steps("fitting the ratings", options.quiet):
        table = rate.table_of(results.games, options)
    rate.show(table, options)
    return results.exit_status


def _levels() -> list[list[str]]:
    """Returns `--engine` values for Secateur at each level. The level limits the nodes; `depth=64` hardly matters."""
    return [
        this_engine(f"name={level.name}", "option.UCI_LimitStrength=true", f"option.UCI_Elo={level.elo}", "depth=64")
        for level in LEVELS
    ]


def _describe(options: argparse.Namespace) -> MatchDescription:
    if options.levels:
        options.engine = [*_levels(), *(options.engine or [])]
    chosen = options.format
    if chosen is None:
        chosen = read_toml(options.file).get("format", "round-robin") if options.file else "round-robin"
    return from_arguments(options, format=chosen)
