"""The search with a network: its evaluations are those of the definition at every node it looks at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import chess
import pytest

from eval.network.format import write_network
from search.limits import Limits
from search.searcher import Game, Searcher
from tests.eval.networks import random_network

FENS = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k3/1P6/8/3pP3/8/8/8/4K2R w Kq d6 0 1",
)

# Interpreted, every evaluation of a real search is compared with the definition; compiled, it is the same search.
SCRIPT = """
import sys, warnings
from pathlib import Path
warnings.simplefilter("error")
import chess
from engine.board.convert import to_board
from engine.compiler.jit import INTERPRETED
from eval.network.format import read_network
from eval.network.reference import integer_score
from search.kernels import node
from search.limits import Limits
from search.searcher import Game, Searcher

network = read_network(Path(sys.argv[1]))
incremental = node.evaluate_with_network
checked = 0

def evaluate_and_check(record, accumulators, stack, ply):
    global checked
    found = incremental(record, accumulators, stack, ply)
    board = to_board(stack[ply].position)
    assert found == integer_score(network, board), board.fen()
    checked += 1
    return found

if INTERPRETED:
    node.evaluate_with_network = evaluate_and_check
searcher = Searcher(1, network=network)
for fen in sys.argv[2:]:
    searcher.new_game()
    result = searcher.search(Game(chess.Board(fen)), Limits(depth=3))
    print(result.nodes, result.best, result.info.score, *result.info.pv)
print(INTERPRETED, checked)
"""


def test_every_evaluation_of_a_search_is_that_of_the_definition(run_python: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "noise.snet"
    write_network(path, random_network(11, 32))
    compiled = run_python(SCRIPT, str(path), *FENS).splitlines()
    interpreted = run_python(SCRIPT, str(path), *FENS, NUMBA_DISABLE_JIT="1").splitlines()
    assert compiled.pop() == "False 0"
    interpreted_and_checked = interpreted.pop().split()
    assert interpreted_and_checked[0] == "True"
    assert int(interpreted_and_checked[1]) > 100
    assert interpreted == compiled
    assert len(compiled) == len(FENS)


def outcome(searcher: Searcher, fen: str, depth: int = 7) -> tuple[object, ...]:
    result = searcher.search(Game(chess.Board(fen)), Limits(depth=depth))
    assert result.info is not None
    return result.nodes, result.best, result.info.score


@pytest.fixture
def searcher() -> Searcher:
    return Searcher(1)


def test_without_a_network_it_is_the_classical_search(searcher: Searcher) -> None:
    before = outcome(searcher, FENS[1])
    searcher.set_network(random_network(12, 64))
    noise = outcome(searcher, FENS[1])
    searcher.set_network(None)
    after = outcome(searcher, FENS[1])
    assert before == after != noise


def test_a_network_makes_a_search_of_its_own_that_repeats(searcher: Searcher) -> None:
    network = random_network(13, 64)
    searcher.set_network(network)
    assert searcher.network is network
    first = outcome(searcher, FENS[0])
    searcher.new_game()
    assert outcome(searcher, FENS[0]) == first
    assert outcome(Searcher(1, network=network), FENS[0]) == first
    searcher.set_network(random_network(14, 96))
    assert outcome(searcher, FENS[0]) != first


def test_helpers_evaluate_with_the_network_too() -> None:
    network = random_network(15, 32)
    searcher = Searcher(1, threads=2, network=network)
    for helper in searcher._helpers._helpers:
        assert int(helper.worker["network"]["hidden"]) == 32
    searcher.resize_threads(3)
    result = searcher.search(Game(), Limits(nodes=30_000))
    assert result.problems == ()
    assert {int(helper.worker["network"]["hidden"]) for helper in searcher._helpers._helpers} == {32}
    searcher.set_network(None)
    assert {int(helper.worker["network"]["hidden"]) for helper in searcher._helpers._helpers} == {0}
    searcher.close()
