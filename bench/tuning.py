"""A tuning run: SPSA by games of the engine against itself, with its results in a `bench.pairs.StateFile`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench.adjudication import Adjudication
from bench.description import Book
from bench.engines import EngineSpec, compile_kernels
from bench.game import check_engine
from bench.openings import BookError, Opening, load_openings
from bench.pairs import MINUS, PLUS, PairsTask, StateFile, make_task, play_pairs
from bench.spsa import Schedule, Spsa, SpsaError
from search.tunables import Tunable


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that the outcome of a tuning run depends on.

    `engine` plays itself; both sides have its options besides the tuned ones. `pairs` of games are played an
    iteration. `book` None is the start position.
    """

    parameters: tuple[Tunable, ...]
    schedule: Schedule
    engine: EngineSpec
    seed: int = 0
    pairs: int = 1
    book: Book | None = None
    adjudication: Adjudication = field(default_factory=Adjudication)

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise SpsaError(f"pairs is at least 1, not {self.pairs}")
        names = {parameter.name for parameter in self.parameters}
        for name, _ in self.engine.options:
            if name in names:
                raise SpsaError(f"option {name} is tuned: leave it out with --except, or do not set it")

    def side(self, name: str, values: dict[str, int]) -> EngineSpec:
        """One side with its values."""
        options = dict(self.engine.options) | {option: str(value) for option, value in values.items()}
        return replace(self.engine, name=name, options=tuple(options.items()))

    def openings(self) -> list[Opening]:
        """The openings in the order in which the iterations take them. Raises `SpsaError`."""
        if self.book is None:
            return [Opening()]
        count, book = self.schedule.iterations * self.pairs, self.book
        try:
            return load_openings(book.file, book.order, self.seed, count=count, plies=book.plies)
        except BookError as error:
            raise SpsaError(str(error)) from None

    def task(self, iteration: int, spsa: Spsa, openings: Sequence[Opening]) -> PairsTask:
        """The games of an iteration."""
        plus, minus = spsa.propose(iteration)
        sides = self.side(PLUS, plus), self.side(MINUS, minus)
        return make_task(iteration, *sides, openings, self.adjudication, self.pairs)

    def is_finished(self, state: StateFile) -> bool:
        """Whether every iteration has a result."""
        return len(state.results) >= self.schedule.iterations

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
    engine cannot play, `PairsError`, `ClusterError`, and KeyboardInterrupt; the state is whole then.
    """
    openings = run.openings()
    compile_kernels([run.engine], cluster)
    problem = check_engine(run.side(PLUS, spsa.result()))
    if problem is not None:
        raise SpsaError(f"{problem.replace(f'engine {PLUS}', 'the engine')} ({' '.join(run.engine.command)})")
    if state.settings is None:
        state.begin(settings)

    def problem_of(iteration: int, fault: str) -> None:
        on_problem(f"iteration {iteration + 1}: {fault}")

    tasks = (run.task(iteration, spsa, openings) for iteration in state.missing(range(run.schedule.iterations)))
    for iteration, points in play_pairs(tasks, state, problem_of, concurrency, cluster):
        spsa.update(iteration, points)


def edited_source(source: str, parameters: Sequence[Tunable], values: dict[str, int]) -> str:
    """The text of `search/tunables.py` with the defaults of `parameters` replaced by `values`.

    Raises `SpsaError` when a row is neither what the run began with nor what it leads to.
    """
    for row in parameters:
        name, bounds = f'Tunable("{row.name}", ', f", {row.low}, {row.high}, {row.step}),"
        old, new = f"{name}{row.default}{bounds}", f"{name}{values[row.name]}{bounds}"
        if source.count(old) + source.count(new) != (1 if old != new else 2):
            raise SpsaError(
                f"search/tunables.py has no row {old.rstrip(',')}: {row.name} has changed since the run began"
            )
        source = source.replace(old, new)
    return source
