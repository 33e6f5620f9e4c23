"""`secateur net`: describes network files, and compares networks with the scores of self-play games."""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any, Final

import numpy as np

from engine.arguments import Parser, command, complain
from engine.compiler.library import JIT, KERNELS_VARIABLE
from engine.errors import CommandError
from engine.files import shown
from engine.progress import Steps, counted

#: The scale in centipawns with which `--data` turns scores into expected results. Training fits about this scale to
#: scores of 300 nodes. It is fixed, so that errors on different data can be compared.
_SCALE: Final = 170.0
#: A normal variable is within this many standard deviations of its mean with a probability of 95 %.
NORMAL_95: Final = 1.96

_EPILOG = """\
examples:
  secateur net eval/network/default.snet
  secateur net old.snet new.snet --data data/deep

With --data, the games should have many nodes a move, far more than those that the networks learned from. The error is
the mean squared difference of expected results, on quiet positions. The rescaled error allows for a correction that
depends only on the evaluation and the number of pieces; a network that is only larger or smaller than another one has
nearly the same. With fewer than some thousand positions, it is too large. Changes are those against the first network,
with 95 % intervals that treat positions as independent; positions of the same game are not, so they are a little too
narrow.
"""


@command("secateur net")
def main(arguments: list[str]) -> int:
    """Describes or compares network files; returns the exit status, 1 if a file is unusable."""
    parser = Parser(
        prog="secateur net",
        description="Shows the architecture, size, checksums and provenance of network files. Rejects a file that is "
        "of another kind, truncated or damaged, and says what was expected and what was found. With --data, compares "
        "the networks' evaluations with the scores of games.",
        epilog=_EPILOG,
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.snet")
    parser.add_argument("--data", nargs="+", metavar="FOLDER|SHARD", help="print the networks' errors on these games")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    from eval.network.format import NetworkError

    if options.data:
        return _compare(options.files, options.data, options.json, options.quiet)
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


def _compare(files: list[Path], data: list[str], as_json: bool, quiet: bool) -> int:
    """Prints each network's error on `data`, and how it differs from the first network's; returns the exit status."""
    # No library contains these kernels.
    os.environ[KERNELS_VARIABLE] = JIT
    with Steps("loading the kernels", quiet) as steps:
        from eval.network.format import read_network
        from eval.training.quantise import predictions, rescaled_errors, searched_scores, squared_errors
        from eval.training.samples import samples

        networks = [read_network(path) for path in files]
        parts = [
            [
                searched_scores(part),
                np.bitwise_count(part["position"]["occupied"]).astype(np.int64),
                *(predictions(network, part) for network in networks),
            ]
            for part in counted(samples(data), steps.show, "shards compared")
        ]
        scores, pieces, *evals = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        if not len(scores):
            raise CommandError(f"{', '.join(map(shown, data))}: no quiet position to compare with")
        steps.show("fitting the corrections")
        errors = {
            "": [squared_errors(mine, scores, _SCALE) for mine in evals],
            "rescaled_": [rescaled_errors(mine, scores, pieces, _SCALE) for mine in evals],
        }
    rows: list[dict[str, Any]] = [{"file": str(path), "positions": len(scores)} for path in files]
    for kind, by_network in errors.items():
        first = by_network[0]
        unit = 100 / max(float(first.mean()), 1e-12)
        for row, mine in zip(rows, by_network, strict=True):
            # All networks see the same positions, so a difference is known better than either error.
            row[f"{kind}error"] = float(mine.mean())
            row[f"{kind}change_percent"] = unit * float((mine - first).mean())
            row[f"{kind}change_interval"] = unit * NORMAL_95 * float((mine - first).std()) / math.sqrt(len(mine))
    if as_json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        plain, rescaled = (_told(row, kind, row is rows[0]) for kind in errors)
        print(f"{shown(row['file'])}: error {plain}, rescaled {rescaled}, {row['positions']} positions")
    return 0


def _told(row: dict[str, Any], kind: str, is_first: bool) -> str:
    """Returns an error of a row, and how it differs from that of the first network."""
    change = f" ({row[f'{kind}change_percent']:+.2f} % +- {row[f'{kind}change_interval']:.2f})"
    return f"{row[f'{kind}error']:.6f}{'' if is_first else change}"


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
