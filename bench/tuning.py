"""A tuning run: SPSA by games of the engine against itself, with its results in a `bench.pairs.StateFile`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bench.description import MatchDescription
from bench.engines import EngineSpec, compile_kernels
from bench.game import check_engine
from bench.pairs import PLUS, PairsTask, StateFile, make_task, play_pairs
from bench.schedule import make_plan
from bench.spsa import Schedule, Spsa, SpsaError
from search.tunables import Tunable


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that the outcome of a tuning run depends on.

    `games` describes the games between PLUS and MINUS, the same engine, whose options the tuned ones join; `pairs` of
    them are played an iteration.
    """

    parameters: tuple[Tunable, ...]
    schedule: Schedule
    games: MatchDescription
    seed: int = 0
    pairs: int = 1

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise SpsaError(f"pairs is at least 1, not {self.pairs}")
        names = {parameter.name for parameter in self.parameters}
        for name, _ in self.games.engines[0].options:
            if name in names:
                raise SpsaError(f"option {name} is tuned: leave it out with --except, or do not set it")

    def side(self, side: int, values: dict[str, int]) -> EngineSpec:
        """One side (0 or 1) with its values."""
        engine = self.games.engines[side]
        return replace(engine, options=(*engine.options, *((name, str(value)) for name, value in values.items())))

    def trajectory(self, state: StateFile) -> Iterator[Spsa]:
        """The tuner at the start and after each result of the state, always the same object.

        Raises `SpsaError` for results that are not this run's.
        """
        spsa = Spsa(self.parameters, self.schedule, self.seed)
        yield spsa
        for iteration, points in state.results.items():
            if iteration >= self.schedule.iterations or abs(points) > 2 * self.pairs:
                raise SpsaError(f"{state.path}: iteration {iteration} with {points} points is none of this run")
            spsa.update(iteration, points)
            yield spsa

    def tuner(self, state: StateFile) -> Spsa:
        """The tuner after all results of the state. Raises `SpsaError`."""
        *_, spsa = self.trajectory(state)
        return spsa


def tune(
    run: Run,
    spsa: Spsa,
    state: StateFile,
    settings: dict[str, Any],
    on_problem: Callable[[str], None],
    concurrency: int = 1,
    cluster: str | None = None,
) -> None:
    """Plays what is missing, `concurrency` iterations at a time; changes `spsa` and `state`.

    A new state begins with `settings` once the engine is known to play, so that no earlier run is lost before.

    Each iteration perturbs the values as they are when it begins; with several at a time, the results of those beside
    it come later. An iteration in which an engine failed is reported and has no result. Raises `SpsaError` when the
    engine cannot play, `DescriptionError` for an unusable book, `PairsError`, `ClusterError`, and KeyboardInterrupt;
    the state is whole then.
    """
    openings = make_plan(run.games).openings
    compile_kernels(run.games.engines, cluster)
    problem = check_engine(run.side(0, spsa.result()))
    if problem is not None:
        command = " ".join(run.games.engines[0].command)
        raise SpsaError(f"{problem.replace(f'engine {PLUS}', 'the engine')} ({command})")
    if state.settings is None:
        state.begin(settings)

    def task(iteration: int) -> PairsTask:
        plus, minus = (run.side(side, values) for side, values in enumerate(spsa.propose(iteration)))
        return make_task(iteration, plus, minus, openings, run.games.adjudication, run.pairs)

    def problem_of(iteration: int, fault: str) -> None:
        on_problem(f"iteration {iteration + 1}: {fault}")

    missing = state.missing(range(run.schedule.iterations))
    for iteration, points in play_pairs(map(task, missing), state, problem_of, concurrency, cluster):
        spsa.update(iteration, points)


def edited_source(source: str, values: dict[str, int]) -> str:
    """The text of `search/tunables.py` with `values` as defaults. Raises `SpsaError` when one has no row."""
    for name, value in values.items():
        source, count = re.subn(rf'(Tunable\("{re.escape(name)}", )-?\d+', rf"\g<1>{value}", source)
        if count != 1:
            raise SpsaError(f"search/tunables.py has no row of {name}")
    return source
