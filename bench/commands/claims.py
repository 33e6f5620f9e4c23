"""`secateur claims`: what pruning, a table and ordering save, as a table and a picture."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench.claims import (
    BEGIN,
    END,
    LATTICE_TREES,
    LATTICES,
    curves,
    lattice_markdown,
    lattice_shares,
    markdown,
    measure,
    subjects,
    uniform_subject,
)

#: Branching factor and depth of the picture's trees.
_CURVES = (4, 8)

#: Trees that are searched in each lattice when it has to be quick.
_QUICK_TREES = 3


def _progress(text: str) -> None:
    print(f"claims: {text}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    """Counts and prints the table; exit status 1 when a file cannot be written."""
    parser = argparse.ArgumentParser(
        prog="secateur claims",
        description="Counts the leaves that minimax, alpha-beta in several orders, and alpha-beta with a table, move "
        "ordering and iterative deepening value in uniform trees, tic-tac-toe, Connect Four and chess, searched in "
        "plain Python. The counts are the same on every machine; it takes a few minutes.",
    )
    parser.add_argument("--quick", action="store_true", help="only a small uniform tree, to see what it is about")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    parser.add_argument("--readme", type=Path, metavar="FILE", help="write the table into FILE between its markers")
    parser.add_argument("--plot", metavar="FILE.png|svg", help="draw leaves by depth, and every technique's share")
    options = parser.parse_args(arguments)
    if options.readme is not None and not options.readme.is_file():
        parser.error(f"--readme: there is no file {options.readme}")
    if options.plot is not None:
        from bench.plots import PlotError, check_path

        try:
            check_path(options.plot)
        except PlotError as error:
            parser.error(f"--plot: {error}")
    chosen = [uniform_subject(3, 5)] if options.quick else subjects()
    columns = [measure(subject, _progress) for subject in chosen]
    trees = _QUICK_TREES if options.quick else LATTICE_TREES
    lattices = {spec: lattice_shares(spec, trees) for spec in LATTICES}
    table = f"{markdown(columns)}\n\n{lattice_markdown(lattices)}"
    if options.json:
        subjects_found = [{"subject": column.name, "leaves": dict(column.leaves)} for column in columns]
        print(json.dumps({"subjects": subjects_found, "lattices": lattices}))
    else:
        print(table)
    try:
        if options.readme is not None:
            from bench.speed import renew_table

            renew_table(options.readme, table, BEGIN, END)
        if options.plot is not None:
            from bench.plots import plot_claims

            branching, depth = (3, 5) if options.quick else _CURVES
            plot_claims(branching, curves(branching, depth), columns, options.plot)
    except (OSError, ValueError) as error:
        print(f"secateur claims: {error}", file=sys.stderr)
        return 1
    return 0
