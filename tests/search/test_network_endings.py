"""With a network the endings are played that it knows nothing of: this one counts pieces, and that is all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import chess
import pytest

from eval.network.format import write_network
from search.limits import Limits
from search.searcher import Game, Searcher
from tests.eval.networks import material_network

NETWORK = material_network()


@pytest.fixture
def searcher() -> Searcher:
    return Searcher(1, network=NETWORK)


@pytest.mark.parametrize(
    ("fen", "depth"),
    [
        pytest.param("8/8/8/3k4/8/8/4Q3/3K4 w - - 0 1", 5, id="KQK"),
        pytest.param("8/8/8/3k4/8/8/4R3/3K4 w - - 0 1", 6, id="KRK"),
        pytest.param("8/8/8/3k4/8/8/4R3/3K4 w - - 0 1", 8, id="KRK-8"),
        pytest.param("k7/8/8/8/8/2KBN3/8/8 w - - 0 1", 10, id="KBNK"),
    ],
)
def test_a_bare_king_is_mated(searcher: Searcher, fen: str, depth: int) -> None:
    """Within the fifty moves, with so shallow searches that the mate is out of sight of most of them."""
    game = Game(chess.Board(fen))
    while game.board.outcome(claim_draw=True) is None:
        best = searcher.search(game, Limits(depth=depth)).best
        assert best is not None
        game.push(best)
    assert game.board.is_checkmate(), game.board.fen()


@pytest.mark.parametrize(
    "fen",
    [
        "8/8/8/3k4/8/8/3NN3/3K4 w - - 0 1",
        "k7/8/P7/8/8/4B3/8/3K4 w - - 0 1",
        "k7/P7/8/P7/8/4B3/8/3K4 b - - 0 1",
        "7k/8/7P/8/8/3B4/8/3K4 w - - 0 1",
        "1k6/p7/P7/8/8/4B3/8/3K4 w - - 0 1",
        "8/8/8/3k1n2/8/8/6P1/3K4 b - - 0 1",
        "k7/8/P7/8/8/8/8/3K4 w - - 0 1",
    ],
)
def test_what_cannot_be_won_is_a_draw(searcher: Searcher, fen: str) -> None:
    for board in (chess.Board(fen), chess.Board(fen).mirror()):
        result = searcher.search(Game(board), Limits(depth=4))
        assert result.info is not None
        assert result.info.score == 0, board.fen()


@pytest.mark.parametrize("fen", ["8/8/8/3k4/8/8/3NN3/3K4 w - - 0 1", "k7/P7/8/P7/8/4B3/8/3K4 b - - 0 1"])
def test_with_a_bare_king_it_is_the_classical_search(searcher: Searcher, fen: str) -> None:
    found, classical = (one.search(Game(chess.Board(fen)), Limits(depth=9)) for one in (searcher, Searcher(1)))
    assert found.info is not None
    assert classical.info is not None
    assert (found.nodes, found.info.score, found.info.pv) == (classical.nodes, classical.info.score, classical.info.pv)


SCRIPT = """
import sys
from pathlib import Path
import chess
from engine.board.convert import write_board
from engine.compiler.jit import INTERPRETED
from eval.network.format import read_network
from eval.report import evaluation_report
from search.kernels.node import evaluate
from search.kernels.worker import new_worker, set_network
assert INTERPRETED
network = read_network(Path(sys.argv[1]))
worker = new_worker()
set_network(worker, network.record())
for fen in sys.argv[2:]:
    board = chess.Board(fen)
    write_board(board, worker["stack"][0]["position"])
    worker["accumulators"]["computed"][0] = 0
    score = int(evaluate(worker, 0)) * (1 if board.turn else -1)
    assert f"Evaluation {score / 100:+.2f} " in evaluation_report(board, network).splitlines()[-1], fen
    print(score)
"""


def test_the_search_evaluates_as_eval_says(run_python: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "material.snet"
    write_network(path, NETWORK)
    fens = (
        "4k3/pppp4/8/8/8/8/PPPP4/R3K3 w Q - 0 1",
        "8/8/8/3k1n2/8/8/6P1/3K4 w - - 0 1",
        "8/8/8/3k4/8/8/3NN3/3K4 b - - 0 1",
        "8/8/8/3k4/8/8/4R3/3K4 b - - 0 1",
    )
    network, *drawn, mated = map(int, run_python(SCRIPT, str(path), *fens, NUMBA_DISABLE_JIT="1").split())
    assert network == 499
    assert drawn == [0, 0]
    assert mated > 499
