import threading
import time

import pytest

from search.limits import Clock, Limits
from search.timing import Alarm, budget_for


def test_infinite_has_no_deadline() -> None:
    budget = budget_for(Limits(infinite=True, move_time=5), 10)
    assert (budget.soft, budget.hard) == (None, None)


def test_move_time_keeps_the_overhead_back() -> None:
    assert budget_for(Limits(move_time=1000), 10).hard == 990
    assert 0 < budget_for(Limits(move_time=5), 10).hard <= 5


@pytest.mark.parametrize("time_left", [1, 5, 10, 50, 200, 1000, 60_000, 7_200_000])
@pytest.mark.parametrize("increment", [0, 10, 100, 5000])
@pytest.mark.parametrize("moves_to_go", [None, 1, 2, 10, 40, 400])
def test_a_move_never_plans_beyond_the_clock(time_left: int, increment: int, moves_to_go: int | None) -> None:
    for overhead in (0, 10, 100):
        budget = budget_for(Limits(clock=Clock(time_left, increment, moves_to_go)), overhead)
        assert budget.soft is not None
        assert budget.hard is not None
        assert 0 < budget.soft <= budget.hard
        assert budget.hard <= time_left
        if time_left > 3 * overhead + 3:
            assert budget.hard <= time_left - overhead


@pytest.mark.parametrize(
    ("time_left", "increment", "moves_to_go"), [(1000, 0, None), (60_000, 600, None), (60_000, 0, 40)]
)
def test_a_long_game_is_not_played_on_nothing(time_left: int, increment: int, moves_to_go: int | None) -> None:
    """Playing every move at its hard limit must leave time for at least 60 moves (or those to go)."""
    left = float(time_left)
    for move in range(moves_to_go or 60):
        to_go = None if moves_to_go is None else moves_to_go - move
        budget = budget_for(Limits(clock=Clock(int(left), increment, to_go)), 0)
        assert budget.hard is not None
        left += increment - budget.hard
        assert left > 0


def test_more_time_means_more_thought() -> None:
    plans = [budget_for(Limits(clock=Clock(t)), 10).soft or 0 for t in (100, 1000, 10_000, 100_000)]
    assert plans == sorted(plans)
    assert plans[-1] > 100 * plans[0]


def test_alarm_rings_once_and_can_be_cleared() -> None:
    rung: list[float] = []
    rang = threading.Event()

    def ring() -> None:
        rung.append(time.perf_counter())
        rang.set()

    alarm = Alarm(ring)
    start = time.perf_counter()
    alarm.set(0.05)
    assert rang.wait(5)
    assert 0.05 <= rung[0] - start < 1
    alarm.set(0.05)
    alarm.clear()
    time.sleep(0.2)
    assert len(rung) == 1
    alarm.set(60)
    rang.clear()
    alarm.set(0.01)  # an earlier deadline replaces a later one
    assert rang.wait(5)
    assert len(rung) == 2
