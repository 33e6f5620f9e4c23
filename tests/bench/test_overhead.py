"""What the built-in runner costs a move, in processor time, which a busy machine does not change much."""

import time

import chess
import pytest

from bench.adjudication import Adjudication
from bench.game import GameTask, play_task
from tests.bench.fakes import fake


def _unit() -> float:
    """Returns the processor time of 40 lists of legal moves: about a millisecond."""
    board = chess.Board("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -")
    began = time.process_time()
    for _ in range(40):
        list(board.legal_moves)
    return time.process_time() - began


@pytest.mark.usefixtures("engines_closed")
def test_the_runner_costs_little_a_move() -> None:
    """The unit is measured around each game, so that a slow processor slows both."""
    engines = fake("A", limit="movetime=0.01"), fake("B", "--seed", "2", limit="movetime=0.01")
    rules = Adjudication(max_moves=40)
    costs = []
    for game in range(2):
        task = GameTask(game, game, *engines, adjudication=rules, time_margin=5.0)
        before = _unit()
        began = time.process_time()
        result = play_task(task)
        cost = time.process_time() - began
        assert result.plies is not None
        costs.append(cost / result.plies / ((before + _unit()) / 2))
    assert min(costs) < 1
