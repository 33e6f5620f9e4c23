"""Time: budgets, whole games on a clock, the scaling between iterations, and the alarm."""

import random
import threading
import time
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.kernels.score import MATE
from search.limits import DEFAULT_OVERHEAD, Clock, Limits
from search.timing import Alarm, Budget, TimeManager, budget_for
from search.tunables import TUNABLES, defaults, namespace

TUNE = namespace(defaults())


def test_infinite_has_no_deadline() -> None:
    budget = budget_for(Limits(infinite=True, move_time=5), 10)
    assert budget == Budget()


def test_move_time_keeps_the_overhead_back() -> None:
    assert budget_for(Limits(move_time=1000), 10) == Budget(inf, 990, 995)
    assert budget_for(Limits(move_time=1000), 500) == Budget(inf, 500, 530)
    short = budget_for(Limits(move_time=5), 10)
    assert 0 < short.hard < short.last < 5
    both = budget_for(Limits(move_time=1000, clock=Clock(1_000_000)), 10)
    assert (both.hard, both.last) == (990, 995)
    assert both.soft < inf


times = st.integers(1, 10_000_000)
increments = st.integers(0, 60_000)
to_go = st.none() | st.integers(1, 200)
overheads = st.integers(0, 5000)
move_numbers = st.integers(0, 500)


@given(times, increments, to_go, overheads, st.booleans(), move_numbers)
def test_soft_is_below_hard_and_hard_below_the_clock(
    time_left: int, increment: int, moves_to_go: int | None, overhead: int, ponders: bool, number: int
) -> None:
    limits = Limits(clock=Clock(time_left, increment, moves_to_go))
    budget = budget_for(limits, overhead, ponders=ponders, move_number=number)
    assert 0 < budget.soft <= budget.hard <= budget.last < time_left
    if 4 * overhead <= 3 * time_left and time_left >= overhead + 2:
        assert budget.last <= time_left - overhead


@given(times, times, increments, to_go, overheads, move_numbers)
def test_more_time_never_means_less_thought(
    one: int, other: int, increment: int, moves_to_go: int | None, overhead: int, number: int
) -> None:
    less, more = (
        budget_for(Limits(clock=Clock(time_left, increment, moves_to_go)), overhead, move_number=number)
        for time_left in sorted((one, other))
    )
    assert less.soft <= more.soft
    assert less.hard <= more.hard


@given(times, times, overheads)
def test_more_move_time_never_means_less_thought(one: int, other: int, overhead: int) -> None:
    less, more = (budget_for(Limits(move_time=move_time), overhead) for move_time in sorted((one, other)))
    assert less.hard <= more.hard
    assert less.last <= more.last


@given(times, st.integers(1, 49), overheads)
def test_more_moves_on_the_same_clock_mean_less_for_each(time_left: int, moves: int, overhead: int) -> None:
    few, many = (budget_for(Limits(clock=Clock(time_left, 0, count)), overhead) for count in (moves, moves + 1))
    assert many.soft <= few.soft
    assert many.hard <= few.hard


def test_the_last_move_before_the_control_may_take_most_of_the_clock() -> None:
    last = budget_for(Limits(clock=Clock(10_000, 0, 1)), 0)
    assert 8000 < last.hard < 10_000
    in_general = budget_for(Limits(clock=Clock(10_000)), 0)
    assert in_general.hard < 4000


def test_later_in_the_game_the_clock_is_for_fewer_moves() -> None:
    """40, 30, 20 and again 20 moves with an increment; always 40 without; always 25 if the control says so.

    The number falls half as much if the increment exceeds the overhead by half of it.
    """
    for number, moves in ((1, 40), (21, 30), (41, 20), (200, 20)):
        for increment, expected, to_go in ((400, moves, None), (200, 40, None), (0, 40, None), (400, 25, 25)):
            assert planned_moves(increment, 200, number, to_go) == pytest.approx(expected)
    assert planned_moves(300, 200, 21) == pytest.approx(35)
    assert planned_moves(DEFAULT_OVERHEAD, 0, 21) == pytest.approx(30)
    assert planned_moves(400, 200, 0) == pytest.approx(40)


def planned_moves(increment: int, overhead: int, number: int, to_go: int | None = None) -> float:
    """The number of moves to which the plan for move `number` belongs."""
    left = 1_000_000
    clock = Clock(left + TUNE.time_reserve + overhead, increment, to_go)
    share = budget_for(Limits(clock=clock), overhead, move_number=number).soft * 100 / TUNE.time_share
    # share = (left + (moves - 1) * net) / moves
    net = increment - overhead
    return float((left - net) / (share - net))


