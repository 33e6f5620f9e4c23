"""Recordings for the tests of this room, made by one process of the tracing build."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from search.explorer.chess_document import load, parse
from tests.explorer.recorded_tree import Tree

#: What is searched: name, position, depth.
SEARCHED = (
    ("start", "startpos", 8),
    ("tactics", "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 8),
    ("attack", "1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - 0 1", 10),
    ("rooks", "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 10),
    ("mate", "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 6),
    ("queen", "7k/8/4K1Q1/8/8/8/8/8 w - - 0 1", 6),
    ("shuffled", "7k/8/8/8/8/8/r7/6K1 w - - 0 1 moves g1f1 a2b2 f1g1 b2a2 g1f1 a2b2", 7),
    ("pawns", "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1", 12),
)

SCRIPT = """
import json, sys
from pathlib import Path
from threading import Timer

from eval.network.format import shipped_network
from search.benchmark import run_benchmark
from search.explorer.chess_document import save
from search.explorer.costs import costs_of_node, costs_of_search
from search.explorer.recording import record
from search.limits import Limits
from search.searcher import Searcher
from search.kernels.tracing import start_recording

folder, searched = Path(sys.argv[1]), json.loads(sys.argv[2])
documents = {}
for name, position, depth in searched:
    documents[name] = record(position, Limits(depth=depth))
_, tactics, depth = searched[1]
# Deep enough for quiet moves that have failed time and again.
documents["deep"] = record(searched[2][1], Limits(depth=12))
# Deep enough for singular searches of positions with a single legal move.
documents["deeper"] = record(tactics, Limits(depth=11))
documents["again"] = record(tactics, Limits(depth=depth))
documents["classical"] = record(tactics, Limits(depth=depth), classical=True)
documents["small"] = record(tactics, Limits(depth=depth), 1000)
documents["shallow"] = record(tactics, Limits(depth=2), 200)
documents["nodes"] = record(tactics, Limits(nodes=4321))
documents["one node"] = record(tactics, Limits(nodes=1))
documents["time"] = record(tactics, Limits(move_time=30))
documents["no null move"] = record(tactics, Limits(depth=depth), without=("null-move",))
documents["chess960"] = record("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9", Limits(depth=5))
for name, document in documents.items():
    save(document, folder / (name + ".json.gz"))

costs = costs_of_search(documents["tactics"]).as_json()
nodes, last = documents["tactics"]["nodes"], documents["tactics"]["iterations"][-1]
ends = [reason["key"] for reason in documents["tactics"]["reasons"]]
row = next(
    row
    for row in range(last["first_node"], last["last_node"])
    if ends[nodes["end"][row]] == "reverse-futility" and nodes["depth"][row] >= 2
)
at_row = costs_of_node(documents["tactics"], row, ["reverse-futility"]).as_json()

stopped = record("startpos", Limits(depth=60), 20_000, on_start=lambda stop: Timer(0.3, stop).start())
save(stopped, folder / "stopped.json.gz")

searcher = Searcher(16, network=shipped_network())
start_recording(searcher._worker, 100_000)
counts = []
run_benchmark(9, on_position=lambda index, count, fen: counts.append(count), searcher=searcher)
rows = int(searcher._worker["recording"]["node_count"])
facts = {"bench": counts, "rows": rows, "costs": costs, "row": row, "at_row": at_row}
json.dump(facts, (folder / "facts.json").open("w"))
"""


@dataclass(frozen=True)
class Recorded:
    """Documents by name, and what else the process found out."""

    documents: dict[str, Any]
    facts: dict[str, Any]


@pytest.fixture(scope="session")
def recorded(run_python: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The searches of SEARCHED and a few more, recorded. All techniques occur in one of them."""
    folder: Path = tmp_path_factory.mktemp("recordings")
    run_python(SCRIPT, str(folder), json.dumps(SEARCHED), SECATEUR_TRACING="1")
    documents = {path.name.removesuffix(".json.gz"): load(path) for path in folder.glob("*.json.gz")}
    return Recorded(documents, parse((folder / "facts.json").read_bytes()))


@pytest.fixture(params=[*(name for name, _, _ in SEARCHED), "classical", "nodes", "no null move", "chess960"])
def tree(request: pytest.FixtureRequest, recorded: Recorded) -> Tree:
    """One recording after the other."""
    return Tree.of(recorded.documents[request.param])
