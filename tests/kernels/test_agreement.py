"""Kernels that were compiled ahead of time do what those do that Numba compiles here, and need no Numba for it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import chess
import numpy as np
import pytest

from engine.compiler import jit
from engine.compiler.levels import Level
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import read_network, write_network
from eval.report import Evaluator, evaluation_report
from search.benchmark import run_benchmark
from search.limits import Limits
from search.perft import count_by_move
from search.searcher import Game, Searcher
from tests.eval.networks import random_network

Run = Callable[..., str]

CHESS960 = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9"
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def random_positions(count: int) -> list[str]:
    """FENs of random games, which see every kind of position, also hopeless ones."""
    rng = random.Random(8)
    positions: list[str] = []
    while len(positions) < count:
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 200:
            board.push(rng.choice(list(board.legal_moves)))
            positions.append(board.fen())
    return positions[:count]


def test_the_library_is_that_of_this_processor(run_built: Run, level: Level) -> None:
    script = """
from engine.compiler import jit
print(jit.AHEAD_OF_TIME, jit.CPU_NAME, jit.USE_PEXT, jit.VECTOR_BITS, jit.remarks(), jit.CACHE_FOLDER)
"""
    assert run_built(script).split() == ["True", level.cpu, str(level.pext), str(level.vector_bits), "[]", "None"]
    # So that the comparisons below are of the same instructions.
    assert not jit.AHEAD_OF_TIME
    assert (level.pext, level.vector_bits) == (jit.USE_PEXT, jit.VECTOR_BITS)


def test_bench_visits_the_same_nodes(run_built: Run) -> None:
    expected = run_benchmark(depth=9)
    assert expected is not None
    assert int(run_built("from search.benchmark import run_benchmark; print(run_benchmark(depth=9).nodes)")) == (
        expected.nodes
    )


@pytest.mark.parametrize("fen", [KIWIPETE, CHESS960])
def test_perft_counts_the_same(run_built: Run, fen: str) -> None:
    script = """
import json, sys
import chess
from search.perft import count_by_move
board = chess.Board(sys.argv[1], chess960=True)
print(json.dumps({move.uci(): count for move, count in count_by_move(board, 4, threads=2).items()}))
"""
    expected = {move.uci(): count for move, count in count_by_move(chess.Board(fen, chess960=True), 4).items()}
    assert json.loads(run_built(script, fen)) == expected


def test_both_evaluations_agree_on_two_thousand_positions(run_built: Run, tmp_path: Path) -> None:
    positions = random_positions(2_000)
    text, file = tmp_path / "positions.txt", tmp_path / "random.snet"
    text.write_text("\n".join(positions), encoding="ascii")
    write_network(file, random_network())
    script = """
import json, sys
from pathlib import Path
import chess
from eval.network.evaluator import NetworkEvaluator
from eval.network.format import read_network
from eval.report import Evaluator
boards = [chess.Board(fen) for fen in Path(sys.argv[1]).read_text().splitlines()]
evaluators = Evaluator(), NetworkEvaluator(read_network(Path(sys.argv[2])))
print(json.dumps([[one.score(board) for board in boards] for one in evaluators]))
"""
    found = json.loads(run_built(script, str(text), str(file)))
    boards = [chess.Board(fen) for fen in positions]
    evaluators = Evaluator(), NetworkEvaluator(read_network(file))
    assert found == [[one.score(board) for board in boards] for one in evaluators]
    assert all(len(np.unique(scores)) > 300 for scores in found)


def test_search_with_a_network_and_breakdown_agree(run_built: Run, tmp_path: Path) -> None:
    file = tmp_path / "random.snet"
    write_network(file, random_network(hidden=64))
    script = """
import sys
from pathlib import Path
import chess
from eval.network.format import read_network
from eval.report import evaluation_report
from search.limits import Limits
from search.searcher import Game, Searcher
network = read_network(Path(sys.argv[1]))
board = chess.Board(sys.argv[2])
result = Searcher(network=network).search(Game(board), Limits(depth=7))
print(result.nodes, result.best, result.info.score)
print(evaluation_report(board, network))
"""
    board, network = chess.Board(KIWIPETE), read_network(file)
    result = Searcher(network=network).search(Game(board), Limits(depth=7))
    assert result.info is not None
    expected = f"{result.nodes} {result.best} {result.info.score}\n{evaluation_report(board, network)}\n"
    assert run_built(script, str(file), KIWIPETE) == expected


def test_threads_run_without_the_lock(run_built: Run) -> None:
    """Two kernels at once, and a stop that reaches them from a third thread."""
    script = """
import threading
import chess
from search.limits import Limits
from search.searcher import Game, Searcher
searcher = Searcher(threads=2)
timer = threading.Timer(0.3, searcher.stop)
timer.start()
result = searcher.search(Game(chess.Board()), Limits(infinite=True))
assert result.best is not None and not result.problems and result.seconds < 5, result
searcher.close()
"""
    run_built(script)