def test_pondering_plans_more() -> None:
    limits = Limits(clock=Clock(60_000, 600))
    plain, pondering = budget_for(limits, 10), budget_for(limits, 10, ponders=True)
    assert pondering.soft == pytest.approx(plain.soft * (1 + TUNE.time_ponder / 100))


# -- whole games ---------------------------------------------------------------------------------------------------

TIME_CONTROLS = [
    (60_000, 0, None),
    (60_000, 600, None),
    (10_000, 100, None),
    (1000, 10, None),
    (100, 10, None),
    (60_000, 0, 40),
    (300_000, 0, None),
]


def play(
    control: tuple[int, int, int | None],
    moves: int,
    lag: float,
    hard_share: float,
    seed: int = 0,
    predicted: float | None = None,
) -> list[float]:
    """The time on the clock after each move of a game, before the increment, in milliseconds.

    Each move takes a scaled soft limit, or with the chance `hard_share` its hard limit, and `lag` more. An engine that
    ponders has thought long enough when the opponent plays a predicted move, a share `predicted` of all moves. None:
    it does not ponder.
    """
    ponders = predicted is not None
    time_left, increment, per_control = control
    rng = random.Random(seed)
    left = float(time_left)
    clock = []
    for move in range(moves):
        to_go = None if per_control is None else per_control - move % per_control
        limits = Limits(clock=Clock(max(int(left), 1), increment, to_go))
        budget = budget_for(limits, 10, ponders=ponders, move_number=move + 1)
        spent = budget.hard if rng.random() < hard_share else min(budget.soft * rng.uniform(0.5, 2), budget.hard)
        left -= lag if predicted is not None and rng.random() < predicted else spent + lag
        clock.append(left)
        left += increment
        if to_go == 1:
            left += time_left
    return clock


@pytest.mark.parametrize("predicted", [None, 0.0, 0.5])
@pytest.mark.parametrize("control", TIME_CONTROLS)
def test_a_game_of_250_moves_never_runs_out(control: tuple[int, int, int | None], predicted: float | None) -> None:
    for seed in range(5):
        assert min(play(control, 250, lag=2, hard_share=0.05, seed=seed, predicted=predicted)) > 0


@pytest.mark.parametrize("control", [control for control in TIME_CONTROLS if control[0] > 100])
def test_losing_the_overhead_loses_no_game(control: tuple[int, int, int | None]) -> None:
    """If every move loses the whole overhead, there is still time for a game of ordinary length."""
    for seed in range(5):
        assert min(play(control, 120, lag=10, hard_share=0.05, seed=seed)) > 0


@pytest.mark.parametrize("control", [*TIME_CONTROLS[:5], (60_000, 0, 30)])
def test_explosions_in_a_row_cost_no_game(control: tuple[int, int, int | None]) -> None:
    assert min(play(control, 25, lag=1, hard_share=1)) > 0


@pytest.mark.parametrize("predicted", [None, 0.0, 0.3])
@pytest.mark.parametrize(
    ("control", "moves", "most"),
    [
        ((60_000, 600, None), 60, 0.1),
        ((10_000, 100, None), 60, 0.1),
        ((60_000, 0, None), 80, 0.15),
        ((300_000, 0, None), 80, 0.15),
        ((60_000, 0, 40), 40, 0.05),
    ],
)
def test_a_long_game_uses_the_clock(
    control: tuple[int, int, int | None], moves: int, most: float, predicted: float | None
) -> None:
    """The more moves an engine predicts that ponders, the more is left: at 0.5 up to a quarter of the clock."""
    for seed in range(5):
        assert play(control, moves, lag=1, hard_share=0.05, seed=seed, predicted=predicted)[-1] < most * control[0]


# -- between iterations --------------------------------------------------------------------------------------------


def manager(soft: float = 100, hard: float = 300, pondering: bool = False) -> TimeManager:
    return TimeManager(Budget(soft, hard, hard + 10), TUNE, pondering)


def test_no_values_of_the_tunables_make_a_scale_negative() -> None:
    extreme = {row.name: row.low for row in TUNABLES if row.name.startswith("time_")}
    extreme |= {"time_effort_slope": 240, "time_fall_slope": 200, "time_rise_most": 80, "time_scale_depth": 2}
    manager = TimeManager(Budget(), namespace(defaults() | extreme))
    for score in (0, 200, 400):
        manager.iteration_done(8, score, 7, effort=1.0)
    assert 0 < manager.scale < 0.1


def after(manager: TimeManager, *iterations: tuple[int, int, float]) -> float:
    """The scale after iterations of (score, best move, effort) from depth 8 on."""
    for depth, (score, best, effort) in enumerate(iterations, start=8):
        manager.iteration_done(depth, score, best, effort)
    return manager.scale


