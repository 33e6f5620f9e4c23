"""A tuning run: SPSA by games of the lab, with its state in a file of JSON lines.

The first line says what the run is; every finished iteration adds one with its points and the values it led to.
Whatever ends the run, even `kill -9`, the file holds all that was learnt, and `State.load` reads it back: iterations
that were under way are played again. Only who holds the file's lock may write to it (`engine.files.locked`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from bench.adjudication import Adjudication, DrawRule, ResignRule
from bench.cluster import map_unordered
from bench.engines import EngineSpec, EngineSpecError, compile_kernels, make_engine
from bench.game import GameTask, check_engine, play_task
from bench.openings import BookError, Opening, load_openings
from bench.results import GameResult
from bench.spsa import Proposal, Schedule, Spsa, SpsaError
from engine.files import Output, parse_json, read_bytes, reason, replace_file, shown
from search.tunables import Tunable

#: Faulty iterations in a row after which the run is given up: something is wrong with the engine or the machine.
PATIENCE: Final = 20

FORMAT: Final = 1

#: A run's file is at most this large, in bytes.
_MOST_BYTES: Final = 1 << 30

PLUS, MINUS = "plus", "minus"


@dataclass(frozen=True, slots=True)
class Run:
    """What a tuning run is: everything that its outcome depends on.

    `command` is the engine and its arguments, `options` pairs of UCI option and value that both sides get besides the
    tuned ones, `limit` the time control. `pairs` of games are played an iteration. `book` None is the start position.
    """

    parameters: tuple[Tunable, ...]
    schedule: Schedule
    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    limit: str = "nodes=4000"
    seed: int = 0
    pairs: int = 1
    book: str | None = None
    order: str = "random"
    plies: int | None = None
    adjudication: Adjudication = field(default_factory=Adjudication)

    def __post_init__(self) -> None:
        if self.pairs < 1:
            raise SpsaError(f"pairs is at least 1, not {self.pairs}")
        names = {parameter.name for parameter in self.parameters}
        for name, _ in self.options:
            if name in names:
                raise SpsaError(f"option {name} is tuned: leave it out with --except, or do not set it")

    def engine(self, name: str, values: dict[str, int]) -> EngineSpec:
        """One side with its values. Raises `SpsaError`."""
        options = dict(self.options) | {option: str(value) for option, value in values.items()}
        try:
            return make_engine(name, self.command, self.limit, None, options, restart=False)
        except EngineSpecError as error:
            raise SpsaError(str(error)) from None

    def openings(self) -> list[Opening]:
        """The openings in the order in which the iterations take them. Raises `SpsaError`."""
        if self.book is None:
            return [Opening()]
        try:
            count = self.schedule.iterations * self.pairs
            return load_openings(self.book, self.order, self.seed, count=count, plies=self.plies)
        except BookError as error:
            raise SpsaError(str(error)) from None

    def to_json(self) -> dict[str, Any]:
        """The first line of the state file."""
        return {"secateur-spsa": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Run:
        """The inverse of `to_json`. Raises KeyError, TypeError or ValueError for anything else."""
        if data.get("secateur-spsa") != FORMAT:
            raise ValueError
        values = {entry.name: data[entry.name] for entry in fields(cls)}
        rules = dict(values["adjudication"])
        rules["resign"] = rules["resign"] and ResignRule(**rules["resign"])
        rules["draw"] = rules["draw"] and DrawRule(**rules["draw"])
        values["parameters"] = tuple(Tunable(**parameter) for parameter in values["parameters"])
        values["schedule"] = Schedule(**values["schedule"])
        values["command"] = tuple(values["command"])
        values["options"] = tuple((name, value) for name, value in values["options"])
        values["adjudication"] = Adjudication(**rules)
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Step:
    """One finished iteration: games won less games lost by the plus side, and the values after it."""

    iteration: int
    points: int
    values: tuple[float, ...]


class State:
    """A run's tuner, its finished iterations in order of completion, and their file."""

    def __init__(self, run: Run, path: Path, steps: Sequence[Step] = (), output: Output | None = None) -> None:
        self.run = run
        self.path = path
        self.steps = list(steps)
        self.spsa = Spsa(run.parameters, run.schedule, run.seed)
        if self.steps:
            self.spsa.values = list(self.steps[-1].values)
        self._output = output
        #: Whether the run is in the file; one that was created is put there by `begin`.
        self.is_begun = output is None or output.keep is not None

    @classmethod
    def create(cls, run: Run, path: Path) -> State:
        """A new run; `begin` puts it into the file. Raises `SpsaError`, also for a file that is no run."""
        return cls(run, path, output=_output(path))

    def begin(self) -> None:
        """Puts a new run into the file, in place of a run that is there. Raises `SpsaError`."""
        if not self.is_begun:
            assert self._output is not None
            self._output.keep = 0  # in place: the lock is that of the file
            self._append(self.run.to_json())
            self.is_begun = True

    @classmethod
    def load(cls, path: Path, shown_only: bool = False) -> State:
        """Reads a file without a half-written last line; writes nothing. Nothing can be added to one `shown_only`.

        Raises `SpsaError` naming file and line.
        """
        output = None if shown_only else _output(path)
        try:
            text = read_bytes(path, _MOST_BYTES)
        except OSError as error:
            raise SpsaError(f"{shown(path)}: {reason(error)}") from None
        whole = text[: text.rfind(b"\n") + 1]
        steps: list[Step] = []
        run: Run | None = None
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                data = parse_json(line)
                if run is None:
                    run = Run.from_json(data)
                else:
                    steps.append(_step(data, run))
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
                what = "no tuning run of this version" if run is None else "no iteration of this run"
                raise SpsaError(f"{path}:{number}: {what}") from None
        if run is None:
            raise SpsaError(f"{path}: no tuning run")
        if len({step.iteration for step in steps}) < len(steps):
            raise SpsaError(f"{path}: an iteration is there twice")
        if not is_cut_line(text[len(whole) :], asdict(Step(1, 0, tuple(0.0 for _ in run.parameters)))):
            raise SpsaError(f"{path}:{len(steps) + 2}: no iteration of this run")
        if output is not None:
            output.keep = len(whole)
        return cls(run, path, steps, output)

    def missing(self) -> Iterator[int]:
        """The iterations still to be played, in order."""
        done = {step.iteration for step in self.steps}
        return (number for number in range(1, self.run.schedule.iterations + 1) if number not in done)

    @property
    def is_finished(self) -> bool:
        """Whether every iteration was played."""
        return len(self.steps) >= self.run.schedule.iterations

    def add(self, iteration: int, points: int) -> Step:
        """Takes an iteration's result; it is in the file before this returns. Raises `SpsaError`."""
        self.begin()
        self.spsa.update(iteration, points)
        step = Step(iteration, points, tuple(self.spsa.values))
        self.steps.append(step)
        self._append(asdict(step))
        return step

    def _append(self, data: dict[str, Any]) -> None:
        assert self._output is not None, "the run is only shown"
        try:
            self._output.append(json.dumps(data).encode() + b"\n")
        except OSError as error:
            lines = [self.run.to_json(), *map(asdict, self.steps)]
            error = self._output.saved_beside("".join(json.dumps(line) + "\n" for line in lines), error)
            raise SpsaError(f"{shown(self.path)}: {reason(error)}") from None


