"""`secateur wdl`: fits the model of results behind `UCI_ShowWDL` to self-play games."""

from __future__ import annotations

import json

from engine.arguments import Parser, command
from engine.progress import Steps, counted

_EPILOG = """\
example:
  secateur wdl data/first data/second

Copy the two lines of coefficients into search/outcome.py, and the digest that `secateur net` prints for the network
that played the games.
"""


@command("secateur wdl")
def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status."""
    parser = Parser(
        prog="secateur wdl",
        description="Fits the chances of a win, a draw and a loss, by score and material, to self-play games.",
        epilog=_EPILOG,
        needs=("scipy",),
        extra="training",
    )
    parser.add_argument("data", nargs="+", metavar="FOLDER|SHARD", help="folders of shards, or single shards")
    parser.add_argument("--partial", action="store_true", help="also use unfinished shards")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    with Steps("loading the kernels", options.quiet) as steps:
        from eval.training.outcomes import calibration, count_results, fit
        from eval.training.samples import ANY_HALFMOVES, Filter, samples

        # Include noisy positions and high halfmove clocks, because `UCI_ShowWDL` applies to them, too. But the results
        # of games say little about positions of search trees.
        wanted = Filter(quiet=False, halfmoves=ANY_HALFMOVES, trees=False)
        batches = samples(options.data, wanted, options.partial)
        counts = count_results(counted(batches, steps.show, "shards read"))
        steps.show("fitting the model")
        found = fit(counts)
    rows = calibration(counts, found)
    if options.json:
        print(json.dumps({**vars(found), "calibration": rows}, indent=2))
        return 0
    print(f"WIN_SCORE: Final = {found.win_score}\nSPREAD: Final = {found.spread}")
    print(f"{found.positions} positions, loss {found.loss:.4f} ({found.plain_loss:.4f} without scores and material)")
    print("score  positions  expected  actual")
    for score, positions, expected, came in rows:
        print(f"{score:5d} {positions:10d} {expected:9.3f} {came:7.3f}")
    return 0
