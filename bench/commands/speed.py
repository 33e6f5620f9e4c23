"""`secateur speed`: the table of speed and start-up."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench.speed import EngineError, find_rival, measure, replace_table
from search.warmup import EVERYTHING, load_kernels


def main(arguments: list[str]) -> int:
    """Measures and prints the table; exit status 1 when a 'must' is missed or an engine fails."""
    parser = argparse.ArgumentParser(
        prog="secateur speed",
        description="Measures perft, search speed, start-up and memory, side by side with Stockfish where it is "
        "installed, in turns and as ratios. Leave the machine alone meanwhile.",
    )
    parser.add_argument("--rival", metavar="PATH", help="the engine to compare with (default: stockfish)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds to take the median of (default 3)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--readme", type=Path, metavar="FILE", help="write the table into FILE between its markers")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error(f"--rounds is at least 1, not {options.rounds}")
    rival = find_rival(options.rival)
    if options.rival is not None and rival is None:
        parser.error(f"--rival: there is no executable {options.rival}")
    if options.readme is not None and not options.readme.is_file():
        parser.error(f"--readme: there is no file {options.readme}")
    load_kernels(EVERYTHING)
    try:
        report = measure(rival, options.rounds, lambda text: print(f"speed: {text}", file=sys.stderr, flush=True))
        if options.readme is not None:
            text = options.readme.read_text(encoding="utf-8")
            options.readme.write_text(replace_table(text, report.markdown()), encoding="utf-8")
    except (EngineError, ValueError) as error:
        print(f"secateur speed: {error}", file=sys.stderr)
        return 1
    if options.json:
        rows = [{"name": row.name, "values": row.values, "must": row.must, "aim": row.aim} for row in report.rows]
        print(json.dumps({"rows": rows, "remarks": report.remarks}))
    else:
        print(report.markdown())
    return 1 if any(row.verdict() == "MISSED" for row in report.rows) else 0
