"""`secateur claims`: what pruning, the TT and move ordering save, as a table and a picture."""

from __future__ import annotations

import json
from pathlib import Path

from bench.claims import (
    LATTICE_TREES,
    LATTICES,
    curves,
    lattice_shares,
    lattice_table,
    measure,
    subjects,
    table,
    uniform_subject,
)
from bench.markdown import read_tables, write_table
from engine.arguments import Parser, command
from engine.errors import arguments_are_judged
from engine.progress import Steps

#: Branching factor and depth of the picture's trees, and of everything with --quick.
_CURVES = (4, 8)
_QUICK = (3, 5)

#: Trees that are searched in each lattice with --quick.
_QUICK_TREES = 3


@command("secateur claims")
def main(arguments: list[str]) -> int:
    """Counts and prints the table; exit status 1 when a file cannot be written."""
    parser = Parser(
        prog="secateur claims",
        description="Counts the leaves that minimax, alpha-beta in several orders, and alpha-beta with a TT, move "
        "ordering and iterative deepening value in uniform trees, tic-tac-toe, Connect Four and chess, searched in "
        "plain Python. The counts are the same on every machine. It takes a few minutes.",
    )
    parser.add_argument("--quick", action="store_true", help="only a small uniform tree")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    parser.add_argument("--readme", type=Path, metavar="FILE", help="write the table into FILE between its markers")
    parser.add_argument("--plot", metavar="FILE.png|svg", help="draw leaves by depth, and every technique's share")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    if options.readme is not None:
        read_tables(options.readme, "claims")
    if options.plot is not None:
        from bench.plots import check_path

        with arguments_are_judged():
            options.plot = check_path(options.plot)
    trees = _QUICK_TREES if options.quick else LATTICE_TREES
    lattices = {}
    with Steps("building trees", options.quiet) as steps:
        chosen = [uniform_subject(*_QUICK)] if options.quick else subjects()
        columns = [measure(subject, steps.show) for subject in chosen]
        for spec in LATTICES:
            steps.show(f"searching trees in the lattice {spec}")
            lattices[spec] = lattice_shares(spec, trees)
    text = f"{table(columns)}\n\n{lattice_table(lattices)}"
    if options.json:
        counts = [{"subject": column.name, "leaves": column.leaves} for column in columns]
        print(json.dumps({"subjects": counts, "lattices": lattices}))
    else:
        print(text)
    if options.readme is not None:
        write_table(options.readme, "claims", text)
    if options.plot is not None:
        from bench.plots import plot_claims

        branching, depth = _QUICK if options.quick else _CURVES
        with Steps("counting for the picture", options.quiet):
            found = curves(branching, depth)
        plot_claims(branching, found, columns, options.plot)
    return 0
