"""`secateur speed`: the table of speed and start-up, or several engines side by side."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

from bench.comparison import MEASURES, Measured, cells, compare
from bench.engines import SECATEUR, EngineSpec, engine_from_pairs
from bench.speed import check_table, find_rival, measure, renew_table
from engine.arguments import Parser, command
from engine.errors import MissingError, arguments_are_judged
from engine.files import Output, quoted
from engine.progress import Steps

#: Any limit will do: the measures bring their own.
_LIMIT = "depth=1"


@command("secateur speed")
def main(arguments: list[str]) -> int:
    """Measures and prints the table; exit status 1 when a 'must' is missed or an engine fails."""
    parser = Parser(
        prog="secateur speed",
        description="Measures perft, search speed, start-up and memory, side by side with Stockfish where it is "
        "installed, in turns and as ratios. With --engine it compares those engines with Secateur instead. Leave the "
        "machine alone meanwhile.",
    )
    parser.add_argument("--rival", metavar="PATH", help="the engine to compare with (default: stockfish)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds to take the median of (default 3)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--readme", type=Path, metavar="FILE", help="write the table into FILE between its markers")
    group = parser.add_argument_group("several engines")
    group.add_argument(
        "--engine",
        nargs="+",
        action="append",
        metavar="KEY=VALUE",
        help="an engine to compare with Secateur, as in `match`: cmd=, name=, arg=, dir=, option.NAME=",
    )
    group.add_argument(
        "--measure", nargs="+", choices=MEASURES, default=list(MEASURES), help="what to measure (default: all)"
    )
    group.add_argument("--movetime", type=int, default=1000, metavar="MS", help="search time a position (default 1000)")
    group.add_argument("--depth", type=int, default=12, metavar="N", help="plies of time to depth (default 12)")
    group.add_argument("--plot", metavar="FILE.png|svg", help="draw the ratios")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    for name in ("rounds", "movetime", "depth"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is at least 1, not {getattr(options, name)}")
    if options.engine is not None:
        return _compare(options)
    if options.plot is not None:
        parser.error("--plot goes with --engine")
    # Not at the top: a command's help takes no kernels.
    from search.warmup import EVERYTHING, load_kernels

    rival = find_rival(options.rival)
    if options.rival is not None and rival is None:
        raise MissingError(f"--rival: there is no program {quoted(options.rival)}")
    if options.readme is not None:
        check_table(options.readme)
    with Steps("loading the kernels", options.quiet) as steps:
        load_kernels(EVERYTHING)
        report = measure(rival, options.rounds, steps.show)
    if options.readme is not None:
        renew_table(options.readme, report.markdown())
    if options.json:
        rows = [{"name": row.name, "values": row.values, "must": row.must, "aim": row.aim} for row in report.rows]
        print(json.dumps({"rows": rows, "remarks": report.remarks}))
    else:
        print(report.markdown())
    return 1 if any(row.verdict() == "MISSED" for row in report.rows) else 0


def _compare(options: argparse.Namespace) -> int:
    """Compares Secateur with the engines named by --engine."""
    engines = [EngineSpec("Secateur", tuple(SECATEUR))]
    with arguments_are_judged():
        engines += [engine_from_pairs(pairs, fallback=_LIMIT) for pairs in options.engine]
        if options.plot is not None:
            from bench.plots import check_path

            options.plot = check_path(options.plot)
    for spec in engines:
        spec.resolved_program()
    from search.warmup import EVERYTHING, load_kernels

    measures = tuple(options.measure)
    with Steps("loading the kernels", options.quiet) as steps:
        load_kernels(EVERYTHING)
        table = compare(engines, options.rounds, measures, options.movetime, options.depth, steps.show)
    reference = table[0]
    if options.json:
        print(json.dumps([{"name": row.name, **{m: getattr(row, m) for m in measures}} for row in table]))
    else:
        print("times as fast as Secateur, median (smallest - largest) over the rounds")
        print(f"{'engine':<20} " + " ".join(f"{name:>22}" for name in measures))
        for row in table:
            print(f"{row.name:<20} " + " ".join(f"{cell:>22}" for cell in cells(row, reference, measures)))
    for row in table:
        for problem in row.problems:
            print(f"secateur speed: {row.name}: {problem}", file=sys.stderr)
    if options.plot is not None:
        _plot(table, measures, options.plot)
    return 1 if any(row.problems for row in table) else 0


def _plot(table: list[Measured], measures: tuple[str, ...], picture: Output) -> None:
    """Draws every ratio that could be measured as a bar."""
    from bench.plots import plot_bars

    labels, values, spreads = [], [], []
    for name in measures:
        for row in table:
            ratios = row.ratios(table[0], name)
            if ratios:
                labels.append(f"{row.name}, {name}")
                values.append(statistics.median(ratios))
                spreads.append((min(ratios), max(ratios)))
    plot_bars(labels, values, path=picture, spreads=spreads, title="Times as fast as Secateur", unit="x")
