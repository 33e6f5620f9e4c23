"""`secateur calibrate`: measures how strong the levels of `UCI_Elo` and `Skill Level` are."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.calibration import (
    BEGIN,
    END,
    Calibration,
    CalibrationError,
    Plan,
    anchor_from_pairs,
    edited_source,
    load,
    markdown,
    not_monotone,
    play_match,
    save,
    to_json,
    write_into,
)
from bench.commands.match import report_problems
from bench.description import Book, MatchDescription, add_book_arguments, book_from_arguments
from bench.engines import EngineSpecError, engine_from_pairs, this_engine
from bench.live import LiveView
from bench.plots import check_path, plot_levels
from bench.records import current_commit
from bench.results import GameResult, MatchResult
from bench.runners.base import unfit_engines
from bench.speed import check_table
from engine.arguments import Parser, command
from engine.compiler.sources import PROJECT_ROOT
from engine.errors import arguments_are_judged
from engine.files import replace_file
from engine.progress import Steps
from search import strength

DEFAULT_PAIRS: Final = 50
DEFAULT_OPPONENTS: Final = 2
DEFAULT_BOOK: Final = Book(str(PROJECT_ROOT / "bench" / "books" / "balanced.epd"), "random", 1)

_EPILOG = """\
examples:
  secateur calibrate games/ --pairs 100 --concurrency 2 --write --readme README.md --plot levels.svg \\
      --anchor cmd=stockfish name=stockfish-1350 option.UCI_LimitStrength=true option.UCI_Elo=1350 depth=1 rating=1350
  secateur calibrate --readme README.md             makes the tables from the record

Each two neighbouring levels play --pairs pairs of games, each anchor --anchor-pairs with the levels nearest to it. The
games are kept in FOLDER: the same command goes on with what is missing, larger --pairs add to what is there until
--write has given the levels other ratings, by which the engine is told how to play. Without
anchors the average rating stays what it is. Exit status 0 means that all was played without a fault and each level is
better than the one before.
"""


def parser() -> Parser:
    """The command's options."""
    parser = Parser(
        prog="secateur calibrate",
        description="Measures by games how strong the levels of UCI_Elo are, or shows what was measured.",
        epilog=_EPILOG,
        needs=("rich", "scipy"),
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="keep the games here (default: none)")
    how = parser.add_argument_group("games")
    how.add_argument("--pairs", type=int, help=f"pairs of games each two players (default {DEFAULT_PAIRS})")
    how.add_argument("--anchor-pairs", type=int, help="the same with an anchor (default: as many)")
    how.add_argument(
        "--anchor",
        action="append",
        nargs="+",
        metavar="KEY=VALUE",
        help="an engine of known rating: rating=, and as in `match` cmd=, name=, arg=, dir=, tc=, st=, nodes=, depth=, "
        "option.NAME=",
    )
    how.add_argument(
        "--opponents", type=int, help=f"levels that each anchor plays, the nearest (default {DEFAULT_OPPONENTS})"
    )
    how.add_argument(
        "--engine", nargs="+", metavar="KEY=VALUE", help="cmd=, arg=, option.NAME= (default: this Secateur, Hash 16)"
    )
    add_book_arguments(how)
    how.add_argument("--concurrency", type=int, help="games at the same time (default 1)")
    output = parser.add_argument_group("what comes out")
    output.add_argument(
        "--write", action="store_true", help="keep the result: the record, and the ratings in search/strength.py"
    )
    output.add_argument("--bench-nodes", type=int, metavar="N", help="for the record: node count of `secateur bench`")
    output.add_argument("--note", help="for the record: anything else worth knowing")
    output.add_argument("--readme", type=Path, metavar="FILE", help="write the tables into FILE between their markers")
    output.add_argument("--plot", metavar="FILE.png|svg", help="draw the ratings over the nodes")
    output.add_argument("--json", action="store_true", help="print record and ratings as JSON")
    parser.add_quiet()
    return parser


#: What has a meaning only where games are played.
_OF_GAMES: Final = (
    "pairs", "anchor_pairs", "anchor", "opponents", "engine", "book", "order", "seed", "plies", "concurrency", "write",
    "bench_nodes", "note",
)  # fmt: skip


@command("secateur calibrate")
def main(arguments: list[str]) -> int:
    """Plays or shows; returns the exit status."""
    options = parser().parse_args(arguments)
    with arguments_are_judged():
        if options.plot:
            options.plot = check_path(options.plot)
        if options.readme is not None:
            check_table(options.readme, BEGIN, END)
        plan = None if options.folder is None else _plan(options)
        if plan is None:
            for name in _OF_GAMES:
                value = getattr(options, name)
                if value is not None and value is not False:
                    raise CalibrationError(f"--{name.replace('_', '-')} goes with a FOLDER to play in")
    status = 0
    try:
        if plan is None:
            calibration = load()
        else:
            calibration, status = _play(plan, options)
        _report(calibration, options)
    except _InterruptedError:
        print(f"secateur calibrate: interrupted; the same command goes on in {options.folder}", file=sys.stderr)
        return 1
    return status


