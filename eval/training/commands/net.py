"""`secateur net`: describes network files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from engine.arguments import Parser, command, complain
from engine.files import shown


@command("secateur net")
def main(arguments: list[str]) -> int:
    """Describes network files; returns the exit status, 1 if a file is unusable."""
    parser = Parser(
        prog="secateur net",
        description="Shows the architecture, size, checksums and provenance of network files. Rejects a file that is "
        "of another kind, truncated or damaged, and says what was expected and what was found.",
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.snet")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    options = parser.parse_args(arguments)
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
