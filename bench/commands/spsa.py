"""`secateur spsa`: tunes search parameters in games of the engine against itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import astuple, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.adjudication import Adjudication
from bench.description import (
    MatchDescription,
    add_book_arguments,
    add_rule_arguments,
    book_from_arguments,
    check_tablebases,
    rules_from_arguments,
)
from bench.display import result_console
from bench.engines import EngineSpec, EngineSpecError, compile_kernels, engine_from_pairs, this_engine
from bench.game import check_engine
from bench.pairs import MINUS, PLUS, PairsError, PairsTask, Progress, StateFile, make_task, play_pairs
from bench.plots import MAX_POINTS, PlotError, check_path, plot_tuning
from bench.schedule import Plan, make_plan
from bench.spsa import GAIN_ITERATIONS, GAIN_MAX, WINS_OF_TIME, Floats, Schedule, Spsa, SpsaError, default_gain, select
from bench.stats import with_error
from engine.arguments import Parser, command
from engine.errors import FAILED, OK, arguments_are_judged
from engine.files import built, count_of, locked, shown
from engine.progress import Steps, say
from search import tunables
from search.tunables import Tunable

#: These rules end games whose outcome is clear, because further moves would add no information.
DEFAULT_RULES: Final = {"resign": "3,600,both", "draw": "30,6,10", "max_moves": 200}
DEFAULTS: Final = {"tc": "nodes=4000", "iterations": 5000, "order": "random", **DEFAULT_RULES}
#: The options that define a run. The state file stores them, and a resumed run cannot change them.
RUN_OPTIONS: Final = (
    *("only", "engine", "iterations", "gain", "tc", "book", "order", "seed", "plies"),
    *("resign", "draw", "max_moves", "tb"),
)


_EPILOG = """\
examples:
  secateur spsa --state lmr.jsonl --only "lmr_*" --iterations 8000 --tc nodes=3000 \\
                --book bench/books/balanced.epd --concurrency 2
  secateur spsa --state lmr.jsonl --show --plot lmr.svg

Each iteration changes every value up or down at random, plays a pair of games against an engine with the opposite
changes, and shifts the values a little towards those of the winner. Keep the result only if `secateur sprt` accepts it.
Exit status 0 means that all iterations were played.
"""


def parser() -> Parser:
    """Returns the command's argument parser."""
    parser = Parser(
        prog="secateur spsa",
        description="Tunes search parameters in games of the engine against itself.",
        epilog=_EPILOG,
        needs=("rich",),
    )
    parser.add_argument("--state", required=True, metavar="FILE.jsonl", help="the file in which the run is saved")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--resume", action="store_true", help="continue the run in the file")
    mode.add_argument("--overwrite", action="store_true", help="replace the run in the file; a copy stays beside it")
    mode.add_argument("--show", action="store_true", help="print the results in the file without playing")
    how = parser.add_argument_group("the run")
    how.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="names of tunables; * and ? are wildcards (default: all that affect one-thread games at this limit, "
        "except switches)",
    )
    how.add_argument("--iterations", type=int, help=f"iterations of the whole run (default {DEFAULTS['iterations']})")
    how.add_argument(
        "--gain",
        type=float,
        help="steps by which each net win (wins minus losses) shifts a value in the last iteration; fishtest's R "
        f"(default {GAIN_ITERATIONS:g} / iterations, {GAIN_MAX:g} at most; 0 only measures what a step is worth)",
    )
    how.add_argument(
        "--engine", nargs="+", metavar="KEY=VALUE", help="cmd=, arg=, option.NAME= (default: this Secateur, --tuning)"
    )
    how.add_argument("--tc", help=f"time control (default {DEFAULTS['tc']})")
    add_book_arguments(how)
    how.add_argument("--concurrency", type=int, default=1, help="number of iterations at once (default 1)")
    how.add_argument("--cluster", metavar="tcp://HOST:PORT", help="play on the workers of this Dask scheduler")
    rules = parser.add_argument_group(
        "adjudication",
        "default: " + ", ".join(f"--{key.replace('_', '-')} {DEFAULT_RULES[key]}" for key in DEFAULT_RULES),
    )
    add_rule_arguments(rules)
    parser.add_argument("--plot", type=Path, metavar="FILE.png|svg", help="draw how the values changed")
    parser.add_quiet()
    return parser


