"""The tuner on objectives whose optimum is known, and its contracts."""

import math
import random
from collections.abc import Callable

import pytest

from bench.spsa import Schedule, Spsa, SpsaError, default_gain, select
from search.tunables import TUNABLES, Tunable

PARAMETERS = (
    Tunable("Small", 100, 0, 200, 5),
    Tunable("Large", 4000, 1000, 8000, 300),
    Tunable("Depth", 8, 4, 12, 1),
    Tunable("Edge", 20, 0, 30, 2),
)
#: Where the strength of `elo` is greatest; the last one lies beyond the parameter's range.
OPTIMUM = {"Small": 130.0, "Large": 2800.0, "Depth": 6.0, "Edge": 45.0}


def elo(values: dict[str, int]) -> float:
    """A smooth hill: three steps away from the optimum cost 18 Elo, in each parameter."""
    steps = {parameter.name: parameter.step for parameter in PARAMETERS}
    return -sum(2.0 * ((values[name] - best) / steps[name]) ** 2 for name, best in OPTIMUM.items())


def pair_of_games(generator: random.Random) -> Callable[[dict[str, int], dict[str, int]], int]:
    """Plays two games between two sides: wins minus losses of the plus side."""

    def play(plus: dict[str, int], minus: dict[str, int]) -> int:
        expected = 1 / (1 + 10 ** ((elo(minus) - elo(plus)) / 400))
        points = 0
        for _ in range(2):
            if generator.random() < 0.5:  # the other half is drawn
                points += 1 if generator.random() < expected else -1
        return points

    return play


def run(iterations: int, seed: int = 1, delay: int = 0) -> Spsa:
    """A whole run; results come `delay` iterations late, as those of games played beside each other."""
    spsa = Spsa(PARAMETERS, Schedule(iterations, default_gain(iterations)), seed)
    play = pair_of_games(random.Random(seed))
    waiting: list[tuple[int, int]] = []
    for iteration in range(iterations):
        sides = spsa.propose(iteration)
        for parameter in PARAMETERS:
            for side in sides:
                assert parameter.low <= side[parameter.name] <= parameter.high
        waiting.append((iteration, play(*sides)))
        if len(waiting) > delay:
            spsa.update(*waiting.pop(0))
        for parameter, value in zip(PARAMETERS, spsa.values, strict=True):
            assert parameter.low <= value <= parameter.high
    return spsa


@pytest.mark.parametrize("delay", [0, 7])
def test_noisy_games_lead_to_the_planted_optimum(delay: int) -> None:
    spsa = run(8_000, delay=delay)
    for parameter, value in zip(PARAMETERS, spsa.values, strict=True):
        best = min(max(OPTIMUM[parameter.name], parameter.low), parameter.high)
        assert abs(value - best) <= 1.5 * parameter.step, parameter.name
    start = elo({parameter.name: parameter.default for parameter in PARAMETERS})
    assert elo(spsa.result()) > start + 60


def test_the_schedule_ends_at_step_and_gain_and_falls_by_spalls_exponents() -> None:
    schedule = Schedule(1000, 0.01)
    assert schedule.perturbation(999) == 1.0
    assert schedule.follow(999) == pytest.approx(0.01)
    assert schedule.perturbation(0) == pytest.approx(1000**0.101)
    gains = [schedule.follow(k) * schedule.perturbation(k) for k in (0, 99, 899)]
    assert gains[0] / gains[2] == pytest.approx((1000 / 101) ** 0.602)
    assert gains[1] / gains[2] == pytest.approx((1000 / 200) ** 0.602)


def test_a_point_moves_each_parameter_towards_the_side_that_won() -> None:
    spsa = Spsa(PARAMETERS, Schedule(100, 0.01), seed=5)
    plus, minus = spsa.propose(40)
    spsa.update(40, 2)
    for parameter, change in zip(PARAMETERS, spsa.change_in_steps(), strict=True):
        towards = plus[parameter.name] - minus[parameter.name]
        assert math.copysign(1, change) == math.copysign(1, towards)
        assert abs(change) == pytest.approx(2 * spsa.schedule.follow(40))


def test_a_run_without_gain_measures_what_a_step_is_worth() -> None:
    """Half of the games are drawn, so the effects on the score are half of those on the hill."""
    parameters, play = PARAMETERS[:3], pair_of_games(random.Random(5))
    spsa = Spsa(parameters, Schedule(6000, 0.0), seed=6)
    results = {}
    for iteration in range(6000):
        plus, minus = spsa.propose(iteration)
        results[iteration] = play({**plus, "Edge": 20}, {**minus, "Edge": 20})
        spsa.update(iteration, results[iteration])
    assert not spsa.change_in_steps().any()
    found = spsa.effects(results)
    assert found is not None
    for row, value, error in zip(parameters, *found, strict=True):
        slope = 4 * (OPTIMUM[row.name] - row.default) / row.step
        assert abs(value - slope / 2) < 1.5 * error
        assert error < 3
    assert spsa.effects(dict(list(results.items())[:53])) is None
    assert spsa.effects(dict(list(results.items())[:54])) is not None


def test_slopes_are_those_of_a_plane() -> None:
    """A step up of the first parameter adds 3, one of the second takes 2; the plus engine is ahead by 0.5 anyway."""
    spsa = Spsa(PARAMETERS[:2], Schedule(500, 0.0), seed=7)
    differences = {}
    for iteration in range(500):
        plus, minus = spsa.propose(iteration)
        small, large = ((plus[row.name] - minus[row.name]) / row.step for row in spsa.parameters)
        differences[iteration] = 3 * small - 2 * large + 0.5
    found = spsa.slopes(differences)
    assert found is not None
    for value, error, expected in zip(*found, (3, -2), strict=True):  # values are whole numbers
        assert abs(value - expected) < error < 0.1


def test_whole_values_have_the_fractional_one_as_their_mean() -> None:
    fine = Tunable("Fine", 10, 0, 20, 1)
    spsa = Spsa([fine], Schedule(4000, 0.01))
    spsa.values[0] = 10.3
    proposals = [spsa.propose(iteration) for iteration in range(2000, 4000)]
    middle = sum(plus["Fine"] + minus["Fine"] for plus, minus in proposals) / 2 / len(proposals)
    apart = sum(abs(plus["Fine"] - minus["Fine"]) for plus, minus in proposals) / len(proposals)
    assert middle == pytest.approx(10.3, abs=0.05)
    expected = sum(2 * spsa.schedule.perturbation(iteration) for iteration in range(2000, 4000)) / 2000
    assert apart == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("iterations", "gain"), [(0, 0.1), (10, -1.0), (10, math.nan), (10, math.inf)])
def test_a_schedule_that_makes_no_sense_is_refused(iterations: int, gain: float) -> None:
    with pytest.raises(SpsaError):
        Schedule(iterations, gain)


def test_tunables_are_chosen_by_name_and_wildcard() -> None:
    switch = Tunable("Switch", 1, 0, 1, 1)
    assert select([*TUNABLES, switch]) == tuple(row for row in TUNABLES if row.high - row.low >= 2 * row.step)
    assert select([*TUNABLES, switch], ["Switch"]) == (switch,)
    names = {tunable.name for tunable in select(TUNABLES, ["rfp_*", "lmr_cut_?ode"])}
    assert names == {"rfp_depth", "rfp_margin", "rfp_history_divisor", "lmr_cut_node"}
    with pytest.raises(SpsaError, match="'rpf_\\*'"):
        select(TUNABLES, ["rpf_*"])