class _InterruptedError(Exception):
    """Ctrl-C between or within matches."""


def _plan(options: argparse.Namespace) -> Plan:
    """What the options describe. Raises ValueError."""
    words = options.engine or this_engine("option.Hash=16")
    try:
        spec = engine_from_pairs(words, fallback="depth=1")
    except EngineSpecError as error:
        raise CalibrationError(f"--engine: {error}") from None
    if spec.directory is not None or spec.restart:
        raise CalibrationError("--engine: dir and restart have no meaning here")
    anchors = tuple(anchor_from_pairs(pairs) for pairs in options.anchor or ())
    for engine in (spec, *(anchor.spec for anchor in anchors)):
        engine.resolved_program()
    book = book_from_arguments(options, DEFAULT_BOOK)
    assert book is not None
    pairs = DEFAULT_PAIRS if options.pairs is None else options.pairs
    plan = Plan(
        levels=strength.LEVELS,
        anchors=anchors,
        command=spec.command,
        options=dict(spec.options),
        folder=options.folder,
        pairs=pairs,
        anchor_pairs=pairs if options.anchor_pairs is None else options.anchor_pairs,
        nearest=DEFAULT_OPPONENTS if options.opponents is None else options.opponents,
        book=book,
        concurrency=1 if options.concurrency is None else options.concurrency,
    )
    plan.matches()  # two players of one name are told here
    return plan


def _play(plan: Plan, options: argparse.Namespace) -> tuple[Calibration, int]:
    """Plays everything; the calibration at the ratings found, and the exit status. Raises CommandError and others."""
    # Not at the top: a command's help takes no kernels.
    from search.warmup import PLAYING, load_kernels

    with Steps("loading the kernels", options.quiet) as steps:
        if options.engine is None:
            # A busy machine may take longer to compile than a game waits for its first move.
            load_kernels(PLAYING)
        steps.show("starting the engines")
        # All of them, before hours of games of the first two.
        for problem in unfit_engines([plan.player(plan.levels[0]), *(row.spec for row in plan.anchors)], None).values():
            raise CalibrationError(problem)
    plan.folder.mkdir(parents=True, exist_ok=True)
    commit = current_commit()
    results = []
    matches = plan.matches()
    for number, description in enumerate(matches, start=1):
        result = _play_one(description, f"match {number} of {len(matches)}", options.quiet)
        if result.interrupted:
            raise _InterruptedError
        results.append(result)
    calibration = replace(
        plan.record(results),
        commits=(commit,) if commit else (),
        bench_nodes=options.bench_nodes,
        note=options.note or "",
    ).rated()
    problems = not_monotone(calibration.levels)
    for problem in problems:
        print(f"secateur calibrate: {problem}", file=sys.stderr)
    if options.write:
        if problems:
            raise CalibrationError("nothing was written: play more pairs of games, or change the levels")
        _write(calibration)
    return calibration, 1 if problems or any(result.exit_status for result in results) else 0


def _play_one(description: MatchDescription, title: str, quiet: bool) -> MatchResult:
    names = tuple(engine.name for engine in description.engines)
    if not quiet:
        print(f"secateur calibrate: {title}: {' against '.join(names)}", file=sys.stderr)
    with LiveView(names, description.rounds * description.games_per_pair, quiet=quiet) as view:

        def on_game(game: GameResult) -> bool:
            view.add(game)
            return True

        try:
            result = play_match(description, on_game)
        except KeyboardInterrupt:
            raise _InterruptedError from None
    report_problems("calibrate", result, view.told)
    return result


def _write(calibration: Calibration) -> None:
    """Keeps the record, and puts the ratings into the table of levels. Raises ValueError and OSError."""
    source = Path(strength.__file__)
    text = edited_source(source.read_bytes().decode("utf-8"), calibration.levels)
    print(f"secateur calibrate: recorded in {save(calibration)}", file=sys.stderr)
    replace_file(source, text)
    print(f"secateur calibrate: {source} has the ratings", file=sys.stderr)


def _report(calibration: Calibration, options: argparse.Namespace) -> None:
    """Prints, draws and writes what was measured. Raises ValueError and OSError."""
    if options.json:
        print(json.dumps(to_json(calibration), indent=1))
    else:
        print(markdown(calibration))
    if options.readme is not None:
        write_into(options.readme, calibration)
    if options.plot:
        known = {line.name: line for line in calibration.ratings().ratings}
        lines = [known[level.name] for level in calibration.levels]
        plot_levels(
            [level.nodes for level in calibration.levels],
            [line.rating or 0.0 for line in lines],
            [line.error or 0.0 for line in lines],
            [f"softness {level.softness} cp, lines {level.lines}" for level in calibration.levels],
            options.plot,
            title=f"Strength of the levels: {calibration.games} games",
        )