@command("secateur spsa")
def main(arguments: list[str]) -> int:
    """Plays, resumes or shows a tuning run and returns the exit status."""
    options = parser().parse_args(arguments)
    path = Path(options.state)
    is_new = not (options.resume or options.show)
    with arguments_are_judged():
        if options.concurrency < 1:
            raise SpsaError(f"--concurrency must be at least 1 (got {options.concurrency})")
        picture = options.plot and check_path(options.plot, "tuning")
        if is_new:
            run = _run(options)
            _check_tables(run, options)
        else:
            _check_no_run_options(options)
    if is_new:
        run.games.engines[0].resolved_program()
        if run.games.book is None:
            say("secateur spsa: note: without --book, every game begins from the start position")
    with ExitStack() as held:
        if options.resume:
            path.stat()  # raises OSError for a missing file, which `locked` would create
        if not options.show:
            held.enter_context(locked(path, remove=True))
        with Steps("reading the results", options.quiet):
            state = StateFile(path, "spsa", read=not is_new, write=not options.show)
        if not is_new:
            run = _stored_run(options, state)
            if options.resume:
                with arguments_are_judged():
                    _check_tables(run, options)
        elif state.is_there and not options.overwrite:
            raise SpsaError(f"{shown(path)} already exists; pass --resume to continue it or --overwrite to replace it")
        status = _play(run, state, options)
        if picture is not None:
            if not state.results:
                raise PlotError(f"{shown(picture.path)}: not drawn, because no iteration is finished")
            plot_tuning([row.name for row in run.parameters], *run.trajectory(state), picture)
        return status


def _check_tables(run: Run, options: argparse.Namespace) -> None:
    """Raises `DescriptionError` if this machine plays the games and lacks their tablebases."""
    if options.cluster is None:
        check_tablebases(run.games.adjudication)


def _play(run: Run, state: StateFile, options: argparse.Namespace) -> int:
    """Plays a run (not with `--show`) and prints its results; returns the exit status."""
    with Steps("replaying the results", options.quiet):
        spsa = run.tuner(state)
    interrupted = False
    if not options.show:

        def on_problem(text: str) -> None:
            say(f"secateur spsa: {text}")  # even with --quiet

        with Steps("reading the book", options.quiet):
            plan = make_plan(run.games)
        with Progress(state, run.schedule.iterations, "iterations", options.quiet, partial(_most_changed, spsa)):
            try:
                tune(plan, run, spsa, state, _settings(run, options), on_problem, options.concurrency, options.cluster)
            except KeyboardInterrupt:
                interrupted = True
    is_finished = len(state.results) >= run.schedule.iterations
    _print(run, spsa, state)
    if interrupted:
        then = (
            "the run had not begun"
            if state.settings is None
            else f"--state {shown(options.state)} --resume continues it"
        )
        say(f"secateur spsa: interrupted; {then}")
    return OK if is_finished or options.show else FAILED


def _most_changed(spsa: Spsa) -> str:
    changes = sorted(zip(spsa.change_in_steps(), spsa.parameters, strict=True), key=lambda pair: -abs(pair[0]))
    return "; most changed, in steps: " + ", ".join(f"{row.name} {change:+.2f}" for change, row in changes[:3])


