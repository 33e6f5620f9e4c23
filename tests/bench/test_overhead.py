"""What the built-in runner costs a move. Processor time is compared, which a busy machine does not change much."""

import time

import pytest

from bench.adjudication import Adjudication
from bench.game import GameTask, play_task
from tests.bench.fakes import fake


@pytest.mark.usefixtures("engines_closed")
def test_the_runner_costs_less_than_a_millisecond_a_move() -> None:
    engines = fake("A", limit="movetime=0.01"), fake("B", "--seed", "2", limit="movetime=0.01")
    rules = Adjudication(max_moves=40)
    costs = []
    for game in range(2):
        task = GameTask(game, game, *engines, adjudication=rules, time_margin=5.0)
        began = time.process_time()
        result = play_task(task)
        assert result.plies is not None
        costs.append((time.process_time() - began) / result.plies)
    assert min(costs) < 0.001