def _output(path: Path) -> Output:
    try:
        return Output(path, is_state, "tuning run")
    except OSError as error:
        raise SpsaError(f"{shown(path)}: {reason(error)}") from None


def is_state(head: bytes) -> bool:
    """Whether a file that begins like this is a tuning run, of whatever version."""
    return head.startswith(b'{"secateur-spsa": ')


def is_cut_line(data: bytes, example: Mapping[str, Any]) -> bool:
    """Whether `data` is the beginning of a line of JSON like that of `example`, which may differ in its numbers."""

    def without_numbers(text: str) -> str:
        return re.sub(r"-?\d[\d.]*(?:e[-+]?\d*)?|-$", "0", text)

    text = data.decode("latin-1")
    return without_numbers(json.dumps(example)).startswith(without_numbers(text))


def _step(data: dict[str, Any], run: Run) -> Step:
    step = Step(int(data["iteration"]), int(data["points"]), tuple(float(value) for value in data["values"]))
    if not 1 <= step.iteration <= run.schedule.iterations or len(step.values) != len(run.parameters):
        raise ValueError
    for parameter, value in zip(run.parameters, step.values, strict=True):
        if not parameter.low <= value <= parameter.high:
            raise ValueError
    return step


# --------------------------------------------------------------------------------------------------------------
# The games
# --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IterationTask:
    """The games of one iteration, one behind the other: pairs with the colours swapped."""

    iteration: int
    games: tuple[GameTask, ...]


def play_iteration(task: IterationTask) -> tuple[GameResult, ...]:
    """Plays the games with engines that go on running from iteration to iteration."""
    return tuple(replace(play_task(game), moves=()) for game in task.games)