def test_the_plan_stands_until_there_is_something_to_go_by() -> None:
    fresh = manager()
    fresh.iteration_done(1, 20, 7, 1.0)
    assert fresh.scale == 1.0
    assert fresh.soft() == 100
    assert not fresh.is_over(99.9)
    assert fresh.is_over(100)


def test_a_move_that_stays_takes_less_time() -> None:
    scales = [after(manager(), *[(20, 7, 0.6)] * count) for count in range(1, 12)]
    assert scales == sorted(scales, reverse=True)
    assert scales[0] / scales[-1] == pytest.approx(TUNE.time_stable_base / TUNE.time_stable_least)
    changed = after(manager(), *[(20, 7, 0.6)] * 9, (20, 8, 0.6))
    assert changed == pytest.approx(scales[0])


def test_a_falling_score_takes_more_time() -> None:
    steady = after(manager(), *[(50, 7, 0.6)] * 4)
    scales = [after(manager(), *[(50, 7, 0.6)] * 3, (score, 7, 0.6)) for score in (75, 60, 50, 30, -10, -500)]
    assert scales == sorted(scales)
    assert scales[2] == steady
    assert scales[0] < steady < scales[3]
    # However far it falls, no more counts than time_fall_most: mates are no numbers to calculate with.
    assert after(manager(), *[(50, 7, 0.6)] * 3, (50 - TUNE.time_fall_most, 7, 0.6)) == scales[-1]
    assert after(manager(), *[(50, 7, 0.6)] * 3, (-MATE + 5, 7, 0.6)) == scales[-1]


def test_a_move_that_took_all_the_nodes_takes_less_time() -> None:
    scales = [after(manager(), (20, 7, effort)) for effort in (0.1, 0.5, 0.9, 1.0)]
    assert scales == sorted(scales, reverse=True)
    assert scales[0] > 1.5 * scales[-1]


@given(st.lists(st.tuples(st.integers(-MATE, MATE), st.integers(0, 2), st.floats(0, 1)), min_size=1))
def test_no_search_goes_beyond_its_hard_limit(iterations: list[tuple[int, int, float]]) -> None:
    watched = manager(100, 150)
    assert after(watched, *iterations) > 0
    assert 0 < watched.soft() <= 150
    assert watched.is_over(150)
    assert watched.deadline() == 150


def test_a_settled_move_is_played_at_once() -> None:
    watched = manager()
    watched.iteration_done(3, 20, 7, 1.0, is_settled=True)
    assert watched.is_over(0.1)


def test_without_a_clock_time_never_ends_a_search_early() -> None:
    for budget in (Budget(), Budget(inf, 500, 510)):
        watched = TimeManager(budget, TUNE)
        watched.iteration_done(3, 20, 7, 1.0, is_settled=True)
        assert not watched.is_over(1e9)
        assert watched.deadline() == budget.hard


def test_pondering_has_no_end_but_counts_afterwards() -> None:
    watched = manager(pondering=True)
    watched.iteration_done(3, 20, 7, 1.0, is_settled=True)
    assert not watched.is_over(1e9)
    assert watched.deadline() == inf
    watched.iteration_done(4, 20, 7, 1.0)
    watched.ponder_hit(40)
    assert watched.deadline() == 300
    assert not watched.is_over(40)
    long = manager(pondering=True)
    long.ponder_hit(5000)
    assert long.is_over(5000)


def test_an_ordered_time_begins_when_the_move_is_played() -> None:
    watched = manager(inf, 300, pondering=True)
    watched.ponder_hit(5000)
    assert watched.deadline() == 5300
    assert not watched.is_over(5001)


# -- the alarm -----------------------------------------------------------------------------------------------------


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


def test_a_closed_alarm_leaves_no_thread_and_can_be_set_again() -> None:
    def alarms() -> int:
        return sum(thread.name == "search alarm" for thread in threading.enumerate())

    def end() -> None:
        alarm.close()
        deadline = time.monotonic() + 5
        while alarms() > before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert alarms() == before

    before = alarms()
    rang = threading.Event()
    alarm = Alarm(rang.set)
    alarm.set(60)
    assert alarms() == before + 1
    end()
    assert not rang.is_set()
    # The threads of earlier settings may still be there, and end without a ring.
    for _ in range(20):
        alarm.set(60)
        alarm.close()
    alarm.set(0.01)
    assert rang.wait(5)
    end()


def test_an_alarm_further_off_than_a_wait_can_be_told() -> None:
    rang = threading.Event()
    alarm = Alarm(rang.set)
    alarm.set(1e13)
    time.sleep(0.05)
    assert not rang.is_set()
    alarm.set(0.01)
    assert rang.wait(5)
    alarm.close()
