"""`secateur match`: plays a match between two engines with cutechess-cli, fastchess or the built-in runner."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Collection

from bench.commands import ledger
from bench.description import MatchDescription, add_arguments, from_arguments
from bench.live import LiveView
from bench.play import pick_runner, play
from bench.records import circumstances_of
from bench.results import GameResult, MatchResult
from bench.schedule import make_plan, pairings
from bench.stats import Sprt, Tally, summary
from engine.arguments import Parser, command, complain, complain_about
from engine.errors import arguments_are_judged
from engine.progress import Steps

_EPILOG = """\
examples:
  secateur match --engine cmd=./secateur name=new --engine cmd=./old name=old --tc 10+0.1 \\
                 --book openings.epd --rounds 100 --concurrency 2 --pgn games.pgn
  secateur match match.toml --resume

Without --runner, the match is played by cutechess-cli or fastchess if one is on the PATH, otherwise by the built-in
runner. Only the built-in runner supports --resume and --cluster. Exit status 0 means that every game was played
without a fault.
"""


@command("secateur match")
def main(arguments: list[str]) -> int:
    """Plays the match, reports the result and returns the exit status. `--dry-run` only prints the command."""
    parser = Parser(prog="secateur match", description="Plays a match between two engines.", epilog=_EPILOG)
    add_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the command line without running it")
    add_result_arguments(parser)
    options = parser.parse_args(arguments)
    with arguments_are_judged():
        description = from_arguments(options, format="match")
        if not options.dry_run:
            prepare(options)
    if options.dry_run:
        with Steps("reading the book", options.quiet):
            plan = make_plan(description)
        print(pick_runner(description).command_line(plan))
        return 0
    result = play_shown("match", description, options.quiet)
    if options.json:
        print(json.dumps(result.to_json(), indent=2))
    else:
        _report(result)
    return conclude(options, result, circumstances_of(description))


def add_result_arguments(parser: Parser) -> None:
    """Adds the options for output and records of a match, which `prepare` and `conclude` read."""
    parser.add_argument("--plot", metavar="FILE.png|svg", help="plot the score, and the LLR of sprt, after each pair")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    ledger.add_arguments(parser)


def prepare(options: argparse.Namespace) -> None:
    """Checks the options for the plot and the record. Call this function before the games are played.

    Sets `options.plot` to the plot's output and, with `--ledger`, `options.commit` as `ledger.prepare` does. Raises
    CommandError if an option is invalid, if the record exists, or if the plot cannot be written.
    """
    if options.plot is not None:
        from bench.plots import check_path

        options.plot = check_path(options.plot)
    ledger.prepare(options)


def conclude(
    options: argparse.Namespace, result: MatchResult, circumstances: dict[str, str], test: Sprt | None = None
) -> int:
    """Records and plots a result if the options say so; returns the exit status. `test` is the SPRT, if any.

    Raises `LedgerError` or `PlotError`.
    """
    ledger.record_match(options, result, circumstances, test)
    if options.plot is not None:
        from bench.plots import plot_match

        plot_match(result, options.plot, test)
    return result.exit_status


def play_shown(name: str, description: MatchDescription, quiet: bool, test: Sprt | None = None) -> MatchResult:
    """Plays a match or tournament for the command `name` and reports its problems.

    Stops early if `test` accepts or rejects. Shows progress unless `quiet`. Raises CommandError as `play` does.
    """
    names = tuple(engine.name for engine in description.engines)
    planned = 2 * len(pairings(description)) * description.rounds
    tally = Tally()
    waiting: dict[int, float] = {}
    with LiveView(names, planned, test, quiet) as view:

        def on_game(game: GameResult) -> bool:
            view.add(game)
            if test is None or not game.is_finished:
                return True
            points = game.points(names[0])
            if game.pair not in waiting:
                waiting[game.pair] = points
                return True
            tally.add_pair(waiting.pop(game.pair), points)
            return test.verdict(test.llr(tally)) is None

        result = play(description, on_game, view.add_problem)
    report_problems(name, result, view.told)
    return result


def report_problems(name: str, result: MatchResult, told: Collection[str] = ()) -> None:
    """Prints a result's problems (except those in `told`) and then its notes to stderr."""
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
