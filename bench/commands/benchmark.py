"""`secateur bench`: runs the deterministic benchmark."""

from __future__ import annotations

import json
import sys

from engine.arguments import Parser, command
from engine.progress import Steps, say
from engine.uci.options import most_hash
from search.benchmark import DEFAULT_DEPTH, POSITIONS, run_benchmark
from search.limits import DEFAULT_HASH


@command("secateur bench")
def main(arguments: list[str]) -> int:
    """Runs the benchmark; returns 0. Without `--json`, the last line on stdout is `<nodes> nodes <nps> nps`."""
    parser = Parser(
        prog="secateur bench",
        description="Searches fixed positions to a fixed depth on one thread. The node count identifies the version of "
        "the search: it is the same on every machine and in every run.",
    )
    parser.add_argument("depth", nargs="?", type=int, default=DEFAULT_DEPTH, help=f"plies (default {DEFAULT_DEPTH})")
    parser.add_argument("--hash", type=int, default=DEFAULT_HASH, metavar="MIB", help="TT size (default %(default)s)")
    parser.add_argument("--classical", action="store_true", help="use the classical evaluation, as with UseNNUE off")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(arguments)
    # Imported here so that `--help` does not load the kernels.
    from eval.custom import CHOICE
    from search.limits import MAX_DEPTH
    from search.searcher import Searcher
    from search.warmup import load_kernels

    if not 1 <= options.depth <= MAX_DEPTH:
        parser.error(f"depth must be 1 to {MAX_DEPTH} (got {options.depth})")
    if not 1 <= options.hash <= most_hash():
        parser.error(f"--hash must be 1 to {most_hash()} on this machine (got {options.hash})")
    if CHOICE is not None and options.classical:
        parser.error(f"--classical cannot be used with the evaluation {CHOICE.name}")
    if CHOICE is not None:
        print(f"evaluation: {CHOICE.name}", file=sys.stderr, flush=True)
    with Steps("loading the kernels") as steps:
        load_kernels()

        def report(index: int, nodes: int, fen: str) -> None:
            say(f"{index + 1:2}/{len(POSITIONS)} {nodes:9} nodes  {fen}")
            steps.show(f"{index + 1} of {len(POSITIONS)} positions searched")

        steps.show("searching the first position")
        searcher = Searcher(options.hash) if options.classical else None
        result = run_benchmark(options.depth, options.hash, on_position=report, searcher=searcher)
    assert result is not None
    if options.json:
        print(json.dumps({"nodes": result.nodes, "seconds": result.seconds, "nps": result.nodes_per_second}))
    else:
        print(result.last_line())
    return 0
