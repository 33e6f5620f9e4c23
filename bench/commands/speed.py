"""`secateur speed`: how fast Secateur is, alone and side by side with other UCI engines."""

from __future__ import annotations

import json

from bench.conversation import find_stockfish
from bench.engines import engine_from_pairs
from bench.speed import KEYS, Effort, measure
from engine.arguments import Parser, command, complain_about
from engine.errors import FAILED, OK, arguments_are_judged
from engine.progress import Steps

#: Measured with other engines unless `--measure` says more.
_COMPARED = ("perft", "search", "depth")


@command("secateur speed")
def main(arguments: list[str]) -> int:
    """Measures and prints the table; exit status 1 when an engine fails."""
    parser = Parser(
        prog="secateur speed",
        description="Measures perft, search speed, start-up and memory. Other engines (default: Stockfish "
        "where it is installed) take turns with Secateur: the ratios say how many times as fast Secateur is. Run "
        "nothing else meanwhile.",
    )
    parser.add_argument(
        "--engine",
        nargs="+",
        action="append",
        metavar="KEY=VALUE",
        help="compare with this engine, as in `match`: cmd=, name=, arg=, dir=, option.NAME=",
    )
    parser.add_argument(
        "--measure",
        nargs="+",
        choices=KEYS,
        metavar="NAME",
        help=f"some of {', '.join(KEYS)} (default: all; with --engine: {', '.join(_COMPARED)})",
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds to take the median of (default 3)")
    parser.add_argument("--movetime", type=int, default=1000, metavar="MS", help="time of a search (default 1000)")
    parser.add_argument("--depth", type=int, default=12, metavar="N", help="plies of the time to depth (default 12)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, not as Markdown")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    for name in ("rounds", "movetime", "depth"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is at least 1, not {getattr(options, name)}")
    with arguments_are_judged():
        # The measurements bring their own limits.
        others = [engine_from_pairs(pairs, fallback="depth=1") for pairs in options.engine or ()]
    for spec in others:
        spec.resolved_program()
    keys = options.measure or (_COMPARED if others else KEYS)
    remarks = []
    if options.engine is None:
        stockfish = find_stockfish()
        others = [] if stockfish is None else [stockfish]
        remarks = [] if others else ["Stockfish is not installed: nothing was compared"]
    # Not at the top: a command's help takes no kernels.
    from search.warmup import EVERYTHING, load_kernels

    with Steps("loading the kernels", options.quiet) as steps:
        load_kernels(EVERYTHING)
        report = measure(others, keys, options.rounds, Effort(options.movetime, options.depth), steps.show)
    report.remarks += remarks
    if options.json:
        rows = [{"name": row.name, "unit": row.unit.strip(), "values": row.values} for row in report.rows]
        print(json.dumps({"rows": rows, "remarks": [*report.remarks, *report.failures]}))
    else:
        print(report.markdown())
    complain_about("secateur speed", report.failures)
    return FAILED if report.failures else OK