def iteration_task(run: Run, proposal: Proposal, openings: Sequence[Opening]) -> IterationTask:
    """The games that measure a proposal."""
    plus, minus = run.engine(PLUS, proposal.plus), run.engine(MINUS, proposal.minus)
    games = []
    for number in range(run.pairs):
        pair = (proposal.iteration - 1) * run.pairs + number
        opening = openings[pair % len(openings)]
        for swapped, (white, black) in enumerate(((plus, minus), (minus, plus))):
            games.append(GameTask(2 * pair + swapped, pair, white, black, opening, run.adjudication))
    return IterationTask(proposal.iteration, tuple(games))


def points_of(games: Sequence[GameResult]) -> int:
    """Games won by the plus side less games lost by it."""
    return round(sum(2 * game.points(PLUS) - 1 for game in games))


def tune(
    state: State,
    on_step: Callable[[Step], None],
    on_problem: Callable[[str], None],
    concurrency: int = 1,
    cluster: str | None = None,
) -> None:
    """Plays what is missing, `concurrency` iterations at a time.

    Each iteration perturbs the values as they are when it begins; with several at a time, the results of those beside
    it come later. An iteration in which an engine failed teaches nothing: it is reported and counts as a draw. Raises
    `SpsaError` when the engine cannot play or the file cannot be written, `ClusterError`, and KeyboardInterrupt; the
    file is whole then.
    """
    run = state.run
    openings = run.openings()
    compile_kernels([run.engine(PLUS, {})], cluster)
    problem = check_engine(run.engine(PLUS, state.spsa.result()))
    if problem is not None:
        raise SpsaError(f"{problem.replace(f'engine {PLUS}', 'the engine')} ({' '.join(run.command)})")
    # Only now: an engine that cannot play costs no earlier run.
    state.begin()

    def tasks() -> Generator[IterationTask, None, None]:
        for iteration in state.missing():
            yield iteration_task(run, state.spsa.propose(iteration), openings)

    failures = 0
    outcomes = map_unordered(play_iteration, tasks(), cluster, workers=concurrency)
    with closing(outcomes):
        for outcome in outcomes:
            games = outcome.value or ()
            faults = [game.fault for game in games if game.fault is not None]
            if outcome.error is not None:
                faults = [outcome.error]
            failures = failures + 1 if faults else 0
            for fault in faults:
                on_problem(f"iteration {outcome.item.iteration}: {fault}")
            if failures >= PATIENCE:
                raise SpsaError(f"given up after {failures} iterations in a row that an engine spoilt")
            on_step(state.add(outcome.item.iteration, 0 if faults else points_of(games)))


# --------------------------------------------------------------------------------------------------------------
# The table in the source
# --------------------------------------------------------------------------------------------------------------

_ROW: Final = r'(Tunable\("{name}",\s*)(-?\d[\d_]*)(?=,)'


def edited_source(source: str, parameters: Sequence[Tunable], values: dict[str, int]) -> str:
    """The text of `search/tunables.py` with the defaults of `parameters` replaced by `values`.

    Raises `SpsaError` when a default is no longer what the run began with (or led to), or the result is not valid.
    """
    for parameter in parameters:
        pattern = _ROW.format(name=re.escape(parameter.name))
        rows = re.findall(pattern, source)
        if len(rows) != 1:
            raise SpsaError(f"{parameter.name} has {len(rows)} rows in the table of tunables")
        found, wanted = int(rows[0][1]), values[parameter.name]
        if found not in (parameter.default, wanted):
            raise SpsaError(f"{parameter.name} is {found} by now, and the run began with {parameter.default}")
        source = re.sub(pattern, rf"\g<1>{wanted}", source)
    table = {tunable.name: tunable for tunable in _table_of(source)}
    for parameter in parameters:
        if table.get(parameter.name) != replace(parameter, default=values[parameter.name]):
            raise SpsaError(f"{parameter.name} has another range or step by now: {table.get(parameter.name)}")
    return source


def _table_of(source: str) -> list[Tunable]:
    """The table that this text of `search/tunables.py` makes. Raises `SpsaError`."""
    module: dict[str, Any] = {"__name__": "search.tunables"}
    try:
        exec(compile(source, "search/tunables.py", "exec"), module)
        # The rows are of the text's own class.
        return [Tunable(**asdict(row)) for row in module["TUNABLES"]]
    except Exception as error:  # whatever a broken text raises
        raise SpsaError(f"the edited table of tunables is not valid: {error}") from None


def write_source(path: Path, text: str) -> None:
    """Replaces the file at once: it is never half written. Raises `SpsaError`."""
    try:
        replace_file(path, text)
    except OSError as error:
        raise SpsaError(f"{shown(path)}: {reason(error)}") from None
