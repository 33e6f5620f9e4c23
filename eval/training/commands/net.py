"""`secateur net`: describes network files, and compares how well the networks evaluate."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.arguments import Parser, command, complain
from engine.files import count_of, shown
from engine.progress import Steps, counted

if TYPE_CHECKING:
    from eval.training.comparison import Comparison

_EPILOG = """\
examples:
  secateur net first.snet
  secateur net first.snet second.snet --on data/check

Compare networks on games that none of them was trained on: use another seed and, if possible, more nodes.
"""


@command("secateur net")
def main(arguments: list[str]) -> int:
    """Describes or compares network files; returns the exit status, 1 if a file is unusable."""
    parser = Parser(
        prog="secateur net",
        description="Shows the architecture, size, checksums and provenance of network files. Rejects a file that is "
        "of another kind, truncated or damaged, and says what was expected and what was found.",
        epilog=_EPILOG,
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.snet")
    parser.add_argument(
        "--on",
        nargs="+",
        metavar="FOLDER|SHARD",
        help="compare the networks and the classical evaluation on the quiet positions of these games",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    return _describe(options) if options.on is None else _compare(options)


def _describe(options: argparse.Namespace) -> int:
    from eval.network.format import NetworkError

    status, told = 0, []
    for path in options.files:
        try:
            facts = _facts(path)
        except NetworkError as error:
            complain("secateur net", str(error))
            status = 1
            continue
        told.append(facts)
        if not options.json:
            print("\n".join(_lines(facts)))
    if options.json:
        print(json.dumps(told, indent=2))
    return status


def _compare(options: argparse.Namespace) -> int:
    from dataclasses import asdict
    from functools import partial

    from engine.compiler.library import JIT, KERNELS_VARIABLE

    # No precompiled library contains the kernels of a comparison. Describing a file needs no kernels.
    os.environ[KERNELS_VARIABLE] = JIT
    with Steps("loading the kernels", options.quiet) as steps:
        from eval.network.format import read_network
        from eval.training.comparison import classical_scores, compare
        from eval.training.quantise import integer_scores
        from eval.training.samples import samples

        evaluations = {"classical": classical_scores}
        evaluations |= {str(path): partial(integer_scores, read_network(path)) for path in options.files}
        shards = counted(samples(options.on, partial=True), steps.show, "shards read and evaluated")
        found = compare(evaluations, shards)
    print(json.dumps(asdict(found), indent=2) if options.json else "\n".join(_table(found)))
    return 0


def _table(found: Comparison) -> list[str]:
    """Formats a comparison as lines of text. A row's gain is the first row's result error minus its own."""
    width = max(len(shown(errors.name)) for errors in found.errors)
    lines = [
        f"Mean squared errors of the expected results on {count_of(found.positions, 'quiet position')} "
        f"of {count_of(found.games, 'game')}",
        f"{'':{width}}    score error    result error       scale  result error, gain over {found.errors[0].name}",
    ]
    for errors in found.errors:
        less = "" if errors is found.errors[0] else f"  {-errors.difference:+.5f} +- {errors.deviation:.5f}"
        lines.append(
            f"{shown(errors.name):{width}}  {errors.scores:13.5f}  {errors.results:14.5f}  {errors.scale:10.1f}{less}"
        )
    return lines


def _facts(path: Path) -> dict[str, Any]:
    """Returns the facts about a network file, by their JSON names. Raises NetworkError if the file is unusable."""
    from eval.network.format import read_network_file

    data, network = read_network_file(path)
    return {
        "file": str(path),
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "digest": network.digest(),
        "network": network.describe(),
        "architecture": network.architecture(),
        "dead": int(np.count_nonzero(~network.features.any(axis=0) | ~network.output.any(axis=(0, 1)))),
        "provenance": dict(network.provenance),
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    architecture = facts["architecture"]
    return [
        f"{shown(facts['file'])}: {facts['network']}",
        f"features   {architecture['features']}, {architecture['activation']}, QA {architecture['qa']}, "
        f"QB {architecture['qb']}, scale {architecture['scale']}",
        f"size       {facts['bytes']} bytes, {facts['dead']} of {architecture['hidden']} hidden units without effect",
        f"SHA-256    {facts['sha256']}",
        f"digest     {facts['digest']} (of the weights; identifies the network in games and training runs)",
        f"provenance {json.dumps(facts['provenance'], indent=2)}",
    ]
