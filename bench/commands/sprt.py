"""`secateur sprt`: plays a match until a sequential test ends it, or applies the test to the games of a PGN file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench.commands.match import add_result_arguments, conclude, play_shown, prepare, report_problems
from bench.description import DescriptionError, add_arguments, from_arguments
from bench.pgn import read_games
from bench.records import circumstances_of
from bench.results import MatchResult
from bench.stats import MODELS, Sprt, Tally, summary, to_json
from engine.arguments import Parser, command
from engine.errors import CommandError, arguments_are_judged
from engine.files import shown
from engine.progress import Steps

#: The default number of rounds, which is more than a test with sensible bounds usually needs.
DEFAULT_ROUNDS = 10_000

_EPILOG = """\
examples:
  secateur sprt --engine cmd=./secateur name=new --engine cmd=./old name=old --tc 1+0.01 \\
                --book openings.epd --elo0 0 --elo1 10 --concurrency 2 --pgn games.pgn
  secateur sprt games.pgn --elo0 0 --elo1 10 --for new
"""


def parser() -> Parser:
    """Returns the command's argument parser."""
    parser = Parser(
        prog="secateur sprt",
        description=(
            "Plays a match until the sequential probability ratio test accepts or rejects the first engine, or, "
            "given a PGN file instead of a description, applies the test to its games."
        ),
        epilog=_EPILOG,
        needs=("scipy",),
    )
    add_arguments(parser, rounds=DEFAULT_ROUNDS)
    test = parser.add_argument_group("test")
    test.add_argument("--elo0", type=float, default=0.0, help="Elo gain under H0 (default 0)")
    test.add_argument("--elo1", type=float, default=10.0, help="Elo gain under H1 (default 10)")
    test.add_argument("--alpha", type=float, default=0.05, help="probability of accepting if H0 is true (default 0.05)")
    test.add_argument("--beta", type=float, default=0.05, help="probability of rejecting if H1 is true (default 0.05)")
    test.add_argument("--model", choices=MODELS, default=MODELS[0], help="unit of elo0 and elo1 (default normalized)")
    test.add_argument(
        "--for",
        dest="engine_under_test",
        metavar="NAME",
        help="the engine under test in a PGN file (default: White of the first game)",
    )
    add_result_arguments(parser)
    return parser


@command("secateur sprt")
def main(arguments: list[str]) -> int:
    """Plays a match or reads a PGN file, and reports the result. The exit status does not depend on the verdict."""
    options = parser().parse_args(arguments)
    description = None
    with arguments_are_judged():
        test = Sprt(options.elo0, options.elo1, options.alpha, options.beta, options.model)
        prepare(options)
        if options.file is None or not options.file.lower().endswith(".pgn"):
            if options.engine_under_test is not None:
                raise DescriptionError("--for requires a PGN file")
            description = from_arguments(options, format="match", rounds=DEFAULT_ROUNDS)
        else:
            _check_no_match_options(options)
    if description is None:
        with Steps(f"reading {options.file}", options.quiet):
            results = _read(options.file, options.engine_under_test)
        report_problems("sprt", results)
        circumstances = {"book": shown(Path(options.book or "").name), "time_control": shown(options.tc or "")}
    else:
        results = play_shown("sprt", description, options.quiet, test)
        circumstances = circumstances_of(description)
    _report(results, test, options.json)
    return conclude(options, results, circumstances, test)


def _check_no_match_options(options: argparse.Namespace) -> None:
    """Raises DescriptionError if an option describes games to play although a PGN file contains the games."""
    match = argparse.ArgumentParser(add_help=False)
    add_arguments(match)
    # For a record, --book and --tc say how the games were played.
    recorded = {"book", "tc"} if options.ledger is not None else set()
    for name, default in vars(match.parse_args([])).items():
        if name not in {"file", *recorded} and getattr(options, name) != default:
            option = {"hang_seconds": "hang"}.get(name, name).replace("_", "-")
            raise DescriptionError(f"--{option} describes games to play, but {shown(options.file)} has the games")


def _read(path: str, engine: str | None) -> MatchResult:
    """Reads a PGN file as a match of `engine` against all others. By default, `engine` is White of the first game.

    Raises OSError, and CommandError if the file contains no finished game of the engine.
    """
    problems: list[str] = []
    games = list(read_games(path, problems))
    if not games:
        raise CommandError("; ".join([f"{path}: no finished games", *problems]))
    names = sorted({name for game in games for name in (game.white, game.black)})
    engine = engine or games[0].white
    if engine not in names:
        raise CommandError(f"{path}: {engine} played none of the games; the players are {', '.join(names)}")
    others = [name for name in names if name != engine]
    own = [game for game in games if engine in (game.white, game.black)]
    return MatchResult((engine, *others), own, len(own), problems=problems)


def _report(results: MatchResult, test: Sprt, as_json: bool) -> None:
    tally = Tally.of(results.games, results.engines[0])
    if as_json:
        answer = {"engines": list(results.engines), **to_json(tally, test), "problems": results.problems}
        print(json.dumps(answer, indent=2))
        return
    print(f"{results.engines[0]} against {', '.join(results.engines[1:])}")
    for line in summary(tally, test):
        print(line)
