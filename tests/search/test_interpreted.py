"""The search as plain Python: the same nodes, moves and scores as compiled, without overflow, and right evaluations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import chess

from eval.network.format import write_network
from tests.eval.networks import material_network, random_network

FENS = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k3/1P6/8/3pP3/8/8/8/4K2R w Kq d6 0 1",
)

#: What the material network evaluates, positions that it does not (drawn), and one with a lone king that is mated.
ENDINGS = (
    "4k3/pppp4/8/8/8/8/PPPP4/R3K3 w Q - 0 1",
    "8/8/8/3k1n2/8/8/6P1/3K4 w - - 0 1",
    "8/8/8/3k4/8/8/3NN3/3K4 b - - 0 1",
    "8/8/8/3k4/8/8/4R3/3K4 b - - 0 1",
)

# Interpreted, every evaluation with a network is compared with the definition.
SEARCHES = """
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
for evaluation in (None, network):
    searcher = Searcher(1, network=evaluation)
    # What is for deeper searches runs as well.
    for name in ("nmp_depth", "nmp_verify_depth", "probcut_depth", "singular_depth", "iir_depth"):
        searcher.set_tunable(name, 2)
    for fen in sys.argv[2:]:
        searcher.new_game()
        result = searcher.search(Game(chess.Board(fen)), Limits(depth=3 if evaluation is None else 2))
        print(result.nodes, result.best, result.info.score, *result.info.pv)
print(INTERPRETED, checked)
"""

EVALUATIONS = """
import sys
from pathlib import Path
import chess
from engine.board.convert import write_board
from eval.network.format import read_network
from eval.report import evaluation_report
from search.kernels.node import evaluate
from search.kernels.worker import new_worker, set_network
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


def test_the_interpreted_search_is_the_compiled_one(run_python: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "noise.snet"
    write_network(path, random_network(11, 32))
    compiled = run_python(SEARCHES, str(path), *FENS).splitlines()
    interpreted = run_python(SEARCHES, str(path), *FENS, NUMBA_DISABLE_JIT="1").splitlines()
    assert compiled.pop() == "False 0"
    is_interpreted, checked = interpreted.pop().split()
    assert is_interpreted == "True"
    assert int(checked) > 100
    assert interpreted == compiled
    assert len(compiled) == 2 * len(FENS)


def test_the_search_evaluates_as_eval_says(run_python: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "material.snet"
    write_network(path, material_network())
    network, *drawn, mated = map(int, run_python(EVALUATIONS, str(path), *ENDINGS, NUMBA_DISABLE_JIT="1").split())
    assert network == 500
    assert drawn == [0, 0]
    assert mated > 500


# Each line of moves from the start position, "0000" for a null move, and whether its last position is a repetition.
REPETITIONS = """
import sys
import chess
from engine.board.convert import encode, write_board
from search.kernels import node
from search.kernels.worker import GAME_KEYS, new_worker

for line in sys.argv[1:]:
    worker, board = new_worker(), chess.Board()
    write_board(board, worker.stack[0].position)
    worker.stack[0].since_null = GAME_KEYS
    worker.keys[0] = worker.stack[0].position.key
    for ply, text in enumerate(line.split()):
        move = chess.Move.from_uci(text)
        if move:
            node.play(worker, ply, encode(board, move))
        else:
            node.play_null_move(worker, ply)
        board.push(move)
        assert worker.stack[ply + 1].position.halfmoves == board.halfmove_clock
    print(bool(node.is_draw(worker, board.ply())))
"""

THERE, BACK, REPLY, RETURN = "b1c3", "c3b1", "b8c6", "c6b8"


def test_no_position_before_a_null_move_is_repeated_after_it(run_python: Callable[..., str]) -> None:
    shuffle = (REPLY, BACK, RETURN, THERE)
    lines = {
        (THERE, *shuffle): True,
        (THERE, *shuffle[:2]): False,
        # The last position has been on the board before the null moves.
        (THERE, "0000", BACK, "0000", THERE): False,
        # The null move comes first, and the moves after it repeat a position.
        ("0000", REPLY, THERE, RETURN, BACK, REPLY): True,
    }
    found = run_python(REPETITIONS, *(" ".join(line) for line in lines), NUMBA_DISABLE_JIT="1").split()
    assert found == [str(expected) for expected in lines.values()]
