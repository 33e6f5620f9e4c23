"""`secateur match`: one match between two engines, on cutechess-cli, on fastchess or on the built-in runner."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from collections.abc import Collection

from bench.commands import ledger
from bench.description import MatchDescription, add_arguments, from_arguments
from bench.live import LiveView
from bench.play import pick_runner, play
from bench.records import circumstances_of
from bench.results import GameResult, MatchResult
from bench.runners.external import ExternalRunner
from bench.schedule import make_plan, pairings
from bench.stats import Tally, summary
from engine.arguments import Parser, command, complain, complain_about
from engine.errors import arguments_are_judged

_EPILOG = """\
examples:
  secateur match --engine cmd=./secateur name=new --engine cmd=./old name=old --tc 10+0.1 \\
                 --book openings.epd --rounds 100 --concurrency 2 --pgn games.pgn
  secateur match match.toml --resume

Without --runner, the match is played by cutechess-cli or fastchess if they are on the PATH, otherwise by the built-in
runner. Only the built-in runner can --resume and use a --cluster. Exit status 0 means that every game was played
without a fault.
"""


def parser() -> Parser:
    """The command's options."""
    parser = Parser(
        prog="secateur match",
        description="Plays a match between two engines.",
        epilog=_EPILOG,
    )
    add_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="print what would be run, and run nothing")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    parser.add_argument("--plot", metavar="FILE.png|svg", help="draw the score over the pairs")
    ledger.add_arguments(parser)
    return parser


@command("secateur match")
def main(arguments: list[str]) -> int:
    """Plays the match; returns the exit status."""
    options = parser().parse_args(arguments)
    with arguments_are_judged():
        description = from_arguments(options, format="match")
        # A picture or record that cannot be written is reported before hours of games, not after them.
        if options.plot is not None:
            from bench.plots import check_path

            options.plot = check_path(options.plot)
        if not options.dry_run:
            ledger.prepare(options)
    if options.dry_run:
        return _dry_run(description)
    result = play_shown("match", description, options.quiet)
    if options.json:
        print(json.dumps(result.to_json(), indent=2))
    else:
        _report(result)
    if result.interrupted and description.pgn:
        print(f"secateur match: interrupted; --resume goes on with {description.pgn}", file=sys.stderr)
    if options.plot is not None:
        from bench.plots import plot_match

        plot_match(result, options.plot)
    ledger.record_match(options, result, circumstances_of(description))
    return result.exit_status


def _dry_run(description: MatchDescription) -> int:
    plan = make_plan(description)  # nothing is written, so games that are there already do not matter
    runner = pick_runner(description)
    words = runner.command_line(plan)
    print(shlex.join(words) if isinstance(runner, ExternalRunner) else "\n".join(words))
    return 0


def play_shown(name: str, description: MatchDescription, quiet: bool) -> MatchResult:
    """Plays a match or tournament for the command `name` and reports its problems. Raises `PlayError`.

    Shows how it stands meanwhile, unless `quiet`.
    """
    names = tuple(engine.name for engine in description.engines)
    planned = len(pairings(description)) * description.rounds * description.games_per_pair
    with LiveView(names, planned, quiet=quiet) as view:

        def on_game(game: GameResult) -> bool:
            view.add(game)
            return True

        result = play(description, on_game, view.add_problem)
    report_problems(name, result, view.told)
    return result


def report_problems(name: str, result: MatchResult, told: Collection[str] = ()) -> None:
    """Prints the problems that are not in `told`, and the notes, to stderr."""
    complain_about(f"secateur {name}", [problem for problem in result.problems if problem not in told])
    for note in result.notes:
        complain(f"secateur {name}", f"note: {note}")


def _report(result: MatchResult) -> None:
    first, second = result.engines
    print(f"{first} against {second}: {len(result.games)} of {result.games_planned} games in {result.seconds:.1f} s")
    for line in summary(Tally.of(result.games, first)):
        print(line)
    endings = Counter(game.termination for game in result.games)
    if endings:
        print("endings: " + ", ".join(f"{count} {name}" for name, count in endings.most_common()))
