"""Recordings for these tests, made by one process of the tracing build."""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from search.explorer.chess_document import read_text
from tests.explorer.recorded_tree import Tree

TACTICS = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"

#: What is searched: name, position, depth.
SEARCHED = (
    ("start", "startpos", 8),
    ("tactics", TACTICS, 8),
    ("attack", "1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - 0 1", 10),
    ("rooks", "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 10),
    ("mate", "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 6),
    ("queen", "7k/8/4K1Q1/8/8/8/8/8 w - - 0 1", 6),
    ("shuffled", "7k/8/8/8/8/8/r7/6K1 w - - 0 1 moves g1f1 a2b2 f1g1 b2a2 g1f1 a2b2", 7),
    ("pawns", "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1", 12),
)

#: Castling and en passant are legal here.
SPECIAL = "r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 0 2"

SCRIPT = """
import json, sys
from pathlib import Path
from threading import Timer

from eval.network.format import shipped_network
from search.benchmark import run_benchmark
from search.explorer.chess_document import save
from search.explorer.costs import costs_at, costs_of_search
from search.explorer.jobs import Job
from search.explorer.positions import read_board
from search.explorer.recording import record
from search.game import Game
from search.limits import Limits
from search.searcher import Searcher
from search.kernels.tracing import start_recording

folder, searched, special = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]

def game(position):
    return Game(read_board(position))

documents = {}
for name, position, depth in searched:
    documents[name] = record(game(position), Limits(depth=depth))
_, tactics, depth = searched[1]
# Deep enough for quiet moves that have failed time and again.
documents["deep"] = record(game("startpos"), Limits(depth=13))
# Black always has a single legal move, and singular searches leave it out.
documents["one reply"] = record(game("7k/5p1p/5P1P/8/8/B7/8/K7 w - - 0 1"), Limits(depth=10))
# Deep enough for many singular searches.
documents["deeper"] = record(game(tactics), Limits(depth=14))
documents["classical"] = record(game(tactics), Limits(depth=depth), classical=True)
documents["small"] = record(game(tactics), Limits(depth=depth), 1000)
documents["shallow"] = record(game(tactics), Limits(depth=2), 200)
documents["special"] = record(game(special), Limits(depth=3))
documents["nodes"] = record(game(tactics), Limits(nodes=4321))
stopped = (
    record(game(position), Limits(nodes=nodes), 2_000)
    for nodes in range(2_000, 60_000, 250)
    for position in ("startpos", tactics, searched[2][1])
)
# The search stopped after a new best move in an iteration that it did not complete.
documents["new move"] = next(
    document
    for document in stopped
    if not document["iterations"][-1]["complete"] and document["iterations"][-1]["line"]
)
documents["one node"] = record(game(tactics), Limits(nodes=1))
documents["no null move"] = record(game(tactics), Limits(depth=depth), without=("null-move",))
shuffled = game("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9")
documents["chess960"] = record(shuffled, Limits(depth=5))

costs = costs_of_search(documents["tactics"], Job())
nodes, last = documents["tactics"]["nodes"], documents["tactics"]["iterations"][-1]
ends = [reason["key"] for reason in documents["tactics"]["reasons"]]

def moves_to(row):
    moves = []
    while nodes["parent"][row] >= 0:
        if nodes["move"][row] >= 0:  # not where the search looks at the same position again
            moves.insert(0, documents["tactics"]["moves"][nodes["move"][row]])
        row = nodes["parent"][row]
    return moves

# A game cannot contain null moves.
row = next(
    row
    for row in range(last["first_node"], last["last_node"])
    if ends[nodes["end"][row]] == "reverse-futility" and nodes["depth"][row] >= 2 and "0000" not in moves_to(row)
)
at_row = costs_at(game(f"{tactics} moves {' '.join(moves_to(row))}"), nodes["depth"][row], ["reverse-futility"], Job())

job = Job()
timer = Timer(0.3, job.stop)
timer.start()
documents["stopped"] = record(game("startpos"), Limits(depth=60), 2_000, job=job)
timer.join()

for name, document in documents.items():
    save(document, folder / (name + ".json.gz"))
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
    """The documents, and facts about their searches."""

    folder: Path
    facts: dict[str, Any]

    def names(self) -> list[str]:
        return sorted(path.name.removesuffix(".json.gz") for path in self.folder.glob("*.json.gz"))

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.json.gz"

    def __getitem__(self, name: str) -> Any:
        return _loaded(self.path(name))

    def tree(self, name: str) -> Tree:
        return _tree(self.path(name))


@functools.cache
def _loaded(path: Path) -> Any:
    return json.loads(read_text(path))


@functools.cache
def _tree(path: Path) -> Tree:
    return Tree(_loaded(path))


@pytest.fixture(scope="session")
def recorded(run_python: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The searches of SEARCHED and a few more, recorded. All techniques occur in one of them.

    All processes that run tests share them: the first makes them, and the others wait.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "recordings"
    done, failed = folder / "done", folder / "failed"
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + 900
        while not done.exists():
            assert not failed.exists(), "another process could not make the recordings"
            assert time.monotonic() < deadline, "another process makes the recordings for ever"
            time.sleep(0.1)
    else:
        try:
            run_python(SCRIPT, str(folder), json.dumps(SEARCHED), SPECIAL, SECATEUR_TRACING="1")
        except BaseException:
            failed.touch()
            raise
        done.touch()
    return Recorded(folder, json.loads((folder / "facts.json").read_text()))


@pytest.fixture(
    params=[*(name for name, _, _ in SEARCHED), "classical", "nodes", "no null move", "chess960", "special"]
)
def tree(request: pytest.FixtureRequest, recorded: Recorded) -> Tree:
    """One recording after the other."""
    return recorded.tree(request.param)