@dataclass(frozen=True, slots=True)
class Run:
    """The settings that determine the outcome of a tuning run.

    `games` describes the games between PLUS and MINUS. Both are the same engine, but with different values of the
    tuned options. An iteration is one pair of games. Raises `SpsaError` if the engines set an option that is tuned.
    """

    parameters: tuple[Tunable, ...]
    schedule: Schedule
    games: MatchDescription
    seed: int = 0

    def __post_init__(self) -> None:
        names = {parameter.name for parameter in self.parameters}
        for name, _ in self.games.engines[0].options:
            if name in names:
                raise SpsaError(f"option {name} is tuned: remove it from --engine or exclude it with --only")

    def side(self, side: int, values: dict[str, int]) -> EngineSpec:
        """Returns the PLUS engine (`side` 0) or the MINUS engine (`side` 1) with `values` as additional options."""
        engine = self.games.engines[side]
        return replace(engine, options=(*engine.options, *((name, str(value)) for name, value in values.items())))

    def tuner(self, state: StateFile, after: Callable[[int, Spsa], None] = lambda count, spsa: None) -> Spsa:
        """Returns the tuner, updated with all results in `state`. Calls `after` with the number of results so far."""
        spsa = Spsa(self.parameters, self.schedule, self.seed)
        after(0, spsa)
        for count, iteration in enumerate(state.results, start=1):
            spsa.update(iteration, self.points(state, iteration))
            after(count, spsa)
        return spsa

    def points(self, state: StateFile, iteration: int) -> float:
        """Returns PLUS's net wins in an iteration, less what its additional time is worth if the limit has no time."""
        is_timed = self.games.engines[0].limit.is_timed
        return state.results[iteration] - (0.0 if is_timed else WINS_OF_TIME * state.log_time(iteration))

    def trajectory(self, state: StateFile) -> tuple[list[int], Floats]:
        """Returns numbers of iterations, and each parameter's change in steps after them, float64[n][parameters]."""
        counts: list[int] = []
        changes: list[Floats] = []
        step = max(1, -(-len(state.results) // MAX_POINTS))

        def note(count: int, spsa: Spsa) -> None:
            if count % step == 0 or count == len(state.results):
                counts.append(count)
                changes.append(spsa.change_in_steps())

        self.tuner(state, note)
        return counts, np.array(changes)


def tune(
    plan: Plan,
    run: Run,
    spsa: Spsa,
    state: StateFile,
    settings: dict[str, Any],
    on_problem: Callable[[str], None],
    concurrency: int = 1,
    cluster: str | None = None,
) -> None:
    """Plays the missing iterations with the openings of `plan`, `concurrency` at a time. Mutates `spsa` and `state`.

    First checks that the engine can play. Then, if the state is new, writes `settings` as the first line of the file;
    this replaces an earlier run, of which a copy stays beside the file. An iteration in which an engine fails is
    reported and has no result. Raises `SpsaError` if the engine cannot play, and `PairsError` and `ClusterError` as
    `play_pairs` does. The state stays valid after any exception.
    """
    compile_kernels(run.games.engines, cluster)
    problem = check_engine(run.side(0, spsa.result()))
    if problem is not None:
        command = " ".join(run.games.engines[0].command)
        raise SpsaError(f"{problem.replace(f'engine {PLUS}', 'the engine')} ({command})")
    if state.settings is None:
        state.begin(settings)

    def task(iteration: int) -> PairsTask:
        plus, minus = (run.side(side, values) for side, values in enumerate(spsa.propose(iteration)))
        return make_task(iteration, plus, minus, plan.openings, run.games.adjudication)

    def problem_of(iteration: int, fault: str) -> None:
        on_problem(f"iteration {iteration + 1}: {fault}")

    missing = state.missing(range(run.schedule.iterations))
    for iteration in play_pairs(map(task, missing), state, problem_of, concurrency, cluster):
        spsa.update(iteration, run.points(state, iteration))


def _run(options: argparse.Namespace, parameters: Sequence[Tunable] = ()) -> Run:
    """Returns the run that `options` describe, with `parameters` if given. Raises ValueError for a bad option."""
    chosen = _with_defaults(options)
    if chosen.book is None:
        chosen.seed = None  # without a book, the seed affects only the perturbations
    schedule = Schedule(chosen.iterations, chosen.gain)
    try:
        pairs = chosen.engine or this_engine("arg=--tuning", "option.Hash=8")
        engine = engine_from_pairs(pairs, (), chosen.tc)
    except EngineSpecError as error:
        raise SpsaError(f"--engine: {error}") from None
    if engine.directory is not None or engine.restart:
        raise SpsaError("--engine: dir and restart are not supported")
    if not parameters:
        # Without --only, tunables that cannot affect these games are left out, because they would only drift.
        table = [row for row in tunables.TUNABLES if chosen.only or _matters(row, engine)]
        parameters = select(table, chosen.only or ())
    games = MatchDescription(
        engines=(replace(engine, name=PLUS), replace(engine, name=MINUS)),
        rounds=chosen.iterations,
        book=book_from_arguments(chosen, None),
        concurrency=chosen.concurrency,
        adjudication=rules_from_arguments(chosen, Adjudication()),
    )
    return Run(tuple(parameters), schedule, games, options.seed or 0)


def _with_defaults(options: argparse.Namespace) -> argparse.Namespace:
    """Returns the options of a run with the defaults of those that are not given, except of --engine."""
    given = {name: value for name, value in vars(options).items() if value is not None}
    chosen = argparse.Namespace(**{**vars(options), **DEFAULTS, **given})
    if chosen.book is None:
        chosen.order = options.order  # without a book there is no order
    if chosen.gain is None:
        chosen.gain = default_gain(chosen.iterations)
    return chosen


def _matters(tunable: Tunable, engine: EngineSpec) -> bool:
    """Returns whether a tunable can affect games of engines like `engine`."""
    if tunable.name.startswith("time_"):
        return engine.limit.has_clock
    if tunable.name.startswith("policy_"):
        return any(name.lower() == "usepolicy" and value.lower() == "true" for name, value in engine.options)
    return True


def _settings(run: Run, options: argparse.Namespace) -> dict[str, Any]:
    """Returns the settings of a run for its state file: the RUN_OPTIONS, and the tunables before tuning.

    The settings contain the defaults, because another version may have others.
    """
    chosen = _with_defaults(options)
    complete = {name: getattr(chosen, name) for name in RUN_OPTIONS}
    return {"options": complete, "parameters": [astuple(parameter) for parameter in run.parameters]}


def _check_no_run_options(options: argparse.Namespace) -> None:
    """Raises `SpsaError` if `options` contain one of RUN_OPTIONS, which an existing run cannot change."""
    for name in RUN_OPTIONS:
        if getattr(options, name) is not None:
            raise SpsaError(f"--{name.replace('_', '-')} can be set only for a new run, not for {options.state}")


def _stored_run(options: argparse.Namespace, state: StateFile) -> Run:
    """Returns the run that a state describes. Raises `PairsError` if the description is invalid."""
    settings = state.settings or {}
    names = [field.name for field in fields(Tunable)]
    try:
        rows = [dict(zip(names, row, strict=True)) for row in settings["parameters"]]
        parameters = [built(Tunable, row, "a parameter") for row in rows]
        return _run(argparse.Namespace(**{**vars(options), **settings["options"]}), parameters)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PairsError(f"{shown(str(state.path))}:1: not a tuning run of this version: {error}") from None


def _print(run: Run, spsa: Spsa, state: StateFile) -> None:
    from rich.table import Table

    points, limit = list(state.results.values()), run.games.engines[0].limit
    iterations = count_of(run.schedule.iterations, "iteration")
    print(f"{len(points)} of {iterations} at {limit}, each a pair of games")
    won, lost = sum(number > 0 for number in points), sum(number < 0 for number in points)
    print(f"pairs: plus won {won}, drew {len(points) - won - lost}, lost {lost}")
    grid = Table("tunable", box=None, pad_edge=False)
    heads = ("start", "low", "high", "step", "value", "new default", "change in steps", "Elo of a step", "time, %")
    for head in heads:
        grid.add_column(head, justify="right", no_wrap=True)
    results = spsa.result()
    effects = spsa.effects({iteration: run.points(state, iteration) for iteration in state.results})
    times = spsa.slopes({iteration: 100 * state.log_time(iteration) for iteration in state.seconds})
    for index, (row, value, change) in enumerate(zip(run.parameters, spsa.values, spsa.change_in_steps(), strict=True)):
        elo, time = ("-" if pair is None else with_error(pair[0][index], pair[1][index]) for pair in (effects, times))
        grid.add_row(*map(str, astuple(row)), f"{value:.2f}", str(results[row.name]), f"{change:+.2f}", elo, time)
    result_console().print(grid)
    print("\nrows for search/tunables.py:")
    for row in run.parameters:
        print(f'    Tunable("{row.name}", {results[row.name]}, {row.low}, {row.high}, {row.step}),')
